// A TCP proxy in front of PostgreSQL that drops parameters of the start-up packet, as PgBouncer does with
// `ignore_startup_parameters`.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { TestServer } from './global.ts';
import { connectToPostgres, listenLocally } from './sockets.ts';

/**
 * A start-up packet is its length (4 bytes), the protocol's version (4 bytes), and names and values that each
 * end in a zero byte.
 */
function withoutParameters(packet: Buffer, dropped: readonly string[]): Buffer {
  const texts = packet.subarray(8).toString('utf8').split('\0');
  const pairs = texts.flatMap((name, index) =>
    index % 2 === 0 && name !== '' ? [[name, texts[index + 1] ?? '']] : [],
  );
  const kept = pairs.filter(([name = '']) => !dropped.includes(name)).flat();
  const body = Buffer.from(`${kept.join('\0')}\0\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length, 0);
  packet.copy(head, 4, 4, 8);
  return Buffer.concat([head, body]);
}

export type OptionDroppingProxy = { readonly host: string; readonly port: number; close(): void };

/** Listens on loopback and forwards to `server`. */
export async function startOptionDroppingProxy(
  server: TestServer,
  dropped = ['options'],
): Promise<OptionDroppingProxy> {
  const sockets = new Set<Socket>();
  const forward = async (client: Socket): Promise<void> => {
    // The client sends nothing else until the server responds.
    const [packet] = (await once(client, 'data')) as [Buffer];
    client.pause();
    const upstream = connectToPostgres(server);
    sockets.add(upstream);
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
    upstream.write(withoutParameters(packet, dropped));
    client.pipe(upstream).pipe(client);
  };
  const listening = createServer((client) => {
    sockets.add(client);
    client.on('error', () => undefined);
    forward(client).catch(() => client.destroy());
  });
  return {
    host: '127.0.0.1',
    port: await listenLocally(listening),
    close: () => {
      for (const socket of sockets) socket.destroy();
      listening.close();
    },
  };
}

// A TCP address that moves: clients keep one host and port while the server behind it changes, as with a
// virtual address or a proxy.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Target = { readonly host: string; readonly port: number };
export type MovingAddress = Awaited<ReturnType<typeof startMovingAddress>>;

/** Starts forwarding on a free port of loopback. */
export async function startMovingAddress(first: Target | null) {
  let target = first;
  const open = new Set<Socket>();
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  const server = createServer((client) => {
    if (target === null) return client.destroy();
    const upstream = connect({ host: target.host, port: target.port });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.setNoDelay(true);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        open.delete(client);
        other.destroy();
      });
      socket.pipe(other);
    }
    open.add(client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    /**
     * New connections go to `target`; all present ones are broken. Null: connections are closed as soon as they
     * are accepted.
     */
    moveTo(next: Target | null): void {
      target = next;
      cut();
    },
    /** Connections that are open now. */
    get connections() {
      return open.size;
    },
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}

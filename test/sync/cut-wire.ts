// A connection to PostgreSQL that is cut at the COMMIT of a publish: before the server receives it, or before
// its response arrives.
import { createServer, type Socket } from 'node:net';
import type { Ctx } from '../../src/core/ctx.ts';
import { openDb } from '../../src/db/connect.ts';
import type { TestDatabase } from '../setup/database.ts';
import { connectToPostgres, listenLocally } from '../setup/sockets.ts';

export type CutWire = { readonly ctx: Ctx; close(): Promise<void> };

/** Cuts once, at the first publish. */
export async function cutAtCommit(
  database: TestDatabase,
  ctx: Ctx,
  where: 'before' | 'after',
): Promise<CutWire> {
  const { address } = database;
  const open = new Set<Socket>();
  let cut = false;
  const server = createServer((client) => {
    const upstream = connectToPostgres(address);
    let publishes = false;
    let lastWord = false;
    const drop = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', drop);
      socket.on('close', () => {
        open.delete(socket);
        drop();
      });
    }
    client.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      if (text.includes('set outcome')) publishes = true;
      if (!cut && publishes && text.includes('commit\0')) {
        cut = true;
        if (where === 'before') return drop();
        lastWord = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => (lastWord ? drop() : client.write(chunk)));
  });
  const port = await listenLocally(server);
  const db = openDb(
    address,
    { ...address, host: '127.0.0.1', port },
    { control: 4, data: 4 },
    ctx.settings.readTimeoutMs,
  );
  return {
    ctx: { ...ctx, db },
    close: async () => {
      await db.close();
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

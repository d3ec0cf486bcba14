// The whole service, listening. Loaded once more for each surface that is switched off: see switch-off.ts.
import { createServer } from 'node:http';
import { createApp } from '../../src/app.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { startWebhooks } from '../../src/platform/webhooks/deliver.ts';
import { createReadEngine, getRecordTools, type RecordTools } from '../../src/public/index.ts';
import { openTestCtx, type TestDatabase, type TestDatabaseOptions } from '../setup/database.ts';
import { listenLocally } from '../setup/sockets.ts';
import { type Call, createCaller } from './call.ts';

export type Service = {
  readonly ctx: Ctx;
  readonly origin: string;
  readonly call: Call;
  readonly tools: RecordTools;
  /** Sends the messages that are due. */
  sendWebhooks(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * The service as it runs in production, on a free port, with caches and connections of its own. Services on
 * one database that take each other's tokens need the same `publicUrl`, which is the address of this one when
 * absent.
 */
export async function startService(
  database: TestDatabase,
  options: TestDatabaseOptions,
  publicUrl?: string,
): Promise<Service> {
  const server = createServer({ keepAliveTimeout: 60_000 });
  const origin = `http://127.0.0.1:${await listenLocally(server)}`;
  const own = openTestCtx(database.service, {
    ...options,
    settings: { ...options.settings, publicUrl: publicUrl ?? origin },
  });
  const ctx = { ...own, keyring: database.ctx.keyring };
  const reads = createReadEngine(ctx);
  server.on('request', createApp(ctx, { reads }));
  const { call, close } = createCaller(origin);
  return {
    ctx,
    origin,
    call,
    tools: getRecordTools({ ...ctx, reads }),
    sendWebhooks: async () => {
      const worker = startWebhooks({ ...ctx, reads });
      await worker.waitUntilIdle();
      await worker.stop();
    },
    stop: async () => {
      close();
      await new Promise((resolve) => server.close(resolve));
      await own.db.close();
    },
  };
}

// Opens what a running service needs, in order, and closes it in the opposite order: database, ctx, application, listener.
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { type Background, createApp, startBackground } from './app.ts';
import type { Config } from './config.ts';
import { systemClock } from './core/clock.ts';
import type { Ctx } from './core/ctx.ts';
import { openGuardedFetch } from './core/guarded-fetch.ts';
import { type EncryptionKey, openKeyring } from './core/keyring.ts';
import { type Log, openLog } from './core/log.ts';
import { type Address, openDb, openKnex } from './db/connect.ts';
import { type EmbeddedDatabase, startEmbedded } from './db/embedded.ts';
import { migrate } from './db/migrate.ts';
import { openMessages } from './http/messages.ts';
import { openServer, serveBy } from './http/server.ts';
import { openUsage } from './public/index.ts';

const database = 'portal';
const shutdownMs = 10_000;

export type OpenDatabase = {
  readonly control: Address;
  readonly data: Address;
  /** The PostgreSQL that this process brought along; undefined with DATABASE_URL. */
  readonly embedded: EmbeddedDatabase | undefined;
};

async function ensureDatabase(server: EmbeddedDatabase['connection'], name: string): Promise<void> {
  const admin = openKnex(server, null, 1);
  try {
    const { rows } = await admin.raw<{ rows: unknown[] }>('select from pg_database where datname = ?', [name]);
    if (rows.length === 0) await admin.raw(`create database ${name}`);
  } finally {
    await admin.destroy();
  }
}

/** The database at DATABASE_URL, or one of our own under the data directory; migrated. */
export async function openDatabase(
  config: Pick<Config, 'DATABASE_URL' | 'WAREHOUSE_URL' | 'DATA_DIR'>,
  onProgress: (step: string) => void = () => undefined,
): Promise<OpenDatabase> {
  if (config.DATABASE_URL !== undefined) {
    await migrate(config.DATABASE_URL);
    return { control: config.DATABASE_URL, data: config.WAREHOUSE_URL ?? config.DATABASE_URL, embedded: undefined };
  }
  const embedded = await startEmbedded(config.DATA_DIR, { onProgress });
  try {
    await ensureDatabase(embedded.connection, database);
    const address = { ...embedded.connection, database };
    await migrate(address);
    return { control: address, data: address, embedded };
  } catch (error) {
    await embedded.stop();
    throw error;
  }
}

export const closeDatabase = async ({ embedded }: OpenDatabase): Promise<unknown> => embedded?.stop();

/** The keys of the environment, or outside production one made once in the data directory, readable by its owner alone. */
async function encryptionKeys(config: Config): Promise<[EncryptionKey, ...EncryptionKey[]]> {
  const [first, ...rest] = config.ENCRYPTION_KEY ?? [];
  if (first !== undefined) return [first, ...rest];
  await mkdir(config.DATA_DIR, { recursive: true, mode: 0o700 });
  const file = path.join(config.DATA_DIR, 'encryption-key');
  await writeFile(file, randomBytes(32).toString('base64'), { mode: 0o600, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await chmod(file, 0o600);
  return [{ id: 'local', bytes: Buffer.from(await readFile(file, 'utf8'), 'base64') }];
}

export type OpenCtx = { readonly ctx: Ctx; close(): Promise<void> };

export async function openCtx(config: Config, opened: OpenDatabase, log: Log = openLog(config.LOG_LEVEL)): Promise<OpenCtx> {
  const keyring = openKeyring(await encryptionKeys(config));
  const db = openDb(
    opened.control,
    opened.data,
    { control: config.CONTROL_POOL_SIZE, data: config.DATA_POOL_SIZE, exports: config.EXPORT_POOL },
    config.settings.readTimeoutMs,
  );
  const ctx: Ctx = {
    db,
    clock: systemClock,
    log,
    fetch: openGuardedFetch({ allowPrivateHosts: config.ALLOW_PRIVATE_ERP_HOSTS }),
    keyring,
    settings: config.settings,
  };
  return { ctx, close: () => db.close() };
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE' ? new Error(`port ${port} is in use: choose another one with PORT=<number>`, { cause: error }) : error,
      );
    });
    server.listen(port, host, () => resolve(server.address() as AddressInfo));
  });
}

export type Service = {
  readonly ctx: Ctx;
  /** What callers use: PUBLIC_URL where it is given. */
  readonly url: string;
  /** Where this process listens, for callers on this machine. */
  readonly localUrl: string;
  readonly background: Background;
  stop(): Promise<void>;
};

/** An address that listens everywhere is reached over loopback. */
const reachable = (address: string): string => (address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address);

/** Serves until stopped. Stopping finishes requests in flight, hands running syncs over, and takes at most ten seconds. */
export async function startService(config: Config, opened: OpenDatabase, log?: Log): Promise<Service> {
  const { ctx, close } = await openCtx(config, opened, log);
  const messages = openMessages();
  const server = openServer(ctx.log, messages);
  try {
    const { address, port, family } = await listen(server, config.HOST, config.PORT);
    const host = family === 'IPv6' ? `[${reachable(address)}]` : reachable(address);
    const localUrl = `http://${host}:${port}`;
    const url = config.PUBLIC_URL ?? localUrl;
    const running: Ctx = { ...ctx, settings: { ...ctx.settings, publicUrl: url.replace(/\/+$/, ''), ownUrl: localUrl } };
    const stopping = new AbortController();
    const usage = openUsage(running);
    const streams = { stopping: stopping.signal };
    serveBy(server, createApp(running, { trustProxy: config.TRUST_PROXY, streams, usage, messages }));
    const background = await startBackground(running);
    return {
      ctx: running,
      url,
      localUrl,
      background,
      stop: async () => {
        const closed = new Promise((resolve) => server.close(resolve));
        stopping.abort();
        server.closeIdleConnections();
        const deadline = setTimeout(() => server.closeAllConnections(), shutdownMs);
        await Promise.all([closed, background.stop()]);
        clearTimeout(deadline);
        await usage.stop();
        await close();
      },
    };
  } catch (error) {
    server.close();
    await close();
    throw error;
  }
}

// Opens what a running service needs, in order, and closes it in the opposite order: database, ctx, application, listener.
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { type Background, createApp, startBackground } from './app.ts';
import type { Config } from './config.ts';
import type { Ctx } from './core/ctx.ts';
import { openGuardedFetch } from './core/guarded-fetch.ts';
import { type EncryptionKey, openKeyring } from './core/keyring.ts';
import { type Log, openLog } from './core/log.ts';
import { type Address, openDb, openKnex, openOperatorsPool } from './db/connect.ts';
import { openDatabaseClock } from './db/database-clock.ts';
import { type EmbeddedDatabase, startEmbedded } from './db/embedded.ts';
import { migrate, openStanding } from './db/migrate.ts';
import { poolFigures } from './db/pool-figures.ts';
import { answerProbes } from './http/health.ts';
import { openMessages } from './http/messages.ts';
import type { OnServed } from './http/served.ts';
import { closeServer, openServer, serveBy } from './http/server.ts';
import { openFigures } from './operate/figures.ts';
import { openReadiness } from './operate/readiness.ts';
import { openDeadline } from './operate/stopping.ts';
import { endWaiting, openUsage, publicFigures } from './public/index.ts';

const database = 'portal';

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

/** The database at DATABASE_URL, or one of our own under the data directory; migrated, unless `prepare` does something else. */
export async function openDatabase(
  config: Pick<Config, 'DATABASE_URL' | 'WAREHOUSE_URL' | 'DATA_DIR'>,
  onProgress: (step: string) => void = () => undefined,
  prepare: (address: Address) => Promise<unknown> = migrate,
): Promise<OpenDatabase> {
  if (config.DATABASE_URL !== undefined) {
    await prepare(config.DATABASE_URL);
    return { control: config.DATABASE_URL, data: config.WAREHOUSE_URL ?? config.DATABASE_URL, embedded: undefined };
  }
  const embedded = await startEmbedded(config.DATA_DIR, { onProgress });
  try {
    await ensureDatabase(embedded.connection, database);
    const address = { ...embedded.connection, database };
    await prepare(address);
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
    { control: config.CONTROL_POOL_SIZE, lookups: config.LOOKUP_POOL_SIZE, data: config.DATA_POOL_SIZE, exports: config.EXPORT_POOL },
    config.settings.readTimeoutMs,
    { isOwn: opened.embedded !== undefined, log, presence: { name: `${hostname()}:${process.pid}`, marks: keyring.marks } },
  );
  // Before anything is sealed or opened: a key is exchanged only when all who live have the new one.
  await db.show();
  const { clock, close: stopClock } = await openDatabaseClock(db, log).catch(async (error: unknown) => {
    await db.close();
    throw error;
  });
  const ctx: Ctx = {
    db,
    clock,
    log,
    fetch: openGuardedFetch({ allowPrivateHosts: config.ALLOW_PRIVATE_ERP_HOSTS }),
    keyring,
    settings: config.settings,
  };
  return {
    ctx,
    close: async () => {
      await stopClock();
      await db.close();
    },
  };
}

/** The doors to the database that are kept for operators' questions. */
function openOperators({ DATABASE_URL, WAREHOUSE_URL }: Config, opened: OpenDatabase) {
  const control = openOperatorsPool(opened.control);
  const elsewhere = DATABASE_URL !== undefined && WAREHOUSE_URL !== undefined && WAREHOUSE_URL !== DATABASE_URL;
  const warehouse = elsewhere ? openOperatorsPool(opened.data) : undefined;
  return { control, warehouse, close: () => Promise.all([control.end(), warehouse?.end()]) };
}

function listen(server: Server, host: string, port: number, variable = 'PORT'): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`port ${port} is in use: choose another one with ${variable}=<number>`, { cause: error })
          : error,
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

type Monitored = { readonly onServed: OnServed | undefined; stop(): Promise<void> };

/** The port for Prometheus, where one is wanted; nothing of it is loaded otherwise. */
async function openMonitoring(
  { METRICS_PORT, METRICS_HOST }: Config,
  ctx: Ctx,
  operators: Pick<Pool, 'query'>,
  sinceTickMs: () => number,
): Promise<Monitored> {
  if (METRICS_PORT === undefined) return { onServed: undefined, stop: () => Promise.resolve() };
  const [{ openMetrics }, { metricsServer }] = await Promise.all([import('./operate/metrics.ts'), import('./operate/metrics-server.ts')]);
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  const metrics = openMetrics({
    version,
    pools: () => poolFigures(ctx.db),
    caches: () => publicFigures(ctx).caches,
    turns: () => publicFigures(ctx).turns,
    sinceTickSeconds: () => sinceTickMs() / 1_000,
    figures: openFigures(operators, ctx.clock, ctx.log),
  });
  const server = metricsServer(metrics, ctx.log);
  const { port } = await listen(server, METRICS_HOST, METRICS_PORT, 'METRICS_PORT');
  ctx.log.info({ host: METRICS_HOST, port }, 'metrics are served');
  return {
    onServed: metrics.onServed,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** An address that listens everywhere is reached over loopback. */
const reachable = (address: string): string => (address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address);

type Serving = {
  readonly ctx: Ctx;
  readonly server: Server;
  readonly background: Background;
  /** Aborted first: from then on `/readyz` says so. */
  readonly draining: AbortController;
  /** Aborted when no more requests are taken: ends the streams. */
  readonly stopping: AbortController;
  readonly seconds: { readonly all: number; readonly drain: number };
};

/** Requests under way are answered and running syncs handed over; what has not ended at the deadline is left behind. */
async function stopServing(
  { ctx, server, background, draining, stopping, seconds }: Serving,
  close: () => Promise<unknown>,
): Promise<void> {
  const { log, clock } = ctx;
  const beganMs = clock.monotonicMs();
  log.info({ seconds: seconds.all }, 'stopping');
  draining.abort();
  const deadline = openDeadline(seconds.all * 1_000, log);
  const handedOver = deadline.within('work behind the requests', background.stop());
  if (seconds.drain > 0) await sleep(seconds.drain * 1_000);
  stopping.abort();
  endWaiting(ctx);
  const answered = closeServer(server, deadline.signal).then(({ cut }) => {
    if (cut > 0) log.warn({ cut }, 'the time to stop is over: requests under way were cut');
  });
  await deadline.within('connections of callers', answered);
  await handedOver;
  await deadline.within('connections to PostgreSQL', close());
  deadline.clear();
  log.info({ ms: Math.round(clock.monotonicMs() - beganMs) }, 'stopped');
}

/** Serves until stopped. Stopping finishes requests in flight and hands running syncs over, within SHUTDOWN_SECONDS. */
export async function startService(config: Config, opened: OpenDatabase, log?: Log): Promise<Service> {
  const { ctx, close } = await openCtx(config, opened, log);
  const messages = openMessages();
  const server = openServer(ctx.log, messages, { maxConnections: config.HTTP_CONNECTIONS });
  const operators = openOperators(config, opened);
  const standing = await openStanding();
  let background: Background | undefined;
  const sinceTickMs = (): number => background?.scheduler.sinceTickMs() ?? 0;
  let monitored: Monitored | undefined;
  const closeAll = () => Promise.all([close(), operators.close(), monitored?.stop()]);
  try {
    monitored = await openMonitoring(config, ctx, operators.control, sinceTickMs);
    const { onServed } = monitored;
    // From here to `serveBy` nothing waits: a request that came in between would find nobody.
    const { address, port, family } = await listen(server, config.HOST, config.PORT);
    const host = family === 'IPv6' ? `[${reachable(address)}]` : reachable(address);
    const localUrl = `http://${host}:${port}`;
    const url = config.PUBLIC_URL ?? localUrl;
    const running: Ctx = { ...ctx, settings: { ...ctx.settings, publicUrl: url.replace(/\/+$/, ''), ownUrl: localUrl } };
    const seconds = { all: config.SHUTDOWN_SECONDS, drain: config.SHUTDOWN_DRAIN_SECONDS };
    const [draining, stopping] = [new AbortController(), new AbortController()];
    const usage = openUsage(running);
    const streams = { stopping: stopping.signal };
    const app = createApp(running, { trustProxy: config.TRUST_PROXY, streams, usage, messages, onServed });
    const readiness = openReadiness({
      ...operators,
      standing,
      sinceTickMs,
      stopping: draining.signal,
      clock: ctx.clock,
      log: ctx.log,
    });
    serveBy(server, answerProbes(readiness, ctx.log, app));
    background = await startBackground(running);
    const serving = { ctx: running, server, background, draining, stopping, seconds };
    return {
      ctx: running,
      url,
      localUrl,
      background,
      stop: () => stopServing(serving, () => usage.stop().then(closeAll)),
    };
  } catch (error) {
    server.close();
    await closeAll();
    throw error;
  }
}

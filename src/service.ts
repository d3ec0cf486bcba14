// Opens the resources of a running service in order (database, ctx, application, listener), and closes them
// in reverse order.
import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { hostname } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AppOptions, type Background, createApp, startBackground, trackResponses } from './app.ts';
import type { Config } from './config.ts';
import type { Ctx, ReadingCtx } from './core/ctx.ts';
import { createLog, type Log } from './core/log.ts';
import { createGuardedFetch } from './core/network/guarded-fetch.ts';
import { isLoopbackHttp, isLoopbackName } from './core/network/loopback.ts';
import { createKeyring, type EncryptionKey } from './core/secrets/keyring.ts';
import { createAccountLimits } from './core/work/account-limits.ts';
import type { OpenSemaphore } from './core/work/shared-semaphores.ts';
import { createTrackedWork } from './core/work/tracked-work.ts';
import { openDb, openOperatorPool, type PoolSizes } from './db/connect.ts';
import { startDatabaseClock } from './db/database-clock.ts';
import {
  assertNoneOnFormerServer,
  type OpenFormerWarehouse,
  openFormerWarehouse,
} from './db/former-warehouse.ts';
import { readMigrationStatus } from './db/migrate.ts';
import { shownName, waitForProcessesWithoutKey } from './db/presence.ts';
import { openReplicas } from './db/replicas.ts';
import { readLoginPowers, tooPowerful } from './db/service-login.ts';
import { explainDatabaseError, UnusableDatabase } from './db/unusable-database.ts';
import { createMessageClasses } from './http/driver/message-classes.ts';
import { serveProbes } from './http/health.ts';
import { listen } from './http/server/listen.ts';
import { attachApp, createHttpServer, type HttpServer } from './http/server/server.ts';
import { closeServer } from './http/server/shutdown.ts';
import type { OpenedDatabase } from './open-database.ts';
import type { Monitoring, startMonitoring } from './operate/monitoring.ts';
import { createReadinessCheck } from './operate/readiness.ts';
import { startShutdownDeadline } from './operate/shutdown-deadline.ts';
import { openWritePause, type WritePause } from './operate/write-pause.ts';
import { upgradeWarehousesAtStart } from './platform/api-schemas/upgrade-warehouses.ts';
import { findPortalSite } from './platform/portal/sites.store.ts';
import { closeQueues, createReadEngine, startUsageCounter, type UsageCounter } from './public/index.ts';

const processName = `${hostname()}:${process.pid}`;

const keyBytes = 32;

/**
 * Creates the file with a new key unless there is one, whole or not at all: a process may be killed at any
 * time.
 */
async function ensureKeyFile(file: string): Promise<void> {
  const fresh = `${file}.${process.pid}`;
  await writeFile(fresh, randomBytes(keyBytes).toString('base64'), { mode: 0o600 });
  await link(fresh, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(fresh, { force: true });
}

/**
 * The keys of ENCRYPTION_KEY; without it (outside production) one that is created once in DATA_DIR, readable
 * by its owner only.
 */
async function encryptionKeys(config: Config): Promise<[EncryptionKey, ...EncryptionKey[]]> {
  const [first, ...rest] = config.ENCRYPTION_KEY ?? [];
  if (first !== undefined) return [first, ...rest];
  await mkdir(config.DATA_DIR, { recursive: true, mode: 0o700 });
  const file = path.join(config.DATA_DIR, 'encryption-key');
  await ensureKeyFile(file);
  await chmod(file, 0o600);
  const bytes = Buffer.from(await readFile(file, 'utf8'), 'base64');
  // A process of an earlier version that was killed while it made the file left it empty.
  if (bytes.length !== keyBytes)
    throw new Error(`${file} holds no key. Restore it; an empty one may be deleted`);
  return [{ id: 'local', bytes }];
}

/**
 * Rejects when connections to the warehouse lack what the service needs. One that doesn't respond is reported
 * elsewhere.
 */
async function assertUsableWarehouse({ data }: Pick<Ctx['db'], 'data'>): Promise<void> {
  await data.query('select').catch((error: unknown) => {
    if (error instanceof UnusableDatabase) throw new UnusableDatabase(`WAREHOUSE_URL: ${error.message}`);
  });
}

/**
 * Checks the warehouse, and opens the former one if there is one. Rejects with UnusableDatabase when
 * connections lack what the service needs, and when organizations are on a former server that
 * WAREHOUSE_FROM_URL doesn't name.
 */
async function openWarehouse(
  { WAREHOUSE_FROM_URL: url, settings }: Config,
  { control, data }: OpenedDatabase,
  db: Ctx['db'],
  log: Log,
): Promise<OpenFormerWarehouse | undefined> {
  if (data !== control) await assertUsableWarehouse(db);
  const { lookups, maxConnections: sizes } = db;
  if (url !== undefined)
    return openFormerWarehouse(url, { lookups, sizes, readTimeoutMs: settings.readTimeoutMs, log });
  await assertNoneOnFormerServer(db);
  return undefined;
}

const poolSizes = (config: Config): Required<PoolSizes> => ({
  control: config.CONTROL_POOL_SIZE,
  lookups: config.LOOKUP_POOL_SIZE,
  data: config.DATA_POOL_SIZE,
  exports: config.EXPORT_POOL,
});

export type OpenedCtx = { readonly ctx: Ctx; close(): Promise<void> };

/**
 * Opens the connection pools and builds the ctx. Rejects with UnusableDatabase when the server refuses the
 * login or opens connections with other settings, and with the database's error when it doesn't respond;
 * everything is closed then.
 */
export async function openCtx(
  config: Config,
  opened: OpenedDatabase,
  log: Log = createLog(config.LOG_LEVEL),
  openSemaphore?: OpenSemaphore,
): Promise<OpenedCtx> {
  const keyring = createKeyring(await encryptionKeys(config));
  const db = openDb(opened.control, opened.data, poolSizes(config), config.settings.readTimeoutMs, {
    isEmbedded: opened.embedded !== undefined,
    log,
    presence: { name: processName, keyFingerprints: keyring.fingerprints },
  });
  // Before anything is encrypted: key rotation starts only when every running process has the new key.
  await db.announce();
  const { clock, close: stopClock } = await startDatabaseClock(db, log).catch(async (error: unknown) => {
    await db.close();
    throw explainDatabaseError(error);
  });
  const former = await openWarehouse(config, opened, db, log).catch(async (error: unknown) => {
    await Promise.all([stopClock(), db.close()]);
    throw explainDatabaseError(error);
  });
  const replicas = openReplicas(opened.replicas ?? [], db.data, {
    sizes: db.maxConnections,
    readTimeoutMs: config.settings.readTimeoutMs,
    clock,
    log,
  });
  const ctx: Ctx = {
    db: { ...db, replicas: replicas.all, ...(former !== undefined && { former }) },
    clock,
    log,
    fetch: createGuardedFetch({ allowPrivateHosts: config.settings.erp.allowPrivateHosts }),
    keyring,
    work: createTrackedWork(),
    erpLimits: createAccountLimits(openSemaphore),
    openSemaphore,
    // During a move, an outage also hides where the records of an organization are.
    settings: former === undefined ? config.settings : { ...config.settings, trustDuringOutageMs: 0 },
  };
  return {
    ctx,
    close: async () => {
      await stopClock();
      await replicas.close();
      await former?.close();
      await db.close();
    },
  };
}

/** The pools reserved for health checks and metrics. */
function openOperatorPools({ DATABASE_URL, WAREHOUSE_URL }: Config, opened: OpenedDatabase) {
  const control = openOperatorPool(opened.control);
  const isSeparate =
    DATABASE_URL !== undefined && WAREHOUSE_URL !== undefined && WAREHOUSE_URL !== DATABASE_URL;
  const warehouse = isSeparate ? openOperatorPool(opened.data) : undefined;
  return { control, warehouse, close: () => Promise.all([control.end(), warehouse?.end()]) };
}

/**
 * Logs a warning for each login that may do more than portal_service. A database that doesn't respond is
 * reported elsewhere.
 */
async function warnOfPowers({ control, warehouse }: ReturnType<typeof openOperatorPools>, log: Log) {
  for (const [variable, pool] of Object.entries({ DATABASE_URL: control, WAREHOUSE_URL: warehouse })) {
    const found = pool && (await readLoginPowers(pool).catch(() => undefined));
    if (found === undefined || found.powers.length === 0) continue;
    log.warn(found, tooPowerful(variable));
  }
}

/**
 * Rejects with UnusableDatabase when a process on this database has none of this one's keys: it could not
 * read what this one encrypts.
 */
async function assertSharedKey({ db, clock, keyring }: Ctx): Promise<void> {
  const others = await waitForProcessesWithoutKey(db.control, clock, ...keyring.fingerprints);
  if (others.length === 0) return;
  throw new UnusableDatabase(
    `Other processes use this database with another ENCRYPTION_KEY (host:process id): ${others.join(', ')}. Start this one with theirs; ` +
      'without the variable it is local:<content of their DATA_DIR/encryption-key>. ' +
      'To change the key, see npm run admin -- rotate-encryption-key --help.',
  );
}

export type Service = {
  readonly ctx: ReadingCtx;
  /** The URL for clients: PUBLIC_URL if set, else `localUrl`. */
  readonly url: string;
  /** The URL of this process for clients on this machine. */
  readonly localUrl: string;
  /** Whether the page at `url` signs in as the owner of the demo with one click. */
  readonly hasDemoSignIn: boolean;
  /** Undefined without METRICS_PORT. */
  readonly monitoring: Monitoring | undefined;
  /**
   * `replaced`: another process serves at the same port already. Then there is no drain, and clients on open
   * connections get a moment for a last request.
   */
  stop(options?: { readonly replaced: boolean }): Promise<void>;
};

/**
 * What a child of a service with several processes does differently. Its parent has the port for metrics, and
 * the semaphores that all children share.
 */
export type ChildRole = {
  readonly openSemaphore: OpenSemaphore;
  /** Whether it is the one that syncs and does all other background work. */
  readonly syncs: boolean;
};

/** Without METRICS_PORT it does nothing and loads none of the modules. */
async function monitor(
  { METRICS_HOST, METRICS_PORT }: Config,
  sources: Omit<Parameters<typeof startMonitoring>[1], 'isServed'>,
  role: ChildRole | undefined,
): Promise<Monitoring | undefined> {
  if (METRICS_PORT === undefined) return undefined;
  const { startMonitoring } = await import('./operate/monitoring.ts');
  const isServed = async (hostname: string) =>
    (await findPortalSite(sources.ctx, { hostname })) !== undefined;
  return startMonitoring({ METRICS_HOST, METRICS_PORT }, { ...sources, isServed }, role !== undefined);
}

type DemoOwner = AppOptions['demoOwner'];

/** The wildcard addresses are reached over loopback. */
const reachable = (address: string): string =>
  address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;

/** `isPrivate`: only programs on this machine reach the service. */
type Address = Pick<Service, 'url' | 'localUrl'> & { readonly isPrivate: boolean };

/**
 * Returns the URL for clients, and the one for those on this machine. Rejects with advice when the port is in
 * use.
 */
async function openPort(server: Server, { HOST, PORT, PUBLIC_URL }: Config): Promise<Address> {
  const { address, port, family } = await listen(server, HOST, PORT);
  const host = family === 'IPv6' ? `[${reachable(address)}]` : reachable(address);
  const localUrl = `http://${host}:${port}`;
  const isLoopback = isLoopbackName(family === 'IPv6' ? `[${address}]` : address);
  const url = PUBLIC_URL ?? localUrl;
  return { localUrl, url, isPrivate: isLoopback && isLoopbackHttp(url) };
}

type Serving = {
  readonly ctx: ReadingCtx;
  readonly http: HttpServer;
  readonly background: Pick<Background, 'stop'>;
  /** Aborted first: from then on `/readyz` reports `stopping`. */
  readonly draining: AbortController;
  /** Aborted when the server stops accepting requests; ends event streams. */
  readonly stopping: AbortController;
  readonly seconds: { readonly all: number; readonly drain: number };
};

/** Time for an attempt to send a mail with a code, which no other process takes over. */
const codeMailGraceMs = 5_000;

/** How long a replaced process answers on connections that are idle, and keeps event streams open. */
const replacedIdleMs = 5_000;

/**
 * Finishes requests in progress and hands running syncs over to other processes; what hasn't ended at the
 * deadline is abandoned.
 */
async function stopServing(
  { ctx, http, background, draining, stopping, seconds }: Serving,
  close: () => Promise<unknown>,
  replaced: boolean,
): Promise<void> {
  const { log, clock } = ctx;
  const startedMs = clock.monotonicMs();
  log.info({ seconds: seconds.all }, 'stopping');
  // Callers of /readyz mean the port, which the other process serves.
  if (!replaced) draining.abort();
  const deadline = startShutdownDeadline(seconds.all * 1_000, log);
  const handedOver = deadline.within('background work', background.stop());
  if (seconds.drain > 0 && !replaced) await sleep(seconds.drain * 1_000);
  const endStreams = (): void => stopping.abort();
  // Requests on the open connections are served as ever until then.
  const ending = replaced ? setTimeout(endStreams, replacedIdleMs) : undefined;
  if (!replaced) {
    endStreams();
    closeQueues(ctx);
  }
  const finished = closeServer(http, deadline.signal, replaced ? replacedIdleMs : 0).then(({ cut }) => {
    clearTimeout(ending);
    if (cut > 0) log.warn({ cut }, 'shutdown deadline exceeded: requests in progress were cut off');
  });
  await deadline.within('client connections', finished);
  await handedOver;
  // What requests have started meanwhile, too.
  const left = Promise.all([trackResponses(ctx).stop(), ctx.work.stop('code-mails', codeMailGraceMs)]);
  await deadline.within('work after responses', left);
  await deadline.within('connections to PostgreSQL', close());
  deadline.clear();
  log.info({ ms: Math.round(clock.monotonicMs() - startedMs) }, 'stopped');
}

type Parts = {
  readonly http: HttpServer;
  readonly messages: ReturnType<typeof createMessageClasses>;
  readonly usage: UsageCounter;
  readonly writes: WritePause<Background>;
  readonly monitoring: Monitoring | undefined;
  readonly role: ChildRole | undefined;
  readonly checked: Omit<Parameters<typeof createReadinessCheck>[0], 'stopping'>;
  readonly close: () => Promise<unknown>;
};

/** Opens the port, answers requests and starts background work. */
async function serve(
  config: Config,
  ctx: ReadingCtx,
  { http, messages, usage, writes, monitoring, role, checked, close }: Parts,
  demoOwner: DemoOwner | undefined,
): Promise<Service> {
  // No await from here to `attachApp`: a request that arrived in between would have no handler.
  const { isPrivate, ...addresses } = await openPort(http.server, config);
  const publicUrl = addresses.url.replace(/\/+$/, '');
  const settings = { ...ctx.settings, publicUrl, ownUrl: addresses.localUrl };
  const running: ReadingCtx = { ...ctx, settings };
  const seconds = { all: config.SHUTDOWN_SECONDS, drain: config.SHUTDOWN_DRAIN_SECONDS };
  const [draining, stopping] = [new AbortController(), new AbortController()];
  const streams = { stopping: stopping.signal };
  const offered = { demoOwner: isPrivate ? demoOwner : undefined };
  const { TRUST_PROXY: trustProxy } = config;
  const { reads } = ctx;
  const onServed = monitoring?.onServed;
  const options = { trustProxy, streams, reads, usage, messages, onServed, gate: writes.gate, ...offered };
  const app = createApp(running, options);
  const readiness = createReadinessCheck({ ...checked, stopping: draining.signal });
  attachApp(http.server, serveProbes(readiness, ctx.log, app));
  await writes.start(async () =>
    role?.syncs === false
      ? trackResponses(running)
      : startBackground(running, ctx.reads, demoOwner?.businessTime),
  );
  const serving = { ctx: running, http, background: writes, draining, stopping, seconds };
  const stop: Service['stop'] = (how) => stopServing(serving, close, how?.replaced ?? false);
  const hasDemoSignIn = offered.demoOwner !== undefined;
  return { ctx: running, ...addresses, hasDemoSignIn, monitoring, stop };
}

/**
 * Starts the service. `stop` finishes requests in progress and hands running syncs over to other processes,
 * within SHUTDOWN_SECONDS. Rejects with an Error when the database doesn't respond, another process has
 * another encryption key, or a port can't be opened; everything that was opened is closed then. `demoOwner`,
 * of a demo only, counts where the listener and PUBLIC_URL are loopback addresses.
 */
export async function startService(
  config: Config,
  opened: OpenedDatabase,
  log?: Log,
  demoOwner?: DemoOwner,
  role?: ChildRole,
): Promise<Service> {
  const { ctx: base, close } = await openCtx(config, opened, log, role?.openSemaphore);
  const ctx: ReadingCtx = { ...base, reads: createReadEngine(base) };
  const messages = createMessageClasses();
  const http = createHttpServer(ctx.log, messages, { maxConnections: config.HTTP_CONNECTIONS });
  const operators = openOperatorPools(config, opened);
  const migrationStatus = await readMigrationStatus();
  void warnOfPowers(operators, ctx.log);
  let monitoring: Monitoring | undefined;
  const usage = startUsageCounter(ctx);
  const closeAll = () =>
    usage.stop().then(() => Promise.all([close(), operators.close(), monitoring?.stop()]));
  try {
    await assertSharedKey(ctx);
    const writes = await openWritePause<Background>(ctx, shownName(processName));
    const sinceTickMs = (): number | undefined =>
      role?.syncs === false ? undefined : (writes.work()?.scheduler?.sinceTickMs() ?? 0);
    const sources = { ctx, operators: operators.control, usage, sinceTickMs };
    monitoring = await monitor(config, sources, role);
    if (writes.state() === undefined) await upgradeWarehousesAtStart(ctx);
    const { db, clock, log: ctxLog, settings } = ctx;
    const isTrusting = (): boolean =>
      (db.controlAvailability.unreachableForMs() ?? Infinity) < settings.trustDuringOutageMs;
    const states = { isTrusting, sinceTickMs, pauseState: writes.state, migrationStatus };
    const checked = { ...operators, ...states, replicas: db.replicas, clock, log: ctxLog };
    const parts = { http, messages, usage, writes, monitoring, role, checked, close: closeAll };
    return await serve(config, ctx, parts, demoOwner);
  } catch (error) {
    http.server.close();
    await closeAll();
    throw error;
  }
}

// What all seeds of one process share: a cluster with full durability for the service, the account on another
// one, the proxy between them, and the service's own interfaces over HTTP. Each seed brings an organization
// and worker processes of its own.
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Express } from 'express';
import { type NetsuiteAccount, startNetsuiteAccount } from 'netsuite-simulator';
import { Pool } from 'pg';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { createLog } from '../../src/core/log.ts';
import { createGuardedFetch } from '../../src/core/network/guarded-fetch.ts';
import { createKeyring } from '../../src/core/secrets/keyring.ts';
import type { Settings } from '../../src/core/settings.ts';
import { createAccountLimits } from '../../src/core/work/account-limits.ts';
import { createTrackedWork } from '../../src/core/work/tracked-work.ts';
import { type DatabaseAddress, openDb, openKnex } from '../../src/db/connect.ts';
import { startEmbedded } from '../../src/db/embedded/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { profile } from '../setup/account-profile.ts';
import { startCleanupWatcher } from '../setup/cleanup-watcher.ts';
import { listenLocally } from '../setup/sockets.ts';
import { writeAccountData } from './account-data.ts';
import { type Books, openBooks } from './books.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { writeCustomValues } from './custom-fields.ts';
import { type Control, openControl } from './faults/control.ts';
import { copyGenericRecords } from './generic-records.ts';
import { type OtherErp, startOtherErp } from './other-erp.ts';
import { openWire, type Wire } from './wire.ts';

export type Fixture = {
  readonly cluster: Cluster;
  /** Its database. */
  readonly database: string;
  readonly address: DatabaseAddress;
  readonly ctx: Ctx;
  readonly key: string;
  readonly app: Express;
  /** Where the service's interfaces are. */
  readonly url: string;
  readonly account: NetsuiteAccount;
  readonly control: Control;
  readonly books: Books;
  readonly wire: Wire;
  /** An ERP of another kind, for a second connection. */
  readonly other: OtherErp;
  readonly logLevel: string;
  /** The mutant that the worker processes run with, by name; see `mutants/`. */
  readonly mutant?: string;
  close(): Promise<void>;
};
type Server = { host: string; port: number; user: string; database: string };
export type FixtureOptions = {
  /** The cluster of the account's database; by default a fast one of its own. */
  readonly accountServer?: Server;
  readonly logLevel?: string;
};

/** Short times; the pages, the overlap and the settling are the plan's and the service's own. */
function shortSettings(erpHost: string): Settings {
  const { settings } = readConfig({
    RATE_LIMIT_PER_MINUTE: '1000000',
    ALLOW_PRIVATE_ERP_HOSTS: 'true',
    ALLOWED_ERP_HOSTS: erpHost,
  });
  return {
    ...settings,
    cacheTtlMs: 20,
    erp: { ...settings.erp, requestTimeoutMs: 1_000 },
    sync: { ...settings.sync, leaseMs: 1_500, renewMs: 300, retryBaseMs: 10, retryMaxMs: 60, dropAfterMs: 0 },
  };
}

type Closing = (() => Promise<unknown>)[];

async function startAccountServer(folder: string, closing: Closing): Promise<Server> {
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    shared_buffers: '64MB',
  };
  const server = await startEmbedded(path.join(folder, 'account'), { settings });
  closing.push(server.stop);
  return server.connection;
}

async function openAccount(folder: string, server: Server, closing: Closing) {
  const data = path.join(folder, 'books');
  await mkdir(data);
  await writeAccountData(data, { large: true });
  const database = `chaos_${randomBytes(6).toString('hex')}`;
  closing.push(async () => {
    const admin = openKnex(server, null, 1);
    await admin.raw(`drop database if exists ${database} with (force)`);
    await admin.destroy();
  });
  const account = await startNetsuiteAccount({
    admin: server,
    database,
    dataFolder: data,
    accountId: 'TSTDRV7654321',
    control: {},
    ...(profile !== undefined && { profile }),
  });
  closing.push(account.stop);
  const pool = new Pool({ ...server, database, max: 4 });
  pool.on('error', () => undefined);
  closing.push(() => pool.end());
  const control = openControl(account);
  if (profile !== undefined) await copyGenericRecords(pool);
  await writeCustomValues(pool);
  return { account, control, books: await openBooks(account, pool, control) };
}

const database = 'portal';

async function openServiceDatabase(cluster: Cluster): Promise<DatabaseAddress> {
  const admin = openKnex(cluster.connection, null, 1);
  await admin.raw(`create database ${database}`);
  await admin.destroy();
  const address = { ...cluster.connection, database };
  await migrate(address);
  return address;
}

async function serve(app: Express, closing: Closing): Promise<string> {
  const server = createServer({ keepAliveTimeout: 0 }, app);
  const port = await listenLocally(server);
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${port}`;
}

async function build(
  folder: string,
  options: FixtureOptions,
  closing: Closing,
): Promise<Omit<Fixture, 'close'>> {
  const { account, control, books } = await openAccount(
    folder,
    options.accountServer ?? (await startAccountServer(folder, closing)),
    closing,
  );
  const cluster = await startCluster(path.join(folder, 'service'));
  closing.push(cluster.stop);
  const address = await openServiceDatabase(cluster);
  const wire = await openWire(account.url);
  closing.push(wire.close);
  const other = await startOtherErp();
  closing.push(other.stop);
  const settings = shortSettings(`${wire.host},${other.host}`);
  const db = openDb(address, address, { control: 8, data: 8 }, settings.readTimeoutMs);
  closing.push(db.close);
  const key = randomBytes(32);
  const logLevel = options.logLevel ?? 'silent';
  const ctx: Ctx = {
    db,
    settings,
    clock: systemClock,
    log: createLog(logLevel),
    fetch: createGuardedFetch({ allowPrivateHosts: true }),
    keyring: createKeyring([{ id: 'chaos', bytes: key }]),
    work: createTrackedWork(),
    erpLimits: createAccountLimits(),
  };
  const app = createApp(ctx);
  return {
    cluster,
    database,
    address,
    ctx,
    key: key.toString('base64'),
    app,
    url: await serve(app, closing),
    account,
    control,
    books,
    wire,
    other,
    logLevel,
  };
}

export async function openFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-chaos-'));
  const tidied = startCleanupWatcher(folder);
  const closing: Closing = [async () => tidied(), () => rm(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    return { ...(await build(folder, options, closing)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

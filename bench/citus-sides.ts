// The two sides of the benchmark of Citus: one PostgreSQL alone, and a coordinator with two workers. All
// servers have the same settings, and their data on the same disk.
import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Pool } from 'pg';
import { readConfig } from '../src/config.ts';
import type { Ctx } from '../src/core/ctx.ts';
import { openDatabase } from '../src/open-database.ts';
import { openCtx } from '../src/service.ts';
import { type Cluster, startCluster } from '../test/scale/citus/harness/cluster.ts';
import { startPair } from '../test/scale/harness/servers.ts';
import { startCleanupWatcher } from '../test/setup/cleanup-watcher.ts';
import { databaseUrl } from '../test/setup/database-url.ts';

const database = 'portal';
/** Those of the kit that starts the cluster. */
const settings = { shared_buffers: '128MB', autovacuum: 'on', max_connections: '300', max_wal_size: '1GB' };

/** DATABASE_URL and what else the service needs to reach its servers. */
export type Addresses = Readonly<Record<'DATABASE_URL' | 'MIGRATION_DATABASE_URL', string>> & {
  readonly WAREHOUSE_URL?: string;
};
/** Something that runs statements as the superuser. */
type Server = { query<Row extends object>(sql: string): Promise<Row[]> };
export type Side = {
  readonly addresses: Addresses;
  /** As the superuser, in the database of the service. */
  readonly admin: Pool;
  readonly servers: readonly Server[];
  stop(): Promise<void>;
};
export type CitusSide = Side & { readonly cluster: Cluster };

/** A folder that the user who runs PostgreSQL can enter. */
async function createFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-bench-servers-'));
  await chmod(folder, 0o755);
  return folder;
}

function openAdmin(url: string): Pool {
  const admin = new Pool({ connectionString: url });
  // The servers stop before it is closed when a measurement fails.
  admin.on('error', () => undefined);
  return admin;
}

export async function startPlain(): Promise<Side> {
  const folder = await createFolder();
  const stopWatcher = startCleanupWatcher(folder);
  const servers = await startPair(folder, { standbys: 0, settings });
  const { primary } = servers;
  await primary.query(`create database ${database}`);
  const owner = databaseUrl({ ...primary.connection, database });
  const admin = openAdmin(owner);
  return {
    addresses: {
      DATABASE_URL: databaseUrl({ ...primary.connection, database, user: 'portal_login' }),
      MIGRATION_DATABASE_URL: owner,
    },
    admin,
    servers: [primary],
    stop: async () => {
      await admin.end();
      await servers.stop();
      stopWatcher();
    },
  };
}

export async function startCitus(workers = 2): Promise<CitusSide> {
  const cluster = await startCluster({ workers, folder: await createFolder() });
  const admin = openAdmin(cluster.databaseUrl);
  return {
    cluster,
    addresses: {
      DATABASE_URL: cluster.url(cluster.coordinator, { user: 'portal_login', password: 'trusted' }),
      MIGRATION_DATABASE_URL: cluster.databaseUrl,
    },
    admin,
    servers: [cluster.coordinator, ...cluster.workers],
    stop: async () => {
      await admin.end();
      await cluster.stop();
    },
  };
}

/** With WAREHOUSE_URL at the first worker. */
export const throughWorker = ({ addresses, cluster }: CitusSide): Addresses => {
  const [worker] = cluster.workers;
  if (worker === undefined) throw new Error('The cluster has no worker');
  return { ...addresses, WAREHOUSE_URL: cluster.url(worker, { user: 'portal_login', password: 'trusted' }) };
};

/** Opens the service's resources in this process; its data folder is `folder`. */
export async function openBenchCtx(
  folder: string,
  addresses: Addresses,
): Promise<{ ctx: Ctx; close(): Promise<void> }> {
  await mkdir(folder, { recursive: true });
  const config = readConfig({ DATA_DIR: folder, LOG_LEVEL: 'warn', ...addresses });
  return openCtx(config, await openDatabase(config));
}

/** The process id of the postmaster of each server. */
export const listPostmasters = ({ servers }: Side): Promise<number[]> =>
  Promise.all(
    servers.map(async (server) => {
      const [row] = await server.query<{ pid: number }>(
        "select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid",
      );
      return row?.pid ?? Number.NaN;
    }),
  );

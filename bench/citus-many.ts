// What many small organizations cost a coordinator: its catalogue, the time that creating one more takes,
// start-up, the hourly maintenance, the memory of connections, and adding a node, which copies the catalogue.
import type { Pool } from 'pg';
import { maintainAllIndexes } from '../src/platform/api-schemas/maintain-indexes.ts';
import { pruneTombstones } from '../src/sync/index.ts';
import type { Connection } from '../test/scale/harness/server.ts';
import { type Addresses, type CitusSide, openBenchCtx, type Side } from './citus-sides.ts';
import { startService } from './reads-servers.ts';
import { aroundReads, createOrganizations, privateMegabytes, timed } from './scaling-measure.ts';

/** Sizes in MB, times in ms; memory in MB per connection. */
export type Many = {
  /** Of one organization: the first and the last twenty. */
  readonly firstMs: readonly number[];
  readonly lastMs: readonly number[];
  /** Of all tables of the system's schemas, those of Citus included, and the number of relations. */
  readonly catalog: Size;
  readonly tombstonesMs: number;
  readonly indexesMs: number;
  readonly startMs: number;
  readonly memory: { readonly before: Memory; readonly after: Memory };
};
/** On the server that the service connects to, and on all workers. */
export type Memory = { readonly own: number; readonly workers: number };
type Size = { readonly megabytes: number; readonly relations: number };
export type ManyOnCitus = Many & { readonly workerCatalog: Size; readonly resyncMs: number };

const edge = 20;
const nothing: Size = { megabytes: Number.NaN, relations: Number.NaN };
const catalogSql = `select count(*)::int as relations,
    (select sum(pg_total_relation_size(oid)) from pg_class where relnamespace = 'pg_catalog'::regnamespace and relkind = 'r') / 2 ^ 20 as megabytes
  from pg_class`;

async function measureMemory(
  side: Side,
  addresses: Addresses,
  organizations: Parameters<typeof aroundReads>[1],
): Promise<Many['memory']> {
  const isCitus = side.servers.length > 1;
  return aroundReads(addresses.DATABASE_URL, organizations, async (client): Promise<Memory> => {
    const { rows } = await client.query<{ pid: number; id: string }>(
      `select pg_backend_pid() as pid, ${isCitus ? 'citus_backend_gpid()' : '0'}::text as id`,
    );
    const remote = await Promise.all(
      side.servers.slice(1).map(async (worker) => {
        const found = await worker.query<{ pid: number }>(
          `select pid from pg_stat_activity where application_name = 'citus_internal gpid=${rows[0]?.id}'`,
        );
        return (await Promise.all(found.map(({ pid }) => privateMegabytes(pid)))).reduce(
          (sum, each) => sum + each,
          0,
        );
      }),
    );
    return {
      own: await privateMegabytes(rows[0]?.pid),
      workers: remote.reduce((sum, each) => sum + each, 0),
    };
  });
}

export async function measureMany(folder: string, side: Side, count: number): Promise<Many> {
  const { ctx, close } = await openBenchCtx(folder, side.addresses);
  try {
    const tookMs: number[] = [];
    const organizations = await createOrganizations(ctx, count, (ms) => {
      tookMs.push(ms);
      if (tookMs.length % 50 === 0)
        console.log(`many: ${tookMs.length} of ${count}, the last in ${Math.round(ms)} ms`);
    });
    const never = new AbortController().signal;
    const tombstones = await timed(() => pruneTombstones(ctx, never));
    const indexes = await timed(() => maintainAllIndexes(ctx, never));
    const memory = await measureMemory(side, side.addresses, organizations);
    const [catalog = nothing] = (await side.admin.query<Size>(catalogSql)).rows;
    const service = await startService(folder, { environment: { ...side.addresses } });
    await service.stop();
    return {
      firstMs: tookMs.slice(0, edge),
      lastMs: tookMs.slice(-edge),
      catalog,
      tombstonesMs: tombstones.ms,
      indexesMs: indexes.ms,
      startMs: service.startedMs,
      memory,
    };
  } finally {
    await close();
  }
}

/** As `prepare-citus` does for a new worker. */
async function giveCatalogue(admin: Pool, { host, port }: Connection): Promise<void> {
  const client = await admin.connect();
  await client.query("set citus.metadata_sync_mode = 'nontransactional'");
  await client.query('select stop_metadata_sync_to_node($1, $2)', [host, port]);
  await client.query('select start_metadata_sync_to_node($1, $2)', [host, port]);
  client.release(true);
}

/** As `measureMany`, and what a worker holds and how long it takes to give it the catalogue again. */
export async function measureManyOnCitus(
  folder: string,
  side: CitusSide,
  count: number,
): Promise<ManyOnCitus> {
  const many = await measureMany(folder, side, count);
  const [worker] = side.cluster.workers;
  if (worker === undefined) throw new Error('The cluster has no worker');
  const [workerCatalog = nothing] = await worker.query<Size>(catalogSql);
  const resync = await timed(() => giveCatalogue(side.admin, worker.connection));
  return { ...many, workerCatalog, resyncMs: resync.ms };
}

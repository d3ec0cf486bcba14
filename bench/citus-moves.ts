// What clients notice while organizations move between nodes, while the cluster is rebalanced, and while a
// worker is down. A sync changes the organization that moves, run after run.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ctx } from '../src/core/ctx.ts';
import { isFinal } from '../src/sync/queue/run-state.ts';
import { claimRun } from '../src/sync/queue/runs.store.ts';
import { workOnRun } from '../src/sync/run/worker.ts';
import { isAnswered, type Read, startReaders } from './citus-readers.ts';
import type { CitusSide } from './citus-sides.ts';
import { changingConnector, type LoadedOrganization } from './citus-writes.ts';
import { startService } from './reads-servers.ts';

export type Watched = {
  readonly ms: number;
  readonly reads: number;
  readonly failed: number;
  readonly slowestMs: number;
  /** Runs that ended meanwhile, and those of them that did not succeed. */
  readonly runs: number;
  readonly failedRuns: number;
};
export type Outage = {
  /** Of the organizations on the other worker. */
  readonly others: Pick<Watched, 'reads' | 'failed' | 'slowestMs'>;
  /** Of those on the killed one: answers other than 503, and the slowest 503. */
  readonly own: { readonly reads: number; readonly refused: number; readonly slowestMs: number };
  /**
   * From the moment at which the worker took connections until the first answer for one of its organizations.
   */
  readonly backAfterMs: number;
};
export type Moved = {
  readonly moves: readonly Watched[];
  readonly rebalance: Watched & { readonly schemas: number };
  readonly outage: Outage;
  readonly wrong: readonly string[];
};

const moves = 3;
const outageMs = 10_000;
const settleMs = 2_000;

type Placement = { readonly schema: string; readonly port: number };

/** On which node, by its port, each organization's schema is. */
async function readPlacements({ admin }: CitusSide): Promise<Placement[]> {
  const { rows } = await admin.query<Placement>(
    `select 'wh_' || replace(p.organization_id::text, '-', '') as schema, n.nodeport as port
     from warehouse_placements() p join pg_dist_node n on n.nodeid = p.node`,
  );
  return rows;
}

async function readPort(side: CitusSide, schema: string): Promise<number> {
  return (await readPlacements(side)).find((placement) => placement.schema === schema)?.port ?? Number.NaN;
}

/**
 * Changes the organization, run after run, until `stop`, which resolves with the states in which the runs
 * ended.
 */
function startSyncing(ctx: Ctx, { syncs, records }: LoadedOrganization, nextVersion: () => number) {
  const ended: string[] = [];
  let isStopped = false;
  const syncOnce = async (): Promise<void> => {
    const version = nextVersion();
    const connector = changingConnector(records, () => version);
    const id = await syncs.queueRun('incremental');
    for (;;) {
      const { status } = await syncs.getRun(id);
      if (isFinal(status)) {
        ended.push(status);
        return;
      }
      const lease = await claimRun(ctx, 'bench', ctx.settings.sync.leaseMs);
      if (lease !== undefined)
        await workOnRun(ctx, lease, new AbortController().signal, async () => connector);
      else await sleep(100);
    }
  };
  const running = (async () => {
    while (!isStopped) await syncOnce();
  })();
  // A failure is reported by stop().
  running.catch(() => undefined);
  return {
    stop: async (): Promise<readonly string[]> => {
      isStopped = true;
      await running;
      return ended;
    },
  };
}

const summarize = (reads: readonly Read[]) => ({
  reads: reads.length,
  failed: reads.filter((read) => !isAnswered(read)).length,
  slowestMs: Math.max(0, ...reads.map(({ ms }) => ms)),
});

type Site = {
  readonly side: CitusSide;
  readonly ctx: Ctx;
  readonly organizations: readonly LoadedOrganization[];
  readonly reads: readonly Read[];
  nextVersion(): number;
};

/**
 * Does `work` while the organization syncs, and says what the reads of all organizations showed meanwhile.
 */
async function watch(
  site: Site,
  syncing: LoadedOrganization,
  work: () => Promise<unknown>,
): Promise<Watched> {
  const runs = startSyncing(site.ctx, syncing, site.nextVersion);
  const startMs = performance.now();
  await work().catch(async (error: unknown) => {
    await runs.stop();
    throw error;
  });
  const ms = performance.now() - startMs;
  const ended = await runs.stop();
  const during = site.reads.filter(({ atMs }) => atMs >= startMs);
  return {
    ms,
    ...summarize(during),
    runs: ended.length,
    failedRuns: ended.filter((status) => status !== 'succeeded').length,
  };
}

/** Moves organizations of the second worker to the first one. */
async function measureMoves(site: Site): Promise<Watched[]> {
  const [target] = site.side.cluster.workers;
  if (target === undefined) throw new Error('The cluster has no workers');
  const { host, port } = target.connection;
  const watched: Watched[] = [];
  for (let move = 0; move < moves; move += 1) {
    const placements = await readPlacements(site.side);
    const organization = site.organizations.find(({ schema }) =>
      placements.some((at) => at.schema === schema && at.port !== port),
    );
    if (organization === undefined) throw new Error('There is nothing to move');
    const { schema } = organization;
    watched.push(
      await watch(site, organization, () =>
        site.side.admin.query('select citus_schema_move($1::regnamespace, $2::text, $3::int)', [
          schema,
          host,
          port,
        ]),
      ),
    );
    if ((await readPort(site.side, schema)) !== port) throw new Error(`${schema} was not moved`);
  }
  return watched;
}

async function measureRebalance(site: Site): Promise<Moved['rebalance']> {
  const [first] = site.organizations;
  if (first === undefined) throw new Error('There is no organization');
  const placedAt = async () =>
    new Map((await readPlacements(site.side)).map(({ schema, port }) => [schema, port]));
  const before = await placedAt();
  const watched = await watch(site, first, async () => {
    await site.side.admin.query('select citus_rebalance_start()');
    await site.side.admin.query('select citus_rebalance_wait()');
  });
  const after = await placedAt();
  return { ...watched, schemas: [...after].filter(([schema, port]) => before.get(schema) !== port).length };
}

/** Kills the second worker for ten seconds. */
async function measureOutage({ side, reads }: Site): Promise<Outage> {
  const victim = side.cluster.workers[1];
  if (victim === undefined) throw new Error('The cluster has one worker only');
  const lost = new Set(
    (await readPlacements(side))
      .filter(({ port }) => port === victim.connection.port)
      .map(({ schema }) => schema),
  );
  const startMs = performance.now();
  await side.cluster.kill(victim.name);
  const downMs = performance.now();
  await sleep(outageMs);
  const endMs = performance.now();
  await side.cluster.start(victim.name);
  const startedMs = performance.now();
  const firstBack = () =>
    reads.find((read) => read.atMs > endMs && lost.has(read.schema) && isAnswered(read));
  while (firstBack() === undefined) await sleep(10);
  const back = firstBack();
  await sleep(settleMs);
  // What was sent before the kill had ended may have been answered.
  const own = reads.filter(({ schema, atMs, ms }) => lost.has(schema) && atMs > downMs && atMs + ms < endMs);
  return {
    others: summarize(reads.filter(({ schema, atMs }) => !lost.has(schema) && atMs >= startMs)),
    own: {
      reads: own.length,
      refused: own.filter(({ status }) => status === 503).length,
      slowestMs: summarize(own).slowestMs,
    },
    backAfterMs: back === undefined ? Number.NaN : Math.max(0, back.atMs + back.ms - startedMs),
  };
}

/** Reads all organizations throughout. */
export async function measureMovesAndOutage(
  folder: string,
  ctx: Ctx,
  side: CitusSide,
  organizations: readonly LoadedOrganization[],
): Promise<Moved> {
  const service = await startService(folder, {
    environment: { ...side.addresses, BODY_CACHE_MB: '0', SYNC_WORKERS: '0' },
  });
  const readers = startReaders(service.url, organizations);
  let version = 1;
  const nextVersion = (): number => {
    version += 1;
    return version;
  };
  const site: Site = { side, ctx, organizations, reads: readers.reads, nextVersion };
  try {
    await sleep(settleMs);
    const measured = {
      moves: await measureMoves(site),
      rebalance: await measureRebalance(site),
      outage: await measureOutage(site),
    };
    return { ...measured, wrong: readers.wrong };
  } finally {
    await readers.stop();
    await service.stop();
  }
}

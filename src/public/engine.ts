// Everything about reads that one process shares: caches, queues and prepared statements of one connection pool, so that the limits on
// memory and concurrency hold for all readers together.
import type { Ctx } from '../core/ctx.ts';
import { createHitCounter, type HitCounter } from '../core/hit-counter.ts';
import { createReadQueue } from './admission.ts';
import { createAnchorCache } from './anchors.ts';
import { createExportState, type ExportState } from './export.ts';
import { createFairQueue, type FairQueue } from './fair-queue.ts';
import { scanLimitWithoutTotal } from './ranges.ts';
import type { Reader } from './read.ts';
import { createStatementRunner } from './statements.ts';
import { createTotalCache } from './totals.ts';
import { createTtlCache, type TtlCache } from './ttl-cache.ts';
import { type ContentCache, createContentCache, type VersionState } from './versions.store.ts';

export type Engine = {
  readonly exports: ExportState;
  /** Queue for reads of saved queries, which no version declares and no index may serve. */
  readonly savedQueries: FairQueue;
  /** Queue for lists, records and changes. */
  readonly reads: FairQueue;
  readonly readerOf: (organizationId: string) => Reader;
  /** By `<organization id>/<version>`. */
  readonly versions: TtlCache<VersionState | undefined>;
  readonly content: ContentCache;
  readonly cacheCounters: CacheCounters;
};

/** The caches whose hits are counted. */
const cacheNames = [
  'keys',
  'versions',
  'schemas',
  'descriptions',
  'generations',
  'queries',
  'statements',
  'totals',
  'anchors',
  'bodies',
] as const;
type CacheCounters = Readonly<Record<(typeof cacheNames)[number], HitCounter>>;

const engines = new WeakMap<Ctx['db'], Engine>();

/** Creates an engine and registers it as the engine of these connections. */
export function createEngine(ctx: Ctx): Engine {
  const { clock, settings } = ctx;
  const { cacheBytes, cacheTtlMs } = settings;
  const readQueue = createReadQueue(ctx);
  const cacheCounters = Object.fromEntries(cacheNames.map((name) => [name, createHitCounter()])) as CacheCounters;
  const shared: Omit<Reader, 'organizationId'> = {
    db: ctx.db,
    clock,
    log: ctx.log,
    states: createTtlCache(clock, cacheTtlMs, cacheBytes.lookups, cacheCounters.generations),
    totals: createTotalCache(cacheBytes.totals, cacheCounters.totals),
    anchors: createAnchorCache(cacheBytes.anchors, settings.anchorEvery, cacheCounters.anchors),
    scanLimit: scanLimitWithoutTotal(settings),
    queue: readQueue,
    statements: createStatementRunner(ctx.db.data, readQueue, cacheBytes.statements, undefined, cacheCounters.statements),
  };
  // The other half of the connections stays with the public interface, however many saved queries run.
  const half = Math.max(1, Math.floor(ctx.db.data.options.max / 2));
  const engine: Engine = {
    exports: createExportState(ctx, readQueue),
    savedQueries: createFairQueue({ maxRunning: half, maxWaiting: 8 * half, maxWaitMs: settings.readTimeoutMs }, 'reads of saved queries'),
    readerOf: (organizationId) => ({ ...shared, organizationId }),
    versions: createTtlCache(clock, cacheTtlMs, cacheBytes.lookups, cacheCounters.versions),
    content: createContentCache(cacheBytes.versions, { schemas: cacheCounters.schemas, texts: cacheCounters.descriptions }),
    reads: readQueue,
    cacheCounters,
  };
  engines.set(ctx.db, engine);
  return engine;
}

/** The engine of these connections; created on first use. */
export const engineOf = (ctx: Ctx): Engine => engines.get(ctx.db) ?? createEngine(ctx);

/** Rejects all waiting exports and saved-query reads with 503, for shutdown. */
export function closeQueues(ctx: Pick<Ctx, 'db'>): void {
  const engine = engines.get(ctx.db);
  engine?.exports.queue.close();
  engine?.savedQueries.close();
}

type QueueStats = { readonly running: number; readonly waiting: number };
export type PublicMetrics = {
  readonly caches: Readonly<Record<string, Readonly<HitCounter>>>;
  readonly queues: Readonly<Record<string, QueueStats>>;
};

/** Hits and misses of each cache, and the current length of each queue. */
export function publicMetrics(ctx: Ctx): PublicMetrics {
  const { cacheCounters, exports, savedQueries, reads } = engineOf(ctx);
  return { caches: cacheCounters, queues: { reads: reads.stats(), exports: exports.queue.stats(), free_reads: savedQueries.stats() } };
}

// Everything about reads that one process shares: caches, queues and prepared statements of its connection
// pools, so that the limits on memory and concurrency hold for all readers together. Opened once, where the
// process is composed, and handed to every reader.

import type { Ctx, ReadEngine, ReadingCtx, TenantCtx } from '../core/ctx.ts';
import { createCache } from '../core/work/cache.ts';
import { createHitCounter, type HitCounter } from '../core/work/hit-counter.ts';
import type { Semaphore } from '../core/work/semaphore.ts';
import { chooseWarehouse } from '../db/former-warehouse.ts';
import { updateTenantSchema } from '../warehouse/tenant-schema.ts';
import { readColumnFacts } from './draft/column-facts.ts';
import { acquireExport, createExportState } from './export/export-state.ts';
import {
  createLargeReadQueues,
  createReadQueue,
  createReplicaQueue,
  createSavedQueryQueue,
} from './load/admission.ts';
import { createNodeFinder } from './load/placements.ts';
import { createAnchorCache } from './read/connection/anchors.ts';
import { beingUpgraded } from './read/connection/failures.ts';
import { createLargeReads } from './read/connection/large-reads.ts';
import { isEarlierData, type Reader } from './read/connection/reader.ts';
import { createReplicaReads, type ReplicaReads } from './read/connection/replica-servers.ts';
import { createStatementRunner } from './read/connection/statements.ts';
import { createTotalCache } from './read/connection/totals.ts';
import { scanLimitWithoutTotal } from './read/plan/ranges.ts';
import { createRecordReader, type RecordReader, type RecordSources } from './records/records.ts';
import { createVersionReader, type VersionReader, type VersionSources } from './records/version-records.ts';
import { createRecordTools, type RecordTools, type ToolSources } from './tools/record-tools.ts';
import { createSummaryBases } from './version/available.ts';
import { createContentCache } from './version/content-cache.ts';
import { createLivingMasks, type LivingMasks } from './version/living-masks.ts';
import { createOutageTrust, type OutageTrust } from './version/outage-trust.ts';

declare module '../core/ctx.ts' {
  interface ReadEngine extends RecordSources, ToolSources, VersionSources {
    readonly records: RecordReader;
    /** Reads the primary alone. */
    readonly newestRecords: RecordReader;
    readonly tools: RecordTools;
    readonly versionRecords: VersionReader;
    readonly cacheCounters: CacheCounters;
    readonly replicas: ReplicaReads | undefined;
    readonly outageTrust: OutageTrust;
  }
}

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
/** Upgrades an organization's tables that an older version of this service made; one attempt at a time. */
function createSchemaUpdates({ db }: Pick<Ctx, 'db'>): Reader['updateSchema'] {
  const running = new Map<string, Promise<void>>();
  return (organizationId) => {
    const joined = running.get(organizationId);
    if (joined !== undefined) return joined;
    const updating = updateTenantSchema({ db }, organizationId)
      .catch((error: unknown) => {
        throw beingUpgraded(error);
      })
      .finally(() => running.delete(organizationId));
    running.set(organizationId, updating);
    return updating;
  };
}

type CacheCounters = Readonly<Record<(typeof cacheNames)[number], HitCounter>>;

type SharedReader = Omit<Reader, 'organizationId'>;

/**
 * The reader of an organization, on the server that has its records. `formerStatements` runs statements on
 * the former server.
 */
function readerAt(
  shared: SharedReader,
  formerStatements: Reader['statements'] | undefined,
  organizationId: string,
): Reader {
  const db = chooseWarehouse(shared.db, organizationId);
  if (db === shared.db || formerStatements === undefined) return { ...shared, organizationId };
  return { ...shared, organizationId, db, statements: formerStatements, replicas: undefined };
}

type EngineCtx = Pick<Ctx, 'db' | 'clock' | 'log' | 'settings'>;

const lookupCache = ({ clock, settings: { cacheBytes, cacheTtlMs } }: EngineCtx) => ({
  maxBytes: cacheBytes.lookups,
  ttl: { clock, ms: cacheTtlMs },
});

function createSharedReader(ctx: EngineCtx, reads: Semaphore, counters: CacheCounters): SharedReader {
  const { clock, settings } = ctx;
  const { cacheBytes } = settings;
  const { largeReads, largeStatements } = createLargeReadQueues(settings);
  const { statements: maxBytes, lookups } = cacheBytes;
  const statements = createStatementRunner(ctx.db.data, reads, maxBytes, undefined, counters.statements);
  const replicas = createReplicaReads(ctx.db.replicas, statements, () => createReplicaQueue(ctx), lookups);
  return {
    db: ctx.db,
    clock,
    log: ctx.log,
    states: createCache({ ...lookupCache(ctx), counter: counters.generations, isEarlier: isEarlierData }),
    totals: createTotalCache(cacheBytes.totals, counters.totals),
    anchors: createAnchorCache(cacheBytes.anchors, settings.anchorEvery, counters.anchors),
    scanLimit: scanLimitWithoutTotal(settings),
    queue: reads,
    maxAnswerBytes: settings.maxAnswerBytes,
    largeReads: createLargeReads(clock, largeReads),
    largeStatements,
    timeoutMs: settings.readTimeoutMs,
    updateSchema: createSchemaUpdates(ctx),
    statements,
    replicas,
  };
}

export function createReadEngine(ctx: EngineCtx): ReadEngine {
  const { cacheBytes } = ctx.settings;
  const reads = createReadQueue(ctx, createNodeFinder(ctx));
  const cacheCounters = Object.fromEntries(
    cacheNames.map((name) => [name, createHitCounter()]),
  ) as CacheCounters;
  const outageTrust = createOutageTrust(ctx);
  const shared = createSharedReader(ctx, reads, cacheCounters);
  const { replicas } = shared;
  const { former } = ctx.db;
  const formerStatements = former && shared.statements.on(former.data, reads);
  const sources: RecordSources & ToolSources & VersionSources = {
    exports: createExportState(ctx, [reads, ...(replicas?.servers ?? []).map(({ queue }) => queue)]),
    savedQueries: createSavedQueryQueue(ctx),
    findLivingMasks: createLivingMasks(lookupCache(ctx)),
    findSummaryBasis: createSummaryBases(lookupCache(ctx)),
    getReader: (organizationId) => readerAt(shared, formerStatements, organizationId),
    versions: createCache({
      maxBytes: cacheBytes.lookups,
      ttl: { clock: ctx.clock, ms: outageTrust.freshMs },
      counter: cacheCounters.versions,
    }),
    content: createContentCache(cacheBytes.versions, {
      schemas: cacheCounters.schemas,
      texts: cacheCounters.descriptions,
    }),
  };
  return {
    ...sources,
    reads,
    records: createRecordReader(sources),
    newestRecords: createRecordReader({
      ...sources,
      getReader: (organizationId) => ({ ...shared, organizationId, replicas: undefined }),
    }),
    tools: createRecordTools(sources),
    versionRecords: createVersionReader(sources),
    cacheCounters,
    replicas,
    outageTrust,
  };
}

type Reading = Pick<ReadingCtx, 'reads'>;

/**
 * Reads of records for callers inside the service. With read replicas, what they return may have been
 * replaced within the last second.
 */
export const getRecordReader = (ctx: Reading): RecordReader => ctx.reads.records;

/** As `getRecordReader`, never older than what was published before the call. */
export const getNewestRecordReader = (ctx: Reading): RecordReader => ctx.reads.newestRecords;

/**
 * The fields that any published or deprecated version masks, for readers without `unmasked:read`. At most a
 * second old. Rejects with database errors.
 */
export const findLivingMasks = (ctx: Reading & TenantCtx): Promise<LivingMasks> =>
  ctx.reads.findLivingMasks(ctx);

/** A permit of the queue of all exports. Rejects as `acquireExport` does. */
export const acquireExportSlot = (ctx: Reading & Pick<TenantCtx, 'organizationId'>, signal: AbortSignal) =>
  acquireExport(ctx.reads.exports, ctx.organizationId, signal);

/** What a sample of the records of a type says about its columns. Rejects as `readColumnFacts` does. */
export const readRecordTypeFacts = (
  ctx: Reading & TenantCtx,
  recordType: string,
  columns: Parameters<typeof readColumnFacts>[3],
): ReturnType<typeof readColumnFacts> => readColumnFacts(ctx.reads, ctx, recordType, columns);

/** The published versions as tools for language models. */
export const getRecordTools = (ctx: Reading): RecordTools => ctx.reads.tools;

/** Reads of the records of published versions for people. */
export const getVersionReader = (ctx: Reading): VersionReader => ctx.reads.versionRecords;

/** Rejects all waiting exports and saved-query reads with 503, for shutdown. */
export function closeQueues(ctx: Reading): void {
  const { exports, savedQueries } = ctx.reads;
  exports.queue.close();
  savedQueries.close();
}

type QueueStats = { readonly running: number; readonly waiting: number };
export type ReplicaStats = {
  readonly isInUse: boolean;
  /** Undefined while it is left out. */
  readonly lagSeconds: number | undefined;
  /** Reads that the primary answered instead, by reason. */
  readonly fallbacks: Readonly<Record<string, number>>;
};
export type PublicMetrics = {
  readonly caches: Readonly<Record<string, Readonly<HitCounter>>>;
  readonly queues: Readonly<Record<string, QueueStats>>;
  /** Reads of records by the server that answered: `primary` or a replica's number. Empty without any. */
  readonly reads: Readonly<Record<string, number>>;
  /** By number. */
  readonly replicas: Readonly<Record<string, ReplicaStats>>;
};

/** Hits and misses of each cache, the current length of each queue, and which server answers reads. */
export function publicMetrics(ctx: Reading): PublicMetrics {
  const { cacheCounters, exports, savedQueries, reads, replicas } = ctx.reads;
  const servers = replicas?.servers ?? [];
  const readQueues = [reads, ...servers.map(({ queue }) => queue)].map((queue) => queue.stats());
  const sum = (part: keyof QueueStats): number => readQueues.reduce((total, stats) => total + stats[part], 0);
  return {
    caches: cacheCounters,
    queues: {
      reads: { running: sum('running'), waiting: sum('waiting') },
      exports: exports.queue.stats(),
      free_reads: savedQueries.stats(),
    },
    reads: {
      ...(replicas !== undefined && { primary: replicas.answeredByPrimary }),
      ...Object.fromEntries(servers.map(({ replica, counts }) => [replica.name, counts.answered])),
    },
    replicas: Object.fromEntries(
      servers.map(({ replica, counts: { answered: _, ...fallbacks } }) => [
        replica.name,
        { isInUse: replica.isInUse(), lagSeconds: replica.lagSeconds(), fallbacks },
      ]),
    ),
  };
}

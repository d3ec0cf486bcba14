// Limits how much of this process the public interface may use at once. The limits are not per client: a
// request gets 503 with Retry-After only while the process, or its organization's half of it, is full. Queues
// are bounded in length and in time, one organization cannot fill them, and everything else in the process
// has database connections of its own.
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ctx } from '../../core/ctx.ts';
import { type AppError, unavailable } from '../../core/errors.ts';
import { anyOwner, type Release, Semaphore, type SemaphoreLimits } from '../../core/work/semaphore.ts';
import { createFairQueue, halve } from './fair-queue.ts';
import type { NodeOf } from './placements.ts';

const retryAfterSeconds = 1;

/**
 * Some wait for this process while the others run: with fewer, processors are idle. More don't raise throughput by much;
 * they delay other users of the database.
 */
const readsPerProcessor = 3;

/**
 * Queue for reads of lists, records and changes on the data pool. Part of that pool stays free for syncs and
 * management. The embedded server runs on this machine's processors, so its limit follows their number; the
 * size of an external server is unknown.
 */
export function createReadQueue(ctx: Pick<Ctx, 'db' | 'settings'>, findNode: NodeOf): Semaphore {
  const { maxConnections, isEmbedded } = ctx.db;
  const all = maxConnections.data;
  const useful = isEmbedded ? readsPerProcessor * availableParallelism() + 1 : all;
  const maxRunning = Math.max(1, Math.min(useful, all - Math.max(1, Math.floor(all / 4))));
  // Reads from a node that no longer responds keep their connections until they time out. A quarter stays
  // free for other nodes.
  const maxRunningPerNode = Math.max(1, maxRunning - Math.max(1, Math.floor(maxRunning / 4)));
  return createLoadQueue(ctx, maxRunning, { maxRunning: maxRunningPerNode, of: findNode });
}

/** As `createReadQueue`, for a read replica: nothing else uses its connections. */
export const createReplicaQueue = (ctx: Pick<Ctx, 'db' | 'settings'>): Semaphore =>
  createLoadQueue(ctx, ctx.db.maxConnections.data);

function createLoadQueue(
  { settings }: Pick<Ctx, 'settings'>,
  maxRunning: number,
  groups?: SemaphoreLimits['groups'],
): Semaphore {
  const { maxRequests, maxWaitMs } = settings.publicLoad;
  return createFairQueue(
    {
      maxRunning,
      maxWaiting: maxRequests,
      maxWaitMs,
      maxRunningPerOwner: Math.max(1, maxRunning - 1),
      retryAfterSeconds,
      groups,
    },
    'reads',
  );
}

/** Each may take a turn of the event loop with a piece of its records. */
const maxLargeStatements = 2;

/**
 * Queues for reads of large pages and records: for those held until their response is sent, and for those
 * coming from PostgreSQL.
 */
export function createLargeReadQueues({
  publicLoad,
  readTimeoutMs,
}: Pick<Ctx['settings'], 'publicLoad' | 'readTimeoutMs'>) {
  const createQueue = (maxRunning: number, maxWaitMs: number): Semaphore =>
    createFairQueue(
      { maxRunning, maxWaiting: publicLoad.maxRequests, maxWaitMs, retryAfterSeconds },
      'large responses',
    );
  // A statement ahead in the queue ends soon, unlike a client that doesn't read: the time limit of the whole
  // read is enough.
  return {
    largeReads: createQueue(publicLoad.maxLargeReads, publicLoad.maxWaitMs),
    largeStatements: createQueue(maxLargeStatements, readTimeoutMs),
  };
}

/**
 * Queue for reads of saved queries, which no version declares and no index may serve: the other half of the
 * connections stays free.
 */
export function createSavedQueryQueue({ db, settings }: Pick<Ctx, 'db' | 'settings'>): Semaphore {
  const half = Math.max(1, Math.floor(db.maxConnections.data / 2));
  return createFairQueue(
    { maxRunning: half, maxWaiting: 8 * half, maxWaitMs: settings.readTimeoutMs },
    'reads of saved queries',
  );
}

/** Documents of one record each, which one thread writes in turn; half of them of one organization. */
export const createDocumentQueue = ({ settings }: Pick<Ctx, 'settings'>): Semaphore =>
  createFairQueue(
    { maxRunning: 4, maxWaiting: 64, maxWaitMs: settings.readTimeoutMs, retryAfterSeconds },
    'documents',
  );

/**
 * Runs a lookup of keys or versions when it gets a permit of the lookup pool. Rejects with 503 when the queue
 * is full or the wait too long.
 */
export type RunLookup = <T>(owner: string, lookup: () => Promise<T>) => Promise<T>;

/** Owner of the lookups of callers who are not authenticated yet: together they have one share. */
export const unauthenticated = '';

/**
 * The returned function rejects with 503 when too many lookups wait or the wait takes too long, and with the
 * error of the lookup.
 */
export function createLookupQueue({ db, settings }: Pick<Ctx, 'db' | 'settings'>): RunLookup {
  const { maxRequests, maxWaitMs } = settings.publicLoad;
  const queue = createFairQueue(
    { maxRunning: db.maxConnections.lookups, maxWaiting: maxRequests, maxWaitMs, retryAfterSeconds },
    'lookups',
  );
  return (owner, lookup) => queue.run(owner, lookup);
}

export type ConcurrencyLimit = {
  /** Takes a slot for one request. Rejects with 503 after a short delay when none is free. */
  acquire(): Slot | Promise<never>;
};
export type Slot = {
  /**
   * Counts the slot against this organization from now on. When the organization is at its share, releases
   * the slot and rejects with 503 after a short delay.
   */
  assignTo(organizationId: string): Promise<never> | undefined;
  /** Idempotent. */
  release(): void;
};

/** Preallocated: refusals must be cheap under load. */
const processFull = unavailable('Too many requests in progress; try again later', retryAfterSeconds);
const organizationFull = unavailable(
  'Too many requests of this organization in progress; try again later',
  retryAfterSeconds,
);

/**
 * Slots for requests, held from the first line of the request to the last byte of the response, whatever the
 * request waits for. A client that retries at once after a refusal would take time from admitted requests, so
 * up to `maxRequests` refusals at a time are delayed by `refusalDelayMs`. Acquiring a slot, or assigning it
 * to an organization that is at its share (half), rejects with 503.
 */
export function createConcurrencyLimit(maxRequests: number, refusalDelayMs = 500): ConcurrencyLimit {
  const all = new Semaphore({ maxRunning: maxRequests });
  const shares = new Semaphore({ maxRunning: Infinity, maxRunningPerOwner: halve(maxRequests) });
  const delays = new Semaphore({ maxRunning: maxRequests });
  const refuse = async (error: AppError): Promise<never> => {
    const endDelay = delays.tryAcquire(anyOwner);
    if (endDelay !== undefined) await sleep(refusalDelayMs).then(endDelay);
    throw error;
  };
  const createLoadSlot = (release: Release): Slot => {
    let releaseShare: Release | undefined;
    let isReleased = false;
    const slot: Slot = {
      release: () => {
        if (isReleased) return;
        isReleased = true;
        release();
        releaseShare?.();
      },
      assignTo(organizationId) {
        releaseShare = shares.tryAcquire(organizationId);
        if (releaseShare !== undefined) return undefined;
        slot.release();
        return refuse(organizationFull);
      },
    };
    return slot;
  };
  return {
    acquire: () => {
      const release = all.tryAcquire(anyOwner);
      return release === undefined ? refuse(processFull) : createLoadSlot(release);
    },
  };
}

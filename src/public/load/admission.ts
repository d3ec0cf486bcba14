// Limits how much of this process the public interface may use at once. The limits are not per client: a request gets 503 with Retry-After
// only while the process, or its organization's half of it, is full. Queues are bounded in length and in time, one organization cannot fill
// them, and everything else in the process has database connections of its own.
import { availableParallelism } from 'node:os';
import type { Ctx } from '../core/ctx.ts';
import { type AppError, unavailable } from '../core/errors.ts';
import { createFairQueue, type FairQueue, halfOf } from './fair-queue.ts';

const retryAfterSeconds = 1;

/** More concurrent statements than this do not raise throughput; they only delay other users of the database. */
const readsPerProcessor = 2;

/**
 * Queue for reads of lists, records and changes on the data pool. Part of that pool stays free for syncs and management. The embedded
 * server runs on this machine's processors, so its limit follows their number; the size of an external server is unknown.
 */
export function createReadQueue({ db, settings }: Pick<Ctx, 'db' | 'settings'>): FairQueue {
  const { maxRequests, maxWaitMs } = settings.publicLoad;
  const all = db.data.options.max;
  const useful = db.isEmbedded ? readsPerProcessor * availableParallelism() + 1 : all;
  const maxRunning = Math.max(1, Math.min(useful, all - Math.max(1, Math.floor(all / 4))));
  return createFairQueue(
    { maxRunning, maxWaiting: maxRequests, maxWaitMs, maxRunningPerOwner: Math.max(1, maxRunning - 1), retryAfterSeconds },
    'reads',
  );
}

/**
 * Runs a lookup of keys or versions when it gets a permit of the lookup pool. Rejects with 503 when the queue is full or the wait too long.
 */
export type RunLookup = <T>(owner: string, lookup: () => Promise<T>) => Promise<T>;

/** Owner of the lookups of callers who are not authenticated yet: together they have one share of the queue. */
export const unauthenticated = '';

/** The returned function rejects with 503 when too many lookups wait or the wait takes too long, and with the error of the lookup. */
export function createLookupQueue({ db, settings }: Pick<Ctx, 'db' | 'settings'>): RunLookup {
  const { maxRequests, maxWaitMs } = settings.publicLoad;
  const queue = createFairQueue(
    { maxRunning: db.lookups.client.pool.max, maxWaiting: maxRequests, maxWaitMs, retryAfterSeconds },
    'lookups',
  );
  return async (owner, lookup) => {
    const release = queue.tryAcquire(owner) ?? (await queue.acquire(owner));
    try {
      return await lookup();
    } finally {
      release();
    }
  };
}

export type ConcurrencyLimit = {
  /** Takes a slot for one request. Rejects with 503 after a short delay when none is free. */
  acquire(): Slot | Promise<never>;
};
export type Slot = {
  /**
   * Counts the slot against this organization from now on. When the organization is at its share, releases the slot and rejects with 503
   * after a short delay.
   */
  assignTo(organizationId: string): Promise<never> | undefined;
  /** Idempotent. */
  release(): void;
};

/** Preallocated: refusals must be cheap under load. */
const processFull = unavailable('Too many requests in progress; try again later', retryAfterSeconds);
const organizationFull = unavailable('Too many requests of this organization in progress; try again later', retryAfterSeconds);

/**
 * Slots for requests, held from the first line of the request to the last byte of the response, whatever the request waits for. A client
 * that retries at once after a refusal would take time from admitted requests, so up to `maxRequests` refusals at a time are delayed by
 * `refusalDelayMs`. Acquiring a slot, or assigning it to an organization that is at its share (half), rejects with 503.
 */
export function createConcurrencyLimit(maxRequests: number, refusalDelayMs = 500): ConcurrencyLimit {
  const maxPerOrganization = halfOf(maxRequests);
  const slotsByOrganization = new Map<string, number>();
  let inUse = 0;
  let delayedRefusals = 0;
  const refuse = async (error: AppError): Promise<never> => {
    if (delayedRefusals < maxRequests) {
      delayedRefusals += 1;
      await new Promise((resolve) => setTimeout(resolve, refusalDelayMs));
      delayedRefusals -= 1;
    }
    throw error;
  };
  const take = (): Slot => {
    inUse += 1;
    let owner: string | undefined;
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      inUse -= 1;
      if (owner === undefined) return;
      const others = (slotsByOrganization.get(owner) ?? 1) - 1;
      if (others === 0) slotsByOrganization.delete(owner);
      else slotsByOrganization.set(owner, others);
    };
    return {
      release,
      assignTo(organizationId) {
        const count = slotsByOrganization.get(organizationId) ?? 0;
        if (count >= maxPerOrganization) {
          release();
          return refuse(organizationFull);
        }
        owner = organizationId;
        slotsByOrganization.set(organizationId, count + 1);
        return undefined;
      },
    };
  };
  return { acquire: () => (inUse < maxRequests ? take() : refuse(processFull)) };
}

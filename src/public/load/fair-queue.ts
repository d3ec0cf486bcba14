// A fair concurrency limit: a bounded number of running and waiting jobs, with a share of each per owner. A free permit goes to the owner
// with the fewest running jobs, so that many requests of one owner do not starve others.
import { unavailable } from '../core/errors.ts';

export type FairQueue = {
  /** Takes a permit when one is free for this owner; undefined otherwise. The returned function releases it and must be called once. */
  tryAcquire(owner: string): (() => void) | undefined;
  /**
   * Resolves with the function that releases the permit, to be called once; with undefined when the signal aborts first. Rejects with 503
   * when too many wait or the wait takes too long.
   */
  acquireUnlessAborted(owner: string, signal: AbortSignal): Promise<(() => void) | undefined>;
  /** As `acquireUnlessAborted`, for jobs that cannot be cancelled. Rejects with 503 in the same cases. */
  acquire(owner: string): Promise<() => void>;
  /** For shutdown: rejects everyone who waits, and everyone who would have to wait from now on, with 503. */
  close(): void;
  /** Current number of running and waiting jobs. */
  stats(): { readonly running: number; readonly waiting: number };
  /** Resolves when no job runs, and after `maxMs` at the latest; undefined when no job runs now. */
  waitUntilIdle(maxMs: number): Promise<void> | undefined;
};

export type FairQueueLimits = {
  readonly maxRunning: number;
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
  /** Running jobs of one owner; half of `maxRunning` by default. */
  readonly maxRunningPerOwner?: number;
  readonly retryAfterSeconds?: number;
};

const defaultRetryAfterSeconds = 30;
/** Timeouts are checked this many times per `maxWaitMs`, so a wait may last up to a tenth longer. */
const checksPerWait = 10;

/** `queuedAtCheck` is the number of timeout checks done before it was queued. */
type Waiter = {
  readonly owner: string;
  readonly queuedAtCheck: number;
  readonly grant: (release: () => void) => void;
  readonly reject: (error: Error) => void;
};
/** State of one owner with running or waiting jobs: `waiting` oldest first, `lastStart` the sequence number of its latest start. */
type Share = { running: number; readonly waiting: Set<Waiter>; lastStart: number };

const stopping = () => unavailable('The service is shutting down', 2);
/** Half of `count`, rounded up: the share of one owner. */
export const halfOf = (count: number): number => Math.ceil(count / 2);
const goesFirst = (one: Share, other: Share): boolean =>
  one.running < other.running || (one.running === other.running && one.lastStart < other.lastStart);

/**
 * `what` names the limited jobs in error messages. Acquiring rejects with 503 when too many wait, the wait takes too long, or the queue is
 * closed.
 */
export function createFairQueue(limits: FairQueueLimits, what: string): FairQueue {
  const {
    maxRunning,
    maxWaiting,
    maxWaitMs,
    maxRunningPerOwner = halfOf(maxRunning),
    retryAfterSeconds = defaultRetryAfterSeconds,
  } = limits;
  let running = 0;
  let started = 0;
  let waiting = 0;
  let closed = false;
  const shares = new Map<string, Share>();
  const idleListeners = new Set<() => void>();
  /** One timer for all waiters: one each would cost more than the work it guards. */
  let timeoutTimer: NodeJS.Timeout | undefined;
  let timeoutChecks = 0;

  const shareOf = (owner: string): Share => {
    const known = shares.get(owner);
    if (known !== undefined) return known;
    const share: Share = { running: 0, waiting: new Set(), lastStart: 0 };
    shares.set(owner, share);
    return share;
  };
  const deleteIfIdle = (owner: string, share: Share): void => {
    if (share.running === 0 && share.waiting.size === 0) shares.delete(owner);
  };
  const start = (owner: string, share: Share): (() => void) => {
    running += 1;
    started += 1;
    share.running += 1;
    share.lastStart = started;
    return () => {
      running -= 1;
      share.running -= 1;
      deleteIfIdle(owner, share);
      if (waiting > 0) startNext();
      if (running === 0) for (const onIdle of idleListeners) onIdle();
    };
  };
  /** Starts the next job: of the owners below their share the one with the fewest running jobs, then the one whose last start is oldest. */
  const startNext = (): void => {
    let best: [string, Share] | undefined;
    for (const entry of shares) {
      const [, share] = entry;
      if (share.waiting.size > 0 && share.running < maxRunningPerOwner && (best === undefined || goesFirst(share, best[1]))) best = entry;
    }
    if (best === undefined) return;
    const [owner, share] = best;
    const [waiter] = share.waiting;
    if (waiter === undefined) return;
    const release = start(owner, share);
    leave(waiter);
    waiter.grant(release);
  };
  /** Preallocated: refusals must be cheap under load. */
  const tooMany = unavailable(`Too many ${what} in progress; try again later`, retryAfterSeconds);
  const tooLong = unavailable(`Timed out waiting for other ${what} to finish; try again later`, retryAfterSeconds);
  const leave = (waiter: Waiter): void => {
    const share = shares.get(waiter.owner);
    if (share?.waiting.delete(waiter) !== true) return;
    waiting -= 1;
    deleteIfIdle(waiter.owner, share);
  };
  /** For each owner, rejects the oldest waiters until `shouldReject` returns false. */
  const rejectWaiters = (shouldReject: (waiter: Waiter) => boolean, error: Error): void => {
    for (const { waiting: waiters } of [...shares.values()]) {
      for (const waiter of [...waiters]) {
        if (!shouldReject(waiter)) break;
        leave(waiter);
        waiter.reject(error);
      }
    }
  };
  const checkTimeouts = (): void => {
    timeoutChecks += 1;
    rejectWaiters(({ queuedAtCheck: sinceCheck }) => timeoutChecks - sinceCheck > checksPerWait, tooLong);
    if (waiting > 0) return;
    clearInterval(timeoutTimer);
    timeoutTimer = undefined;
  };
  /** Throws 503 when too many wait, and once the queue is closed. */
  const enqueue = (owner: string, grant: Waiter['grant'], onReject: Waiter['reject']): Waiter => {
    if (closed) throw stopping();
    if (waiting >= maxWaiting || (shares.get(owner)?.waiting.size ?? 0) >= halfOf(maxWaiting)) throw tooMany;
    const waiter: Waiter = { owner, queuedAtCheck: timeoutChecks, grant, reject: onReject };
    shareOf(owner).waiting.add(waiter);
    waiting += 1;
    timeoutTimer ??= setInterval(checkTimeouts, maxWaitMs / checksPerWait);
    return waiter;
  };
  const tryAcquire = (owner: string): (() => void) | undefined => {
    if (running >= maxRunning) return undefined;
    const share = shareOf(owner);
    return share.running < maxRunningPerOwner ? start(owner, share) : undefined;
  };
  return {
    tryAcquire,
    acquireUnlessAborted: (owner, signal) =>
      new Promise((resolve, reject) => {
        const release = signal.aborted ? undefined : tryAcquire(owner);
        if (signal.aborted || release !== undefined) return resolve(release);
        const removeListener = (): void => signal.removeEventListener('abort', onAbort);
        const waiter = enqueue(
          owner,
          (releaseLater) => {
            removeListener();
            resolve(releaseLater);
          },
          (error) => {
            removeListener();
            reject(error);
          },
        );
        const onAbort = (): void => {
          leave(waiter);
          resolve(undefined);
        };
        signal.addEventListener('abort', onAbort, { once: true });
      }),
    acquire: (owner) =>
      new Promise((resolve, reject) => {
        const release = tryAcquire(owner);
        if (release === undefined) enqueue(owner, resolve, reject);
        else resolve(release);
      }),
    close: () => {
      closed = true;
      rejectWaiters(() => true, stopping());
    },
    stats: () => ({ running, waiting }),
    waitUntilIdle: (maxMs) =>
      running === 0
        ? undefined
        : new Promise((resolve) => {
            const onIdle = (): void => {
              clearTimeout(timer);
              idleListeners.delete(onIdle);
              resolve();
            };
            const timer = setTimeout(onIdle, maxMs);
            idleListeners.add(onIdle);
          }),
  };
}

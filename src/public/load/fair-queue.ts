// The semaphores of the public interface: one owner gets at most half of the queue, and by default half of
// the permits; refusals are 503 with Retry-After.
import { unavailable } from '../../core/errors.ts';
import { Semaphore, type SemaphoreLimits } from '../../core/work/semaphore.ts';

export type FairQueueLimits = {
  readonly maxRunning: number;
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
  /** Running jobs of one owner; half of `maxRunning` by default. */
  readonly maxRunningPerOwner?: number;
  readonly retryAfterSeconds?: number;
  readonly groups?: SemaphoreLimits['groups'];
};

const defaultRetryAfterSeconds = 30;

/** Half of `count`, rounded up: the share of one owner. */
export const halve = (count: number): number => Math.ceil(count / 2);

/**
 * `what` names the limited jobs in error messages. Acquiring rejects with 503 when too many wait, the wait
 * takes too long, or the queue is closed.
 */
export const createFairQueue = (limits: FairQueueLimits, what: string): Semaphore => {
  const { maxRunning, maxWaiting, maxWaitMs, maxRunningPerOwner = halve(maxRunning) } = limits;
  const { retryAfterSeconds = defaultRetryAfterSeconds, groups } = limits;
  return new Semaphore(
    { maxRunning, maxRunningPerOwner, maxWaiting, maxWaitingPerOwner: halve(maxWaiting), maxWaitMs, groups },
    {
      full: unavailable(`Too many ${what} in progress; try again later`, retryAfterSeconds),
      timedOut: unavailable(
        `Timed out waiting for other ${what} to finish; try again later`,
        retryAfterSeconds,
      ),
      closed: unavailable('The service is shutting down', 2),
    },
  );
};

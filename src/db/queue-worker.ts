// Processes a queue in the database that several processes share: rows are claimed under a lease and
// processed with limited concurrency. Polls when a notification reports new work, when a claim is finished,
// and at a fixed interval.
import type { Ctx } from '../core/ctx.ts';
import { startLeaseRenewal } from '../core/lease.ts';
import { startRecurring } from '../core/recurring.ts';
import { anyOwner, Semaphore } from '../core/semaphore.ts';

export type Queue<Claim> = {
  /** The queue's name in metrics and logs. */
  readonly name: string;
  /** NOTIFY channel on which producers announce new rows. */
  readonly channel?: string;
  readonly pollMs: number;
  /**
   * Number of claims processed at the same time; more than one so that a slow claim doesn't block the queue.
   */
  readonly concurrency: number;
  /** Claims the next row; undefined when nothing is due. */
  claim(): Promise<Claim | undefined>;
  /**
   * Once `stopping` is aborted, it releases what it can't finish soon. When it rejects, no further row is
   * claimed until the next poll.
   */
  work(claim: Claim, stopping: AbortSignal): Promise<unknown>;
  /** How to renew a claim, for work that may outlast its lease. */
  readonly lease?: { readonly ms: number; renew(claim: Claim): Promise<unknown> };
};

export type QueueWorker = {
  /** Claims due rows up to the concurrency. Returns at once; the work continues in the background. */
  poll(): void;
  /** Polls, and resolves once nothing is in progress and nothing is due. Never rejects. */
  waitUntilIdle(): Promise<void>;
  /** Claims nothing more, aborts the signal of the work in progress, and resolves when that has ended. */
  stop(): Promise<void>;
};

const warn =
  ({ log }: Pick<Ctx, 'log'>, queue: string, what: string) =>
  (error: unknown): void =>
    log.warn({ err: error, queue }, what);

/** Returns whether the work succeeded. Never rejects. */
async function workOn<Claim>(
  ctx: Pick<Ctx, 'log'>,
  queue: Queue<Claim>,
  claim: Claim,
  stopping: AbortSignal,
): Promise<boolean> {
  const { name, lease } = queue;
  const warnOfRenewal = warn(ctx, name, 'could not renew the lease of a claim');
  const stopRenewal = lease && startLeaseRenewal(lease.ms, () => lease.renew(claim), warnOfRenewal);
  try {
    await queue.work(claim, stopping);
    return true;
  } catch (error) {
    warn(ctx, name, 'processing a claim failed; it is retried when its lease expires')(error);
    return false;
  } finally {
    stopRenewal?.();
  }
}

/**
 * Starts polling at once. Failures are logged and retried at a later poll; none of the returned promises
 * rejects.
 */
export function startQueueWorker<Claim>(ctx: Pick<Ctx, 'db' | 'log'>, queue: Queue<Claim>): QueueWorker {
  const slots = new Semaphore({ maxRunning: queue.concurrency });
  // Sequential, so that many polls at once cost the database no more than one.
  const claimAll = async (stopping: AbortSignal): Promise<void> => {
    while (!stopping.aborted) {
      const release = slots.tryAcquire(anyOwner);
      if (release === undefined) return;
      const claim = await queue.claim().catch((error: unknown) => {
        release();
        throw error;
      });
      if (claim === undefined) return release();
      void workOn(ctx, queue, claim, stopping).then((succeeded) => {
        release();
        if (succeeded) poll();
      });
    }
  };
  const polling = startRecurring(queue.pollMs, claimAll, warn(ctx, queue.name, 'could not poll a queue'));
  const poll = (): void => void polling.tickAgain();
  const waitUntilIdle = async (): Promise<void> => {
    for (poll(); polling.inProgress() !== undefined || slots.stats().running > 0; )
      await Promise.all([polling.inProgress(), slots.waitUntilIdle()]);
  };
  const unsubscribe =
    queue.channel === undefined ? undefined : ctx.db.notifications.subscribe(queue.channel, poll);
  poll();
  return {
    poll,
    waitUntilIdle,
    stop: async () => {
      await Promise.all([polling.stop(), unsubscribe?.(), waitUntilIdle()]);
    },
  };
}

// Processes a queue in the database that several processes share: rows are claimed under a lease and processed with limited concurrency.
// Polls when a notification reports new work, when a claim is finished, and at a fixed interval.
import type { Ctx } from '../core/ctx.ts';
import { startLeaseRenewal } from '../core/lease.ts';
import { subscribeToChannel } from './notifications.ts';

export type Queue<Claim> = {
  /** The queue's name in metrics and logs. */
  readonly name: string;
  /** NOTIFY channel on which producers announce new rows. */
  readonly channel?: string;
  readonly pollMs: number;
  /** Number of claims processed at the same time; more than one so that a slow claim doesn't block the queue. */
  readonly concurrency: number;
  /** Claims the next row; undefined when nothing is due. */
  claim(): Promise<Claim | undefined>;
  /** Once `stopping` is aborted, it releases what it can't finish soon. When it rejects, no further row is claimed until the next poll. */
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

/** Starts polling at once. Failures are logged and retried at a later poll; none of the returned promises rejects. */
export function startQueueWorker<Claim>(ctx: Pick<Ctx, 'db' | 'log'>, queue: Queue<Claim>): QueueWorker {
  const stopping = new AbortController();
  const inFlight = new Set<Promise<void>>();
  let claiming: Promise<void> | undefined;
  let pollAgain = false;

  const workOn = async (claim: Claim): Promise<void> => {
    const { lease } = queue;
    const warnOfRenewal = warn(ctx, queue.name, 'could not renew the lease of a claim');
    const stopRenewal = lease && startLeaseRenewal(lease.ms, () => lease.renew(claim), warnOfRenewal);
    try {
      await queue.work(claim, stopping.signal);
    } finally {
      stopRenewal?.();
    }
  };
  // Sequential, so that many polls at once cost the database no more than one.
  const claimAll = async (): Promise<void> => {
    while (!stopping.signal.aborted && inFlight.size < queue.concurrency) {
      const claim = await queue.claim();
      if (claim === undefined) return;
      const work = workOn(claim)
        .finally(() => inFlight.delete(work))
        .then(poll, warn(ctx, queue.name, 'processing a claim failed; it is retried when its lease expires'));
      inFlight.add(work);
    }
  };
  const poll = (): void => {
    pollAgain = claiming !== undefined;
    if (pollAgain || stopping.signal.aborted) return;
    claiming = claimAll()
      .catch(warn(ctx, queue.name, 'could not poll a queue'))
      .finally(() => {
        claiming = undefined;
        if (pollAgain) poll();
      });
  };
  const waitUntilIdle = async (): Promise<void> => {
    for (poll(); claiming !== undefined || inFlight.size > 0; ) await Promise.all([claiming, ...inFlight]);
  };
  const unsubscribe = queue.channel === undefined ? undefined : subscribeToChannel(ctx, queue.channel, poll);
  const timer = setInterval(poll, queue.pollMs);
  poll();
  return {
    poll,
    waitUntilIdle,
    stop: async () => {
      clearInterval(timer);
      stopping.abort();
      await Promise.all([unsubscribe?.(), waitUntilIdle()]);
    },
  };
}

const warn =
  ({ log }: Pick<Ctx, 'log'>, queue: string, what: string) =>
  (error: unknown): void =>
    log.warn({ err: error, queue }, what);

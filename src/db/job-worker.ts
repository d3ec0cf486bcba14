// Works on the jobs of one kind in this process, with limited concurrency; any number of processes may do so on
// one database. Polls when a notification reports due jobs, when a job is done, and at a fixed interval.
import type { Ctx } from '../core/ctx.ts';
import { startRecurring } from '../core/work/recurring.ts';
import { anyOwner, Semaphore } from '../core/work/semaphore.ts';
import { LostLease, startLeaseRenewal } from './job-lease.ts';
import { claimJob, type Job, type JobKind, jobsChannel, renewJob } from './jobs.ts';

type Queue<Claim> = {
  readonly kind: JobKind;
  readonly pollMs: number;
  /** Jobs in progress at the same time; more than one so that a slow one doesn't block the others. */
  readonly concurrency: number;
  /**
   * Finishes the job, or makes it due again, under its lease. `signal` is aborted when the worker stops, and
   * when the lease was lost: what can't be finished soon is then released. When it rejects, the job is retried
   * when its lease expires, and no further one is claimed until the next poll.
   */
  work(claim: Claim, signal: AbortSignal): Promise<unknown>;
};

type JobQueue = Queue<Job> & { readonly leaseMs: number };
/** For work that claims by itself, and renews its lease by itself. */
type OwnClaims<Claim> = Queue<Claim> & { claim(): Promise<Claim | undefined> };

export type JobWorker = {
  /** Claims due jobs up to the concurrency. Returns at once; the work continues in the background. */
  poll(): void;
  /** Polls, and resolves once nothing is in progress and nothing is due. Never rejects. */
  waitUntilIdle(): Promise<void>;
  /** Claims nothing more, aborts the signal of the work in progress, and resolves when that has ended. */
  stop(): Promise<void>;
};

type WorkerCtx = Pick<Ctx, 'db' | 'log' | 'clock'>;

/** Renews the lease of a claimed job while `work` is in progress. Rejects as `work` does. */
export async function workUnderLease(
  ctx: WorkerCtx,
  job: Job,
  leaseMs: number,
  stopping: AbortSignal,
  work: Queue<Job>['work'],
): Promise<void> {
  const abort = new AbortController();
  const renewal = startLeaseRenewal(ctx, abort, {
    leaseMs,
    renew: async (ms) =>
      (await renewJob(ctx, job, ms)) ? undefined : new LostLease('a newer lease holds the job'),
    onFailure: (error) => ctx.log.warn({ err: error, queue: job.kind }, 'could not renew the lease of a job'),
  });
  try {
    await work(job, AbortSignal.any([stopping, abort.signal]));
  } finally {
    renewal.stop();
  }
}

/** Works on jobs under leases that it renews. Failures are logged; none of the returned promises rejects. */
export const startJobWorker = (ctx: WorkerCtx, queue: JobQueue): JobWorker =>
  startWorker(ctx, {
    ...queue,
    claim: () => claimJob(ctx, queue.kind, queue.leaseMs),
    work: (job, stopping) => workUnderLease(ctx, job, queue.leaseMs, stopping, queue.work),
  });

/** As `startJobWorker`, for work that claims, and renews its leases, by itself: no promise rejects. */
export function startWorker<Claim>(ctx: WorkerCtx, queue: OwnClaims<Claim>): JobWorker {
  const warn = (what: string) => (error: unknown) => ctx.log.warn({ err: error, queue: queue.kind }, what);
  const slots = new Semaphore({ maxRunning: queue.concurrency });
  const workOn = (claim: Claim, stopping: AbortSignal): Promise<boolean> =>
    queue
      .work(claim, stopping)
      .then(() => true)
      .catch((error: unknown) => {
        warn('a job failed; it is retried when its lease expires')(error);
        return false;
      });
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
      void workOn(claim, stopping).then((succeeded) => {
        release();
        if (succeeded) poll();
      });
    }
  };
  const polling = startRecurring(queue.pollMs, claimAll, warn('could not poll a queue'));
  const poll = (): void => void polling.tickAgain();
  const waitUntilIdle = async (): Promise<void> => {
    for (poll(); polling.inProgress() !== undefined || slots.stats().running > 0; )
      await Promise.all([polling.inProgress(), slots.waitUntilIdle()]);
  };
  const unsubscribe = ctx.db.notifications.subscribe(jobsChannel, (kind) => {
    if (kind === undefined || kind === queue.kind) poll();
  });
  poll();
  return {
    poll,
    waitUntilIdle,
    stop: async () => {
      await Promise.all([polling.stop(), unsubscribe(), waitUntilIdle()]);
    },
  };
}

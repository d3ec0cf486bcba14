// Checks at payment providers. Any number of processes may run them: a check is a job, its work idempotent.
import type { Ctx } from '../../../core/ctx.ts';
import { type JobWorker, startJobWorker } from '../../../db/job-worker.ts';
import { type Job, releaseJob } from '../../../db/jobs.ts';
import { inTransaction } from '../../../db/transaction.ts';
import { ProviderError } from '../../../gateways/payments/provider.ts';
import { checkAccount, checkObject, describeTaskError } from './check-account.ts';
import { checkPayment } from './check-payment.ts';
import { finishTask, toTask, unknownObject } from './tasks.store.ts';

const defaults = { pollMs: 5_000, leaseMs: 120_000 };
/** Tasks worked on at once in one process, so that a slow provider holds up few. */
const concurrency = 4;
const firstWaitMs = 5_000;
const maxWaitMs = 3_600_000;

const retryDelayMs = (attempts: number, error: unknown): number => {
  const requestedMs = error instanceof ProviderError ? (error.retryAfterMs ?? 0) : 0;
  const backoffMs = Math.min(maxWaitMs, firstWaitMs * 2 ** Math.min(attempts - 1, 20));
  return Math.max(requestedMs, backoffMs * (0.75 + Math.random() / 2));
};

async function work(ctx: Ctx, job: Job, stop: AbortSignal): Promise<void> {
  const { organizationId, attempts } = job;
  const tenant = { ...ctx, organizationId };
  const { accountId, kind, subject } = toTask(job);
  try {
    if (kind === 'payment')
      await finishTask(tenant, job, await checkPayment(tenant, accountId, subject, stop));
    else if (kind === 'account') await finishTask(tenant, job, await checkAccount(tenant, accountId, stop));
    else {
      const retryInMs = await checkObject(tenant, accountId, subject, attempts, stop);
      await finishTask(tenant, job, retryInMs, retryInMs === null ? null : unknownObject);
    }
  } catch (error) {
    if (stop.aborted) return void (await inTransaction(tenant, (tx) => releaseJob(tx, job)));
    ctx.log.warn(
      { err: error, organizationId, kind, subject, attempts },
      'a payment task failed and will be retried',
    );
    await finishTask(tenant, job, retryDelayMs(attempts, error), describeTaskError(error));
  }
}

/**
 * Starts when a transaction that enqueues a task commits (NOTIFY), and polls every few seconds. On stop,
 * unfinished tasks are released for this or another process.
 */
export const startPayWork = (ctx: Ctx, options: Partial<typeof defaults> = {}): JobWorker =>
  startJobWorker(ctx, {
    ...defaults,
    ...options,
    kind: 'pay_tasks',
    concurrency,
    work: (job, stopping) => work(ctx, job, stopping),
  });

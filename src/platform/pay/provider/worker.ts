// Works on the queue of payment tasks in this process. Any number of processes may do so: a task is claimed
// under a lease, and its work is idempotent.
import type { Ctx } from '../../../core/ctx.ts';
import { createId } from '../../../core/id.ts';
import { type QueueWorker, startQueueWorker } from '../../../db/queue-worker.ts';
import { ProviderError } from '../../../gateways/payments/provider.ts';
import { checkAccount, checkObject, describeTaskError } from './check-account.ts';
import { checkPayment } from './check-payment.ts';
import {
  claimTask,
  finishTask,
  type PayTask,
  payChannel,
  releaseTask,
  renewTaskLease,
  unknownObject,
} from './tasks.store.ts';

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

async function work(ctx: Ctx, task: PayTask, stop: AbortSignal): Promise<void> {
  const tenant = { ...ctx, organizationId: task.organizationId };
  const { accountId, subject, attempts } = task;
  try {
    if (task.kind === 'payment')
      await finishTask(tenant, task, await checkPayment(tenant, accountId, subject, stop));
    else if (task.kind === 'account')
      await finishTask(tenant, task, await checkAccount(tenant, accountId, stop));
    else {
      const retryInMs = await checkObject(tenant, accountId, subject, attempts, stop);
      await finishTask(tenant, task, retryInMs, retryInMs === null ? null : unknownObject);
    }
  } catch (error) {
    if (stop.aborted) return releaseTask(tenant, task);
    ctx.log.warn(
      { err: error, organizationId: task.organizationId, kind: task.kind, subject, attempts },
      'a payment task failed and will be retried',
    );
    await finishTask(tenant, task, retryDelayMs(attempts, error), describeTaskError(error));
  }
}

/**
 * Starts when a transaction that enqueues a task commits (NOTIFY), and polls every few seconds. On stop,
 * unfinished tasks are released for this or another process.
 */
export function startPayWork(ctx: Ctx, options: Partial<typeof defaults> = {}): QueueWorker {
  const { pollMs, leaseMs } = { ...defaults, ...options };
  return startQueueWorker<PayTask>(ctx, {
    name: 'pay_tasks',
    channel: payChannel,
    pollMs,
    concurrency,
    claim: () => claimTask(ctx, createId(), leaseMs),
    work: (task, stopping) => work(ctx, task, stopping),
    lease: {
      ms: leaseMs,
      renew: (task) => renewTaskLease({ ...ctx, organizationId: task.organizationId }, task, leaseMs),
    },
  });
}

// Works on the queue of pay in this process. Any number of processes may: a task is taken under a lease, and whatever is done for it may
// be done twice.
import type { Ctx } from '../../core/ctx.ts';
import { newId } from '../../core/id.ts';
import { type QueueWork, startQueueWork } from '../../db/queue-work.ts';
import { ProviderError } from '../../gateways/payments/provider.ts';
import { checkAccount, checkObject, reasonOf } from './check-account.ts';
import { checkPayment } from './check-payment.ts';
import { claimTask, handBackTask, payChannel, renewTask, settleTask, type Task } from './tasks.store.ts';

const usual = { pollMs: 5_000, leaseMs: 120_000 };
/** Questions to providers in flight at once in one process, so that a slow one holds up few. */
const lanes = 4;
const firstWaitMs = 5_000;
const longestWaitMs = 3_600_000;

const waitAfter = (attempts: number, error: unknown): number => {
  const asked = error instanceof ProviderError ? (error.retryAfterMs ?? 0) : 0;
  const growing = Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(attempts - 1, 20));
  return Math.max(asked, growing * (0.75 + Math.random() / 2));
};

async function work(ctx: Ctx, task: Task, stop: AbortSignal): Promise<void> {
  const tenant = { ...ctx, organizationId: task.organizationId };
  const { accountId, subject, attempts } = task;
  try {
    if (task.kind === 'payment') await settleTask(tenant, task, await checkPayment(tenant, accountId, subject, stop));
    else if (task.kind === 'account') await settleTask(tenant, task, await checkAccount(tenant, accountId, stop));
    else {
      const again = await checkObject(tenant, accountId, subject, attempts, stop);
      await settleTask(tenant, task, again, again === null ? null : 'not known');
    }
  } catch (error) {
    if (stop.aborted) return handBackTask(tenant, task);
    ctx.log.warn(
      { err: error, organizationId: task.organizationId, kind: task.kind, subject, attempts },
      'a payment provider is asked again later',
    );
    await settleTask(tenant, task, waitAfter(attempts, error), reasonOf(error));
  }
}

/**
 * Works at once when a transaction that asks for something commits, and by looking every few seconds. When it stops, what is not done goes
 * back, for this or another process.
 */
export function startPayWork(ctx: Ctx, given: Partial<typeof usual> = {}): QueueWork {
  const { pollMs, leaseMs } = { ...usual, ...given };
  return startQueueWork<Task>(ctx, {
    name: 'pay_tasks',
    channel: payChannel,
    pollMs,
    lanes,
    claim: () => claimTask(ctx, newId(), leaseMs),
    work: (task, stopping) => work(ctx, task, stopping),
    lease: { ms: leaseMs, renew: (task) => renewTask({ ...ctx, organizationId: task.organizationId }, task, leaseMs) },
  });
}

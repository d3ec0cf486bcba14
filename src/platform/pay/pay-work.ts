// Works on the queue of pay in this process. Any number of processes may: a task is taken under a lease, and whatever is done for it may
// be done twice.
import type { Ctx } from '../../core/ctx.ts';
import { newId } from '../../core/id.ts';
import { keepLease, openQueueWork } from '../../core/queue-work.ts';
import { listen } from '../../db/listen.ts';
import { ProviderError } from '../../gateways/payments/provider.ts';
import { checkAccount, checkObject, reasonOf } from './check-account.ts';
import { checkPayment } from './check-payment.ts';
import { claimTask, handBackTask, payChannel, renewTask, settleTask, type Task } from './tasks.store.ts';

export type PayWork = {
  /** Resolves once everything that is due now was tried. */
  settled(): Promise<void>;
  /** What is not done goes back, for this or another process. */
  stop(): Promise<void>;
};

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

/** Works at once when a transaction that asks for something commits, and by looking every few seconds. */
export function startPayWork(ctx: Ctx, given: Partial<typeof usual> = {}): PayWork {
  const { pollMs, leaseMs } = { ...usual, ...given };
  const stopping = new AbortController();
  const workOn = async (task: Task): Promise<void> => {
    const release = keepLease(
      leaseMs,
      () => renewTask({ ...ctx, organizationId: task.organizationId }, task, leaseMs),
      (error) => ctx.log.warn({ err: error }, 'the lease of a payment task could not be renewed'),
    );
    try {
      await work(ctx, task, stopping.signal);
    } finally {
      release();
    }
  };
  const look = openQueueWork({
    lanes,
    stopping: stopping.signal,
    takeOne: async () => {
      const task = await claimTask(ctx, newId(), leaseMs);
      if (task !== undefined) await workOn(task);
      return task !== undefined;
    },
    onFailure: (error) => ctx.log.warn({ err: error }, 'the payment queue could not be worked on for the moment'),
  });
  const deaf = listen(ctx, payChannel, look);
  const timer = setInterval(look, pollMs);
  void look();
  return {
    settled: look,
    stop: async () => {
      clearInterval(timer);
      stopping.abort();
      await Promise.all([look(), deaf()]);
    },
  };
}

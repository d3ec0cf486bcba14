// Jobs that check something at a payment provider, one per subject. A request that arrives while the check is
// in progress has it done once more.

import type { TenantCtx } from '../../../core/ctx.ts';
import { enqueueJob, finishJob, type Job, type JobKey, notifyJobs, retryJob } from '../../../db/jobs.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';

export type PayTaskKind = 'payment' | 'object' | 'account';
export type PayTask = { readonly accountId: string; readonly kind: PayTaskKind; readonly subject: string };

/** The error of a check whose object the provider or this service doesn't know. */
export const unknownObject = 'unknown object';
/** After as many failures, which take over an hour, nothing waits for a check any more. */
const maxAwaitedFailures = 10;

const toKey = (organizationId: string, { accountId, kind, subject }: PayTask): JobKey => ({
  kind: 'pay_tasks',
  organizationId,
  key: `${accountId}/${kind}/${subject}`,
});

/** Makes a task due in `inMs`; a task that is due earlier stays so. */
export const enqueueTask = (tx: Tx, organizationId: string, task: PayTask, inMs = 0): Promise<void> =>
  enqueueJob(tx, toKey(organizationId, task), { inMs, payload: task });

export const toTask = ({ payload }: Job): PayTask => payload as PayTask;

const ofAccount = (tx: Tx, organizationId: string, accountId: string) =>
  tx('jobs').where({ organization_id: organizationId, kind: 'pay_tasks' }).whereLike('key', `${accountId}/%`);

/** Makes the account's failed tasks due now: new credentials may work. Others keep their time. */
export async function retryFailedTasks(tx: Tx, organizationId: string, accountId: string): Promise<void> {
  const failed = ofAccount(tx, organizationId, accountId).whereNotNull('error');
  const free: { key: string }[] = await failed.clone().forUpdate().skipLocked().select('key');
  await failed
    .whereIn(
      'key',
      free.map(({ key }) => key),
    )
    .update({
      requests: tx.raw('requests + 1'),
      due_at: tx.raw('case when lease_id is null then clock_timestamp() else due_at end'),
    });
  await notifyJobs(tx, 'pay_tasks');
}

/** Why the last attempt failed; null when it did not. */
export async function findTaskError(tx: Tx, organizationId: string, task: PayTask): Promise<string | null> {
  const { key } = toKey(organizationId, task);
  const row = await ofAccount(tx, organizationId, task.accountId)
    .where({ key })
    .first<{ error: string | null } | undefined>('error');
  return row?.error ?? null;
}

/** Whether checks of payments and payouts are due, in progress, or to be repeated because they failed. */
export const hasUnfinishedChecks = async (tx: Tx, organizationId: string, accountId: string) =>
  (await ofAccount(tx, organizationId, accountId)
    .whereRaw(
      "payload ->> 'kind' <> 'account' and (due_at <= clock_timestamp() or lease_id is not null or (error <> ? and attempts <= ?))",
      [unknownObject, maxAwaitedFailures],
    )
    .first('key')) !== undefined;

/**
 * Finishes an attempt: the task is done when `retryInMs` is null, else due after that time; at once when it
 * was requested again in the meantime. With an `error` the attempt counter keeps counting.
 */
export const finishTask = (ctx: TenantCtx, job: Job, retryInMs: number | null, error: string | null = null) =>
  inTransaction(ctx, (tx) => (retryInMs === null ? finishJob(tx, job) : retryJob(tx, job, retryInMs, error)));

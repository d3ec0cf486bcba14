// The queue of checks at payment providers, one row per subject. A request that arrives while the task is in
// progress increments `wakes`, so that the task runs once more.
import type { Ctx, TenantCtx } from '../../../core/ctx.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';

export type PayTaskKind = 'payment' | 'object' | 'account';
export type PayTaskKey = { readonly accountId: string; readonly kind: PayTaskKind; readonly subject: string };
export type PayTask = PayTaskKey & {
  readonly organizationId: string;
  readonly leaseId: string;
  readonly wakes: number;
  readonly attempts: number;
};

export const payChannel = 'pay_work';
/** The error of a check whose object the provider or this service doesn't know. */
export const unknownObject = 'unknown object';
/** After as many failures, which take over an hour, nothing waits for a check any more. */
const maxAwaitedFailures = 10;

/**
 * Makes a task due in `inMs`; a task that is due earlier stays so. A task that is due now notifies the
 * workers on commit.
 */
export async function enqueueTask(
  tx: Tx,
  organizationId: string,
  { accountId, kind, subject }: PayTaskKey,
  inMs = 0,
): Promise<void> {
  await tx.raw(
    `insert into pay_tasks as held (organization_id, account_id, kind, subject, due_at)
     values (?, ?, ?, ?, clock_timestamp() + make_interval(secs => ?))
     on conflict (account_id, kind, subject) do update
       set due_at = least(held.due_at, excluded.due_at), wakes = held.wakes + 1`,
    [organizationId, accountId, kind, subject, inMs / 1000],
  );
  if (inMs === 0) await tx.raw(`notify ${payChannel}`);
}

/**
 * Makes the account's failed tasks due now, since new credentials may work. Tasks that have not failed keep
 * their time.
 */
export async function retryFailedTasks(tx: Tx, organizationId: string, accountId: string): Promise<void> {
  await tx.raw(
    `update pay_tasks set due_at = clock_timestamp(), wakes = wakes + 1 where (account_id, kind, subject) in (
       select account_id, kind, subject from pay_tasks
       where organization_id = ? and account_id = ? and error is not null for update skip locked)`,
    [organizationId, accountId],
  );
  await tx.raw(`notify ${payChannel}`);
}

/** Why the last attempt failed; null when it did not. */
export async function findTaskError(
  tx: Tx,
  organizationId: string,
  { accountId, kind, subject }: PayTaskKey,
): Promise<string | null> {
  const row = await tx('pay_tasks')
    .where({ organization_id: organizationId, account_id: accountId, kind, subject })
    .first<{ error: string | null } | undefined>('error');
  return row?.error ?? null;
}

/**
 * Whether checks of the account's payments and payouts are due, in progress, or to be repeated because they
 * failed.
 */
export async function hasUnfinishedChecks(
  tx: Tx,
  organizationId: string,
  accountId: string,
): Promise<boolean> {
  const { rows } = await tx.raw<{ rows: unknown[] }>(
    `select from pay_tasks where organization_id = ? and account_id = ? and kind <> 'account'
     and (due_at <= clock_timestamp() or (error <> ? and attempts <= ?)) limit 1`,
    [organizationId, accountId, unknownObject, maxAwaitedFailures],
  );
  return rows.length > 0;
}

type TaskRow = {
  organization_id: string;
  account_id: string;
  kind: PayTaskKind;
  subject: string;
  wakes: number;
  attempts: number;
};

export async function claimTask(ctx: Ctx, leaseId: string, leaseMs: number): Promise<PayTask | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: TaskRow[] }>(
    'select * from claim_pay_task(?, make_interval(secs => ?))',
    [leaseId, leaseMs / 1000],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const { kind, subject, wakes, attempts } = row;
  return {
    organizationId: row.organization_id,
    accountId: row.account_id,
    kind,
    subject,
    leaseId,
    wakes,
    attempts,
  };
}

const leased = (tx: Tx, { organizationId, accountId, kind, subject, leaseId }: PayTask) =>
  tx('pay_tasks').where({
    organization_id: organizationId,
    account_id: accountId,
    kind,
    subject,
    lease_id: leaseId,
  });

/**
 * Finishes an attempt: deletes the task when `retryInMs` is null, else makes it due after that time. A task
 * that was requested again in the meantime is due now instead. With an `error` the attempt counter keeps
 * counting.
 */
export const finishTask = (
  ctx: TenantCtx,
  task: PayTask,
  retryInMs: number | null,
  error: string | null = null,
): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    if (retryInMs === null && (await leased(tx, task).where({ wakes: task.wakes }).delete()) === 1) return;
    const wait = retryInMs === null ? 0 : retryInMs / 1000;
    await leased(tx, task).update({
      lease_id: null,
      lease_until: null,
      error,
      ...(error === null && { attempts: 0 }),
      due_at: tx.raw(
        'case when wakes = ? then clock_timestamp() + make_interval(secs => ?) else clock_timestamp() end',
        [task.wakes, wait],
      ),
    });
  });

/** Releases the lease and takes the attempt back. */
export const releaseTask = (ctx: TenantCtx, task: PayTask): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await leased(tx, task).update({ lease_id: null, lease_until: null, attempts: task.attempts - 1 });
  });

export const renewTaskLease = (ctx: TenantCtx, task: PayTask, leaseMs: number): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await leased(tx, task).update({
      lease_until: tx.raw('clock_timestamp() + make_interval(secs => ?)', [leaseMs / 1000]),
    });
  });

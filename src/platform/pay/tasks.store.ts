// The queue of what is to be asked of a provider: once per thing, however many ask for it. Whoever asks while it is being worked on is
// counted, so that it is asked once more.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';

export type TaskKind = 'payment' | 'object' | 'account';
export type TaskKey = { readonly accountId: string; readonly kind: TaskKind; readonly subject: string };
export type Task = TaskKey & {
  readonly organizationId: string;
  readonly leaseId: string;
  readonly wakes: number;
  readonly attempts: number;
};

export const payChannel = 'pay_work';

/** To be done in `inMs`, or at once; earlier than that if it was due earlier. Told to those who work when the transaction commits. */
export async function wake(tx: Tx, organizationId: string, { accountId, kind, subject }: TaskKey, inMs = 0): Promise<void> {
  await tx.raw(
    `insert into pay_tasks as held (organization_id, account_id, kind, subject, due_at)
     values (?, ?, ?, ?, clock_timestamp() + make_interval(secs => ?))
     on conflict (account_id, kind, subject) do update
       set due_at = least(held.due_at, excluded.due_at), wakes = held.wakes + 1`,
    [organizationId, accountId, kind, subject, inMs / 1000],
  );
  if (inMs === 0) await tx.raw(`notify ${payChannel}`);
}

/** Whatever waits since it failed is due at once: new credentials may do better. What has not failed keeps its time. */
export async function wakeFailed(tx: Tx, organizationId: string, accountId: string): Promise<void> {
  await tx.raw(
    `update pay_tasks set due_at = clock_timestamp(), wakes = wakes + 1 where (account_id, kind, subject) in (
       select account_id, kind, subject from pay_tasks
       where organization_id = ? and account_id = ? and error is not null for update skip locked)`,
    [organizationId, accountId],
  );
  await tx.raw(`notify ${payChannel}`);
}

/** Why it failed the last time; null when it did not. */
export async function findTaskError(tx: Tx, organizationId: string, { accountId, kind, subject }: TaskKey): Promise<string | null> {
  const row = await tx('pay_tasks')
    .where({ organization_id: organizationId, account_id: accountId, kind, subject })
    .first<{ error: string | null } | undefined>('error');
  return row?.error ?? null;
}

type TaskRow = { organization_id: string; account_id: string; kind: TaskKind; subject: string; wakes: number; attempts: number };

export async function claimTask(ctx: Ctx, leaseId: string, leaseMs: number): Promise<Task | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: TaskRow[] }>('select * from claim_pay_task(?, make_interval(secs => ?))', [
    leaseId,
    leaseMs / 1000,
  ]);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { kind, subject, wakes, attempts } = row;
  return { organizationId: row.organization_id, accountId: row.account_id, kind, subject, leaseId, wakes, attempts };
}

const held = (tx: Tx, { organizationId, accountId, kind, subject, leaseId }: Task) =>
  tx('pay_tasks').where({ organization_id: organizationId, account_id: accountId, kind, subject, lease_id: leaseId });

/**
 * `againInMs` null: it is done. Whoever asked for it meanwhile has it done once more at once. With an `error` the attempts go on
 * counting.
 */
export const settleTask = (ctx: TenantCtx, task: Task, againInMs: number | null, error: string | null = null): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    if (againInMs === null && (await held(tx, task).where({ wakes: task.wakes }).delete()) === 1) return;
    const wait = againInMs === null ? 0 : againInMs / 1000;
    await held(tx, task).update({
      lease_id: null,
      lease_until: null,
      error,
      ...(error === null && { attempts: 0 }),
      due_at: tx.raw('case when wakes = ? then clock_timestamp() + make_interval(secs => ?) else clock_timestamp() end', [
        task.wakes,
        wait,
      ]),
    });
  });

/** As if it had not been taken. */
export const handBackTask = (ctx: TenantCtx, task: Task): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await held(tx, task).update({ lease_id: null, lease_until: null, attempts: task.attempts - 1 });
  });

export const renewTask = (ctx: TenantCtx, task: Task, leaseMs: number): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await held(tx, task).update({ lease_until: tx.raw('clock_timestamp() + make_interval(secs => ?)', [leaseMs / 1000]) });
  });

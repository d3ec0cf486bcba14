// What an operator does to a run that doesn't move: lets another worker have it, or ends it. Both take the run from whoever holds it by
// raising the epoch of its lease, after which the former holder writes nothing more and stops.
import type { TenantCtx } from '../core/ctx.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';
import { isNotSetUp } from '../warehouse/generation.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import type { RunError } from './retry.ts';
import { insertRunEvent } from './run-events.store.ts';
import { isFinal, type RunStatus } from './run-state.ts';
import { findRun, type Lease, moveRun, type RunRow } from './runs.store.ts';
import { settleFailed } from './worker.ts';

/** `idle`: it is queued, so that there is nothing to take from anyone. `ended`: it was over before. */
export type Release = 'released' | 'idle' | 'ended';

/** Takes runs from whoever holds them. Callers say which. */
export const takeFromHolders = (tx: Tx, organizationId: string) =>
  tx('sync_runs')
    .where('organization_id', organizationId)
    .update({
      lease_epoch: tx.raw('lease_epoch + 1'),
      lease_owner: null,
      lease_until: tx.raw("case when status in ('running', 'publishing') then clock_timestamp() - interval '1 millisecond' end"),
      wake_at: tx.raw("case when status = 'waiting' then clock_timestamp() end"),
    });

/** Claimable at once: it goes on from its checkpoint. Undefined when there is no such run. */
export const releaseRun = (ctx: TenantCtx, runId: string): Promise<Release | undefined> =>
  inTransaction(ctx, async (tx) => {
    const row = await findRun(tx, ctx.organizationId, runId);
    if (row === undefined) return undefined;
    const released = await takeFromHolders(tx, ctx.organizationId)
      .where('id', runId)
      .whereIn('status', ['running', 'waiting', 'publishing']);
    if (released === 0) return isFinal(row.status) ? 'ended' : 'idle';
    await insertRunEvent(tx, ctx.organizationId, runId, { level: 'warning', message: 'released by an operator' });
    await tx.raw("select pg_notify('sync_runs', '')");
    return 'released';
  });

const operatorsWord: RunError = {
  code: 'ENDED_BY_OPERATOR',
  message: 'An operator of the service ended the run',
  fix: 'Run the sync again; nothing of this run was published.',
};
/** As long as it may take to clear away what the run staged. */
const leaseSeconds = 300;

/** As a worker would, but whatever state the run is in. */
const takeLease = (ctx: TenantCtx, runId: string): Promise<Lease | undefined> =>
  inTransaction(ctx, async (tx) => {
    const [row] = await tx('sync_runs')
      .where({ organization_id: ctx.organizationId, id: runId })
      .whereIn('status', ['running', 'waiting', 'publishing'])
      .update({
        status: tx.raw("case when status = 'waiting' then 'running' else status end"),
        lease_epoch: tx.raw('lease_epoch + 1'),
        lease_owner: 'operator',
        lease_until: tx.raw('clock_timestamp() + make_interval(secs => ?)', [leaseSeconds]),
        wake_at: null,
      })
      .returning<{ lease_epoch: number }[]>('lease_epoch');
    return row === undefined ? undefined : { organizationId: ctx.organizationId, runId, epoch: row.lease_epoch };
  });

/**
 * Ends the run as failed; one that turns out to have been published ends as what it was. Answers its state afterwards; undefined when
 * there is no such run.
 */
export async function failRun(ctx: TenantCtx, runId: string): Promise<RunStatus | undefined> {
  const find = (): Promise<RunRow | undefined> => inTransaction(ctx, (tx) => findRun(tx, ctx.organizationId, runId));
  const before = await find();
  if (before === undefined || isFinal(before.status)) return before?.status;
  if (before.status === 'queued') {
    const idle = { organizationId: ctx.organizationId, runId, epoch: before.lease_epoch };
    const event = { level: 'error', message: `failed: ${operatorsWord.message}`, data: operatorsWord } as const;
    if (await moveRun(ctx, idle, 'failed', { error: operatorsWord, event })) return 'failed';
  }
  const lease = await takeLease(ctx, runId);
  const held = await find();
  if (lease !== undefined && held !== undefined) await settleFailed(ctx, lease, held, { kind: 'fail', error: operatorsWord, pause: false });
  return (await find())?.status;
}

/** For how many seconds nothing was staged for the run, by the database's clock; null when nothing ever was. */
export async function secondsWithoutPage(ctx: TenantCtx, runId: string): Promise<number | null> {
  try {
    const { rows } = await ctx.db.data.query<{ seconds: number }>(
      `select floor(extract(epoch from clock_timestamp() - updated_at))::int as seconds
       from ${tenantSchema(ctx.organizationId)}.run_state where run_id = $1`,
      [runId],
    );
    return rows[0]?.seconds ?? null;
  } catch (error) {
    if (isNotSetUp(error)) return null;
    throw error;
  }
}

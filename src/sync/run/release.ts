// What an operator can do with a stuck run: release it to another worker, or end it. Both raise the epoch of
// the run's lease, after which the worker that held it writes nothing more and stops.
import type { TenantCtx } from '../../core/ctx.ts';
import { rescheduleJob, takeJob } from '../../db/jobs.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { orIfNotSetUp } from '../../warehouse/record-state.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import type { RunError } from '../queue/retry.ts';
import { insertRunEvent } from '../queue/run-events.store.ts';
import { isFinal, type RunStatus } from '../queue/run-state.ts';
import { findRun, jobOfConfig, type Lease, moveRun } from '../queue/runs.store.ts';
import { finishFailed } from './worker.ts';

/** `idle`: the run is queued, so no worker holds it. `ended`: it had already ended. */
export type ReleaseResult = 'released' | 'idle' | 'ended';

/**
 * An UPDATE that revokes the leases of runs. Callers add the condition that selects the runs, and release the
 * jobs of their configurations.
 */
export const revokeLeases = (tx: Tx, organizationId: string) =>
  tx('sync_runs')
    .where('organization_id', organizationId)
    .update({
      lease_epoch: tx.raw('next_lease_epoch(lease_epoch)'),
      lease_owner: null,
      lease_until: null,
      wake_at: tx.raw("case when status = 'waiting' then clock_timestamp() end"),
    });

/** Makes the configuration's open run claimable; a worker that holds it loses it. */
export const releaseConfig = (tx: Tx, organizationId: string, configId: string): Promise<void> =>
  rescheduleJob(tx, jobOfConfig(organizationId, configId), 0);

/** Makes the run claimable at once, to resume from its checkpoint. Undefined when it does not exist. */
export const releaseRun = (ctx: TenantCtx, runId: string): Promise<ReleaseResult | undefined> =>
  inTransaction(ctx, async (tx) => {
    const row = await findRun(tx, ctx.organizationId, runId);
    if (row === undefined) return undefined;
    const released = await revokeLeases(tx, ctx.organizationId)
      .where('id', runId)
      .whereIn('status', ['running', 'waiting', 'publishing']);
    if (released === 0) return isFinal(row.status) ? 'ended' : 'idle';
    await insertRunEvent(tx, ctx.organizationId, runId, {
      level: 'warning',
      message: 'released by an operator',
    });
    await releaseConfig(tx, ctx.organizationId, row.sync_config_id);
    return 'released';
  });

const endedByOperator: RunError = {
  code: 'ENDED_BY_OPERATOR',
  message: 'An operator of the service ended the run',
  fix: 'Run the sync again. Nothing of this run was published.',
};
/** Long enough to delete what the run staged. */
const operatorLeaseMs = 300_000;

/** Claims the run as a worker would, but from any non-final state except `queued`. */
const takeLease = (ctx: TenantCtx, runId: string): Promise<Lease | undefined> =>
  inTransaction(ctx, async (tx) => {
    const [row] = await tx('sync_runs')
      .where({ organization_id: ctx.organizationId, id: runId })
      .whereIn('status', ['running', 'waiting', 'publishing'])
      .update({
        status: tx.raw("case when status = 'waiting' then 'running' else status end"),
        lease_epoch: tx.raw('next_lease_epoch(lease_epoch)'),
        lease_owner: 'operator',
        lease_until: null,
        wake_at: null,
      })
      .returning<{ lease_epoch: number; sync_config_id: string }[]>(['lease_epoch', 'sync_config_id']);
    if (row === undefined) return undefined;
    const { organizationId } = ctx;
    const job = await takeJob(tx, jobOfConfig(organizationId, row.sync_config_id), operatorLeaseMs);
    return { organizationId, runId, epoch: row.lease_epoch, job };
  });

/**
 * Ends the run as failed; a run that turns out to have been published gets its published outcome instead.
 * Returns its status afterwards; undefined when the run does not exist. Throws `LostLease` when another
 * worker takes the run meanwhile.
 */
export async function failRun(ctx: TenantCtx, runId: string): Promise<RunStatus | undefined> {
  const find = () => inTransaction(ctx, (tx) => findRun(tx, ctx.organizationId, runId));
  const before = await find();
  if (before === undefined || isFinal(before.status)) return before?.status;
  if (before.status === 'queued') {
    const queuedLease = { organizationId: ctx.organizationId, runId, epoch: before.lease_epoch };
    const event = {
      level: 'error',
      message: `failed: ${endedByOperator.message}`,
      data: endedByOperator,
    } as const;
    if (await moveRun(ctx, queuedLease, 'failed', { error: endedByOperator, event })) return 'failed';
  }
  const lease = await takeLease(ctx, runId);
  const claimed = await find();
  if (lease !== undefined && claimed !== undefined)
    await finishFailed(ctx, lease, claimed, { kind: 'fail', error: endedByOperator, pause: false });
  return (await find())?.status;
}

/**
 * Seconds since something was last staged for the run, by the database's clock; null when nothing ever was.
 * Rejects with database errors.
 */
export async function secondsSinceLastPage(ctx: TenantCtx, runId: string): Promise<number | null> {
  return orIfNotSetUp(null, async () => {
    const { rows } = await ctx.db.data.query<{ seconds: number }>(
      `select floor(extract(epoch from clock_timestamp() - updated_at))::int as seconds
       from ${tenantSchema(ctx.organizationId)}.run_state where run_id = $1`,
      [runId],
    );
    return rows[0]?.seconds ?? null;
  });
}

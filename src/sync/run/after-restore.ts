// Adjusts syncs after a database was restored from a backup: the ERP is ahead of the warehouse, clients may
// hold responses that the restored database never sent, and workers of the lost server may still believe that
// they hold a run. Everything here is idempotent.
import type { TenantCtx } from '../../core/ctx.ts';
import { inDataTransaction, inTransaction, type Tx } from '../../db/transaction.ts';
import { orIfNotSetUp, replaceEpochs } from '../../warehouse/record-state.ts';
import { tenantSchema, updateTenantSchema } from '../../warehouse/tenant-schema.ts';
import { insertRunEvent } from '../queue/run-events.store.ts';
import type { RunStatus } from '../queue/run-state.ts';
import { insertRun } from '../queue/runs.store.ts';
import { releaseConfig, revokeLeases } from './release.ts';

/**
 * Gives every table of the organization a new epoch, so that ETags and change tokens from before the restore
 * no longer match, and makes the next run of each record type compare everything. The high-water mark stays:
 * it is as old as the data next to it. Returns the number of record types; 0 when nothing was ever synced.
 * Rejects with any other database error.
 */
export async function resetWarehouseEpochs(ctx: TenantCtx): Promise<number> {
  return orIfNotSetUp(0, async () => {
    await updateTenantSchema(ctx, ctx.organizationId);
    return inDataTransaction(ctx.db.data, (client) =>
      replaceEpochs(client, tenantSchema(ctx.organizationId)),
    );
  });
}

export type RestoredRuns = { readonly released: number; readonly cancelled: number; readonly queued: number };

async function cancelRuns(tx: Tx, organizationId: string, ids: readonly string[]): Promise<void> {
  // The next tick of a scheduler deletes what they staged.
  await tx('sync_runs')
    .where({ organization_id: organizationId })
    .whereIn('id', ids)
    .update({
      status: 'cancelled',
      cancel_requested: true,
      lease_until: null,
      wake_at: null,
      finished_at: tx.raw('clock_timestamp()'),
    });
  for (const id of ids)
    await insertRunEvent(tx, organizationId, id, {
      level: 'info',
      message: 'cancelled because the database was restored from a backup',
    });
}

/**
 * After a restore: cancels the runs that were in progress in the backup, except those that were being
 * published, which a worker finishes without the ERP; and queues a run, which compares everything, for each
 * enabled configuration that is not paused. `before` excludes runs that were queued later.
 */
export async function restartSyncs(ctx: TenantCtx, before: Date): Promise<RestoredRuns> {
  return inTransaction(ctx, async (tx) => {
    const open = await revokeLeases(tx, ctx.organizationId)
      .whereIn('status', ['running', 'waiting', 'publishing'])
      .where('queued_at', '<=', before)
      .returning<{ id: string; sync_config_id: string; status: RunStatus }[]>([
        'id',
        'sync_config_id',
        'status',
      ]);
    const publishing = open.filter(({ status }) => status === 'publishing');
    const ended = open.filter(({ status }) => status !== 'publishing').map(({ id }) => id);
    await cancelRuns(tx, ctx.organizationId, ended);
    const configs = await tx('sync_configs')
      .where({ organization_id: ctx.organizationId, enabled: true })
      .whereNull('paused_reason')
      .select<{ id: string; record_type: string; mode: 'incremental' | 'full' }[]>(
        'id',
        'record_type',
        'mode',
      );
    let queued = 0;
    for (const { id, record_type, mode } of configs) {
      // The run that is still publishing records its own, older scan as the last one, so only a full run is
      // sure to compare everything.
      const wanted = publishing.some((run) => run.sync_config_id === id) ? 'full' : mode;
      const run = { sync_config_id: id, record_type, mode: wanted, trigger: 'manual' as const };
      const queuedRun = await insertRun(tx, ctx.organizationId, run);
      if (queuedRun !== undefined) queued += 1;
    }
    for (const { sync_config_id: id } of open) await releaseConfig(tx, ctx.organizationId, id);
    return { released: publishing.length, cancelled: ended.length, queued };
  });
}

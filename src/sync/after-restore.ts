// What a restored database means for syncs: the ERP is ahead of the warehouse, callers may hold answers that the backup never gave, and
// workers of the lost server may still believe that they hold a run. Everything here may be repeated.
import type { TenantCtx } from '../core/ctx.ts';
import { inDataTransaction, inTransaction } from '../db/transaction.ts';
import { drawEpochs, isNotSetUp } from '../warehouse/generation.ts';
import { tenantSchema, updateTenantSchema } from '../warehouse/tenant-schema.ts';
import { takeFromHolders } from './release.ts';
import { insertRunEvent } from './run-events.store.ts';
import type { RunStatus } from './run-state.ts';
import { insertRun } from './runs.store.ts';

/**
 * Gives every table of the organization a new epoch, so that no entity tag and no change token of before fits it, and has the next run
 * of each record type compare everything. The high-water mark stays: it is as old as the data beside it. Says how many tables.
 */
export async function renewWarehouse(ctx: TenantCtx): Promise<number> {
  try {
    await updateTenantSchema(ctx, ctx.organizationId);
    return await inDataTransaction(ctx.db.data, (client) => drawEpochs(client, tenantSchema(ctx.organizationId)));
  } catch (error) {
    if (isNotSetUp(error)) return 0;
    throw error;
  }
}

export type RestoredRuns = { readonly released: number; readonly cancelled: number; readonly queued: number };

/**
 * After a restore: runs that were under way in the backup end as cancelled, but for those that were being published, which a worker
 * finishes without the ERP; and each configuration that is on gets a run, which compares everything.
 */
export async function restartSyncs(ctx: TenantCtx, before: Date): Promise<RestoredRuns> {
  return inTransaction(ctx, async (tx) => {
    const own = { organization_id: ctx.organizationId };
    const open = await takeFromHolders(tx, ctx.organizationId)
      .whereIn('status', ['running', 'waiting', 'publishing'])
      .where('queued_at', '<=', before)
      .returning<{ id: string; sync_config_id: string; status: RunStatus }[]>(['id', 'sync_config_id', 'status']);
    const publishing = open.filter(({ status }) => status === 'publishing');
    const ended = open.filter(({ status }) => status !== 'publishing').map(({ id }) => id);
    // What they staged is cleared away by the next worker that looks.
    await tx('sync_runs')
      .where(own)
      .whereIn('id', ended)
      .update({ status: 'cancelled', cancel_requested: true, lease_until: null, wake_at: null, finished_at: tx.raw('clock_timestamp()') });
    for (const id of ended)
      await insertRunEvent(tx, ctx.organizationId, id, { level: 'info', message: 'cancelled: the database was restored' });
    const configs = await tx('sync_configs')
      .where({ ...own, enabled: true })
      .whereNull('paused_reason')
      .select<{ id: string; record_type: string; mode: 'incremental' | 'full' }[]>('id', 'record_type', 'mode');
    let queued = 0;
    for (const { id, record_type, mode } of configs) {
      // What is published first notes its own, older scan as the last one: only a full run compares everything all the same.
      const wanted = publishing.some((run) => run.sync_config_id === id) ? 'full' : mode;
      const made = await insertRun(tx, ctx.organizationId, { sync_config_id: id, record_type, mode: wanted, trigger: 'manual' });
      if (made !== undefined) queued += 1;
    }
    await tx.raw("select pg_notify('sync_runs', '')");
    return { released: publishing.length, cancelled: ended.length, queued };
  });
}

// Deletes data that a tenant's schema keeps for a limited time. Small transactions, one organization at a time, so that it never blocks
// a sync.
import type { Ctx } from '../core/ctx.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { isNotSetUp } from '../warehouse/record-state.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';

const rowsPerBatch = 1_000;

async function pruneBatch(ctx: Ctx, organizationId: string): Promise<number> {
  const schema = tenantSchema(organizationId);
  return inDataTransaction(ctx.db.data, async (client) => {
    const { rows } = await client.query<{ count: string }>(
      `with old as (select record_type, id from ${schema}.tombstones where deleted_at < now() - interval '30 days' limit ${rowsPerBatch}),
         gone as (delete from ${schema}.tombstones t using old where t.record_type = old.record_type and t.id = old.id
           returning t.record_type, t.generation),
         noted as (insert into ${schema}.pruned_tombstones as p (record_type, generation)
           select record_type, max(generation) from gone group by record_type
           on conflict (record_type) do update set generation = greatest(p.generation, excluded.generation))
       select count(*) from gone`,
    );
    return Number(rows[0]?.count ?? 0);
  });
}

/**
 * Deletes the tombstones of records that were deleted more than 30 days ago, and stores up to which generation, for readers of changes.
 * Stops between two batches when `signal` aborts. A failure in one organization is logged.
 */
export async function pruneTombstones(ctx: Ctx, signal: AbortSignal): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { id: string }[] }>('select id from all_organizations()');
  for (const { id } of rows) {
    try {
      while (!signal.aborted && (await pruneBatch(ctx, id)) === rowsPerBatch);
    } catch (error) {
      if (!isNotSetUp(error)) ctx.log.warn({ err: error, organizationId: id }, 'could not delete old tombstones');
    }
    if (signal.aborted) return;
  }
}

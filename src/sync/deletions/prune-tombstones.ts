// Deletes data that a tenant's schema keeps for a limited time. Small transactions, one organization at a
// time, so that it never blocks a sync.
import type { Ctx } from '../../core/ctx.ts';
import { inDataTransaction } from '../../db/transaction.ts';
import { isNotSetUp } from '../../warehouse/record-state.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';

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
 * Locks the row of record_state first, as publishing a run does, which may delete the same entries; skips
 * record types being published.
 */
async function pruneScopeChanges(ctx: Ctx, organizationId: string): Promise<number> {
  const schema = tenantSchema(organizationId);
  return inDataTransaction(ctx.db.data, async (client) => {
    const { rows: due } = await client.query<{ record_type: string }>(
      `select s.record_type from ${schema}.record_state s where (select c.at from ${schema}.scope_changes c
         where c.record_type = s.record_type order by c.generation, c.id limit 1) < now() - interval '30 days' limit 1 for update skip locked`,
    );
    const [recordType] = due.map((row) => row.record_type);
    if (recordType === undefined) return 0;
    const { rows } = await client.query<{ generation: string }>(
      `with old as (select generation, id from ${schema}.scope_changes where record_type = $1 and at < now() - interval '30 days' limit ${rowsPerBatch})
       delete from ${schema}.scope_changes c using old where c.record_type = $1 and c.generation = old.generation and c.id = old.id
       returning c.generation`,
      [recordType],
    );
    await client.query(
      `update ${schema}.record_state set scope_pruned = greatest(scope_pruned, (select max(g) from unnest($2::bigint[]) g)) where record_type = $1`,
      [recordType, rows.map(({ generation }) => generation)],
    );
    return rows.length;
  });
}

/**
 * Deletes the tombstones of records that were deleted more than 30 days ago, and what is kept of changes of
 * their scope columns from before then, and stores up to which generation, for readers of changes. Stops
 * between two batches when `signal` aborts. A failure in one organization is logged.
 */
export async function pruneTombstones(ctx: Ctx, signal: AbortSignal): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { id: string }[] }>('select id from all_organizations()');
  for (const { id } of rows) {
    try {
      while (!signal.aborted && (await pruneBatch(ctx, id)) === rowsPerBatch);
      while (!signal.aborted && (await pruneScopeChanges(ctx, id)) > 0);
    } catch (error) {
      if (!isNotSetUp(error))
        ctx.log.warn({ err: error, organizationId: id }, 'could not delete old tombstones and scope changes');
    }
    if (signal.aborted) return;
  }
}

// Indexes of synced tables, for the publication of versions over them. DDL, so never part of a run's steady
// path.
import type { TenantCtx } from '../../core/ctx.ts';
import type { Tx } from '../../db/transaction.ts';
import {
  buildIndexes,
  deleteWantedIndexesExcept,
  dropUnwantedIndexes,
  type IndexSpec,
  insertWantedIndexes,
  listMissingIndexes,
  listWantedIndexes,
} from '../../warehouse/indexes.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';

async function activeTable(ctx: TenantCtx, recordType: string): Promise<string | null> {
  const { rows } = await ctx.db.data.query<{ table: string | null }>(
    `select active_table as "table" from ${tenantSchema(ctx.organizationId)}.record_state where record_type = $1`,
    [recordType],
  );
  return rows[0]?.table ?? null;
}

/** Those of `specs` that the active table lacks; all of them when there is no active table. */
export async function findIndexesToBuild(
  ctx: TenantCtx,
  recordType: string,
  specs: readonly IndexSpec[],
): Promise<readonly IndexSpec[]> {
  const table = await activeTable(ctx, recordType);
  return table === null
    ? specs
    : listMissingIndexes(ctx.db.control, tenantSchema(ctx.organizationId), table, specs);
}

/** From now on every table that goes live also gets these indexes. */
export const saveWantedIndexes = (ctx: TenantCtx, recordType: string, specs: readonly IndexSpec[]) =>
  insertWantedIndexes(ctx.db.control, tenantSchema(ctx.organizationId), recordType, specs);

/**
 * Builds concurrently the wanted indexes that the active table lacks, and repeats when another table went
 * live meanwhile. Rejects with the signal's reason when `signal` aborts.
 */
export async function buildWantedIndexes(
  ctx: TenantCtx,
  recordType: string,
  onBuilt: (done: number, of: number) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const schema = tenantSchema(ctx.organizationId);
  for (
    let table = await activeTable(ctx, recordType), built: string | null = null;
    table !== null && table !== built;
    table = await activeTable(ctx, recordType)
  ) {
    const wanted = await listWantedIndexes(ctx.db.control, schema, recordType);
    const lacked = await buildIndexes(ctx.db.control, schema, table, wanted, true, onBuilt, signal);
    if (lacked > 0) await ctx.db.control.raw(`analyze ${schema}."${table}"`);
    built = table;
  }
}

type Needed = ReadonlyMap<string, readonly IndexSpec[]>;

/**
 * From now on tables get no indexes but these. `readNeeded` is called under the lock that keeps others from
 * adding wanted indexes.
 */
export const discardOtherIndexes = (tx: Tx, organizationId: string, readNeeded: () => Promise<Needed>) =>
  deleteWantedIndexesExcept(tx, tenantSchema(organizationId), readNeeded);

/**
 * Builds the newly needed indexes on the active tables and drops those that are no longer wanted. An index is
 * saved as wanted only after it was built, so an interrupted call starts again with it. Rejects with the
 * signal's reason when `signal` aborts.
 */
export async function reconcileIndexes(ctx: TenantCtx, needed: Needed, signal: AbortSignal): Promise<void> {
  const { control } = ctx.db;
  const schema = tenantSchema(ctx.organizationId);
  for (const [recordType, specs] of needed) {
    const wanted = new Set(
      (await listWantedIndexes(control, schema, recordType)).map(
        ({ method, expression }) => `${method} ${expression}`,
      ),
    );
    const added = specs.filter(({ method, expression }) => !wanted.has(`${method} ${expression}`));
    if (added.length === 0) continue;
    const table = await activeTable(ctx, recordType);
    if (table !== null) await buildIndexes(control, schema, table, added, true, undefined, signal);
    await insertWantedIndexes(control, schema, recordType, added);
    await buildWantedIndexes(ctx, recordType, () => Promise.resolve(), signal);
  }
  const { rows } = await control.raw<{ rows: { recordType: string; table: string }[] }>(
    `select record_type as "recordType", active_table as "table" from ${schema}.record_state where active_table is not null order by 1`,
  );
  for (const live of rows) await dropUnwantedIndexes(control, schema, live, signal);
}

// The indexes of synced tables, for whoever publishes versions over them. DDL, so never part of a run's steady path.
import type { TenantCtx } from '../core/ctx.ts';
import { readState } from '../warehouse/generation.ts';
import { buildIndexes, type IndexSpec, missingIndexes, rememberIndexes, wantedIndexes } from '../warehouse/indexes.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';

const activeTable = async (ctx: TenantCtx, recordType: string): Promise<string | null> =>
  (await readState(ctx.db.data, tenantSchema(ctx.organizationId), recordType))?.activeTable ?? null;

/** Which of these indexes the table that readers see lacks. */
export async function indexesToBuild(ctx: TenantCtx, recordType: string, specs: readonly IndexSpec[]): Promise<readonly IndexSpec[]> {
  const table = await activeTable(ctx, recordType);
  return table === null ? specs : missingIndexes(ctx.db.control, tenantSchema(ctx.organizationId), table, specs);
}

/** Every table that goes live from now on has these indexes too. */
export const rememberWantedIndexes = (ctx: TenantCtx, recordType: string, specs: readonly IndexSpec[]): Promise<void> =>
  rememberIndexes(ctx.db.control, tenantSchema(ctx.organizationId), recordType, specs);

/** Builds concurrently what the live table lacks; again if a new table went live meanwhile. */
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
    const wanted = await wantedIndexes(ctx.db.control, schema, recordType);
    if ((await missingIndexes(ctx.db.control, schema, table, wanted)).length > 0) {
      await buildIndexes(ctx.db.control, schema, table, wanted, true, onBuilt, signal);
      await ctx.db.control.raw(`analyze ${schema}."${table}"`);
    }
    built = table;
  }
}

// The indexes of synced tables, for whoever publishes versions over them. DDL, so never part of a run's steady path.
import type { TenantCtx } from '../core/ctx.ts';
import type { Tx } from '../db/transaction.ts';
import { readState } from '../warehouse/generation.ts';
import {
  buildIndexes,
  dropUnwantedIndexes,
  forgetIndexesBut,
  type IndexSpec,
  missingIndexes,
  rememberIndexes,
  wantedIndexes,
} from '../warehouse/indexes.ts';
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
    const lacked = await buildIndexes(ctx.db.control, schema, table, wanted, true, onBuilt, signal);
    if (lacked > 0) await ctx.db.control.raw(`analyze ${schema}."${table}"`);
    built = table;
  }
}

type Needed = ReadonlyMap<string, readonly IndexSpec[]>;

/** From now on no table gets indexes but these, which are asked for when nobody can want more in between. */
export const forgetOtherIndexes = (tx: Tx, organizationId: string, readNeeded: () => Promise<Needed>): Promise<void> =>
  forgetIndexesBut(tx, tenantSchema(organizationId), readNeeded);

/**
 * Gives the live tables what they lack of these, where it was not wanted before, and takes away what is not wanted any more. Remembered
 * when it is built: whoever is stopped in between begins again.
 */
export async function fitIndexes(ctx: TenantCtx, needed: Needed, signal: AbortSignal): Promise<void> {
  const { control } = ctx.db;
  const schema = tenantSchema(ctx.organizationId);
  for (const [recordType, specs] of needed) {
    const wanted = new Set((await wantedIndexes(control, schema, recordType)).map(({ method, expression }) => `${method} ${expression}`));
    const added = specs.filter(({ method, expression }) => !wanted.has(`${method} ${expression}`));
    if (added.length === 0) continue;
    const table = await activeTable(ctx, recordType);
    if (table !== null) await buildIndexes(control, schema, table, added, true, undefined, signal);
    await rememberIndexes(control, schema, recordType, added);
    await buildWantedIndexes(ctx, recordType, () => Promise.resolve(), signal);
  }
  const { rows } = await control.raw<{ rows: { recordType: string; table: string }[] }>(
    `select record_type as "recordType", active_table as "table" from ${schema}.record_state where active_table is not null order by 1`,
  );
  for (const live of rows) await dropUnwantedIndexes(control, schema, live, signal);
}

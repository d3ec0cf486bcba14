// Gets the warehouse ready for a run: tables, columns and the place where its pages go. All DDL of a sync happens here, in
// transactions of its own, and only when something is new; a run on a settled record type issues none.
import type { FieldMetadata, RecordTypeMetadata } from '../connectors/connector.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { type ColumnChanges, planColumns, type RecordColumn, readColumns } from '../warehouse/columns.ts';
import { isNotSetUp, type RecordState, readState } from '../warehouse/generation.ts';
import { type RunState, startRunState, takeOverRunState } from '../warehouse/run-row.ts';
import { applyColumnChanges, createFreshTable, createStagingTable, stagingTable } from '../warehouse/table.ts';
import { createTenantSchema, tenantSchema } from '../warehouse/tenant-schema.ts';
import type { Lease } from './runs.store.ts';

/** A full run that fills a new column rewrites every row: from this many rows on that is cheaper into a fresh table. */
const rewriteThreshold = 10_000;

export type PreparedRun = {
  readonly schema: string;
  readonly state: RunState;
  readonly fields: readonly string[];
  /** Fields that the configuration names and the ERP no longer offers. */
  readonly unreadable: readonly string[];
  /** What changed in the record type since the last run; null when nothing did, and before anything was synced. */
  readonly drift: Drift | null;
  /** The generation that this run's changes will carry. */
  readonly generation: string;
};
export type Drift = { readonly added: readonly string[]; readonly vanished: readonly string[]; readonly replaced: readonly string[] };

const wantedFields = (recordType: RecordTypeMetadata, chosen: readonly string[] | null): readonly FieldMetadata[] =>
  recordType.fields.filter(({ name, syncable }) => syncable && name !== 'id' && (chosen === null || chosen.includes(name)));

const isCurrent = ({ state }: RecordColumn): boolean => state === 'live' || state === 'loading';

const findState = (ctx: TenantCtx, schema: string, recordType: string): Promise<RecordState | undefined> =>
  readState(ctx.db.data, schema, recordType).catch((error: unknown) => {
    if (isNotSetUp(error)) return undefined;
    throw error;
  });

/** The row in record_state is written last: where it stands, schema and staging table stand too. */
async function setUp(ctx: TenantCtx, schema: string, { name, idType }: RecordTypeMetadata): Promise<RecordState> {
  const found = await findState(ctx, schema, name);
  if (found !== undefined) return found;
  await createTenantSchema(ctx, ctx.organizationId);
  await createStagingTable(ctx.db.control, schema, name, idType);
  await ctx.db.control.raw(`insert into ${schema}.record_state (record_type, id_type) values (?, ?) on conflict do nothing`, [
    name,
    idType,
  ]);
  const made = await readState(ctx.db.data, schema, name);
  if (made === undefined) throw new Error('the record state is missing');
  return made;
}

const fieldNames = (columns: readonly RecordColumn[]): string[] => [...new Set(columns.map(({ field }) => field))];

function driftOf({ added, changed }: ColumnChanges, { activeTable }: RecordState): Drift | null {
  if (activeTable === null || added.length + changed.length === 0) return null;
  const inState = (state: RecordColumn['state']) => fieldNames(changed.filter((column) => column.state === state));
  return { added: fieldNames([...added, ...changed.filter(isCurrent)]), vanished: inState('vanished'), replaced: inState('replaced') };
}

/** Every column of the record type, old ones included, once the tables agree with what the ERP offers. */
async function settleColumns(
  ctx: TenantCtx,
  schema: string,
  before: RecordState,
  fields: readonly FieldMetadata[],
): Promise<{ columns: RecordColumn[]; drift: Drift | null }> {
  const { recordType, activeTable } = before;
  const existing = await readColumns(ctx.db.data, schema, recordType);
  const changes = planColumns(existing, fields);
  if (changes.added.length + changes.changed.length === 0) return { columns: existing, drift: null };
  const tables = [stagingTable(recordType), ...(activeTable === null ? [] : [activeTable])];
  await applyColumnChanges(ctx.db.control, schema, recordType, tables, changes, existing.length);
  return { columns: await readColumns(ctx.db.data, schema, recordType), drift: driftOf(changes, before) };
}

const sameColumns = (a: readonly RecordColumn[], b: readonly RecordColumn[]): boolean =>
  JSON.stringify(a.map(({ column, lineFields }) => [column, lineFields])) ===
  JSON.stringify(b.map(({ column, lineFields }) => [column, lineFields]));

/** Resumes at the checkpoint when the run began before and nothing about its columns changed; begins anew otherwise. */
export async function prepareRun(
  ctx: TenantCtx,
  lease: Lease,
  recordType: RecordTypeMetadata,
  chosen: readonly string[] | null,
  erpNow: () => Promise<Date>,
): Promise<PreparedRun> {
  const schema = tenantSchema(ctx.organizationId);
  const before = await setUp(ctx, schema, recordType);
  const begun = await inDataTransaction(ctx.db.data, (client) => takeOverRunState(client, schema, lease.runId, lease.epoch));
  const fields = wantedFields(recordType, chosen);
  const { columns: all, drift } = await settleColumns(ctx, schema, before, fields);
  const columns = all.filter(isCurrent);
  const prepared = {
    schema,
    fields: fields.map(({ name }) => name),
    unreadable: (chosen ?? []).filter((name) => name !== 'id' && !fields.some((field) => field.name === name)),
    drift,
    generation: (BigInt(before.generation) + 1n).toString(),
  };
  if (begun !== undefined && sameColumns(begun.columns, columns)) return { ...prepared, state: begun };
  const rewrites = before.activeTable === null || (before.rowCount >= rewriteThreshold && columns.some(({ state }) => state === 'loading'));
  const erpStartedAt = (await erpNow()).toISOString();
  const state: RunState = {
    runId: lease.runId,
    recordType: recordType.name,
    leaseEpoch: lease.epoch,
    // A fresh table has the old columns as well: published versions may read them.
    targetTable: rewrites
      ? await createFreshTable(ctx.db.control, schema, recordType.name, recordType.idType, all)
      : stagingTable(recordType.name),
    columns,
    page: 0,
    checkpoint: null,
    complete: false,
    outcome: null,
    counters: { fetched: 0, rejected: 0, pages: 0, erpStartedAt },
  };
  await inDataTransaction(ctx.db.data, (client) => startRunState(client, schema, state));
  return { ...prepared, state };
}

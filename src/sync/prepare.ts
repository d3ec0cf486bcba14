// Gets the warehouse ready for a run: tables, columns and the place where its pages go. All DDL of a sync happens here, in
// transactions of its own, and only when something is new; a run on a settled record type issues none.
import type { FieldMetadata, RecordTypeMetadata } from '../connectors/connector.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { planColumns, type RecordColumn, readColumns } from '../warehouse/columns.ts';
import { isNotSetUp, type RecordState, readState } from '../warehouse/generation.ts';
import { type RunPlan, type RunState, startPlan, startRunState, takeOverRunState } from '../warehouse/run-row.ts';
import { applyColumnChanges, createFreshTable, createStagingTable, stagingTable } from '../warehouse/table.ts';
import { createTenantSchema, tenantSchema } from '../warehouse/tenant-schema.ts';
import { noteDrift } from './drift.ts';
import type { Lease } from './runs.store.ts';

/** A full run that fills a new column rewrites every row: from this many rows on that is cheaper into a fresh table. */
const rewriteThreshold = 10_000;

export type PreparedRun = {
  readonly schema: string;
  readonly state: RunState;
  readonly fields: readonly string[];
  /** Fields that the configuration names and the ERP no longer offers. */
  readonly unreadable: readonly string[];
  /** The generation that this run's changes will carry. */
  readonly generation: string;
  /** What readers see; null before the first load. */
  readonly activeTable: string | null;
  readonly reconciledAt: Date | null;
  /** As it was before this run. */
  readonly highWater: string | null;
};
const wantedFields = (recordType: RecordTypeMetadata, chosen: readonly string[] | null): readonly FieldMetadata[] =>
  recordType.fields.filter(({ name, syncable }) => syncable && name !== 'id' && (chosen === null || chosen.includes(name)));

const isCurrent = ({ state }: RecordColumn): boolean => state === 'live' || state === 'loading';

/** What is written: the current columns, and those of a former type of a field that is still read. */
const writtenColumns = (all: readonly RecordColumn[]): RecordColumn[] => {
  const read = new Set(all.filter((column) => isCurrent(column) && column.part === 'value').map(({ field }) => field));
  return all.filter((column) => isCurrent(column) || (column.state === 'replaced' && column.part === 'value' && read.has(column.field)));
};

/**
 * Everything is read when someone asks for it, at a first load, for a column that no complete read has filled yet, and where the ERP
 * doesn't say when a record was changed; else what changed since the high-water mark, and some time before it.
 */
function planRun(
  ctx: TenantCtx,
  { asked, recordType, columns }: Pick<RunOrder, 'asked' | 'recordType'> & { columns: readonly RecordColumn[] },
  before: RecordState,
): RunPlan {
  const { idType, modifiedField } = recordType;
  const { highWater, activeTable } = before;
  const complete = asked === 'full' || activeTable === null || modifiedField === null || columns.some(({ state }) => state === 'loading');
  if (complete || highWater === null) return startPlan({ mode: 'full', idType, since: null });
  const since = new Date(new Date(highWater).getTime() - ctx.settings.sync.overlapMs).toISOString();
  return startPlan({ mode: 'incremental', idType, since });
}

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

/** Every column of the record type, old ones included, once the tables agree with what the ERP offers. */
async function settleColumns(
  ctx: TenantCtx,
  schema: string,
  before: RecordState,
  fields: readonly FieldMetadata[],
): Promise<RecordColumn[]> {
  const { recordType, activeTable } = before;
  const existing = await readColumns(ctx.db.data, schema, recordType);
  const changes = planColumns(existing, fields);
  if (changes.added.length + changes.changed.length === 0) return existing;
  const tables = [stagingTable(recordType), ...(activeTable === null ? [] : [activeTable])];
  await applyColumnChanges(ctx.db.control, schema, recordType, tables, changes, existing.length);
  return readColumns(ctx.db.data, schema, recordType);
}

const sameColumns = (a: readonly RecordColumn[], b: readonly RecordColumn[]): boolean =>
  JSON.stringify(a.map(({ column, lineFields }) => [column, lineFields])) ===
  JSON.stringify(b.map(({ column, lineFields }) => [column, lineFields]));

export type RunOrder = {
  readonly recordType: RecordTypeMetadata;
  /** The fields that the configuration names; null for all. */
  readonly chosen: readonly string[] | null;
  readonly asked: 'incremental' | 'full';
};

/**
 * A clock of the ERP that went back behind the high-water mark takes the mark with it, and calls for a complete scan: what changes now
 * may bear a time that lies before what would be read as changed. Written at once, for the run that sees it may fail, and the clock
 * come forward again. To read more than needed does no harm.
 */
async function followClock(
  ctx: TenantCtx,
  schema: string,
  { recordType, highWater }: RecordState,
  erpStartedAt: string,
): Promise<string | null> {
  if (highWater === null || Date.parse(erpStartedAt) >= Date.parse(highWater)) return highWater;
  const lowered = new Date(Date.parse(erpStartedAt) - ctx.settings.sync.settleMs).toISOString();
  await inDataTransaction(ctx.db.data, (client) =>
    client.query(
      `update ${schema}.record_state set high_water = least(high_water, $2::timestamptz), reconciled_at = null where record_type = $1`,
      [recordType, lowered],
    ),
  );
  return lowered;
}

/** A complete read over a table that stays in place is compared with it page by page. */
function comparing(plan: RunPlan, rewrites: boolean, { activeTable, generation }: RecordState): RunPlan {
  if (plan.mode !== 'full' || rewrites || activeTable === null) return plan;
  return { ...plan, comparedWith: { table: activeTable, generation } };
}
const isStillThere = ({ plan: { comparedWith = null } }: RunState, { activeTable, generation }: RecordState): boolean =>
  comparedWith === null || (comparedWith.table === activeTable && comparedWith.generation === generation);

async function startRun(
  ctx: TenantCtx,
  lease: Lease,
  order: RunOrder,
  before: RecordState,
  all: readonly RecordColumn[],
  erpNow: () => Promise<Date>,
): Promise<RunState> {
  const { name, idType } = order.recordType;
  const schema = tenantSchema(ctx.organizationId);
  const columns = writtenColumns(all);
  const rewrites = before.activeTable === null || (before.rowCount >= rewriteThreshold && columns.some(({ state }) => state === 'loading'));
  const erpStartedAt = (await erpNow()).toISOString();
  const highWater = await followClock(ctx, schema, before, erpStartedAt);
  const state: RunState = {
    runId: lease.runId,
    recordType: name,
    leaseEpoch: lease.epoch,
    // A fresh table has the old columns as well: published versions may read them.
    targetTable: rewrites ? await createFreshTable(ctx.db.control, schema, name, idType, all) : stagingTable(name),
    columns,
    page: 0,
    checkpoint: null,
    complete: false,
    plan: comparing(planRun(ctx, { ...order, columns }, { ...before, highWater }), rewrites, before),
    outcome: null,
    counters: { fetched: 0, rejected: 0, pages: 0, erpStartedAt },
  };
  await inDataTransaction(ctx.db.data, (client) => startRunState(client, schema, state));
  return state;
}

/** Resumes at the checkpoint when the run began before and nothing about its columns changed; begins anew otherwise. */
export async function prepareRun(ctx: TenantCtx, lease: Lease, order: RunOrder, erpNow: () => Promise<Date>): Promise<PreparedRun> {
  const { recordType, chosen } = order;
  const schema = tenantSchema(ctx.organizationId);
  const before = await setUp(ctx, schema, recordType);
  const begun = await inDataTransaction(ctx.db.data, (client) => takeOverRunState(client, schema, lease.runId, lease.epoch));
  const fields = wantedFields(recordType, chosen);
  await noteDrift(ctx, schema, lease.runId, recordType);
  const all = await settleColumns(ctx, schema, before, fields);
  const resumes = begun !== undefined && sameColumns(begun.columns, writtenColumns(all)) && isStillThere(begun, before);
  return {
    schema,
    state: resumes ? begun : await startRun(ctx, lease, order, before, all, erpNow),
    fields: fields.map(({ name }) => name),
    unreadable: (chosen ?? []).filter((name) => name !== 'id' && !fields.some((field) => field.name === name)),
    generation: (BigInt(before.generation) + 1n).toString(),
    activeTable: before.activeTable,
    highWater: before.highWater,
    reconciledAt: await readReconciledAt(ctx, schema, recordType.name),
  };
}

/** When the ERP's clock stood at the last complete scan or read. */
async function readReconciledAt(ctx: TenantCtx, schema: string, recordType: string): Promise<Date | null> {
  const { rows } = await ctx.db.data.query<{ at: Date | null }>(
    `select reconciled_at as at from ${schema}.record_state where record_type = $1`,
    [recordType],
  );
  return rows[0]?.at ?? null;
}

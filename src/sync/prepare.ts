// Prepares the warehouse for a run: tables, columns, and the table that its pages are staged in. All DDL of a sync happens here, in
// transactions of its own, and only when something is new; a run over an unchanged record type issues none.
import type { FieldMetadata, RecordTypeMetadata } from '../connectors/connector.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { planColumns, type RecordColumn, readRecordColumns } from '../warehouse/columns.ts';
import { isNotSetUp, type RecordState, readRecordState } from '../warehouse/record-state.ts';
import { createRunPlan, initRunState, type RunPlan, type RunState, takeOverRunState } from '../warehouse/run-state-row.ts';
import { applyColumnChanges, createFreshTable, createStagingTable, stagingTable } from '../warehouse/table.ts';
import { createTenantSchema, tenantSchema } from '../warehouse/tenant-schema.ts';
import { recordDrift } from './drift.ts';
import type { Lease } from './runs.store.ts';

/** A full run that fills a new column rewrites every row; from this many rows on, writing them into a fresh table is cheaper. */
const rewriteThresholdRows = 10_000;

export type PreparedRun = {
  readonly schema: string;
  readonly state: RunState;
  readonly fields: readonly string[];
  /** Fields that the configuration selects and the ERP no longer offers. */
  readonly unreadable: readonly string[];
  /** The generation that this run's changes get when they are published. */
  readonly generation: string;
  /** The table that readers see; null before the first load. */
  readonly activeTable: string | null;
  /** The ERP's clock at the last scan or full read; null before the first. */
  readonly lastScanAt: Date | null;
  /** The high-water mark before this run, RFC 3339 UTC; null before the first full run. */
  readonly highWater: string | null;
};
const wantedFields = (recordType: RecordTypeMetadata, configured: readonly string[] | null): readonly FieldMetadata[] =>
  recordType.fields.filter(({ name, syncable }) => syncable && name !== 'id' && (configured === null || configured.includes(name)));

const isCurrent = ({ state }: RecordColumn): boolean => state === 'live' || state === 'loading';

/** The columns that a run writes: the current ones, and those of a former type of a field that is still read. */
const writtenColumns = (all: readonly RecordColumn[]): RecordColumn[] => {
  const read = new Set(all.filter((column) => isCurrent(column) && column.part === 'value').map(({ field }) => field));
  return all.filter((column) => isCurrent(column) || (column.state === 'replaced' && column.part === 'value' && read.has(column.field)));
};

/**
 * A run reads everything when that was requested, on a first load, when no complete read has filled one of the columns yet, and when the
 * ERP reports no modification times. Otherwise it reads what changed since the high-water mark minus the overlap.
 */
function planRun(
  ctx: TenantCtx,
  { requestedMode, recordType, columns }: Pick<RunRequest, 'requestedMode' | 'recordType'> & { columns: readonly RecordColumn[] },
  before: RecordState,
): RunPlan {
  const { idType, modifiedField } = recordType;
  const { highWater, activeTable } = before;
  const complete =
    requestedMode === 'full' || activeTable === null || modifiedField === null || columns.some(({ state }) => state === 'loading');
  if (complete || highWater === null) return createRunPlan({ mode: 'full', idType, since: null });
  const since = new Date(new Date(highWater).getTime() - ctx.settings.sync.overlapMs).toISOString();
  return createRunPlan({ mode: 'incremental', idType, since });
}

const findState = (ctx: TenantCtx, schema: string, recordType: string): Promise<RecordState | undefined> =>
  readRecordState(ctx.db.data, schema, recordType).catch((error: unknown) => {
    if (isNotSetUp(error)) return undefined;
    throw error;
  });

/** The row in record_state is written last: when it exists, the schema and the staging table exist too. */
async function ensureRecordState(ctx: TenantCtx, schema: string, { name, idType }: RecordTypeMetadata): Promise<RecordState> {
  const found = await findState(ctx, schema, name);
  if (found !== undefined) return found;
  await createTenantSchema(ctx, ctx.organizationId);
  await createStagingTable(ctx.db.control, schema, name, idType);
  await ctx.db.control.raw(`insert into ${schema}.record_state (record_type, id_type) values (?, ?) on conflict do nothing`, [
    name,
    idType,
  ]);
  const created = await readRecordState(ctx.db.data, schema, name);
  if (created === undefined) throw new Error('the record state is missing although it was just created');
  return created;
}

/** Adds the columns that the tables lack, and returns all columns of the record type, including those no longer in use. */
async function updateColumns(
  ctx: TenantCtx,
  schema: string,
  before: RecordState,
  fields: readonly FieldMetadata[],
): Promise<RecordColumn[]> {
  const { recordType, activeTable } = before;
  const existing = await readRecordColumns(ctx.db.data, schema, recordType);
  const changes = planColumns(existing, fields);
  if (changes.added.length + changes.changed.length === 0) return existing;
  const tables = [stagingTable(recordType), ...(activeTable === null ? [] : [activeTable])];
  await applyColumnChanges(ctx.db.control, schema, recordType, tables, changes, existing.length);
  return readRecordColumns(ctx.db.data, schema, recordType);
}

const haveSameColumns = (a: readonly RecordColumn[], b: readonly RecordColumn[]): boolean =>
  JSON.stringify(a.map(({ column, lineFields }) => [column, lineFields])) ===
  JSON.stringify(b.map(({ column, lineFields }) => [column, lineFields]));

export type RunRequest = {
  readonly recordType: RecordTypeMetadata;
  /** The fields that the configuration selects; null for all. */
  readonly configuredFields: readonly string[] | null;
  readonly requestedMode: 'incremental' | 'full';
};

/**
 * When the ERP's clock went back behind the high-water mark, lowers the mark with it and makes a scan due: records that change now
 * may get a modification time before the range that would be read. Written at once, because the run that notices it may fail and the
 * clock may move forward again. Reading more than needed does no harm.
 */
async function lowerHighWaterToErpClock(
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

/** A complete read of a table that stays in place is compared with that table page by page. */
function withComparedTable(plan: RunPlan, rewrites: boolean, { activeTable, generation }: RecordState): RunPlan {
  if (plan.mode !== 'full' || rewrites || activeTable === null) return plan;
  return { ...plan, comparedWith: { table: activeTable, generation } };
}
const isComparedTableCurrent = ({ plan: { comparedWith = null } }: RunState, { activeTable, generation }: RecordState): boolean =>
  comparedWith === null || (comparedWith.table === activeTable && comparedWith.generation === generation);

async function startRun(
  ctx: TenantCtx,
  lease: Lease,
  request: RunRequest,
  before: RecordState,
  all: readonly RecordColumn[],
  erpNow: () => Promise<Date>,
): Promise<RunState> {
  const { name, idType } = request.recordType;
  const schema = tenantSchema(ctx.organizationId);
  const columns = writtenColumns(all);
  const rewrites =
    before.activeTable === null || (before.rowCount >= rewriteThresholdRows && columns.some(({ state }) => state === 'loading'));
  const erpStartedAt = (await erpNow()).toISOString();
  const highWater = await lowerHighWaterToErpClock(ctx, schema, before, erpStartedAt);
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
    plan: withComparedTable(planRun(ctx, { ...request, columns }, { ...before, highWater }), rewrites, before),
    outcome: null,
    counters: { fetched: 0, rejected: 0, pages: 0, erpStartedAt },
  };
  await inDataTransaction(ctx.db.data, (client) => initRunState(client, schema, state));
  return state;
}

/**
 * Resumes at the checkpoint when the run was started before and neither its columns nor the table it is compared with changed; otherwise
 * starts it from the first page. Throws `LostLease` when a newer lease holds the run, `OrganizationGone` when the organization was deleted,
 * and what `erpNow` throws.
 */
export async function prepareRun(ctx: TenantCtx, lease: Lease, request: RunRequest, erpNow: () => Promise<Date>): Promise<PreparedRun> {
  const { recordType, configuredFields } = request;
  const schema = tenantSchema(ctx.organizationId);
  const before = await ensureRecordState(ctx, schema, recordType);
  const resumable = await inDataTransaction(ctx.db.data, (client) => takeOverRunState(client, schema, lease.runId, lease.epoch));
  const fields = wantedFields(recordType, configuredFields);
  await recordDrift(ctx, schema, lease.runId, recordType);
  const all = await updateColumns(ctx, schema, before, fields);
  const resumes =
    resumable !== undefined && haveSameColumns(resumable.columns, writtenColumns(all)) && isComparedTableCurrent(resumable, before);
  return {
    schema,
    state: resumes ? resumable : await startRun(ctx, lease, request, before, all, erpNow),
    fields: fields.map(({ name }) => name),
    unreadable: (configuredFields ?? []).filter((name) => name !== 'id' && !fields.some((field) => field.name === name)),
    generation: (BigInt(before.generation) + 1n).toString(),
    activeTable: before.activeTable,
    highWater: before.highWater,
    lastScanAt: await readLastScanAt(ctx, schema, recordType.name),
  };
}

/** The ERP's clock at the last scan or full read; null before the first. */
async function readLastScanAt(ctx: TenantCtx, schema: string, recordType: string): Promise<Date | null> {
  const { rows } = await ctx.db.data.query<{ at: Date | null }>(
    `select reconciled_at as at from ${schema}.record_state where record_type = $1`,
    [recordType],
  );
  return rows[0]?.at ?? null;
}

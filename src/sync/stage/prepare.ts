// Prepares the warehouse for a run: tables, columns, and the table that its pages are staged in. All DDL of a
// sync happens here, in transactions of its own, and only when something is new; a run over an unchanged
// record type issues none.
import { isDeepStrictEqual } from 'node:util';
import type { PoolClient } from 'pg';
import type { FieldMetadata, RecordTypeMetadata } from '../../connectors/connector.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { inDataTransaction } from '../../db/transaction.ts';
import { planColumns, type RecordColumn, readRecordColumns } from '../../warehouse/columns.ts';
import {
  orIfNotSetUp,
  type RecordState,
  readRecordState,
  type StalePlan,
} from '../../warehouse/record-state.ts';
import { type RollingRead, readRollingRead } from '../../warehouse/rolling-reads.ts';
import {
  createRunPlan,
  initRunState,
  type RunPlan,
  type RunState,
  takeOverRunState,
} from '../../warehouse/run-state-row.ts';
import { endAcceptances } from '../../warehouse/stale-fields.ts';
import {
  applyColumnChanges,
  createFreshTable,
  createStagingTable,
  stagingTable,
} from '../../warehouse/table.ts';
import { createTenantSchema, tenantSchema } from '../../warehouse/tenant-schema.ts';
import { type ErpClock, lowerHighWaterToErpClock } from '../account/erp-clock.ts';
import { type EmptyFields, type Found, findStillEmpty } from '../fields/ask-filled.ts';
import { recordDrift } from '../fields/drift.ts';
import { findUnreadable } from '../fields/find-unreadable.ts';
import type { Lease, RunRow } from '../queue/runs.store.ts';

/** From this many rows on, filling a new column is cheaper in a fresh table than by rewriting each row. */
const rewriteThresholdRows = 10_000;

export type PreparedRun = {
  readonly schema: string;
  readonly state: RunState;
  readonly fields: readonly string[];
  /**
   * Fields that the configuration selects and the ERP no longer offers; `state.plan.stale` has those that an
   * API version shows.
   */
  readonly unreadable: readonly string[];
  /** The generation that this run's changes get when they are published. */
  readonly generation: string;
  /** The table that readers see; null before the first load. */
  readonly activeTable: string | null;
  /** The ERP's calendar day of the last scan or full read, YYYY-MM-DD; null before the first. */
  readonly scannedOn: string | null;
  /** The last published run had another filter: records that didn't change may have to leave or enter. */
  readonly hasNewFilter: boolean;
  /** When the last published run started, by the database's clock, RFC 3339 UTC; null before the first. */
  readonly syncedAt: string | null;
  /** The number of stored records before this run. */
  readonly rowCount: number;
  readonly rollingRead: RollingRead;
  /** The high-water mark before this run, RFC 3339 UTC; null before the first full run. */
  readonly highWater: string | null;
};
const wantedFields = (
  recordType: RecordTypeMetadata,
  configured: readonly string[] | null,
): readonly FieldMetadata[] =>
  recordType.fields.filter(
    ({ name, syncable }) => syncable && name !== 'id' && (configured === null || configured.includes(name)),
  );

const isCurrent = ({ state }: RecordColumn): boolean =>
  state === 'live' || state === 'loading' || state === 'returned';

/** The columns that a run writes: the current ones, and those of a former type of a field still read. */
const writtenColumns = (all: readonly RecordColumn[]): RecordColumn[] => {
  const read = new Set(
    all.filter((column) => isCurrent(column) && column.part === 'value').map(({ field }) => field),
  );
  return all.filter(
    (column) =>
      isCurrent(column) || (column.state === 'replaced' && column.part === 'value' && read.has(column.field)),
  );
};

type Columns = { readonly columns: readonly RecordColumn[]; readonly isFilledAgain: boolean };

/**
 * A run reads everything when that was requested, on a first load, when no complete read has filled one of
 * the columns since it was added or returned, when a field that came empty is filled again, and when the ERP
 * neither reports modification times nor keeps track of changes. Otherwise it reads what changed since the
 * high-water mark minus the overlap; or requested records alone, unless the last published run read by another filter.
 */
function planRun(
  ctx: TenantCtx,
  {
    requestedMode,
    recordType,
    columns,
    isFilledAgain,
  }: Pick<RunRequest, 'requestedMode' | 'recordType'> & Columns,
  before: RecordState,
): RunPlan {
  const { idType, modifiedField } = recordType;
  const { highWater, activeTable } = before;
  const changeToken = modifiedField === null ? before.changeToken : null;
  const isUnfilled = columns.some(({ state }) => state === 'loading' || state === 'returned');
  const isSameFilter = isDeepStrictEqual(before.filter, recordType.filter ?? null);
  const mode = requestedMode === 'reread' && isSameFilter ? 'reread' : 'incremental';
  const complete =
    requestedMode === 'full' ||
    activeTable === null ||
    (modifiedField === null && changeToken === null && mode === 'incremental') ||
    isUnfilled ||
    isFilledAgain;
  if (complete || highWater === null) return createRunPlan({ mode: 'full', idType, since: null });
  const since = new Date(new Date(highWater).getTime() - ctx.settings.sync.overlapMs).toISOString();
  return { ...createRunPlan({ mode, idType, since }), changeToken };
}

/** The row in record_state is written last: when it exists, the schema and the staging table exist too. */
async function ensureRecordState(ctx: TenantCtx, schema: string, { name, idType }: RecordTypeMetadata) {
  const found = await orIfNotSetUp(undefined, () => readRecordState(ctx.db.data, schema, name));
  if (found !== undefined) return found;
  await createTenantSchema(ctx, ctx.organizationId);
  await createStagingTable(ctx.db.control, schema, name, idType);
  // Its shown_columns stay null, so that every column counts as shown, until versions are entered: some may
  // have outlived a former schema.
  await ctx.db.control.raw(
    `insert into ${schema}.record_state (record_type, id_type) values (?, ?) on conflict do nothing`,
    [name, idType],
  );
  const created = await readRecordState(ctx.db.data, schema, name);
  if (created === undefined) throw new Error('the record state is missing although it was just created');
  return created;
}

/** Adds the columns that the tables lack; returns all of the record type, also those out of use. */
async function updateColumns(
  ctx: TenantCtx,
  schema: string,
  before: RecordState,
  fields: readonly FieldMetadata[],
  stale: StalePlan,
): Promise<RecordColumn[]> {
  const { recordType, activeTable } = before;
  const existing = await readRecordColumns(ctx.db.data, schema, recordType);
  const changes = planColumns(existing, fields, new Set(Object.keys(stale)));
  if (changes.added.length + changes.changed.length === 0) return existing;
  const tables = [stagingTable(recordType), ...(activeTable === null ? [] : [activeTable])];
  await applyColumnChanges(ctx.db.control, schema, recordType, tables, changes, existing.length);
  return readRecordColumns(ctx.db.data, schema, recordType);
}

const haveSameColumns = (a: readonly RecordColumn[], b: readonly RecordColumn[]): boolean =>
  JSON.stringify(a.map(({ column, lineFields }) => [column, lineFields])) ===
  JSON.stringify(b.map(({ column, lineFields }) => [column, lineFields]));

/** What preparing a run asks the ERP. */
export type ErpQuestions = {
  readonly readClock: () => Promise<ErpClock>;
  /** Whether fields that came empty in an earlier run are filled again. */
  readonly askFilled: (empty: EmptyFields) => Promise<ReadonlyMap<string, Found>>;
};

export type RunRequest = {
  readonly recordType: RecordTypeMetadata;
  /** The fields that the configuration selects; null for all. */
  readonly configuredFields: readonly string[] | null;
  readonly requestedMode: RunRow['mode'];
};

/** A complete read of a table that stays in place is compared with that table page by page. */
function withComparedTable(plan: RunPlan, rewrites: boolean, { activeTable, generation }: RecordState) {
  if (plan.mode !== 'full' || rewrites || activeTable === null) return plan;
  return { ...plan, comparedWith: { table: activeTable, generation } };
}
const isComparedTableCurrent = (
  { plan: { comparedWith = null } }: RunState,
  { activeTable, generation }: RecordState,
): boolean =>
  comparedWith === null || (comparedWith.table === activeTable && comparedWith.generation === generation);

/** The run was planned from this state. Throws when a failover of the warehouse alone lost its publish. */
async function assertCurrent(
  client: PoolClient,
  schema: string,
  { recordType, generation, syncedAt }: RecordState,
): Promise<void> {
  const now = await readRecordState(client, schema, recordType);
  if (now?.generation !== generation || now.syncedAt !== syncedAt)
    throw new Error('a failover of the warehouse lost the last publish');
}

/** It ends the change tokens of all callers, so a field that returned is updated in place. */
function needsFreshTable({ activeTable, rowCount }: RecordState, columns: readonly RecordColumn[]): boolean {
  const isReturning = columns.some(({ state }) => state === 'returned');
  const isLoading = columns.some(({ state }) => state === 'loading');
  return activeTable === null || (rowCount >= rewriteThresholdRows && !isReturning && isLoading);
}

async function startRun(
  ctx: TenantCtx,
  lease: Lease,
  request: RunRequest,
  before: RecordState,
  all: readonly RecordColumn[],
  unreadable: StalePlan,
  { readClock, askFilled }: ErpQuestions,
): Promise<RunState> {
  const { name, idType } = request.recordType;
  const schema = tenantSchema(ctx.organizationId);
  const columns = writtenColumns(all);
  const rewrites = needsFreshTable(before, columns);
  const { stale: empty, isFilledAgain } = await findStillEmpty(before, columns, askFilled);
  const { now: erpStartedAt, today } = await readClock();
  const highWater = await lowerHighWaterToErpClock(ctx, schema, before, erpStartedAt);
  const state: RunState = {
    runId: lease.runId,
    recordType: name,
    leaseEpoch: lease.epoch,
    // A fresh table has the old columns as well: published versions may read them.
    targetTable: rewrites
      ? await createFreshTable(ctx.db.control, schema, name, idType, all)
      : stagingTable(name),
    columns,
    page: 0,
    checkpoint: null,
    complete: false,
    plan: {
      ...withComparedTable(
        planRun(ctx, { ...request, columns, isFilledAgain }, { ...before, highWater }),
        rewrites,
        before,
      ),
      provesPages: true,
      flush: 'pending',
      today,
      filter: request.recordType.filter ?? null,
      types: request.recordType.listedTypes ?? null,
      stale: { ...empty, ...unreadable },
    },
    outcome: null,
    counters: { fetched: 0, rejected: 0, pages: 0, erpStartedAt },
  };
  await inDataTransaction(ctx.db.data, async (client) => {
    await assertCurrent(client, schema, before);
    await initRunState(client, schema, state);
  });
  return state;
}

function canResume(
  state: RunState | undefined,
  columns: readonly RecordColumn[],
  { recordType: { filter, listedTypes, modifiedField }, requestedMode }: RunRequest,
  before: RecordState,
): state is RunState {
  return (
    state?.plan.provesPages === true &&
    (requestedMode !== 'full' || state.plan.mode === 'full') &&
    (state.plan.mode !== 'incremental' ||
      (modifiedField === null) === ((state.plan.changeToken ?? null) !== null)) &&
    haveSameColumns(state.columns, columns) &&
    isComparedTableCurrent(state, before) &&
    isDeepStrictEqual(state.plan.filter ?? null, filter ?? null) &&
    isDeepStrictEqual(state.plan.types ?? null, listedTypes ?? null)
  );
}

/**
 * Resumes at the checkpoint when the run was started before and neither its columns nor the types of its
 * fields nor its filter nor the table it is compared with changed; otherwise, also when a version began it
 * that did not prove each page, starts it from the first page. Throws `LostLease` when a newer lease holds
 * the run, `OrganizationGone` when the organization was deleted, and what `questions` throw.
 */
export async function prepareRun(
  ctx: TenantCtx,
  lease: Lease,
  request: RunRequest,
  questions: ErpQuestions,
): Promise<PreparedRun> {
  const { recordType, configuredFields } = request;
  const { filter = null } = recordType;
  const schema = tenantSchema(ctx.organizationId);
  const before = await ensureRecordState(ctx, schema, recordType);
  const resumable = await inDataTransaction(ctx.db.data, (client) =>
    takeOverRunState(client, schema, lease.runId, lease.epoch),
  );
  const existing = await readRecordColumns(ctx.db.data, schema, recordType.name);
  const { stale, readable } = findUnreadable(recordType, configuredFields, existing, before);
  if (readable.length > 0)
    await inDataTransaction(ctx.db.data, (client) =>
      endAcceptances(client, schema, recordType.name, readable),
    );
  const fields = wantedFields(recordType, configuredFields).filter(({ name }) => !Object.hasOwn(stale, name));
  await recordDrift(ctx, schema, lease.runId, recordType);
  const all = await updateColumns(ctx, schema, before, fields, stale);
  return {
    schema,
    state: canResume(resumable, writtenColumns(all), request, before)
      ? resumable
      : await startRun(ctx, lease, request, before, all, stale, questions),
    fields: fields.map(({ name }) => name),
    unreadable: (configuredFields ?? []).filter(
      (name) => name !== 'id' && !Object.hasOwn(stale, name) && !fields.some((field) => field.name === name),
    ),
    generation: (BigInt(before.generation) + 1n).toString(),
    activeTable: before.activeTable,
    highWater: before.highWater,
    scannedOn: await readScannedOn(ctx, schema, recordType.name),
    hasNewFilter: !isDeepStrictEqual(before.filter, filter),
    syncedAt: before.syncedAt,
    rowCount: before.rowCount,
    rollingRead: await readRollingRead(ctx.db.data, schema, recordType.name),
  };
}

/** Read after the run's start, which may have set the mark back: see `lowerHighWaterToErpClock`. */
async function readScannedOn(ctx: TenantCtx, schema: string, recordType: string): Promise<string | null> {
  return (await readRecordState(ctx.db.data, schema, recordType))?.scannedOn ?? null;
}

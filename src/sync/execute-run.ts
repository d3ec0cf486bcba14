// One run from claim to outcome, read from top to bottom: prepare → read pages → prove → publish → copy the outcome.
// It may stop anywhere and be taken up again by another process: every step checks the lease, and what is written is written once.
import type { Connector, Page, RecordTypeMetadata } from '../connectors/connector.ts';
import { ErpError } from '../connectors/connector.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { inDataTransaction, inTransaction } from '../db/transaction.ts';
import { encodeRecord } from '../warehouse/encode.ts';
import { buildIndexes, wantedIndexes } from '../warehouse/indexes.ts';
import { publishRun } from '../warehouse/publish.ts';
import {
  clearStaging,
  LostLease,
  type PublishOutcome,
  type RunState,
  readRunState,
  type StagedPage,
  stagePage,
  takeOverRunState,
} from '../warehouse/staging.ts';
import { dropRetiredTables, quoted, stagingTable } from '../warehouse/table.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import { openConnectorOf, readMetadata, refreshMetadata } from './connection.ts';
import { type PreparedRun, prepareRun } from './prepare.ts';
import { checkPages, checkResolved, checkStaged, compareWithErp } from './proof.ts';
import { metadataChanged, ProofFailed } from './retry.ts';
import {
  type ConfigRow,
  findConfig,
  findRun,
  type Lease,
  moveRun,
  noteProgress,
  type ProofCheck,
  type RunProgress,
  type RunRow,
  writeRunEvent,
} from './runs.store.ts';

type Run = {
  readonly ctx: TenantCtx;
  readonly lease: Lease;
  readonly row: RunRow;
  readonly config: ConfigRow;
  readonly signal: AbortSignal;
};

const toStaged = (page: Page, state: RunState): StagedPage => ({
  records: page.records.map((record) => encodeRecord(record, state.columns)),
  rejected: page.rejected,
  lastId: page.lastId,
  hasMore: page.hasMore,
});

async function loadRun(ctx: TenantCtx, lease: Lease, signal: AbortSignal): Promise<Run> {
  return inTransaction(ctx, async (tx) => {
    const row = await findRun(tx, ctx.organizationId, lease.runId);
    const config = row === undefined ? undefined : await findConfig(tx, ctx.organizationId, row.sync_config_id);
    if (row === undefined || config === undefined || row.lease_epoch !== lease.epoch) throw new LostLease('the run is gone');
    return { ctx, lease, row, config, signal };
  });
}

/** The record type as the ERP describes it now: read again after a try whose question the ERP refused. */
async function describeRecordType({ ctx, row, signal }: Run, connector: Connector): Promise<RecordTypeMetadata> {
  const stored = await readMetadata(ctx);
  const metadata = stored === undefined || row.error?.code === metadataChanged ? await refreshMetadata(ctx, connector, signal) : stored;
  const recordType = metadata.recordTypes.find(({ name }) => name === row.record_type);
  if (recordType === undefined || !recordType.fields.some(({ syncable }) => syncable)) {
    throw new ErpError(
      'forbidden',
      'RECORD_TYPE_UNAVAILABLE',
      `The ERP account has no record type ${row.record_type} that this role may read`,
      { fix: 'Give the integration role the permission to view it, then refresh the metadata.' },
    );
  }
  return recordType;
}

const percentOf = (fetched: number, expected: number | null): number | null =>
  expected === null ? null : expected === 0 ? 100 : Math.min(100, Math.floor((fetched / expected) * 100));

function progressOf(phase: RunProgress['phase'], { counters }: RunState, expected: number | null): RunProgress {
  return { phase, fetched: counters.fetched, expected, pages: counters.pages, percent: percentOf(counters.fetched, expected) };
}

async function readAllPages(run: Run, prepared: PreparedRun, connector: Connector, recordType: RecordTypeMetadata): Promise<RunState> {
  const { ctx, lease, signal } = run;
  const expected = await connector.count(recordType, signal);
  let { state } = prepared;
  await noteProgress(ctx, lease, progressOf('reading', state, expected), false);
  while (!state.complete) {
    const page = await connector.readPage({
      recordType,
      fields: prepared.fields,
      afterId: state.checkpoint,
      changedSince: null,
      limit: ctx.settings.sync.pageSize,
      signal,
    });
    signal.throwIfAborted();
    if (page.records.length === 0 && page.rejected.length === 0 && state.page === 0 && expected > 0) {
      throw new ProofFailed(
        'ZERO_ROWS',
        `The ERP counts ${expected} records and returned none`,
        "Check the integration role's permissions; nothing was changed here.",
      );
    }
    const held: RunState = state;
    state = await inDataTransaction(ctx.db.data, (client) =>
      stagePage(client, prepared.schema, held, toStaged(page, held), prepared.generation),
    );
    await noteProgress(ctx, lease, progressOf('reading', state, expected), true);
  }
  return state;
}

/** Fetches single records that the scan of ids found and the pages did not bring. */
async function fetchMissing(
  run: Run,
  prepared: PreparedRun,
  state: RunState,
  connector: Connector,
  recordType: RecordTypeMetadata,
  ids: readonly string[],
): Promise<{ state: RunState; fetched: Set<string> }> {
  const fetched = new Set<string>();
  let current = state;
  for (let start = 0; start < ids.length; start += 1000) {
    const page = await connector.readByIds({
      recordType,
      fields: prepared.fields,
      ids: ids.slice(start, start + 1000),
      signal: run.signal,
    });
    for (const { id } of [...page.records, ...page.rejected]) fetched.add(id);
    const held = current;
    const staged = { ...toStaged(page, held), lastId: held.checkpoint, hasMore: false };
    current = await inDataTransaction(run.ctx.db.data, (client) => stagePage(client, prepared.schema, held, staged, prepared.generation));
  }
  return { state: current, fetched };
}

async function proveRun(
  run: Run,
  prepared: PreparedRun,
  read: RunState,
  connector: Connector,
  recordType: RecordTypeMetadata,
): Promise<{ state: RunState; proof: ProofCheck[] }> {
  await noteProgress(run.ctx, run.lease, progressOf('proving', read, null), false);
  const pages = checkPages(read);
  const compared = await compareWithErp(run.ctx, prepared.schema, read, connector, recordType, run.signal);
  const { state, fetched } = await fetchMissing(run, prepared, read, connector, recordType, compared.missing);
  if (compared.missing.some((id) => !fetched.has(id))) {
    // Listed a moment ago, unreadable now: either just deleted, which a second scan shows, or hidden from us, which fails the run.
    const again = await compareWithErp(run.ctx, prepared.schema, state, connector, recordType, run.signal);
    return { state, proof: [pages, checkResolved(new Set(), again), await checkStaged(run.ctx, prepared.schema, state)] };
  }
  return { state, proof: [pages, checkResolved(fetched, compared), await checkStaged(run.ctx, prepared.schema, state)] };
}

const isFresh = (state: RunState): boolean => state.targetTable !== stagingTable(state.recordType);

async function publish(run: Run, schema: string, state: RunState): Promise<PublishOutcome> {
  const { ctx, config } = run;
  if (isFresh(state))
    await buildIndexes(ctx.db.control, schema, state.targetTable, await wantedIndexes(ctx.db.control, schema, state.recordType), false);
  await ctx.db.control.raw(`analyze ${schema}.${quoted(state.targetTable)}`);
  const rules = { full: true, applyDeletions: config.deletions !== 'none', maxDeleteShare: Number(config.max_delete_share) };
  return inDataTransaction(ctx.db.data, (client) =>
    publishRun(client, schema, state, rules, (counts, rows) => {
      if (rows < 0 || counts.inserted + counts.updated + counts.unchanged !== counts.fetched - state.counters.rejected) {
        throw new ProofFailed(
          'PUBLISHED_MISMATCH',
          'What was staged and what would be published differ',
          "Nothing was changed here; run the sync again and see the service's log.",
        );
      }
    }),
  );
}

const heldError = (held: number) => ({
  code: 'DELETIONS_HELD',
  message: `${held} records are absent in the ERP; so many at once are not removed without a person's word`,
  fix: 'Check in the ERP whether they were deleted or are hidden from the integration role. If the deletions are meant, raise maxDeleteShare and run a full sync.',
});
const rejectedError = (count: number) => ({
  code: 'RECORDS_REJECTED',
  message: `${count} records could not be stored as they are; their last good version stays served`,
  fix: "See the run's rejections for the reasons and correct the records in the ERP; every run reads them again.",
});

/** Copies what the tenant's schema says into the queue; may be repeated, and is, after a crash in between. */
async function copyOutcome(run: Run, schema: string, state: RunState, outcome: PublishOutcome): Promise<void> {
  const { ctx, lease } = run;
  const error =
    outcome.heldDeletions > 0
      ? heldError(outcome.heldDeletions)
      : outcome.counts.rejected > 0
        ? rejectedError(outcome.counts.rejected)
        : null;
  const moved = await moveRun(ctx, lease, outcome.status, { counts: outcome.counts, generation: outcome.generation, error });
  if (!moved) throw new LostLease('a newer lease holds this run');
  await clearStaging(ctx.db.data, schema, state.recordType, state.runId);
  await writeRunEvent(ctx, lease.runId, outcome.status === 'succeeded' ? 'info' : 'warning', `run ${outcome.status}`, {
    ...outcome.counts,
    generation: outcome.generation,
  });
  await dropRetiredTables(ctx.db.control, schema, ctx.settings.sync.dropAfterMs).catch((failure: unknown) =>
    ctx.log.warn({ err: failure }, 'swapped-out tables stay for now'),
  );
}

/** A run that was killed while publishing goes on here, without asking the ERP. */
async function finishPublishing(run: Run): Promise<void> {
  const schema = tenantSchema(run.ctx.organizationId);
  const state = await readRunState(run.ctx.db.data, schema, run.lease.runId);
  if (state === undefined) throw new Error('a publishing run has no state');
  await inDataTransaction(run.ctx.db.data, (client) => takeOverRunState(client, schema, run.lease.runId, run.lease.epoch));
  const held = { ...state, leaseEpoch: run.lease.epoch };
  await copyOutcome(run, schema, held, held.outcome ?? (await publish(run, schema, held)));
}

/** Ends with the run in a final state, or throws: LostLease when it must be left alone, anything else for `judge` to weigh. */
export async function executeRun(ctx: TenantCtx, lease: Lease, signal: AbortSignal): Promise<void> {
  const run = await loadRun(ctx, lease, signal);
  if (run.row.status === 'publishing') return finishPublishing(run);
  const connector = await openConnectorOf(ctx);
  const recordType = await describeRecordType(run, connector);
  const prepared = await prepareRun(ctx, lease, recordType, run.config.fields, () => connector.now(signal));
  if (prepared.state.page === 0)
    await writeRunEvent(ctx, lease.runId, 'info', 'reading began', { recordType: recordType.name, fields: prepared.fields.length });
  else await writeRunEvent(ctx, lease.runId, 'info', 'reading goes on from its checkpoint', { page: prepared.state.page });
  const read = await readAllPages(run, prepared, connector, recordType);
  const { state, proof } = await proveRun(run, prepared, read, connector, recordType);
  signal.throwIfAborted();
  if (!(await moveRun(ctx, lease, 'publishing', { proof, error: null }))) throw new LostLease('a newer lease holds this run');
  await noteProgress(ctx, lease, progressOf('publishing', state, state.counters.fetched), true);
  await copyOutcome(run, prepared.schema, state, await publish(run, prepared.schema, state));
}

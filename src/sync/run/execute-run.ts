// One run from claim to outcome: prepare → read pages → prove → publish → copy the outcome. Start at
// `executeRun`, at the end. It may stop anywhere and be resumed by another process: every step checks the
// lease; each page and the publish take effect once.
import type { Connector, RecordTypeMetadata } from '../../connectors/connector.ts';
import { ErpError } from '../../connectors/connector.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { inDataTransaction, inTransaction } from '../../db/transaction.ts';
import { findSyncedColumns } from '../../warehouse/record-state.ts';
import { hasUnreadableValues } from '../../warehouse/rejections.ts';
import {
  discardRun,
  LostLease,
  type RunState,
  takeOverRunState,
  usesFreshTable,
} from '../../warehouse/run-state-row.ts';
import { flushStaged } from '../../warehouse/staging.ts';
import { tenantSchema, updateTenantSchema } from '../../warehouse/tenant-schema.ts';
import { type CreateConnector, fetchAndStoreDescriptions } from '../account/connection.ts';
import { connectionOf } from '../account/connection-of.ts';
import {
  type ConnectionRevision,
  findConnectionRevision,
  recordSignIn,
  recordSignInError,
} from '../account/connection-status.ts';
import { readErpClock } from '../account/erp-clock.ts';
import { withFilter } from '../account/record-filter.ts';
import { findRecordType, hasReadableFields } from '../account/record-types.store.ts';
import { withStorableAnswers } from '../account/storable-answers.ts';
import { askFilled } from '../fields/ask-filled.ts';
import { reportDrift } from '../fields/drift.ts';
import { findUnreadable } from '../fields/find-unreadable.ts';
import { assertSameDescription, compareTypes, createTypeWatch, typesChanged } from '../fields/watch-types.ts';
import { cleanUpAfterRun, copyOutcome, publishStagedRun } from '../outcome/publish-run.ts';
import { createLineProver } from '../prove/line-prover.ts';
import { Cancelled } from '../queue/interruption.ts';
import { logStep } from '../queue/log-step.ts';
import { createProgressMeter } from '../queue/progress.ts';
import { createRequestCounter, type RequestCounter, saveRequests } from '../queue/request-count.ts';
import { takeRereads } from '../queue/rereads.store.ts';
import { failedWhileBusy, RunFailed, workerLost } from '../queue/retry.ts';
import { writeRunEvent } from '../queue/run-events.store.ts';
import {
  findRun,
  findSyncConfig,
  type Lease,
  moveRun,
  type RunRow,
  type SyncConfigRow,
  saveMode,
} from '../queue/runs.store.ts';
import { readFull } from '../read/read-full.ts';
import { readIncremental } from '../read/read-incremental.ts';
import { createPageReader } from '../stage/page-reader.ts';
import { type PreparedRun, prepareRun } from '../stage/prepare.ts';
import { type RunReadContext, reportProgress } from '../stage/read-context.ts';

type Run = {
  readonly ctx: TenantCtx;
  readonly lease: Lease;
  readonly signal: AbortSignal;
  readonly row: RunRow;
  readonly config: SyncConfigRow;
  readonly connection: ConnectionRevision;
};

async function loadRun(ctx: TenantCtx, lease: Lease, signal: AbortSignal): Promise<Run> {
  const { row, config, connection } = await inTransaction(ctx, async (tx) => {
    const found = await findRun(tx, ctx.organizationId, lease.runId);
    return {
      row: found,
      config:
        found === undefined ? undefined : await findSyncConfig(tx, ctx.organizationId, found.sync_config_id),
      connection: await findConnectionRevision(
        tx,
        ctx.organizationId,
        connectionOf(found?.record_type ?? ''),
      ),
    };
  });
  if (row === undefined || config === undefined || row.lease_epoch !== lease.epoch)
    throw new LostLease('the run no longer exists or has a newer lease');
  if (row.cancel_requested && row.status === 'running') throw new Cancelled('the run was cancelled');
  if (row.attempts_without_progress >= ctx.settings.sync.maxAttemptsWithoutProgress) {
    const { attempts_without_progress: attempts, error } = row;
    throw error?.code === 'WORKER_BUSY' ? failedWhileBusy(attempts, error) : workerLost(attempts);
  }
  const log = ctx.log.child({ syncConfigId: row.sync_config_id, attempt: row.attempt });
  logStep({ log }, 'claimed', { recordType: row.record_type, status: row.status, mode: row.mode });
  return { ctx: { ...ctx, log }, lease, signal, row, config, connection };
}

/**
 * Reports a missing connection, or one without credentials, as an `ErpError` of kind `credentials`, like any
 * other credential failure.
 */
async function createConnectorOrFail(
  ctx: TenantCtx,
  { connection }: ConnectionRevision,
  createConnector: CreateConnector,
): Promise<Connector> {
  try {
    return withStorableAnswers(await createConnector(ctx, connection));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const [detail] = error.details;
    throw new ErpError('credentials', (detail?.code ?? error.code).toUpperCase(), error.message, {
      fix: detail?.message ?? 'Complete the ERP connection.',
      cause: error,
    });
  }
}

/** What an older version of this service stored lacks properties that a run needs. */
const isComplete = ({ openWhen, modifiedField, shownAs }: RecordTypeMetadata): boolean =>
  openWhen !== undefined && modifiedField !== undefined && shownAs !== undefined;

/** Whether it concerns one request and not the whole connection: the run uses the stored description. */
const concernsOneQuery = (error: unknown): boolean =>
  error instanceof ErpError && ['forbidden', 'query', 'answer'].includes(error.kind);

/** A record type described as unreadable, or as lacking fields that should be read, may be readable now. */
async function mayHaveReturned({ ctx, row, config }: Run, recordType: RecordTypeMetadata): Promise<boolean> {
  if (!hasReadableFields(recordType)) return true;
  const synced = await findSyncedColumns(ctx, row.record_type);
  if (synced === undefined) return false;
  const { stale } = findUnreadable(recordType, config.fields, synced.columns, synced.state);
  return Object.keys(stale).length > 0;
}

async function saveRunMode({ ctx, lease }: Run, mode: RunRow['mode']): Promise<void> {
  if (!(await saveMode(ctx, lease, mode))) throw new LostLease('a newer lease holds the run');
}

/**
 * `isFresh`: it was read from the ERP, or could not be, at the start of this attempt. `mode`: that of the run
 * from here on.
 */
type LoadedRecordType = {
  readonly recordType: RecordTypeMetadata | undefined;
  readonly isFresh: boolean;
  readonly mode: RunRow['mode'];
};

/**
 * Describes the run's record type again when its description is old or older than the account's list, so that
 * new fields are detected; while it lacks fields that should be read; when fields have other types, which
 * makes the run a full one; and after an attempt whose query the ERP rejected.
 */
async function loadRecordType(run: Run, connector: Connector): Promise<LoadedRecordType> {
  const { ctx, row, signal } = run;
  const describe = async (mode = row.mode) => {
    const [recordType] = await fetchAndStoreDescriptions(ctx, connector, [row.record_type], signal);
    return { recordType, isFresh: true, mode };
  };
  const stored = await findRecordType(ctx, row.record_type);
  const recordType = stored?.description ?? null;
  if (stored === undefined || recordType === null || !isComplete(recordType)) return describe();
  const types = await compareTypes({ connector, recordType, signal }, run.config.fields);
  // Saved before the new description is, with which no later attempt finds the change. No modification time
  // shows that the old values are gone.
  if (types === 'changed') await saveRunMode(run, 'full');
  if (types !== 'same' || row.error?.staleMetadata === true)
    return describe(types === 'changed' ? 'full' : row.mode);
  const ageMs = ctx.clock.now().getTime() - (stored.describedAt?.getTime() ?? 0);
  const isOld = stored.isOutdated || ageMs > ctx.settings.sync.metadataMaxAgeMs;
  if (!isOld && !(await mayHaveReturned(run, recordType)))
    return { recordType, isFresh: false, mode: row.mode };
  return describe().catch((error: unknown) => {
    if (!concernsOneQuery(error)) throw error;
    ctx.log.warn({ err: error }, "could not refresh the ERP's metadata; using the stored metadata");
    return { recordType, isFresh: true, mode: row.mode };
  });
}

type ReadableRecordType = LoadedRecordType & { readonly recordType: RecordTypeMetadata };

/**
 * The record type as the current metadata describes it, with the configuration's filter. Throws an `ErpError`
 * `RECORD_TYPE_UNAVAILABLE` when the role can't read it, and `FILTER_UNAVAILABLE` when it can't read the
 * filter's field.
 */
async function getReadableRecordType(run: Run, connector: Connector): Promise<ReadableRecordType> {
  const { recordType, ...loaded } = await loadRecordType(run, connector);
  if (recordType === undefined || !hasReadableFields(recordType)) {
    const reason = recordType?.reason ?? '';
    throw new ErpError(
      'forbidden',
      'RECORD_TYPE_UNAVAILABLE',
      `The ERP account has no record type ${run.row.record_type} that the integration role may read${reason && `: ${reason}`}`,
      {
        fix: 'Grant the integration role permission to view it, or enable its feature in the ERP; the next run then reads it.',
      },
    );
  }
  return { recordType: withFilter(recordType, run.config.filter), ...loaded };
}

/** The next attempt begins with the first page. Throws `LostLease`. */
const discardProgress = ({ ctx, lease }: Run): Promise<void> =>
  inDataTransaction(ctx.db.data, async (client) => {
    const schema = tenantSchema(ctx.organizationId);
    await takeOverRunState(client, schema, lease.runId, lease.epoch);
    await discardRun(client, schema, lease.runId);
  });

/** After as many attempts to read tracked changes, their errors are taken for those of the token. */
const maxTrackedAttempts = 2;

/**
 * What an error of reading means for the next attempt: it reads all records where changes since a token can't be
 * listed, and begins again where the record at the checkpoint is gone.
 */
async function startOver(run: Run, { state: { plan } }: PreparedRun, error: unknown): Promise<never> {
  if (!(error instanceof ErpError)) throw error;
  const { kind, code, retryAfterMs } = error;
  const isDoubtful = kind === 'answer' || (code === 'SERVER_ERROR' && retryAfterMs === null);
  const isTracked = plan.mode === 'incremental' && (plan.changeToken ?? null) !== null;
  const isTried = run.row.attempts_without_progress >= maxTrackedAttempts;
  if (code === 'CHANGES_EXPIRED' || (isTracked && isDoubtful && isTried)) await saveRunMode(run, 'full');
  if (code === 'CURSOR_GONE') await discardProgress(run);
  throw error;
}

/**
 * Before a run is published: throws an `ErpError` of stale metadata when the ERP's list of fields has other
 * types by now, or when values were rejected that don't fit the types of their fields and the ERP says other
 * types; then the next attempt reads with those.
 */
async function assertTypesAreCurrent(
  run: Run,
  connector: Connector,
  readable: ReadableRecordType,
  counters: RunState['counters'],
) {
  const { ctx, row, signal, config } = run;
  const { recordType, isFresh } = readable;
  const reader = { ctx, connector, recordType, signal };
  if (counters.fetched > 0 && (await compareTypes(reader, config.fields)) !== 'same') {
    await saveRunMode(run, 'full');
    throw typesChanged(row.record_type);
  }
  if (counters.rejected > 0 && !isFresh && (await hasUnreadableValues(ctx, row.record_type)))
    await assertSameDescription(reader);
}

/** Reports that reading begins, and takes over what was requested before the first page. */
async function startReading(run: Run, { state, unreadable, fields }: PreparedRun): Promise<void> {
  const { ctx, lease, row } = run;
  await reportDrift(ctx, state.recordType);
  if (unreadable.length > 0)
    await writeRunEvent(
      ctx,
      lease.runId,
      'warning',
      'the ERP no longer offers fields that the configuration selects',
      { fields: unreadable },
    );
  const { page, recordType, plan } = state;
  const stale = Object.entries(plan.stale);
  if (stale.length > 0 && page === 0)
    await writeRunEvent(ctx, lease.runId, 'warning', 'fields are not read; their stored values stay', {
      fields: stale.map(([field, { reason, message }]) => ({ field, reason, message })),
    });
  if (plan.mode !== row.mode) await saveRunMode(run, plan.mode);
  if (page === 0) await takeRereads(ctx, lease, row.sync_config_id);
  if (page === 0)
    await writeRunEvent(ctx, lease.runId, 'info', 'reading started', {
      recordType,
      fields: fields.length,
      mode: plan.mode,
      since: plan.since,
      ...(plan.filter && { filter: plan.filter }),
    });
  else await writeRunEvent(ctx, lease.runId, 'info', 'reading resumed from its checkpoint', { page });
}

async function startPublishing({ ctx, lease }: Run, state: RunState, change: Parameters<typeof moveRun>[3]) {
  await inDataTransaction(ctx.db.data, (client) =>
    flushStaged(client, tenantSchema(ctx.organizationId), state),
  );
  if (await moveRun(ctx, lease, 'publishing', change)) return;
  const row = await inTransaction(ctx, (tx) => findRun(tx, ctx.organizationId, lease.runId));
  throw row?.lease_epoch === lease.epoch && row.cancel_requested
    ? new Cancelled('the run was cancelled')
    : new LostLease('a newer lease holds the run');
}

async function publishAndFinish(run: Run, state: RunState): Promise<void> {
  const { ctx, lease, row, config } = run;
  const outcome = state.outcome ?? (await publishStagedRun(ctx, config, state));
  logStep(ctx, 'publish', { generation: outcome.generation, ...outcome.counts });
  await copyOutcome(ctx, lease, row, outcome);
  await cleanUpAfterRun(ctx, usesFreshTable(state) ? state : null);
}

/** Resumes a run whose process stopped while publishing; makes no requests to the ERP. */
async function resumePublishing(run: Run): Promise<void> {
  const { ctx, lease } = run;
  await updateTenantSchema(ctx, ctx.organizationId);
  const state = await inDataTransaction(ctx.db.data, (client) =>
    takeOverRunState(client, tenantSchema(ctx.organizationId), lease.runId, lease.epoch),
  );
  // The warehouse may have lost what was staged; the queue, on another server, kept the move to `publishing`.
  const isLost = state === undefined || (state.outcome === null && state.plan.flush === 'pending');
  if (isLost)
    throw new RunFailed(
      'STAGING_LOST',
      'The data that the run had read is no longer staged',
      'Run the sync again.',
    );
  await publishAndFinish(run, state);
}

function createReading(
  { ctx, lease, signal, config }: Run,
  requests: RequestCounter,
  connector: Connector,
  recordType: RecordTypeMetadata,
  prepared: PreparedRun,
): RunReadContext {
  const { fields, state: prior } = prepared;
  const rules = {
    checkTypes: createTypeWatch({ ctx, connector, recordType, signal }),
    proveLines: createLineProver({ connector, recordType, fields, signal, state: prior }),
    limits: ctx.settings.sync,
  };
  const readPage = createPageReader(connector, rules, prior, {
    recordType,
    fields,
    limit: ctx.settings.sync.pageSize,
    tracksChanges: prior.plan.mode === 'full',
    signal,
  });
  return {
    ctx,
    lease,
    signal,
    connector,
    readPage,
    rules,
    recordType,
    prepared,
    config,
    requests,
    meter: createProgressMeter(ctx, recordType.name),
  };
}

async function readAndPublish(run: Run, requests: RequestCounter, createConnector: CreateConnector) {
  const { ctx, lease, signal, config } = run;
  const connector = await createConnectorOrFail(requests.ctx, run.connection, createConnector);
  await updateTenantSchema(ctx, ctx.organizationId);
  const readable = await getReadableRecordType(run, connector);
  const { recordType } = readable;
  const request = { recordType, configuredFields: config.fields, requestedMode: readable.mode };
  const prepared = await prepareRun(ctx, lease, request, {
    readClock: () => readErpClock(ctx, connector, signal),
    askFilled: (empty) => askFilled({ connector, recordType, signal }, empty),
  });
  await startReading(run, prepared);
  const reading = createReading(run, requests, connector, recordType, prepared);
  const { mode } = prepared.state.plan;
  const read = mode === 'full' ? readFull : readIncremental;
  const { state, proof } = await read(reading).catch((error: unknown) => startOver(run, prepared, error));
  signal.throwIfAborted();
  await assertTypesAreCurrent(run, connector, readable, state.counters);
  await recordSignIn(ctx, run.connection);
  logStep(ctx, 'proof', { checks: proof.length, passed: proof.filter(({ passed }) => passed).length });
  await startPublishing(run, state, { proof, error: null });
  const { fetched } = state.counters;
  await reportProgress(reading, 'publishing', state, { done: fetched, expected: fetched }, true);
  await publishAndFinish(run, state);
}

/**
 * Runs until the run is in a final state, and stores whether the ERP accepted the connection's credentials.
 * Throws `LostLease` when another worker holds the run, `Cancelled` when it was cancelled, the signal's
 * reason when `signal` aborts, and any failure of a step for `classifyFailure` to decide on.
 */
export async function executeRun(
  tenant: TenantCtx,
  lease: Lease,
  signal: AbortSignal,
  createConnector: CreateConnector,
): Promise<void> {
  const run = await loadRun(tenant, lease, signal);
  if (run.row.status === 'publishing') return resumePublishing(run);
  const requests = createRequestCounter(run.ctx);
  try {
    await readAndPublish(run, requests, createConnector);
  } catch (error) {
    await recordSignInError(run.ctx, run.connection, error);
    throw error;
  } finally {
    await saveRequests(run.ctx, lease.runId, requests).catch((error: unknown) =>
      run.ctx.log.warn({ err: error }, "could not store the number of the run's requests"),
    );
  }
}

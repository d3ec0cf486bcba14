// One run from claim to outcome, read from top to bottom: prepare → read pages → prove → publish → copy the outcome.
// It may stop anywhere and be taken up again by another process: every step checks the lease, and what is written is written once.
import type { Connector, RecordTypeMetadata } from '../connectors/connector.ts';
import { ErpError } from '../connectors/connector.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { inDataTransaction, inTransaction } from '../db/transaction.ts';
import { isFresh, LostLease, type RunState, takeOverRunState } from '../warehouse/run-row.ts';
import { flushStaged } from '../warehouse/staging.ts';
import { tenantSchema, updateTenantSchema } from '../warehouse/tenant-schema.ts';
import { readMetadata, renewMetadata, type StoredMetadata } from './connection.ts';
import { tellDrift } from './drift.ts';
import { Cancelled } from './interruption.ts';
import { copyOutcome, publish, tidyUp } from './outcome.ts';
import { openPageReader } from './page-reader.ts';
import { type PreparedRun, prepareRun } from './prepare.ts';
import { readChanges } from './read-changes.ts';
import { readEverything } from './read-run.ts';
import { type Reading, report } from './reading.ts';
import { RunFailed } from './retry.ts';
import { writeRunEvent } from './run-events.store.ts';
import { type ConfigRow, findConfig, findRun, type Lease, moveRun, noteMode, type RunRow } from './runs.store.ts';
import { logStep } from './steps.ts';

export type OpenConnector = (ctx: TenantCtx) => Promise<Connector>;

type Run = {
  readonly ctx: TenantCtx;
  readonly lease: Lease;
  readonly signal: AbortSignal;
  readonly row: RunRow;
  readonly config: ConfigRow;
};

async function loadRun(ctx: TenantCtx, lease: Lease, signal: AbortSignal): Promise<Run> {
  const { row, config } = await inTransaction(ctx, async (tx) => {
    const found = await findRun(tx, ctx.organizationId, lease.runId);
    return { row: found, config: found === undefined ? undefined : await findConfig(tx, ctx.organizationId, found.sync_config_id) };
  });
  if (row === undefined || config === undefined || row.lease_epoch !== lease.epoch) throw new LostLease('the run is gone');
  if (row.cancel_requested && row.status === 'running') throw new Cancelled('cancelled');
  if (row.attempts_without_progress >= ctx.settings.sync.maxAttempts) {
    throw new RunFailed(
      'WORKER_LOST',
      `The process that worked on the run was lost ${row.attempts_without_progress} times without progress`,
      "See the service's log and its memory limit around this run, then run the sync again.",
    );
  }
  const log = ctx.log.child({ syncConfigId: row.sync_config_id, attempt: row.attempt });
  logStep({ log }, 'claimed', { recordType: row.record_type, status: row.status, mode: row.mode });
  return { ctx: { ...ctx, log }, lease, signal, row, config };
}

/** A connection that was never set up, or lacks its credentials, is a credential failure like any other. */
async function openOrRefuse(ctx: TenantCtx, open: OpenConnector): Promise<Connector> {
  try {
    return await open(ctx);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const [detail] = error.details;
    throw new ErpError('credentials', (detail?.code ?? error.code).toUpperCase(), error.message, {
      fix: detail?.message ?? 'Complete the ERP connection.',
      cause: error,
    });
  }
}

/** Made by an older version of this service, it lacks what a run needs. */
const isComplete = ({ recordTypes }: StoredMetadata): boolean =>
  recordTypes.every((type) => type.openWhen !== undefined && type.modifiedField !== undefined);

/** A refusal that says nothing about the connection as a whole: what is stored is good enough for one more day. */
const isMinor = (error: unknown): boolean => error instanceof ErpError && ['forbidden', 'query', 'answer'].includes(error.kind);

/** Read again when it is old, so that new fields are noticed, or after a try whose question the ERP refused. */
async function describeErp({ ctx, row, signal }: Run, connector: Connector): Promise<StoredMetadata> {
  const stored = row.error?.staleMetadata === true ? undefined : await readMetadata(ctx);
  if (stored === undefined || !isComplete(stored)) return renewMetadata(ctx, connector, signal);
  if (ctx.clock.now().getTime() - stored.refreshedAt.getTime() <= ctx.settings.sync.metadataMaxAgeMs) return stored;
  return renewMetadata(ctx, connector, signal).catch((error: unknown) => {
    if (!isMinor(error)) throw error;
    ctx.log.warn({ err: error }, "the ERP's record types could not be described anew");
    return stored;
  });
}

/** The record type as the ERP describes it now. */
async function describeRecordType(run: Run, connector: Connector): Promise<RecordTypeMetadata> {
  const { row } = run;
  const { recordTypes } = await describeErp(run, connector);
  const recordType = recordTypes.find(({ name }) => name === row.record_type);
  if (recordType === undefined || !recordType.fields.some(({ name, syncable }) => syncable && name !== 'id')) {
    throw new ErpError(
      'forbidden',
      'RECORD_TYPE_UNAVAILABLE',
      `The ERP account has no record type ${row.record_type} that this role may read`,
      { fix: 'Give the integration role the permission to view it, then refresh the metadata.' },
    );
  }
  return recordType;
}

async function tellBeginning({ ctx, lease, row }: Run, { state, unreadable, fields }: PreparedRun): Promise<void> {
  await tellDrift(ctx, state.recordType);
  if (unreadable.length > 0)
    await writeRunEvent(ctx, lease.runId, 'warning', 'the ERP no longer offers fields that the configuration names', {
      fields: unreadable,
    });
  const { page, recordType, plan } = state;
  if (plan.mode !== row.mode && !(await noteMode(ctx, lease, plan.mode))) throw new LostLease('a newer lease holds this run');
  if (page === 0)
    await writeRunEvent(ctx, lease.runId, 'info', 'reading began', {
      recordType,
      fields: fields.length,
      mode: plan.mode,
      since: plan.since,
    });
  else await writeRunEvent(ctx, lease.runId, 'info', 'reading goes on from its checkpoint', { page });
}

async function beginPublishing({ ctx, lease }: Run, state: RunState, proof: Parameters<typeof moveRun>[3]): Promise<void> {
  await inDataTransaction(ctx.db.data, (client) => flushStaged(client, tenantSchema(ctx.organizationId), state));
  if (await moveRun(ctx, lease, 'publishing', proof)) return;
  const row = await inTransaction(ctx, (tx) => findRun(tx, ctx.organizationId, lease.runId));
  throw row?.lease_epoch === lease.epoch && row.cancel_requested
    ? new Cancelled('cancelled')
    : new LostLease('a newer lease holds this run');
}

async function finish(run: Run, state: RunState): Promise<void> {
  const { ctx, lease, row, config } = run;
  const outcome = state.outcome ?? (await publish(ctx, config, state));
  logStep(ctx, 'publish', { generation: outcome.generation, ...outcome.counts });
  await copyOutcome(ctx, lease, row, outcome);
  await tidyUp(ctx, isFresh(state) ? state : null);
}

/** A run that was killed while publishing goes on here, without asking the ERP. */
async function finishPublishing(run: Run): Promise<void> {
  const { ctx, lease } = run;
  await updateTenantSchema(ctx, ctx.organizationId);
  const state = await inDataTransaction(ctx.db.data, (client) =>
    takeOverRunState(client, tenantSchema(ctx.organizationId), lease.runId, lease.epoch),
  );
  if (state === undefined) throw new RunFailed('STAGING_LOST', 'What the run had read is no longer there', 'Run the sync again.');
  await finish(run, state);
}

/** Ends with the run in a final state, or throws: LostLease when it must be left alone, anything else for `judge` to weigh. */
export async function executeRun(tenant: TenantCtx, lease: Lease, signal: AbortSignal, open: OpenConnector): Promise<void> {
  const run = await loadRun(tenant, lease, signal);
  const { ctx } = run;
  if (run.row.status === 'publishing') return finishPublishing(run);
  const connector = await openOrRefuse(ctx, open);
  const recordType = await describeRecordType(run, connector);
  await updateTenantSchema(ctx, ctx.organizationId);
  const order = { recordType, chosen: run.config.fields, asked: run.row.mode };
  const prepared = await prepareRun(ctx, lease, order, () => connector.now(signal));
  await tellBeginning(run, prepared);
  const { fields, state: prior } = prepared;
  const readPage = openPageReader(connector, prior, { recordType, fields, limit: ctx.settings.sync.pageSize, signal });
  const reading: Reading = { ctx, lease, signal, connector, readPage, recordType, prepared, config: run.config };
  const { mode } = prior.plan;
  const { state, proof } = mode === 'full' ? await readEverything(reading) : await readChanges(reading);
  signal.throwIfAborted();
  logStep(ctx, 'proof', { checks: proof.length, passed: proof.filter(({ passed }) => passed).length });
  await beginPublishing(run, state, { proof, error: null });
  await report(reading, 'publishing', state, state.counters.fetched, true);
  await finish(run, state);
}

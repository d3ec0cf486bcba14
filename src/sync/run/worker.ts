// Works on one claimed run, and turns every ending other than success into a state of the run that an
// administrator can read.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import {
  createLeaseLength,
  type LeaseLength,
  type LeaseRenewal,
  LostLease,
  startLeaseRenewal,
} from '../../db/job-lease.ts';
import { inDataTransaction, inTransaction } from '../../db/transaction.ts';
import { orIfNotSetUp } from '../../warehouse/record-state.ts';
import { discardRun, type PublishOutcome } from '../../warehouse/run-state-row.ts';
import { OrganizationGone, tenantSchema } from '../../warehouse/tenant-schema.ts';
import type { CreateConnector } from '../account/connection.ts';
import { recordSyncHealth } from '../alerts/health.ts';
import { cleanUpAfterRun, copyOutcome } from '../outcome/publish-run.ts';
import { Cancelled, Stopping } from '../queue/interruption.ts';
import { logStep } from '../queue/log-step.ts';
import { classifyFailure, type RetryDecision, workerBusy } from '../queue/retry.ts';
import { isFinal } from '../queue/run-state.ts';
import {
  findRun,
  type Lease,
  listEndedRunsWithStaging,
  markStagingCleared,
  moveRun,
  noteBusyWorker,
  type RunRow,
  releaseRunLease,
  renewRunLease,
  setPausedReason,
} from '../queue/runs.store.ts';
import { executeRun } from './execute-run.ts';

/** Deletes what the run staged; or, when it was published after all, nothing, and returns the outcome. */
async function discardStaged(ctx: TenantCtx, runId: string): Promise<PublishOutcome | null> {
  const schema = tenantSchema(ctx.organizationId);
  return orIfNotSetUp(null, () =>
    inDataTransaction(ctx.db.data, (client) => discardRun(client, schema, runId)),
  );
}

/** Deletes what no worker did of ended runs: cancelled while waiting, or ended by a process that died. */
export async function clearEndedRuns(ctx: Ctx): Promise<void> {
  for (const { organizationId, runId } of await listEndedRunsWithStaging(ctx)) {
    const tenant: TenantCtx = { ...ctx, organizationId };
    try {
      await discardStaged(tenant, runId);
      await markStagingCleared(tenant, runId);
      await cleanUpAfterRun(tenant, null);
    } catch (error) {
      ctx.log.warn(
        { err: error, runId },
        'could not delete what an ended run staged; the next tick tries again',
      );
    }
  }
}

async function finishCancelled(ctx: TenantCtx, lease: Lease): Promise<void> {
  if (!(await moveRun(ctx, lease, 'cancelled', { event: { level: 'info', message: 'cancelled' } }))) return;
  await discardStaged(ctx, lease.runId);
  logStep(ctx, 'outcome', { status: 'cancelled' });
  await markStagingCleared(ctx, lease.runId);
  await cleanUpAfterRun(ctx, null);
}

async function scheduleRetry(
  ctx: TenantCtx,
  lease: Lease,
  row: RunRow,
  { error, delayMs }: Extract<RetryDecision, { kind: 'wait' }>,
  attempts: number,
): Promise<void> {
  logStep(ctx, 'outcome', { status: 'waiting', code: error.code, delayMs });
  if (row.status === 'publishing') return releaseRunLease(ctx, lease, delayMs, attempts);
  // Until a page was read, metadata that must be read again stays marked as stale, whatever other errors came
  // in between.
  const stale = row.error?.staleMetadata === true && { staleMetadata: true as const };
  await moveRun(ctx, lease, 'waiting', {
    error: { ...error, ...stale },
    delayMs,
    attempts_without_progress: attempts,
    event: { level: 'warning', message: `waiting: ${error.message}`, data: { code: error.code, delayMs } },
  });
}

/**
 * Deletes what the run staged and ends it as failed; a run that turns out to have been published gets its
 * published outcome instead. Throws `LostLease` when a newer lease holds the run.
 */
export async function finishFailed(
  ctx: TenantCtx,
  lease: Lease,
  row: RunRow,
  { error, pause }: Extract<RetryDecision, { kind: 'fail' }>,
): Promise<void> {
  // Only the warehouse knows whether a COMMIT without a response took effect. While it can't be read, nothing
  // is decided.
  const outcome = await discardStaged(ctx, lease.runId);
  if (outcome !== null) return copyOutcome(ctx, lease, row, outcome);
  const event = { level: 'error', message: `failed: ${error.message}`, data: error } as const;
  const moved = await moveRun(ctx, lease, 'failed', { error, staged: false, event }, async (tx) => {
    if (pause) await setPausedReason(tx, ctx.organizationId, row.sync_config_id, error);
    await recordSyncHealth(tx, ctx, row.sync_config_id, {
      health: pause ? 'paused' : 'failing',
      problem: error,
      runId: lease.runId,
    });
  });
  if (!moved) return;
  logStep(ctx, 'outcome', { status: 'failed', code: error.code });
  await cleanUpAfterRun(ctx, null);
}

async function handleFailure(ctx: TenantCtx, lease: Lease, failure: unknown): Promise<void> {
  const row = await inTransaction(ctx, (tx) => findRun(tx, ctx.organizationId, lease.runId));
  if (row === undefined || row.lease_epoch !== lease.epoch || isFinal(row.status)) return;
  const attempts = row.attempts_without_progress + 1;
  const decision = classifyFailure(failure, attempts, ctx.settings.sync, Math.random());
  const log = ctx.log.child({ syncConfigId: row.sync_config_id, attempt: row.attempt });
  log.warn({ err: failure, verdict: decision.kind, code: decision.error.code }, 'a sync run was interrupted');
  if (decision.kind === 'wait')
    await scheduleRetry(
      { ...ctx, log },
      lease,
      row,
      decision,
      decision.isCounted ? attempts : row.attempts_without_progress,
    );
  else await finishFailed({ ...ctx, log }, lease, row, decision);
}

/** `busyMs`: how late this process is with the renewal of the lease, where that is why it was lost. */
async function handleLostLease(ctx: TenantCtx, lease: Lease, busyMs: number | null): Promise<void> {
  logStep(ctx, 'taken over by another', busyMs === null ? {} : { busyMs: Math.round(busyMs) });
  if (busyMs !== null) await noteBusyWorker(ctx, lease, workerBusy(busyMs));
}

async function handleInterruption(ctx: TenantCtx, lease: Lease, failure: unknown, busyMs: number | null) {
  if (failure instanceof LostLease) return handleLostLease(ctx, lease, busyMs);
  if (failure instanceof Stopping) {
    await releaseRunLease(ctx, lease, 0);
    return logStep(ctx, 'handed over');
  }
  if (failure instanceof Cancelled || failure instanceof OrganizationGone) return finishCancelled(ctx, lease);
  return handleFailure(ctx, lease, failure);
}

/** Aborts the work when the lease was lost, and when the run was cancelled. */
const startRenewal = (ctx: Ctx, lease: Lease, abort: AbortController, length: LeaseLength): LeaseRenewal =>
  startLeaseRenewal(ctx, abort, {
    leaseMs: ctx.settings.sync.leaseMs,
    renewMs: ctx.settings.sync.renewMs,
    length,
    renew: async (leaseMs) => {
      const { held, cancelRequested } = await renewRunLease(ctx, lease, leaseMs);
      if (!held) return new LostLease('a newer lease holds the run');
      return cancelRequested ? new Cancelled('the run was cancelled') : undefined;
    },
    onFailure: (error) => ctx.log.warn({ err: error }, 'could not renew the lease of a sync run'),
  });

/**
 * Never rejects: every failure ends in the run's state, or in the lease expiring. `length`: of the leases of
 * all runs of this process.
 */
export async function workOnRun(
  ctx: Ctx,
  lease: Lease,
  stopping: AbortSignal,
  createConnector: CreateConnector,
  length: LeaseLength = createLeaseLength(ctx.settings.sync.leaseMs),
): Promise<void> {
  const tenant: TenantCtx = {
    ...ctx,
    organizationId: lease.organizationId,
    log: ctx.log.child({ runId: lease.runId, organizationId: lease.organizationId }),
  };
  const abort = new AbortController();
  const onStop = () => abort.abort(new Stopping('the process is shutting down'));
  if (stopping.aborted) onStop();
  else stopping.addEventListener('abort', onStop, { once: true });
  const renewal = startRenewal(ctx, lease, abort, length);
  try {
    abort.signal.throwIfAborted();
    await executeRun(tenant, lease, abort.signal, createConnector);
  } catch (thrown) {
    const failure: unknown = abort.signal.aborted ? abort.signal.reason : thrown;
    await handleInterruption(tenant, lease, failure, renewal.busyMs()).catch((error: unknown) =>
      tenant.log.error({ err: error }, 'could not record the end of a sync run; its lease will expire'),
    );
  } finally {
    renewal.stop();
    stopping.removeEventListener('abort', onStop);
  }
}

// Works on one claimed run: keeps its lease alive while it runs, and turns every ending that isn't a success into a state of
// the run that an operator can read.
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import { inDataTransaction, inTransaction } from '../db/transaction.ts';
import { isNotSetUp } from '../warehouse/generation.ts';
import { discardRun, LostLease, type PublishOutcome } from '../warehouse/run-row.ts';
import { OrganizationGone, tenantSchema } from '../warehouse/tenant-schema.ts';
import { executeRun, type OpenConnector } from './execute-run.ts';
import { noteHealth } from './health.ts';
import { Cancelled, Stopping } from './interruption.ts';
import { copyOutcome, tidyUp } from './outcome.ts';
import { judge, type Verdict } from './retry.ts';
import { isFinal } from './run-state.ts';
import {
  findEndedStaged,
  findRun,
  type Lease,
  moveRun,
  noteCleared,
  pauseConfig,
  type RunRow,
  releaseLease,
  renewLease,
} from './runs.store.ts';
import { logStep } from './steps.ts';

/** Renews while work is in flight; aborts it when the lease is lost or someone asked to cancel. */
function keepLease(ctx: Ctx, lease: Lease, abort: AbortController): () => void {
  const { leaseMs, renewMs } = ctx.settings.sync;
  let heldSinceMs = ctx.clock.monotonicMs();
  let asking = false;
  const timer = setInterval(() => {
    const askedAtMs = ctx.clock.monotonicMs();
    if (askedAtMs - heldSinceMs > leaseMs) abort.abort(new LostLease('the lease ran out'));
    if (asking) return;
    asking = true;
    renewLease(ctx, lease, leaseMs)
      .then(
        ({ held, cancelRequested }) => {
          heldSinceMs = askedAtMs;
          if (!held) abort.abort(new LostLease('the lease was taken'));
          else if (cancelRequested) abort.abort(new Cancelled('cancelled'));
        },
        (error: unknown) => ctx.log.warn({ err: error }, 'a lease could not be renewed'),
      )
      .finally(() => {
        asking = false;
      });
  }, renewMs);
  return () => clearInterval(timer);
}

/** What the run staged goes away; not so when it turns out to have been published, of which this returns the outcome. */
async function discard(ctx: TenantCtx, runId: string): Promise<PublishOutcome | null> {
  try {
    return await inDataTransaction(ctx.db.data, (client) => discardRun(client, tenantSchema(ctx.organizationId), runId));
  } catch (error) {
    if (isNotSetUp(error)) return null;
    throw error;
  }
}

/** Clears up after runs that ended away from their worker: cancelled while waiting, or ended by a process that then died. */
export async function clearEndedRuns(ctx: Ctx): Promise<void> {
  for (const { organizationId, runId } of await findEndedStaged(ctx)) {
    const tenant: TenantCtx = { ...ctx, organizationId };
    try {
      await discard(tenant, runId);
      await noteCleared(tenant, runId);
      await tidyUp(tenant, null);
    } catch (error) {
      ctx.log.warn({ err: error, runId }, 'what an ended run staged stays for now');
    }
  }
}

async function settleCancelled(ctx: TenantCtx, lease: Lease): Promise<void> {
  if (!(await moveRun(ctx, lease, 'cancelled', { event: { level: 'info', message: 'cancelled' } }))) return;
  await discard(ctx, lease.runId);
  logStep(ctx, 'outcome', { status: 'cancelled' });
  await noteCleared(ctx, lease.runId);
  await tidyUp(ctx, null);
}

type Waiting = Extract<Verdict, { kind: 'wait' }>;
async function settleWaiting(ctx: TenantCtx, lease: Lease, row: RunRow, { error, delayMs }: Waiting, fruitless: number): Promise<void> {
  logStep(ctx, 'outcome', { status: 'waiting', code: error.code, delayMs });
  if (row.status === 'publishing') return releaseLease(ctx, lease, delayMs, fruitless);
  // Until something was read, a metadata reading that is owed stays owed, whatever came in between.
  const owed = row.error?.staleMetadata === true && { staleMetadata: true as const };
  await moveRun(ctx, lease, 'waiting', {
    error: { ...error, ...owed },
    delayMs,
    attempts_without_progress: fruitless,
    event: { level: 'warning', message: `waiting: ${error.message}`, data: { code: error.code, delayMs } },
  });
}

type Failing = Extract<Verdict, { kind: 'fail' }>;
/** Clears away what the run staged and ends it; what turns out to have been published ends as it came out. */
export async function settleFailed(ctx: TenantCtx, lease: Lease, row: RunRow, { error, pause }: Failing): Promise<void> {
  // Only the warehouse knows whether the COMMIT whose answer was lost took place. Unless it can be asked, nothing is decided.
  const outcome = await discard(ctx, lease.runId);
  if (outcome !== null) return copyOutcome(ctx, lease, row, outcome);
  const event = { level: 'error', message: `failed: ${error.message}`, data: error } as const;
  const moved = await moveRun(ctx, lease, 'failed', { error, staged: false, event }, async (tx) => {
    if (pause) await pauseConfig(tx, ctx.organizationId, row.sync_config_id, error);
    await noteHealth(tx, ctx, row.sync_config_id, { health: pause ? 'paused' : 'unwell', problem: error, runId: lease.runId });
  });
  if (!moved) return;
  logStep(ctx, 'outcome', { status: 'failed', code: error.code });
  await tidyUp(ctx, null);
}

async function settleFailure(ctx: TenantCtx, lease: Lease, failure: unknown): Promise<void> {
  const row = await inTransaction(ctx, (tx) => findRun(tx, ctx.organizationId, lease.runId));
  if (row === undefined || row.lease_epoch !== lease.epoch || isFinal(row.status)) return;
  const fruitless = row.attempts_without_progress + 1;
  const verdict = judge(failure, fruitless, ctx.settings.sync, Math.random());
  const log = ctx.log.child({ syncConfigId: row.sync_config_id, attempt: row.attempt });
  log.warn({ err: failure, verdict: verdict.kind, code: verdict.error.code }, 'a sync run was interrupted');
  if (verdict.kind === 'wait') await settleWaiting({ ...ctx, log }, lease, row, verdict, fruitless);
  else await settleFailed({ ...ctx, log }, lease, row, verdict);
}

async function settle(ctx: TenantCtx, lease: Lease, failure: unknown): Promise<void> {
  if (failure instanceof LostLease) return logStep(ctx, 'taken over by another');
  if (failure instanceof Stopping) {
    await releaseLease(ctx, lease, 0);
    return logStep(ctx, 'handed over');
  }
  if (failure instanceof Cancelled || failure instanceof OrganizationGone) return settleCancelled(ctx, lease);
  return settleFailure(ctx, lease, failure);
}

/** Never throws: whatever happens ends in the run's state, or in the lease running out. */
export async function workOn(ctx: Ctx, lease: Lease, stopping: AbortSignal, open: OpenConnector): Promise<void> {
  const tenant: TenantCtx = {
    ...ctx,
    organizationId: lease.organizationId,
    log: ctx.log.child({ runId: lease.runId, organizationId: lease.organizationId }),
  };
  const abort = new AbortController();
  const onStop = () => abort.abort(new Stopping('stopping'));
  if (stopping.aborted) onStop();
  else stopping.addEventListener('abort', onStop, { once: true });
  const letGo = keepLease(ctx, lease, abort);
  try {
    abort.signal.throwIfAborted();
    await executeRun(tenant, lease, abort.signal, open);
  } catch (thrown) {
    const failure: unknown = abort.signal.aborted ? abort.signal.reason : thrown;
    await settle(tenant, lease, failure).catch((error: unknown) =>
      tenant.log.error({ err: error }, 'the end of a run could not be noted; its lease will run out'),
    );
  } finally {
    letGo();
    stopping.removeEventListener('abort', onStop);
  }
}

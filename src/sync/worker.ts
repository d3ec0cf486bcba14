// Works on one claimed run: keeps its lease alive while it runs, and turns every ending that isn't a success into a state of
// the run that an operator can read.
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import { inTransaction } from '../db/transaction.ts';
import { clearStaging, LostLease, readRunState } from '../warehouse/staging.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import { executeRun } from './execute-run.ts';
import { judge } from './retry.ts';
import { findRun, type Lease, moveRun, releaseLease, renewLease, writeRunEvent } from './runs.store.ts';

class Cancelled extends Error {
  override readonly name = 'Cancelled';
}
/** The process stops: the run goes on elsewhere. */
export class Stopping extends Error {
  override readonly name = 'Stopping';
}

/** Renews while work is in flight; aborts it when the lease is lost or someone asked to cancel. */
function keepLease(ctx: Ctx, lease: Lease, abort: AbortController): () => void {
  const { leaseMs, renewMs } = ctx.settings.sync;
  let lastHeldMs = ctx.clock.monotonicMs();
  const timer = setInterval(() => {
    renewLease(ctx, lease, leaseMs).then(
      ({ held, cancelRequested }) => {
        lastHeldMs = ctx.clock.monotonicMs();
        if (!held) abort.abort(new LostLease('the lease was taken'));
        else if (cancelRequested) abort.abort(new Cancelled('cancelled'));
      },
      () => {
        if (ctx.clock.monotonicMs() - lastHeldMs > leaseMs) abort.abort(new LostLease('the lease ran out'));
      },
    );
  }, renewMs);
  return () => clearInterval(timer);
}

async function dropStaged(ctx: TenantCtx, lease: Lease): Promise<void> {
  const schema = tenantSchema(ctx.organizationId);
  const state = await readRunState(ctx.db.data, schema, lease.runId).catch(() => undefined);
  if (state === undefined) return;
  await clearStaging(ctx.db.data, schema, state.recordType, lease.runId);
  if (state.targetTable.startsWith('staging_')) return;
  await ctx.db.data.query(`insert into ${schema}.retired_tables (table_name) values ($1) on conflict do nothing`, [state.targetTable]);
}

async function settleFailure(ctx: TenantCtx, lease: Lease, failure: unknown): Promise<void> {
  const row = await inTransaction(ctx, (tx) => findRun(tx, ctx.organizationId, lease.runId));
  if (row === undefined) return;
  const fruitless = row.attempts_without_progress + 1;
  const verdict = judge(failure, fruitless, ctx.settings.sync, Math.random());
  ctx.log.warn({ err: failure, verdict: verdict.kind, code: verdict.error.code }, 'a sync run was interrupted');
  if (verdict.kind === 'wait' && row.status === 'running') {
    await moveRun(ctx, lease, 'waiting', { error: verdict.error, delayMs: verdict.delayMs, attempts_without_progress: fruitless });
    await writeRunEvent(ctx, lease.runId, 'warning', `waiting: ${verdict.error.message}`, {
      code: verdict.error.code,
      delayMs: verdict.delayMs,
    });
    return;
  }
  if (verdict.kind === 'wait') {
    await releaseLease(ctx, lease, verdict.delayMs, fruitless);
    return;
  }
  if (!(await moveRun(ctx, lease, 'failed', { error: verdict.error }))) return;
  await dropStaged(ctx, lease);
  await writeRunEvent(ctx, lease.runId, 'error', `failed: ${verdict.error.message}`, verdict.error);
  if (verdict.pause) {
    await inTransaction(ctx, (tx) =>
      tx('sync_configs')
        .where({ organization_id: ctx.organizationId, id: row.sync_config_id })
        .update({ paused_reason: JSON.stringify(verdict.error) }),
    );
  }
}

/** Never throws: whatever happens ends in the run's state, or in the lease running out. */
export async function workOn(ctx: Ctx, lease: Lease, stopping: AbortSignal): Promise<void> {
  const tenant: TenantCtx = { ...ctx, organizationId: lease.organizationId, log: ctx.log.child({ runId: lease.runId }) };
  const abort = new AbortController();
  const onStop = () => abort.abort(new Stopping('stopping'));
  stopping.addEventListener('abort', onStop, { once: true });
  const letGo = keepLease(ctx, lease, abort);
  try {
    await executeRun(tenant, lease, abort.signal);
  } catch (thrown) {
    const failure: unknown = abort.signal.aborted ? abort.signal.reason : thrown;
    try {
      if (failure instanceof Stopping) await releaseLease(tenant, lease, 0);
      else if (failure instanceof Cancelled) {
        if (await moveRun(tenant, lease, 'cancelled')) await dropStaged(tenant, lease);
        await writeRunEvent(tenant, lease.runId, 'info', 'cancelled');
      } else if (!(failure instanceof LostLease)) await settleFailure(tenant, lease, failure);
    } catch (error) {
      tenant.log.error({ err: error }, 'the end of a run could not be noted; its lease will run out');
    }
  } finally {
    letGo();
    stopping.removeEventListener('abort', onStop);
  }
}

// The log of a run. Clients that follow it ask for the events after the last one they saw, so the events of a
// run are written one after the other, under a lock on the run's row: without it a higher event id could
// become visible before a lower one.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { isFinal, type RunStatus } from './run-state.ts';

export type NewRunEvent = {
  readonly level: 'info' | 'warning' | 'error';
  readonly message: string;
  readonly data?: object;
};

/** The transaction must hold the lock on the run's row, by having updated or locked it. */
export const insertRunEvent = (
  tx: Tx,
  organizationId: string,
  runId: string,
  { level, message, data = {} }: NewRunEvent,
) =>
  tx('sync_run_events').insert({
    organization_id: organizationId,
    run_id: runId,
    level,
    message,
    data: JSON.stringify(data),
  });

/** Writes nothing once the run has ended: clients that followed it have left by then. */
export const writeRunEvent = (
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  runId: string,
  level: NewRunEvent['level'],
  message: string,
  data: object = {},
): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const run = await tx('sync_runs')
      .where({ organization_id: ctx.organizationId, id: runId })
      .forNoKeyUpdate()
      .first<{ status: RunStatus } | undefined>('status');
    if (run !== undefined && !isFinal(run.status))
      await insertRunEvent(tx, ctx.organizationId, runId, { level, message, data });
  });

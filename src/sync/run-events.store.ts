// The log of a run. Whoever follows it asks for what came after the last event that he saw, so events of one run are written one
// after the other, under a lock on the run's row: without it a later number could become visible before an earlier one.
import type { TenantCtx } from '../core/ctx.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';
import { isFinal, type RunStatus } from './run-state.ts';

export type NewRunEvent = {
  readonly level: 'info' | 'warning' | 'error';
  readonly message: string;
  readonly data?: object;
};

/** The transaction must hold the run's row: by having changed it, or by a lock. */
export const insertRunEvent = (tx: Tx, organizationId: string, runId: string, { level, message, data = {} }: NewRunEvent) =>
  tx('sync_run_events').insert({ organization_id: organizationId, run_id: runId, level, message, data: JSON.stringify(data) });

/** Nothing is written after the end: who followed the run has left by then. */
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
    if (run !== undefined && !isFinal(run.status)) await insertRunEvent(tx, ctx.organizationId, runId, { level, message, data });
  });

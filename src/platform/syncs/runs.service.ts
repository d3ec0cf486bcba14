// Runs of syncs: at most one open per configuration, but for a full one that is queued after an incremental.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, viewPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  findOpenRun,
  findRun,
  insertRun,
  insertRunEvent,
  insertRunOfEach,
  type RunRow,
} from '../../sync/index.ts';
import { getterOf } from '../rows.ts';
import { runView } from './run-view.ts';
import { getConfigRow } from './syncs.service.ts';
import * as store from './syncs.store.ts';

/** Throws 404 for an unknown run. */
export const getRunRow = getterOf(findRun, 'Sync run');

const auditTrigger = (tx: Tx, ctx: RequestCtx, run: RunRow) =>
  writeAudit(tx, ctx, 'sync-run.trigger', ['sync-run', run.id], {
    syncConfigId: run.sync_config_id,
    mode: run.mode,
  });

/**
 * Returns an open run instead of creating another one. A full run requested during an incremental one is
 * queued after it; an incremental run that is only queued becomes full. Throws 404 for an unknown sync.
 */
export const triggerSync = (ctx: RequestCtx, id: string, mode: 'incremental' | 'full' | undefined) =>
  inTransaction(ctx, async (tx) => {
    const config = await getConfigRow(tx, ctx, id);
    const wanted = mode ?? config.mode;
    const open = await findOpenRun(tx, ctx.organizationId, id);
    if (open !== undefined && (open.mode === 'full' || wanted === 'incremental'))
      return { ...runView(ctx, open), coalesced: true };
    const raised =
      open === undefined ? undefined : await store.upgradeToFull(tx, ctx.organizationId, open.id);
    if (raised !== undefined) {
      await auditTrigger(tx, ctx, raised);
      return { ...runView(ctx, raised), coalesced: true };
    }
    const inserted = await insertRun(tx, ctx.organizationId, {
      sync_config_id: id,
      record_type: config.record_type,
      mode: wanted,
      trigger: 'manual',
    });
    if (inserted === undefined) {
      const winner = await findOpenRun(tx, ctx.organizationId, id);
      if (winner === undefined) throw new Error('a run was neither inserted nor found');
      return { ...runView(ctx, winner), coalesced: true };
    }
    await auditTrigger(tx, ctx, inserted);
    return { ...runView(ctx, inserted), coalesced: false };
  });

/** Queues a run of each enabled sync that has none open. */
export const triggerSyncs = (ctx: RequestCtx, mode: 'incremental' | 'full' | undefined) =>
  inTransaction(ctx, async (tx) => {
    const runs = await insertRunOfEach(tx, ctx.organizationId, mode);
    await writeAudit(tx, ctx, 'sync-run.trigger-all', ['sync-run', null], {
      ...(mode !== undefined && { mode }),
      ...runs,
    });
    return runs;
  });

/** Throws 404 when `filter.syncConfigId` is unknown. */
export const listSyncRuns = (ctx: RequestCtx, page: PageQuery, filter: store.RunFilter) =>
  inTransaction(ctx, async (tx) => {
    if (filter.syncConfigId !== undefined) await getConfigRow(tx, ctx, filter.syncConfigId);
    return viewPage(await store.listRuns(tx, ctx.organizationId, page, filter), page, (row) =>
      runView(ctx, row),
    );
  });

/** Throws 404 for an unknown run. */
export const getSyncRun = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => runView(ctx, await getRunRow(tx, ctx, id)));

/** Throws 404 for an unknown run. */
export const getSyncRunProof = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => ({ checks: (await getRunRow(tx, ctx, id)).proof }));

/** Throws 404 for an unknown run. */
export const listSyncRunEvents = (ctx: RequestCtx, id: string, page: PageQuery) =>
  inTransaction(ctx, async (tx) => {
    await getRunRow(tx, ctx, id);
    return viewPage(await store.listEvents(tx, ctx.organizationId, id, page), page, (row) => ({
      ...row,
      at: instant(row.at),
    }));
  });

/** Throws 404, 422 `publishing` or `run_ended`. */
export const cancelSyncRun = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const run = await getRunRow(tx, ctx, id);
    const ended = await store.cancelIdleRun(tx, ctx.organizationId, id);
    if (ended === 1)
      await insertRunEvent(tx, ctx.organizationId, id, { level: 'info', message: 'cancelled' });
    else if ((await store.requestCancel(tx, ctx.organizationId, id)) === 0)
      throw run.status === 'publishing'
        ? invalid('The run is being published', [
            {
              path: '',
              code: 'publishing',
              message: 'A run can no longer be cancelled while it is being published',
            },
          ])
        : invalid('The run has already ended', [
            { path: '', code: 'run_ended', message: 'Only an open run can be cancelled' },
          ]);
    await writeAudit(tx, ctx, 'sync-run.cancel', ['sync-run', id]);
    return runView(ctx, await getRunRow(tx, ctx, id));
  });

/** Throws 404, 422 `not_retryable` unless failed, partial or cancelled, `run_open` when one is queued. */
export const retrySyncRun = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const run = await getRunRow(tx, ctx, id);
    if (!['failed', 'partial', 'cancelled'].includes(run.status)) {
      throw invalid('Only a run that did not succeed can be retried', [
        { path: '', code: 'not_retryable', message: `The run is ${run.status}` },
      ]);
    }
    const inserted = await insertRun(tx, ctx.organizationId, {
      sync_config_id: run.sync_config_id,
      record_type: run.record_type,
      mode: run.mode,
      trigger: 'retry',
      retry_of: run.id,
    });
    if (inserted === undefined)
      throw invalid('A run of this sync is already queued', [
        { path: '', code: 'run_open', message: 'See the runs of the sync' },
      ]);
    await writeAudit(tx, ctx, 'sync-run.retry', ['sync-run', inserted.id], { retryOf: id });
    return runView(ctx, inserted);
  });

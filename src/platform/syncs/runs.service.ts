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
  maxQueuedRereads,
  queueRereads,
  type RunRow,
} from '../../sync/index.ts';
import { isValidId } from '../../warehouse/validate-values.ts';
import { getterOf } from '../rows.ts';
import { getSyncableType } from './config-checks.ts';
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
 * queued after it; an incremental run that is only queued becomes full, and one that would read only requested
 * records becomes the run. Throws 404 for an unknown sync.
 */
export const triggerSync = (ctx: RequestCtx, id: string, mode: 'incremental' | 'full' | undefined) =>
  inTransaction(ctx, async (tx) => {
    const config = await getConfigRow(tx, ctx, id);
    const wanted = mode ?? config.mode;
    const open = await findOpenRun(tx, ctx.organizationId, id);
    if (open?.mode === 'full' || (open?.mode === 'incremental' && wanted === 'incremental'))
      return { ...runView(ctx, open), coalesced: true };
    const raised =
      open === undefined || wanted === 'incremental'
        ? undefined
        : await store.upgradeToFull(tx, ctx.organizationId, open.id);
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

/**
 * Queues the records, and the run that reads them. Throws 404 for an unknown sync, 422 `invalid_id` for each id
 * that the record type can't have, 422 `limit_reached` when too many are queued, and what `getSyncableType`
 * throws.
 */
export async function rereadRecords(ctx: RequestCtx, id: string, ids: readonly string[]) {
  const found = await inTransaction(ctx, (tx) => getConfigRow(tx, ctx, id));
  const { idType } = await getSyncableType(ctx, found.record_type);
  const wrong = ids.flatMap((one, index) => (isValidId(one, idType) ? [] : [index]));
  if (wrong.length > 0) {
    const message = `must be ${idType === 'integer' ? 'an integer without leading zeros' : 'a text that can be stored'}, as ids of ${found.record_type} are`;
    throw invalid(
      'Some ids are not valid',
      wrong.slice(0, 100).map((index) => ({ path: `ids[${index}]`, code: 'invalid_id', message })),
    );
  }
  return inTransaction(ctx, async (tx) => {
    const queued = await queueRereads(tx, await getConfigRow(tx, ctx, id), ids);
    if (queued === undefined)
      throw invalid('Too many records are queued', [
        {
          path: 'ids',
          code: 'limit_reached',
          message: `At most ${maxQueuedRereads} records of a sync may wait to be read again. Start a full run instead.`,
        },
      ]);
    const { run, isNew } = queued;
    const changes = { records: new Set(ids).size, runId: run.id };
    await writeAudit(tx, ctx, 'sync-config.reread', ['sync-config', id], changes);
    return { ...runView(ctx, run), coalesced: !isNew };
  });
}

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

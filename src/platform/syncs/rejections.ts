// Records that could not be stored, of one run or of a sync as a whole. Every run reads them again, except
// that a record without a usable id waits for a full run; a caller can request that now.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { queueRun } from '../../sync/index.ts';
import { filterRejectedIds, listRunRejections, listTypeRejections } from '../../warehouse/rejections.ts';
import { runView } from './run-view.ts';
import { getSyncRun } from './runs.service.ts';
import { hideRejectedValues } from './shown-values.ts';
import { getConfigRow } from './syncs.service.ts';

/** Throws 404 for an unknown run. */
export async function listSyncRunRejections(ctx: RequestCtx, runId: string, page: PageQuery) {
  const run = await getSyncRun(ctx, runId);
  const { rows, total } = await listRunRejections(ctx, run.recordType, runId, page);
  return toPage(await hideRejectedValues(ctx, run.recordType, rows), total, page);
}

const getRecordType = async (ctx: RequestCtx, configId: string): Promise<string> =>
  (await inTransaction(ctx, (tx) => getConfigRow(tx, ctx, configId))).record_type;

/** Throws 404 for an unknown sync. */
export async function listRejectedRecords(ctx: RequestCtx, configId: string, page: PageQuery) {
  const recordType = await getRecordType(ctx, configId);
  const { rows, total } = await listTypeRejections(ctx, recordType, page);
  return toPage(await hideRejectedValues(ctx, recordType, rows), total, page);
}

/**
 * The number of rejected records that the caller requests to be read again. Throws 422 when there are none,
 * or when some of the given ids are not rejected.
 */
async function countRejected(ctx: RequestCtx, recordType: string, recordIds: readonly string[] | undefined) {
  if (recordIds === undefined) {
    const { total } = await listTypeRejections(ctx, recordType, { page: 1, pageSize: 1 });
    if (total > 0) return total;
    throw invalid('There are no rejected records', [
      { path: '', code: 'nothing_rejected', message: 'There is nothing to read again' },
    ]);
  }
  const open = await filterRejectedIds(ctx, recordType, recordIds);
  const details = recordIds.flatMap((id, index) =>
    open.has(id)
      ? []
      : [{ path: `recordIds[${index}]`, code: 'not_rejected', message: 'No rejected record has this id' }],
  );
  if (details.length > 0) throw invalid('Some of these records are not rejected', details.slice(0, 100));
  return new Set(recordIds).size;
}

/**
 * Queues an incremental run, which reads every rejected record again, whichever ids are given; a run in
 * progress may be past that step. Throws 404 for an unknown sync, and 422 `nothing_rejected` or
 * `not_rejected` as `countRejected` does.
 */
export async function retryRejections(
  ctx: RequestCtx,
  configId: string,
  recordIds: readonly string[] | undefined,
) {
  const recordType = await getRecordType(ctx, configId);
  const records = await countRejected(ctx, recordType, recordIds);
  return inTransaction(ctx, async (tx) => {
    await getConfigRow(tx, ctx, configId);
    const wanted = { sync_config_id: configId, record_type: recordType, mode: 'incremental' } as const;
    const run = await queueRun(tx, ctx.organizationId, wanted);
    await writeAudit(tx, ctx, 'sync-config.retry-rejections', ['sync-config', configId], {
      records,
      runId: run.id,
    });
    return runView(ctx, run);
  });
}

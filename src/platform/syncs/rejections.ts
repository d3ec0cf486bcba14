// The records that could not be stored: of one run, and of a sync as a whole, which reads them again at every run or at once.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { findOpenRun, insertRun, openRejections, rejectedRecords, stillRejected } from '../../sync/index.ts';
import { getConfigRow, getSyncRun, runView } from './syncs.service.ts';

export async function listRejections(ctx: RequestCtx, runId: string, page: PageQuery) {
  const run = await getSyncRun(ctx, runId);
  const { rows, total } = await openRejections(ctx, run.recordType, runId, page);
  return toPage(rows, total, page);
}

const recordTypeOf = async (ctx: RequestCtx, configId: string): Promise<string> =>
  (await inTransaction(ctx, (tx) => getConfigRow(tx, ctx, configId))).record_type;

export async function listRejectedRecords(ctx: RequestCtx, configId: string, page: PageQuery) {
  const { rows, total } = await rejectedRecords(ctx, await recordTypeOf(ctx, configId), page);
  return toPage(rows, total, page);
}

async function checkRejected(ctx: RequestCtx, recordType: string, recordIds: readonly string[] | undefined): Promise<number> {
  if (recordIds === undefined) {
    const { total } = await rejectedRecords(ctx, recordType, { page: 1, pageSize: 1 });
    if (total > 0) return total;
    throw invalid('No record is rejected', [{ path: '', code: 'nothing_rejected', message: 'There is nothing to read again' }]);
  }
  const open = await stillRejected(ctx, recordType, recordIds);
  const details = recordIds.flatMap((id, index) =>
    open.has(id) ? [] : [{ path: `recordIds[${index}]`, code: 'not_rejected', message: 'No such record is rejected' }],
  );
  if (details.length > 0) throw invalid('Some of these records are not rejected', details.slice(0, 100));
  return new Set(recordIds).size;
}

/** An incremental run reads every rejected record again. One that is under way may be past that step, so another follows it. */
export async function retryRejections(ctx: RequestCtx, configId: string, recordIds: readonly string[] | undefined) {
  const recordType = await recordTypeOf(ctx, configId);
  const records = await checkRejected(ctx, recordType, recordIds);
  return inTransaction(ctx, async (tx) => {
    await getConfigRow(tx, ctx, configId);
    const wanted = { sync_config_id: configId, record_type: recordType, mode: 'incremental', trigger: 'manual' } as const;
    const run = (await insertRun(tx, ctx.organizationId, wanted)) ?? (await findOpenRun(tx, ctx.organizationId, configId));
    if (run === undefined) throw new Error('a run was neither made nor found');
    await writeAudit(tx, ctx, {
      action: 'sync-config.retry-rejections',
      target: { type: 'sync-config', id: configId },
      changes: { records, runId: run.id },
    });
    return runView(run);
  });
}

// The records that a run could not store, read from the organization's own schema.
import type { RequestCtx } from '../../core/ctx.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { openRejections } from '../../sync/index.ts';
import { getSyncRun } from './syncs.service.ts';

export async function listRejections(ctx: RequestCtx, runId: string, page: PageQuery) {
  const run = await getSyncRun(ctx, runId);
  const { rows, total } = await openRejections(ctx, run.recordType, runId, page);
  return toPage(rows, total, page);
}

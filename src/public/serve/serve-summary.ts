// Serves `/summary` of a resource that declares one: a JSON document, kept for as long as the data is the
// same, or all groups as JSON lines.
import { toQueryText } from '../../core/text/query-text.ts';
import { copySummaryStatement } from '../export/export-sql.ts';
import { createJsonTextWriter } from '../export/json-lines.ts';
import { copyRows, streamRows } from '../export/serve-export.ts';
import {
  freshnessFor,
  negotiateMediaType,
  type ReadContext,
  readerFor,
  sendPageOrNotModified,
  toIdentity,
} from '../http/exchange.ts';
import { summaryBody } from '../http/response.ts';
import { readLargeSummary, readSmallSummary } from '../read/result/summary.ts';
import type { PublicService } from './service.ts';

const jsonLines = 'application/x-ndjson';

/** Rejects with 406, and as `planSummary` (400, 403), and `readSummary` or `streamRows` (400, 503) do. */
export async function serveSummary(service: PublicService, read: ReadContext): Promise<void> {
  const { req } = read.exchange;
  const mediaType = negotiateMediaType(req, ['application/json', jsonLines]);
  const plan = service.loadSummaryPlan(read.endpoint, toQueryText(req.url ?? ''));
  if (mediaType === jsonLines)
    return streamRows(service.engine.exports, read, {
      representation: 'summary/x-ndjson',
      type: jsonLines,
      normalized: plan.normalized,
      start: copyRows((table) => copySummaryStatement(table, plan), createJsonTextWriter),
      countRows: () => Promise.resolve(null),
    });
  await sendPageOrNotModified(read, 'summary', plan.normalized, async () => {
    const freshness = await freshnessFor(read);
    // Reading one takes as long as many pages: requests for the same summary of the same data wait for one
    // read. A large one is read by each of them, with a permit of its own until its client has it.
    const key = JSON.stringify(toIdentity(read, 'summary', plan.normalized, freshness));
    const shared = await service.summaries.load(key, () => readSmallSummary(read.reader, plan));
    const found = shared ?? (await readLargeSummary(readerFor(read), plan));
    return { body: summaryBody(found.rows, found.total), links: '', freshness: found.freshness };
  });
}

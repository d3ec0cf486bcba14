// Counts and aggregates over the records of a version, for people.
import { z } from 'zod';
import type { RequestCtx } from '../../core/ctx.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { getVersionReader } from '../../public/index.ts';
import {
  freshnessFields,
  given,
  parameter,
  rethrowInOwnTerms,
  selection,
  text,
  toVersionQuery,
  VersionParams,
  type VersionRequest,
} from './version-query.ts';

const fieldsOf = (what: string) => parameter(text, `${what} of these fields, separated by commas`);

/** Syntax only: the version decides what the names and values mean. */
const SummaryQuery = z
  .object({
    by: parameter(text, 'At most two group keys: a field, or a period of a date such as `date.month`'),
    count: parameter({ type: 'string', enum: ['true', 'false'] }, 'Whether to count the records'),
    sum: fieldsOf('Sums'),
    avg: fieldsOf('Averages'),
    min: fieldsOf('The least values'),
    max: fieldsOf('The greatest values'),
    count_distinct: fieldsOf('Numbers of different values'),
    sort: parameter(text, 'A group key, `count` or an aggregate such as `sum.total`; `-` means descending'),
    limit: parameter({ type: 'integer', minimum: 1, maximum: 1_000 }, 'Maximum number of groups'),
    ...selection,
  })
  .catchall(given);

const Summary = z
  .object({
    data: z
      .array(z.record(z.string(), z.unknown()))
      .describe(
        'Groups under `<field>` or `<field>.<period>`, then `count`, then an object of fields for each function. Sums, averages, minima and maxima are texts with exact digits',
      ),
    total: z.int().describe('Number of groups, also of those beyond the limit; 1 without group keys'),
    ...freshnessFields,
  })
  .meta({ id: 'ApiSchemaSummary' });

/** Throws as `toVersionQuery` and the summaries of the public interface do. */
async function summarizeRecords(ctx: RequestCtx, request: VersionRequest) {
  const query = await toVersionQuery(ctx, request);
  const { rows, total, syncedAt, stale } = await getVersionReader(ctx)
    .summarize(ctx, query)
    .catch(rethrowInOwnTerms);
  return { data: parseExact(rows) as Record<string, unknown>[], total, syncedAt, staleFields: [...stale] };
}

export const versionSummaryRoutes = inGroup('API Keys', [
  defineRoute('summarizeApiSchemaRecords', 'GET /api-schema/{id}/records/{resource}/summary', {
    permission: 'record:read',
    summary: 'Summarize the records of a version',
    description:
      'Counts and aggregates the records that the filters of the version select, as `/summary` of the public interface does, for people: over ' +
      'any field, whether the version declares it for summaries or not. Amounts of several currencies are never added up (400 ' +
      '`several_currencies`): group by the currency or filter by one. Masks, refusals and versions are those of the records. A resource with a ' +
      'filter that has the name of a parameter has no summary (400 `no_summary`).',
    params: VersionParams,
    query: SummaryQuery,
    response: Summary,
    responseExample: {
      data: [
        { 'date.month': '2026-02', count: 310, sum: { amountDue: '91234.05' } },
        { 'date.month': '2026-03', count: 42, sum: { amountDue: '12000.30' } },
      ],
      total: 2,
      syncedAt: '2026-03-02T10:15:00Z',
      staleFields: [],
    },
    additionalErrors: [422],
    handler: summarizeRecords,
  }),
]);

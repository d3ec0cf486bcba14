// The records of a version, for people: the public interface takes API keys and no session.
import { z } from 'zod';
import type { RequestCtx } from '../../core/ctx.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { maxPageSize, Pagination, toPage } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import type { DownloadFile } from '../../http/route/route.ts';
import { allColumnTypes, type FileForm, getVersionReader } from '../../public/index.ts';
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

/** The largest page is that of every list here; the version decides what else the value may be. */
function assertPageSize({ value, issues }: z.core.ParsePayload<string | string[] | undefined>): void {
  const isTooLarge = [value ?? []].flat().some((text) => /^\d+$/.test(text) && Number(text) > maxPageSize);
  if (isTooLarge)
    issues.push({ code: 'too_big', origin: 'number', maximum: maxPageSize, inclusive: true, input: value });
}

/** Syntax only: the version decides what the names and values mean. */
const RecordsQuery = z
  .object({
    page: parameter({ type: 'integer', minimum: 1, default: 1 }, 'Page number, starting at 1'),
    pageSize: parameter(
      { type: 'integer', minimum: 1, maximum: maxPageSize },
      `Number of records per page, at most ${maxPageSize} and the \`maxPageSize\` of the resource`,
    ).check(assertPageSize),
    sort: parameter(text, 'A field of `sorts`, or a combination of `sortSets`'),
    order: parameter({ type: 'string', enum: ['asc', 'desc'] }, 'The direction of the sort'),
    fields: parameter(text, 'Only these fields, separated by commas'),
    ...selection,
    expand: parameter(text, 'Embeds related records, where the version declares `relations`'),
  })
  .catchall(given);

const RecordPage = z
  .object({
    data: z
      .array(z.record(z.string(), z.unknown()))
      .describe('As the public interface returns them: `id` first'),
    pagination: Pagination,
    fields: z
      .array(
        z.object({
          name: z.string(),
          type: z.enum(allColumnTypes),
          masked: z.boolean().describe('The caller sees the values masked, as text'),
          currency: z
            .string()
            .nullable()
            .optional()
            .describe(
              'Of an amount of money, the field that names its currency; null where no field does. Absent for other fields, and in an account with one currency',
            ),
        }),
      )
      .describe('The fields of each record after `id`, in their order'),
    ...freshnessFields,
  })
  .meta({ id: 'ApiSchemaRecords' });

/** Throws as `toVersionQuery` and the reads of the public interface do. */
async function listRecords(ctx: RequestCtx, request: VersionRequest) {
  const query = await toVersionQuery(ctx, request);
  const found = await getVersionReader(ctx).list(ctx, query).catch(rethrowInOwnTerms);
  const { records, total, page, pageSize, fields, syncedAt, stale } = found;
  return {
    ...toPage(parseExact(records) as Record<string, unknown>[], total, { page, pageSize }),
    fields: fields.map((field) => ({
      ...field,
      type: field.type as z.input<typeof RecordPage>['fields'][number]['type'],
    })),
    syncedAt,
    staleFields: [...stale],
  };
}

/** Throws as `listRecords` does. `signal` is aborted when the client disconnects. */
async function openFile(
  ctx: RequestCtx,
  request: VersionRequest,
  form: FileForm,
  signal: AbortSignal,
): Promise<DownloadFile> {
  const query = await toVersionQuery(ctx, request);
  const { bytes, aborted, tag, total, syncedAt, stale } = await getVersionReader(ctx)
    .file(ctx, query, form, signal)
    .catch(rethrowInOwnTerms);
  return {
    fileName: `${query.version}-${query.resource}.${form}`,
    headers: {
      'X-Total-Count': String(total),
      ...(syncedAt !== null && { 'X-Data-Synced-At': syncedAt }),
      ...(stale.length > 0 && { 'X-Data-Stale-Fields': stale.map(({ name }) => name).join(', ') }),
    },
    bytes,
    aborted,
    tag,
  };
}

export const versionRecordRoutes = inGroup('API Keys', [
  defineRoute('listApiSchemaRecords', 'GET /api-schema/{id}/records/{resource}', {
    permission: 'record:read',
    summary: 'List the records of a version',
    description:
      'The list of a resource as the public interface serves it, for people: with the parameters of that version, its filters included ' +
      '(`?status=open&total_gt=5`), its values, limits and errors. Fields that any published or deprecated version masks are masked for callers without ' +
      '`unmasked:read`, who can neither filter nor sort by them (403 `field_masked`). Reads are not counted as ' +
      'usage: callers and usage are those of the public interface. Returns 422 for a draft and for a retired version.',
    params: VersionParams,
    query: RecordsQuery,
    response: RecordPage,
    responseExample: {
      data: [{ id: '7', number: 'INV-1007', date: '2026-03-02', amountDue: 15.3 }],
      pagination: { total: 1, page: 1, pageSize: 25, totalPages: 1 },
      fields: [
        { name: 'number', type: 'text', masked: false },
        { name: 'date', type: 'date', masked: false },
        { name: 'amountDue', type: 'number', masked: false },
      ],
      syncedAt: '2026-03-02T10:15:00Z',
      staleFields: [],
    },
    additionalErrors: [422],
    download: {
      forms: ['csv', 'xlsx'],
      description:
        'All records that the filters select as a CSV file (RFC 4180) or an Excel workbook, with the limits of exports; `page`, `pageSize` and `expand` are ' +
        'refused with 400. Texts that a spreadsheet would read as a formula get a leading apostrophe; numbers stay as they are. `X-Total-Count` is ' +
        'the number of records.',
      example: 'id,number,date,amountDue\r\n7,INV-1007,2026-03-02,15.30\r\n',
      servesHead: true,
      resumes: true,
      open: openFile,
    },
    handler: listRecords,
  }),
]);

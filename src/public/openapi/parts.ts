// The parts that all descriptions share: headers, errors, security schemes and the introduction.
import type { oas31 } from 'openapi3-ts';
import { describeErrors } from '../../core/error-schema.ts';
import type { VersionChange } from '../version/compare.ts';
import { dateSentence } from './fields.ts';

const text = (description: string, example?: string): oas31.HeaderObject => ({
  description,
  schema: { type: 'string', ...(example !== undefined && { examples: [example] }) },
});

export const versionHeaders: Readonly<Record<string, oas31.HeaderObject>> = {
  ETag: text(
    'Identifies this representation. Send it as `If-None-Match` to get 304 while nothing has changed.',
  ),
  'X-Data-Generation': text('Number of syncs of this record type that changed data.', '17'),
  'X-Data-Synced-At': {
    description:
      'When the last sync started that could read every field of this resource. It does not move while a field is stale.',
    schema: { type: 'string', format: 'date-time' },
  },
  'X-Data-Stale-Fields': text(
    'Fields of this resource that the ERP cannot deliver at the moment, and since when: `name; since="<RFC 3339>"`, separated by commas; `*` means several fields whose names would not fit. Their values are those of `X-Data-Synced-At`, and `null` in newer records. Absent when every field is up to date.',
    'dueDate; since="2026-11-02T10:00:00Z"',
  ),
  'X-Request-Id': text('Identifies this request in the logs of the service.'),
  'Cache-Control': text(
    'Always `private, no-cache`: the response may be stored but must be revalidated before each use.',
    'private, no-cache',
  ),
  Link: text(
    'Links to the `first`, `prev`, `next` and `last` page of this query, omitted for very long queries; for changes `next` while there are more; for a deprecated version also its `successor-version`.',
  ),
  'X-Total-Count': {
    description: 'Number of records in an export, sent before its first record.',
    schema: { type: 'integer', minimum: 0 },
  },
  Deprecation: text('When this version was deprecated (RFC 9745); absent while it is not deprecated.'),
  Sunset: text('When this version may be retired (RFC 8594); absent when no date is set.'),
  'Retry-After': text('Seconds to wait before retrying.', '30'),
};

const headerRefs = (...names: string[]): oas31.HeadersObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const recordHeaders = headerRefs(
  'ETag',
  'X-Data-Generation',
  'X-Data-Synced-At',
  'X-Data-Stale-Fields',
  'X-Request-Id',
  'Cache-Control',
  'Deprecation',
  'Sunset',
);
export const listHeaders = { ...recordHeaders, ...headerRefs('Link', 'X-Total-Count') };
export const changesHeaders = { ...recordHeaders, ...headerRefs('Link') };

const errorSchema = describeErrors({
  message: 'Human-readable; may change.',
  path: 'The parameter or header that caused the problem.',
  code: 'Machine-readable reason; stable.',
});

const paginationSchema: oas31.SchemaObject = {
  type: 'object',
  required: ['total', 'page', 'pageSize', 'totalPages'],
  properties: {
    total: {
      type: 'integer',
      minimum: 0,
      description: 'Number of records that match the filters; always exact.',
    },
    page: { type: 'integer', minimum: 1 },
    pageSize: { type: 'integer', minimum: 1 },
    totalPages: { type: 'integer', minimum: 0, description: '0 when there are no records.' },
  },
};

export const versionSchemas = { ErrorResponse: errorSchema, Pagination: paginationSchema };

export function errorResponse(
  description: string,
  code: string,
  reason: string,
  path: string,
  extra: oas31.HeadersObject = {},
): oas31.ResponseObject {
  const example = {
    error: {
      code,
      message: description,
      details: [{ path, code: reason, message: description }],
      requestId: '0b6f2f0e-5a43-4c55-9a70-6f4a5f1d2c3b',
    },
  };
  return {
    description,
    headers: { ...headerRefs('X-Request-Id'), ...extra },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorResponse' }, example } },
  };
}

export const jsonResponse = (
  description: string,
  responseHeaders: oas31.HeadersObject,
  schema: oas31.SchemaObject | oas31.ReferenceObject,
  example: unknown,
): oas31.ResponseObject => ({
  description,
  headers: responseHeaders,
  content: { 'application/json': { schema, example } },
});

export const versionResponses: Readonly<Record<string, oas31.ResponseObject>> = {
  NotModified: {
    description: 'Not modified: the representation of the client is current.',
    headers: recordHeaders,
  },
  BadRequest: errorResponse(
    'Invalid parameter or header; `details` lists every problem.',
    'BAD_REQUEST',
    'unknown_parameter',
    'statuss',
  ),
  Unauthorized: errorResponse(
    'The API key is missing, unknown, expired or revoked.',
    'UNAUTHORIZED',
    'unauthorized',
    'Authorization',
  ),
  Forbidden: errorResponse(
    'The API key belongs to another tenant or is not valid for this version or resource.',
    'FORBIDDEN',
    'tenant_mismatch',
    'x-tenant-id',
  ),
  NotFound: errorResponse('No such version, resource or record.', 'NOT_FOUND', 'not_found', ''),
  NotAcceptable: errorResponse(
    'None of the accepted media types is available.',
    'BAD_REQUEST',
    'not_acceptable',
    'Accept',
  ),
  Gone: errorResponse(
    'The version has been retired; or, for changes, `since` is too old or the records have been reloaded (`token_expired`).',
    'NOT_FOUND',
    'version_retired',
    'version',
  ),
  Unavailable: errorResponse(
    'Temporarily unavailable: nothing has been synced yet, the read timed out, too many requests or exports are in progress, or the database is unavailable.',
    'INTERNAL_ERROR',
    'unavailable',
    '',
    headerRefs('Retry-After'),
  ),
};

export const errorRefs: oas31.ResponsesObject = Object.fromEntries(
  Object.entries({
    304: 'NotModified',
    400: 'BadRequest',
    401: 'Unauthorized',
    403: 'Forbidden',
    404: 'NotFound',
    406: 'NotAcceptable',
    410: 'Gone',
    503: 'Unavailable',
  }).map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
);

export const securitySchemes: Readonly<Record<string, oas31.SecuritySchemeObject>> = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'API key: `Authorization: Bearer psk_…`.' },
  tenant: {
    type: 'apiKey',
    in: 'header',
    name: 'x-tenant-id',
    description:
      'Id of the organization that the key belongs to. It must match the key; it does not select data by itself.',
  },
};

const maskedFields =
  '## Masked fields\nFields with `x-mask` are masked for keys and tokens without unmasked access. Their filters, sorts and groups are then refused with 403 `field_masked`, and a default sort by such a field is by `id` instead.';

const summaries =
  '## Summaries\n`/summary` of a resource counts the records that match the filters, and computes `sum`, `avg`, `min`, `max` and `count_distinct` of the fields that it declares, for all of them or in groups (`by`). Results are exact: sums, averages, minima and maxima of numbers are strings of decimal digits, and averages have six decimals. A JSON response has at most 1,000 groups, and a request for more is 400 `too_many_groups`. Pass `limit` for the first groups in the order of `sort`, or `Accept: application/x-ndjson` for all of them, one per line.';

const relatedRecords =
  '## Related records\n`expand` embeds up to three related records in each record of a list, or in a single record, as their own resources return them. It is `null` when there is none or the key may not read it. `ETag` then covers the related records too, and `X-Data-Synced-At` is the oldest time of all of them. Exports and `/changes` have no related records.';

const documents =
  '## Records as PDF\nWhere a resource offers `application/pdf`, a single record is also a document: what its JSON says to the same caller, with its lines as a table, in the layout of the day on which this version was published, under the current name, logo, address and note of the company. Characters that the fonts do not have are refused with 422 `cannot_set`.';

const combinedFilters =
  '## Search, alternatives and several sorts\nWhere a resource has these parameters: `q` searches its text fields, `or=(filter:operator:value,…)` needs one of two to ten conditions to match, and `sort` takes the listed combinations of fields, where a leading `-` means descending. They apply in addition to all other filters.';

/** What the version declares, apart from resources with fields, filters and sorts. */
export type DescribedFeatures = {
  readonly hasMasks: boolean;
  readonly hasSummaries: boolean;
  readonly hasRelations: boolean;
  readonly hasSearch: boolean;
  readonly hasDocuments: boolean;
};

const ofEveryVersion: readonly string[] = [
  'Read-only access to records synced from the ERP. Responses come from the database of this service, so reading never loads the ERP.',
  '## Authentication\nEvery request needs two headers: `Authorization: Bearer <API key>` and `x-tenant-id: <organization id>`.',
  '## Freshness and polling\nData is as fresh as the last sync; `X-Data-Synced-At` is the time of that sync. When the ERP stops delivering some fields, `X-Data-Stale-Fields` names them and `X-Data-Synced-At` does not move; it is not part of the `ETag`, so read it from a `304` too. To poll, keep the `ETag` of a response and send it as `If-None-Match` with the next request: while nothing has changed, the response is a `304` without a body and costs almost nothing. Published changes become visible within 1 second.',
  '## Paging\n`page` starts at 1. Values outside the documented bounds are rejected, not truncated. So is a page whose records have too many bytes (`page_too_large`): the message names the largest `pageSize` that fits, with the `page` that starts at the same record. A single record is always returned. Each page shows one state of the data; when `X-Data-Generation` changes between two pages, start again. `Link` contains the neighbouring pages.',
  '## Exports\nA list requested with `Accept: application/x-ndjson` or `text/csv` is returned as a whole, from one state of the data: `fields`, filters, `sort` and `order` apply, `page` and `pageSize` do not. `X-Total-Count` is sent before the first record. A response that ends without a connection error is complete. In CSV (RFC 4180, with a header row) an empty field is `null`, `""` is empty text, and lines are JSON text.',
  '## Following changes\n`/changes` of a resource lists what changed, in the order of the syncs, each record once at its latest change. Start without `since`, and pass the `next` of each response as `since` in the next request; while `hasMore` is true, request it at once. A response may have fewer changes than `limit`, because it ends before it has too many bytes. Deletions are kept for 30 days: a client that returns later gets 410, discards its copy and starts over.',
  `## Values\nDates are \`YYYY-MM-DD\`, timestamps RFC 3339 in UTC. Numbers keep their exact digits. Every field but \`id\` may be \`null\`. ${dateSentence} Multiple filters are combined with AND; nulls sort last in both directions, and texts by code point. Searches in texts ignore case and take composed letters and letters with marks for the same.`,
];

/** The Markdown introduction. The changes from the previous version come last. */
export function introduction(
  notes: string,
  previousVersion: string | null,
  changes: readonly VersionChange[],
  { hasMasks, hasSummaries, hasRelations, hasSearch, hasDocuments }: DescribedFeatures,
): string {
  const listed = changes.map(({ breaking, message }) => `- ${breaking ? '**Breaking:** ' : ''}${message}.`);
  return [
    ...(notes === '' ? [] : [notes]),
    ...ofEveryVersion,
    ...(hasSearch ? [combinedFilters] : []),
    ...(hasRelations ? [relatedRecords] : []),
    ...(hasSummaries ? [summaries] : []),
    ...(hasDocuments ? [documents] : []),
    ...(hasMasks ? [maskedFields] : []),
    ...(previousVersion === null
      ? []
      : [
          `## Changes from ${previousVersion}\n${listed.length === 0 ? 'No changes visible to clients.' : listed.join('\n')}`,
        ]),
  ].join('\n\n');
}

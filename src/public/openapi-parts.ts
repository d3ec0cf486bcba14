// The parts that every description shares: headers, errors, security, and the prose in front.
import type { oas31 } from 'openapi3-ts';
import type { Change } from './compare.ts';
import { dateSentence } from './openapi-fields.ts';

const text = (description: string, example?: string): oas31.HeaderObject => ({
  description,
  schema: { type: 'string', ...(example !== undefined && { examples: [example] }) },
});

export const headers: Readonly<Record<string, oas31.HeaderObject>> = {
  ETag: text('Names this very answer. Send it back as `If-None-Match` to be told 304 while nothing has changed.'),
  'X-Data-Generation': text('Counts the syncs of this record type that changed something.', '17'),
  'X-Data-Synced-At': { description: 'When the last published sync read the ERP.', schema: { type: 'string', format: 'date-time' } },
  'X-Request-Id': text('Names this request in the logs of the service.'),
  'Cache-Control': text(
    'Always `private, no-cache`: keep the answer, and ask each time whether it is still the newest.',
    'private, no-cache',
  ),
  Link: text(
    'The pages `first`, `prev`, `next` and `last` of this very query, left out where the query is very long; of changes the `next` ones while there are more; for a deprecated version also its `successor-version`.',
  ),
  'X-Total-Count': {
    description: 'How many records an export holds; sent with it, before its first record.',
    schema: { type: 'integer', minimum: 0 },
  },
  Deprecation: text('Since when this version has been deprecated (RFC 9745); absent while it is not.'),
  Sunset: text('From when on this version may be retired (RFC 8594); absent while nothing is planned.'),
  'Retry-After': text('Seconds to wait before trying again.', '30'),
};

const headerRefs = (...names: string[]): oas31.HeadersObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const answerHeaders = headerRefs(
  'ETag',
  'X-Data-Generation',
  'X-Data-Synced-At',
  'X-Request-Id',
  'Cache-Control',
  'Deprecation',
  'Sunset',
);
export const listHeaders = { ...answerHeaders, ...headerRefs('Link', 'X-Total-Count') };
export const changesHeaders = { ...answerHeaders, ...headerRefs('Link') };

const errorSchema: oas31.SchemaObject = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'requestId'],
      properties: {
        code: {
          type: 'string',
          enum: ['BAD_REQUEST', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'VALIDATION_ERROR', 'RATE_LIMIT_EXCEEDED', 'INTERNAL_ERROR'],
        },
        message: { type: 'string', description: 'For people; may change.' },
        details: {
          type: 'array',
          items: {
            type: 'object',
            required: ['path', 'code', 'message'],
            properties: {
              path: { type: 'string', description: 'The parameter or header it is about.' },
              code: { type: 'string', description: 'The fine reason; stable.' },
              message: { type: 'string' },
            },
          },
        },
        requestId: { type: 'string' },
      },
    },
  },
};

const paginationSchema: oas31.SchemaObject = {
  type: 'object',
  required: ['total', 'page', 'pageSize', 'totalPages'],
  properties: {
    total: { type: 'integer', minimum: 0, description: 'Records that fit the filters; always exact.' },
    page: { type: 'integer', minimum: 1 },
    pageSize: { type: 'integer', minimum: 1 },
    totalPages: { type: 'integer', minimum: 0, description: '0 when there are no records.' },
  },
};

export const sharedSchemas = { Error: errorSchema, Pagination: paginationSchema };

function errorResponse(
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
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, example } },
  };
}

export const jsonResponse = (
  description: string,
  responseHeaders: oas31.HeadersObject,
  schema: oas31.SchemaObject | oas31.ReferenceObject,
  example: unknown,
): oas31.ResponseObject => ({ description, headers: responseHeaders, content: { 'application/json': { schema, example } } });

export const sharedResponses: Readonly<Record<string, oas31.ResponseObject>> = {
  NotModified: { description: 'What the caller holds is still the newest.', headers: answerHeaders },
  BadRequest: errorResponse(
    'A parameter or header could not be understood; `details` names each.',
    'BAD_REQUEST',
    'unknown_parameter',
    'statuss',
  ),
  Unauthorized: errorResponse('The key is missing, unknown, expired or revoked.', 'UNAUTHORIZED', 'unauthorized', 'Authorization'),
  Forbidden: errorResponse(
    'The key is of another tenant, or is not valid for this version or resource.',
    'FORBIDDEN',
    'tenant_mismatch',
    'x-tenant-id',
  ),
  NotFound: errorResponse('There is nothing at this address.', 'NOT_FOUND', 'not_found', ''),
  NotAcceptable: errorResponse('The address has no answer of the accepted media types.', 'BAD_REQUEST', 'not_acceptable', 'Accept'),
  Gone: errorResponse(
    'The version has been retired; or, of changes, `since` is too old or the records were loaded anew (`token_expired`).',
    'NOT_FOUND',
    'version_retired',
    'version',
  ),
  Unavailable: errorResponse(
    'Nothing has been synced yet, the read took too long, too many exports are under way, or the database is away.',
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
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer psk_…`.' },
  tenant: {
    type: 'apiKey',
    in: 'header',
    name: 'x-tenant-id',
    description: 'The organization id that the key belongs to. It must agree with the key; it selects nothing by itself.',
  },
};

/** Which revision of a published description this is can be told from its changes, which stand last. */
export function introduction(notes: string, previousVersion: string | null, changes: readonly Change[]): string {
  const listed = changes.map(({ breaking, message }) => `- ${breaking ? '**Breaking:** ' : ''}${message}.`);
  return [
    ...(notes === '' ? [] : [notes]),
    'Read-only access to records synced from the ERP. Every answer comes from the service’s own database, so reading never burdens the ERP.',
    '## Authentication\nEvery request carries both `Authorization: Bearer <API key>` and `x-tenant-id: <organization id>`.',
    '## Freshness and polling\nData is as fresh as the last sync: `X-Data-Synced-At` says when that was. To poll, keep the `ETag` of an answer and send it as `If-None-Match` with the next request: while nothing has changed, the answer is `304` without a body and costs almost nothing. What is published becomes visible within 1 second.',
    '## Paging\n`page` starts at 1. Values outside the stated bounds are refused rather than cut. One page shows one state of the data; when `X-Data-Generation` changes while you walk through pages, start again. `Link` holds the neighbouring pages.',
    '## Exports\nA list asked for with `Accept: application/x-ndjson` or `text/csv` is answered as a whole, from one state of the data: `fields`, filters, `sort` and `order` apply, `page` and `pageSize` do not. `X-Total-Count` comes first. An answer that ends without an error of the connection is complete. In CSV (RFC 4180, with a header row) an empty field is `null` and `""` is empty text; lines are JSON text.',
    '## Following changes\n`/changes` of a resource lists what changed, in the order of the syncs, each record once at its latest change. Begin without `since`, and ask again with the `next` of each answer; while `hasMore` is true, at once. Deletions are told for 30 days: whoever comes later is answered 410, forgets what he holds and begins again.',
    `## Values\nDates are \`YYYY-MM-DD\`, times RFC 3339 in UTC. Numbers carry their exact digits. Every field but \`id\` may be \`null\`. ${dateSentence} Several filters are joined by AND; nulls come last in either order.`,
    ...(previousVersion === null
      ? []
      : [`## Changes from ${previousVersion}\n${listed.length === 0 ? 'None that callers can see.' : listed.join('\n')}`]),
  ].join('\n\n');
}

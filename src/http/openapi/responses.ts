// What all operations of the OpenAPI document share: headers, error responses, and the texts about
// permissions and parameters.
import type { HeadersObject, ReferenceObject, ResponseObject, SchemaObject } from 'openapi3-ts/oas30';
import { type ZodType, z } from 'zod';
import { describeErrors } from '../../core/error-schema.ts';
import { type ErrorCode, type ErrorDetail, notFound } from '../../core/errors.ts';
import { changedText } from '../download.ts';
import { internalErrorText, unavailableText } from '../errors.ts';
import { shortText } from '../fields.ts';
import { PageQuery } from '../page.ts';
import { forbiddenText } from '../route/authorize.ts';
import { type NameKind, toErrorDetails } from '../route/parse.ts';
import type { AnyRoute, Route } from '../route/route.ts';
import { validationMessage } from '../route/validation-messages.ts';
import { exampleId } from './example.ts';

export const componentHeaders: HeadersObject = {
  'X-Request-Id': {
    description: "Identifies this request in the service's logs and in the audit log.",
    schema: { type: 'string' },
    example: exampleId,
  },
  RateLimit: {
    description:
      "Requests remaining in the current window (`r`), and seconds until the window resets (`t`): the caller's own, and `organization` for all keys and tokens together.",
    schema: { type: 'string' },
    example: '"60-in-1min"; r=59; t=60, "organization"; r=599; t=60',
  },
  'RateLimit-Policy': {
    description: 'The rate limits: requests (`q`) per window, and the length of the window in seconds (`w`).',
    schema: { type: 'string' },
    example: '"60-in-1min"; q=60; w=60, "organization"; q=600; w=60',
  },
  'Idempotency-Replayed': {
    description:
      '`true` when this is the stored response of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Retry-After': {
    description: 'Seconds to wait before retrying.',
    schema: { type: 'integer' },
    example: 30,
  },
  'WWW-Authenticate': {
    description: 'The authentication scheme to use.',
    schema: { type: 'string' },
    example: 'Bearer',
  },
};
type HeaderName =
  | 'X-Request-Id'
  | 'RateLimit'
  | 'RateLimit-Policy'
  | 'Idempotency-Replayed'
  | 'Retry-After'
  | 'WWW-Authenticate';
const headerRefs = (names: readonly HeaderName[]): HeadersObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const rateLimitedHeaders: readonly HeaderName[] = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];

export function successHeaders(route: AnyRoute): HeadersObject {
  if (route.access === 'public') return headerRefs(['X-Request-Id']);
  return headerRefs([
    ...rateLimitedHeaders,
    ...(route.method === 'POST' ? ['Idempotency-Replayed' as const] : []),
  ]);
}

export const errorSchema: SchemaObject = describeErrors({
  message: 'A message for people. It may change, so do not parse it.',
  path: 'The field, parameter or header with the problem; empty for the request as a whole',
  code: 'A stable, machine-readable reason',
  detail: 'What is wrong, for people',
  requestId: 'The value of the X-Request-Id header',
});

function errorResponse(
  description: string,
  code: ErrorCode,
  message: string,
  details: readonly ErrorDetail[],
  names: readonly HeaderName[],
) {
  return {
    description,
    headers: headerRefs(names),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/ErrorResponse' },
        example: { error: { code, message, ...(details.length > 0 && { details }), requestId: exampleId } },
      },
    },
  } satisfies ResponseObject;
}

/** The details with which the service answers an invalid value, so that examples can't become outdated. */
function listErrorDetails(schema: ZodType, value: unknown, kind?: NameKind): readonly ErrorDetail[] {
  const { error } = schema.safeParse(value, { error: validationMessage });
  return error === undefined ? [] : toErrorDetails(error, kind);
}

/** Error responses that are the same for every operation, by their component name. */
export const componentResponses: Readonly<Record<string, ResponseObject>> = {
  BadRequest: errorResponse(
    'The request is malformed',
    'BAD_REQUEST',
    'Invalid query parameters',
    listErrorDetails(PageQuery, { color: 'red' }, 'query parameter'),
    rateLimitedHeaders,
  ),
  Unauthorized: errorResponse(
    'Missing or invalid authentication',
    'UNAUTHORIZED',
    'Missing or invalid authentication',
    [],
    ['X-Request-Id', 'WWW-Authenticate'],
  ),
  NotFound: errorResponse(
    'The object does not exist, or belongs to another organization',
    'NOT_FOUND',
    notFound('Organization').message,
    [],
    rateLimitedHeaders,
  ),
  NotAcceptable: errorResponse(
    'None of the accepted media types is available',
    'BAD_REQUEST',
    'None of the accepted media types is available',
    [{ path: 'accept', code: 'not_acceptable', message: 'Accept application/json' }],
    rateLimitedHeaders,
  ),
  PreconditionFailed: errorResponse(
    'The file is not the one that `If-Match` names',
    'BAD_REQUEST',
    changedText,
    [{ path: 'If-Match', code: 'precondition_failed', message: changedText }],
    rateLimitedHeaders,
  ),
  TooLarge: errorResponse(
    'The body exceeds the size limit, which is 1 MiB unless the operation states another',
    'BAD_REQUEST',
    'The body is too large',
    [{ path: '', code: 'too_large', message: 'The body is too large' }],
    rateLimitedHeaders,
  ),
  UnsupportedMediaType: errorResponse(
    'The body is not application/json',
    'BAD_REQUEST',
    'The body must be application/json',
    [{ path: 'content-type', code: 'unsupported_media_type', message: 'Set Content-Type: application/json' }],
    rateLimitedHeaders,
  ),
  ValidationError: errorResponse(
    'The body is invalid, or the current state does not allow the operation',
    'VALIDATION_ERROR',
    'Invalid request body',
    listErrorDetails(z.strictObject({ name: shortText(120) }), { name: '' }),
    rateLimitedHeaders,
  ),
  TooManyRequests: errorResponse(
    'The rate limit is exceeded',
    'RATE_LIMIT_EXCEEDED',
    'Too many requests; try again in 30 s',
    [],
    [...rateLimitedHeaders, 'Retry-After'],
  ),
  InternalError: errorResponse('Internal error', 'INTERNAL_ERROR', internalErrorText, [], rateLimitedHeaders),
  Unavailable: errorResponse(
    'The service, or something that it depends on, is temporarily unavailable',
    'INTERNAL_ERROR',
    unavailableText,
    [],
    [...rateLimitedHeaders, 'Retry-After'],
  ),
};
const shared = (name: keyof typeof componentResponses & string): ReferenceObject => ({
  $ref: `#/components/responses/${name}`,
});

const forbiddenMessages: Readonly<Record<string, string>> = {
  authenticated: forbiddenText.restrictedKey,
  'signed-in': forbiddenText.apiKey,
};
const forbidden = ({ permission, orPermission }: Route): ResponseObject =>
  errorResponse(
    permission in forbiddenMessages
      ? 'The caller may not call this operation'
      : `The caller lacks the permission ${permission}${orPermission === undefined ? '' : `; ${orPermission.permission} suffices ${orPermission.for === undefined ? 'too' : `for ${Object.values(orPermission.for).join()}`}`}`,
    'FORBIDDEN',
    forbiddenMessages[permission] ?? `Missing required permission: ${permission}`,
    [],
    rateLimitedHeaders,
  );

export function errorResponses(route: AnyRoute): Record<string, ResponseObject | ReferenceObject> {
  if (route.access === 'public') {
    const webhookErrors = {
      404: shared('NotFound'),
      413: shared('TooLarge'),
      415: shared('UnsupportedMediaType'),
      429: shared('TooManyRequests'),
    };
    return {
      400: shared('BadRequest'),
      ...(route.maxBodyBytes === undefined && { 406: shared('NotAcceptable') }),
      ...(route.maxBodyBytes !== undefined && { ...webhookErrors, 503: shared('Unavailable') }),
      500: shared('InternalError'),
    };
  }
  const also = new Set(route.additionalErrors ?? []);
  return {
    400: shared('BadRequest'),
    401: shared('Unauthorized'),
    ...(route.permission !== 'any' && { 403: forbidden(route) }),
    ...((route.path.includes('{') || also.has(404)) && { 404: shared('NotFound') }),
    406: shared('NotAcceptable'),
    ...(route.download?.resumes === true && { 412: shared('PreconditionFailed') }),
    ...(route.body !== undefined && { 413: shared('TooLarge'), 415: shared('UnsupportedMediaType') }),
    ...((route.method !== 'GET' || also.has(422)) && { 422: shared('ValidationError') }),
    429: shared('TooManyRequests'),
    500: shared('InternalError'),
    503: shared('Unavailable'),
  };
}

function permissionSentence(route: AnyRoute): string {
  if (route.access === 'public') return 'Requires no authentication.';
  if (route.permission === 'any') return 'Accepts any valid credential.';
  if (route.permission === 'authenticated')
    return 'Accepts any valid credential except an API key that is for the public interface only.';
  if (route.permission === 'signed-in')
    return 'Requires a signed-in person: an access token or a session, not an API key.';
  const needed =
    route.readsRecords === true
      ? `permissions \`${route.permission}\` and \`record:read\``
      : `permission \`${route.permission}\``;
  return `Requires the ${needed}.${route.openToOwnKey === true ? ' An API key needs no permission to call it for itself.' : ''}`;
}

/** The route's own description, followed by what is derived from the route. */
export function operationDescription(route: AnyRoute): string {
  const sentences = [permissionSentence(route)];
  if (route.access !== 'public' && 'pageSize' in (route.query?.shape ?? {}))
    sentences.push('Returns one page of the list.');
  if (route.method === 'POST' && route.access !== 'public')
    sentences.push('Send an `Idempotency-Key` to retry safely.');
  if (route.shownOnce !== undefined)
    sentences.push(
      `A replayed response shows ${route.shownOnce.map((name) => `\`${name}\``).join(', ')} as null.`,
    );
  return [...(route.description === undefined ? [] : [route.description]), sentences.join(' ')].join('\n\n');
}

const commonParameters: Readonly<Record<string, string>> = {
  page: 'Page number, starting at 1',
  pageSize: 'Number of objects per page',
  q: 'Only objects whose name contains this text, ignoring case',
  status: 'Only objects with this status',
  after: 'Only objects after this time',
  before: 'Only objects before this time',
};
const spaced = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** The description of a parameter whose schema has none. */
export function parameterDescription(location: 'path' | 'query', name: string): string {
  const common = location === 'query' ? commonParameters[name] : undefined;
  if (common !== undefined) return common;
  if (name === 'id') return 'Id of the object';
  if (name.endsWith('Id'))
    return location === 'path'
      ? `Id of the ${spaced(name.slice(0, -2))}`
      : `Only objects of the ${spaced(name.slice(0, -2))} with this id`;
  return location === 'path' ? `Name of the ${spaced(name)}` : `Only objects with this ${spaced(name)}`;
}

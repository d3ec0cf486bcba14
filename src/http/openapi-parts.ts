// What every operation of the description shares: headers, error answers, and the words for who may call and what parameters mean.
import type { HeadersObject, ReferenceObject, ResponseObject, SchemaObject } from 'openapi3-ts/oas30';
import { type ErrorCode, errorStatus } from '../core/errors.ts';
import { exampleId } from './openapi-example.ts';
import type { AnyRoute, Route } from './route.ts';

export const headers: HeadersObject = {
  'X-Request-Id': {
    description: 'Names this request in the logs of the service and in the audit log.',
    schema: { type: 'string' },
    example: exampleId,
  },
  RateLimit: {
    description: 'What is left of the budget (`r`), and in how many seconds it is whole again (`t`).',
    schema: { type: 'string' },
    example: '"60-in-1min"; r=59; t=60',
  },
  'RateLimit-Policy': {
    description: 'The budget: requests (`q`) in a window of seconds (`w`).',
    schema: { type: 'string' },
    example: '"60-in-1min"; q=60; w=60',
  },
  'Idempotency-Replayed': {
    description: '`true` where this is the stored answer of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Retry-After': { description: 'Seconds to wait before trying again.', schema: { type: 'integer' }, example: 30 },
  'WWW-Authenticate': { description: 'How to authenticate.', schema: { type: 'string' }, example: 'Bearer' },
};
type HeaderName = 'X-Request-Id' | 'RateLimit' | 'RateLimit-Policy' | 'Idempotency-Replayed' | 'Retry-After' | 'WWW-Authenticate';
const headerRefs = (names: readonly HeaderName[]): HeadersObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const counted: readonly HeaderName[] = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];

export function goodHeaders(route: AnyRoute): HeadersObject {
  if (route.access === 'public') return headerRefs(['X-Request-Id']);
  return headerRefs([...counted, ...(route.method === 'POST' ? ['Idempotency-Replayed' as const] : [])]);
}

export const errorSchema: SchemaObject = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'requestId'],
      properties: {
        code: { type: 'string', enum: Object.keys(errorStatus) },
        message: { type: 'string', description: 'For people; may change' },
        details: {
          type: 'array',
          items: {
            type: 'object',
            required: ['path', 'code', 'message'],
            properties: {
              path: { type: 'string', description: 'The field, parameter or header it is about; empty for the request as a whole' },
              code: { type: 'string', description: 'The fine reason; stable' },
              message: { type: 'string' },
            },
          },
        },
        requestId: { type: 'string' },
      },
    },
  },
};

type Detail = { path: string; code: string; message: string };

function errorResponse(description: string, code: ErrorCode, message: string, details: readonly Detail[], names: readonly HeaderName[]) {
  return {
    description,
    headers: headerRefs(names),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        example: { error: { code, message, ...(details.length > 0 && { details }), requestId: exampleId } },
      },
    },
  } satisfies ResponseObject;
}

const unknownParameter = { path: 'color', code: 'unknown_field', message: 'color is not known here' };

/** Error answers that are the same for every operation, by their name among the components. */
export const sharedResponses: Readonly<Record<string, ResponseObject>> = {
  BadRequest: errorResponse("The request can't be read", 'BAD_REQUEST', 'The query is not valid', [unknownParameter], counted),
  Unauthorized: errorResponse(
    'Missing or invalid authentication',
    'UNAUTHORIZED',
    'Missing or invalid authentication',
    [],
    ['X-Request-Id', 'WWW-Authenticate'],
  ),
  NotFound: errorResponse('It does not exist, or belongs to another organization', 'NOT_FOUND', 'It was not found', [], counted),
  NotAcceptable: errorResponse(
    'None of the accepted media types is offered',
    'BAD_REQUEST',
    'None of the accepted media types is offered',
    [{ path: 'accept', code: 'not_acceptable', message: 'Accept application/json or another type that is offered' }],
    counted,
  ),
  TooLarge: errorResponse(
    'The body is larger than a megabyte',
    'BAD_REQUEST',
    'The body is too large',
    [{ path: '', code: 'too_large', message: 'The body is too large' }],
    counted,
  ),
  UnsupportedMediaType: errorResponse(
    'The body is not JSON',
    'BAD_REQUEST',
    'The body must be application/json',
    [{ path: 'content-type', code: 'unsupported_media_type', message: 'Send application/json' }],
    counted,
  ),
  ValidationError: errorResponse(
    'The body breaks a rule, or the state forbids it',
    'VALIDATION_ERROR',
    'The body is not valid',
    [{ path: 'name', code: 'too_small', message: 'Too small: expected string to have >=1 characters' }],
    counted,
  ),
  TooManyRequests: errorResponse(
    'Too many requests',
    'RATE_LIMIT_EXCEEDED',
    'Too many requests; try again in 30 s',
    [],
    [...counted, 'Retry-After'],
  ),
  InternalError: errorResponse(
    'Something went wrong here',
    'INTERNAL_ERROR',
    'Something went wrong here; the request id helps to find out what',
    [],
    counted,
  ),
  Unavailable: errorResponse(
    'Something that this service needs is away for the moment',
    'INTERNAL_ERROR',
    'The service is busy or its database is away; try again',
    [],
    [...counted, 'Retry-After'],
  ),
};
const shared = (name: keyof typeof sharedResponses & string): ReferenceObject => ({ $ref: `#/components/responses/${name}` });

const refusals: Readonly<Record<string, string>> = {
  any: 'You belong to no organization',
  authenticated: 'A key restricted to versions or resources may only call GET /whoami here',
  'signed-in': 'Only a signed-in person may do this',
};
const forbidden = ({ permission }: Route): ResponseObject =>
  errorResponse(
    permission in refusals ? 'This caller may not do this' : `The permission ${permission} is missing`,
    'FORBIDDEN',
    refusals[permission] ?? `Missing required permission: ${permission}`,
    [],
    counted,
  );

export function errorResponses(route: AnyRoute): Record<string, ResponseObject | ReferenceObject> {
  if (route.access === 'public') {
    const taking = {
      404: shared('NotFound'),
      413: shared('TooLarge'),
      415: shared('UnsupportedMediaType'),
      429: shared('TooManyRequests'),
    };
    return {
      400: shared('BadRequest'),
      ...(route.maxBodyBytes !== undefined && { ...taking, 503: shared('Unavailable') }),
      500: shared('InternalError'),
    };
  }
  const also = new Set(route.alsoAnswers ?? []);
  return {
    400: shared('BadRequest'),
    401: shared('Unauthorized'),
    403: forbidden(route),
    ...((route.path.includes('{') || also.has(404)) && { 404: shared('NotFound') }),
    ...((route.stream !== undefined || route.download !== undefined) && { 406: shared('NotAcceptable') }),
    ...(route.body !== undefined && { 413: shared('TooLarge'), 415: shared('UnsupportedMediaType') }),
    ...((route.method !== 'GET' || also.has(422)) && { 422: shared('ValidationError') }),
    429: shared('TooManyRequests'),
    500: shared('InternalError'),
    503: shared('Unavailable'),
  };
}

function whoMayCall(route: AnyRoute): string {
  if (route.access === 'public') return 'Needs no credential.';
  if (route.permission === 'any') return 'Any valid credential may call it.';
  if (route.permission === 'authenticated') return 'Any valid credential may call it, except a key restricted to versions or resources.';
  if (route.permission === 'signed-in') return 'Only a signed-in person may call it, with a token or a session; an API key may not.';
  return `Needs the permission \`${route.permission}\`.`;
}

/** What a route says of itself, and what follows from its kind. */
export function describeOperation(route: AnyRoute): string {
  const sentences = [whoMayCall(route)];
  if (route.access !== 'public' && 'pageSize' in (route.query?.shape ?? {})) sentences.push('The answer is one page of the list.');
  if (route.method === 'POST' && route.access !== 'public') sentences.push('With an `Idempotency-Key` it may be repeated safely.');
  if (route.writeOnce !== undefined)
    sentences.push(`A repeated answer shows ${route.writeOnce.map((name) => `\`${name}\``).join(', ')} as null.`);
  return [...(route.description === undefined ? [] : [route.description]), sentences.join(' ')].join('\n\n');
}

const commonParameters: Readonly<Record<string, string>> = {
  page: 'Which page, from 1',
  pageSize: 'How many on a page',
  q: 'Only those whose name holds this text, in upper or lower case',
  status: 'Only those in this state',
  after: 'Only those after this instant',
  before: 'Only those before this instant',
};
const inWords = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** For a parameter whose schema has no description of its own. */
export function describeParameter(place: 'path' | 'query', name: string): string {
  const common = place === 'query' ? commonParameters[name] : undefined;
  if (common !== undefined) return common;
  if (name === 'id') return 'Its id';
  if (name.endsWith('Id'))
    return place === 'path' ? `Id of the ${inWords(name.slice(0, -2))}` : `Only those of the ${inWords(name.slice(0, -2))} with this id`;
  return place === 'path' ? `Name of the ${inWords(name)}` : `Only those with this ${inWords(name)}`;
}

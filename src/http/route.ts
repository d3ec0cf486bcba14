// An operation of the management interface, defined as a value that Express, OpenAPI, the MCP tools and the every-route test all read. JSON
// requests and MCP tools call `invoke`; streams and downloads share its first half, `authorizeAndParse`. So authorization and validation
// are the same for every way of calling an operation.
import { z } from 'zod';
import type { CallerCtx, Ctx, RequestCtx } from '../core/ctx.ts';
import { AppError, type ErrorDetail, notFound } from '../core/errors.ts';
import { type Permission, signUpPermission } from '../core/permissions.ts';
import { hasTooManyValues, tooManyValuesText } from './body-values.ts';
import { expandUnionIssue, validationMessage } from './validation-messages.ts';

type Shape = z.ZodObject;
type Out<S> = S extends z.ZodType ? z.output<S> : undefined;

export type RouteGroup =
  | 'Identity'
  | 'Organizations'
  | 'Teams'
  | 'Domains'
  | 'Syncs'
  | 'Views'
  | 'API Keys'
  | 'Agents'
  | 'Pay'
  | 'Portal Config'
  | 'ERP connection'
  | 'Description';

type Common = {
  /** The operationId: a verb and a noun, unique. */
  readonly id: string;
  readonly group: RouteGroup;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** In OpenAPI's notation, relative to the interface's base path: `/api-keys/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** Status of a success response; 200 unless given, 204 when there is no response schema. */
  readonly status?: 200 | 201 | 202;
  /** A valid request body, for the OpenAPI document. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** A success response for the OpenAPI document; generated from the response schema unless given. */
  readonly responseExample?: unknown;
  /** Documented error statuses that can't be derived from the route: 404 where its single object may be absent, 422 of a GET. */
  readonly additionalErrors?: readonly (404 | 422)[];
  /** Response fields that are shown only once (secrets): null when a stored response is replayed. */
  readonly shownOnce?: readonly string[];
};

type Input<P, Q, B> = { readonly params: Out<P>; readonly query: Out<Q>; readonly body: Out<B> };

/** Where an operation writes its events when the client requests a stream. */
export type EventChannel = {
  /** Aborted when the stream has no reader any more; work done for the stream stops then. */
  readonly signal: AbortSignal;
  /** The id of the last event the client saw (`Last-Event-ID`); null for a new stream. */
  readonly lastEventId: string | null;
  /** Waits for notifications about a topic, sent by NOTIFY on `streams`. `next` rejects once `signal` is aborted. */
  subscribe(topic: string): { next(): Promise<void>; end(): void };
  /** Waits while the client reads slowly (backpressure). Rejects once `signal` is aborted, or when the event doesn't fit its schema. */
  send(event: { readonly event: string; readonly data: unknown; readonly id?: string }): Promise<void>;
};

type Maybe<S> = S | undefined;
type Stream<C, I> = {
  readonly description: string;
  /** The schema of each event's data, by event name. */
  readonly events: Readonly<Record<string, z.ZodType>>;
  /** Of a POST: the event that holds the response. A replayed request gets only this event. */
  readonly resultEvent?: string;
  /**
   * Sends events until there are no more. An error thrown before the first event becomes an ordinary error response. Resolves with what
   * the handler would have returned, so that it can be stored under the Idempotency-Key.
   */
  run(ctx: C, input: I, channel: EventChannel): Promise<unknown>;
};
/** A complete result as a file. */
export type DownloadFile = {
  readonly fileName: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: AsyncIterable<Buffer>;
  /** Aborted when the bytes end before the file is complete. */
  readonly aborted: AbortSignal;
};
type Download<C, I> = {
  readonly mediaType: 'text/csv';
  readonly description: string;
  readonly example: string;
  /** An error it throws becomes an ordinary error response. `signal` is aborted when the client has gone. */
  open(ctx: C, input: I, signal: AbortSignal): Promise<DownloadFile>;
};
type Spec<P extends Maybe<Shape>, Q extends Maybe<Shape>, B extends Maybe<z.ZodType>, R extends Maybe<z.ZodType>, Needs, C> = Common & {
  readonly permission: Needs;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly response?: R;
  /** The alternative response as server-sent events, for clients that accept `text/event-stream`. */
  readonly stream?: Stream<C, Input<P, Q, B>>;
  /** The complete, unpaged result as a file, for clients that accept its media type. */
  readonly download?: Download<C, Input<P, Q, B>>;
  handler(ctx: C, input: Input<P, Q, B>): Promise<R extends z.ZodType ? z.input<R> : void>;
};

/** 'any' admits every valid credential, restricted keys included. */
type RoutePermission = Permission | 'any';
/**
 * Access to operations of a person, with or without an organization. 'authenticated': every credential except a restricted key.
 * 'signed-in': a person's own token or session, never a key. Creating an organization needs the sign-up permission.
 */
type PersonPermission = 'authenticated' | 'signed-in' | typeof signUpPermission;

export type RawInput = { readonly params: unknown; readonly query: unknown; readonly body: unknown };

export type Route = Common & {
  readonly access: 'credential' | 'person';
  readonly permission: RoutePermission | PersonPermission;
  readonly params: Shape | undefined;
  readonly query: Shape | undefined;
  readonly body: z.ZodType | undefined;
  readonly response: z.ZodType | undefined;
  readonly stream: Stream<CallerCtx, unknown> | undefined;
  readonly download: Download<CallerCtx, unknown> | undefined;
  /** Parses strictly and reports all problems at once. Throws 400 for the path and the query, 422 for the body. */
  parse(raw: RawInput): unknown;
  handle(ctx: CallerCtx, input: unknown): Promise<unknown>;
};

/** A request without a credential. `rawBody` holds the bytes as received: a webhook's signature covers them. */
export type PublicCall = {
  readonly params: Readonly<Record<string, string>>;
  readonly rawBody: Buffer;
  readonly headers: Readonly<Record<string, string | undefined>>;
};

/** Served without a credential. A test lists every public route. */
export type PublicRoute = Common & {
  readonly access: 'public';
  readonly params: Shape | undefined;
  /** Only for webhooks, which take a body; the sender authenticates itself by signing it. */
  readonly maxBodyBytes: number | undefined;
  readonly response: z.ZodType;
  handler(ctx: Ctx, call: PublicCall): Promise<unknown>;
};

export type AnyRoute = Route | PublicRoute;
export type RouteResponse = { readonly status: number; readonly body: unknown };

const pathText = (path: readonly PropertyKey[]): string =>
  path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`)).join('');

/** What an unknown name is called in a message. */
export type NameKind = 'field' | 'query parameter';
const unknownName = (kind: NameKind, name: string): string => `Unknown ${kind} "${name}"`;

/** One detail for each problem that zod found. */
export const toErrorDetails = (error: z.ZodError, kind: NameKind = 'field'): ErrorDetail[] =>
  error.issues.flatMap(expandUnionIssue).flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({
          path: pathText([...issue.path, key]),
          code: 'unknown_field',
          message: unknownName(issue.path.length === 0 ? kind : 'field', key),
        }))
      : [{ path: pathText(issue.path), code: issue.code, message: issue.message }],
  );

const emptyObject = z.strictObject({});

/** How many problems one error response lists. */
const maxDetails = 100;

/**
 * Finds what the schemas let through: strings that no database column can store (NUL, unpaired surrogates), and the key `__proto__`.
 * A loop, because the nesting may be deeper than the stack.
 */
function findOverlooked(raw: unknown, kind: NameKind): ErrorDetail[] {
  const found: ErrorDetail[] = [];
  const waiting: { value: unknown; path: PropertyKey[] }[] = [{ value: raw, path: [] }];
  const check = (text: string, path: readonly PropertyKey[]): void => {
    if (text.includes('\0') || !text.isWellFormed())
      found.push({ path: pathText(path), code: 'unstorable_text', message: 'must not contain NUL or unpaired surrogates' });
  };
  for (let next = waiting.pop(); next !== undefined && found.length < maxDetails; next = waiting.pop()) {
    const { value, path } = next;
    if (typeof value === 'string') check(value, path);
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, item] of Object.entries(value)) {
      // Schemas silently ignore this key, and an ignored filter would widen the result.
      if (key === '__proto__')
        found.push({
          path: pathText([...path, key]),
          code: 'unknown_field',
          message: unknownName(path.length === 0 ? kind : 'field', '__proto__'),
        });
      if (typeof item === 'object' || typeof item === 'string')
        waiting.push({ value: item, path: path.length > 8 ? path : [...path, Array.isArray(value) ? Number(key) : key] });
    }
  }
  return found;
}

function parsePart(schema: z.ZodType, raw: unknown, toError: (details: ErrorDetail[]) => AppError, kind: NameKind = 'field'): unknown {
  if (hasTooManyValues(raw)) throw toError([{ path: '', code: 'too_many_values', message: tooManyValuesText }]);
  const result = schema.safeParse(raw, { error: validationMessage });
  const details = [...(result.success ? [] : toErrorDetails(result.error, kind)), ...findOverlooked(raw, kind)];
  if (result.success && details.length === 0) return result.data;
  throw toError(details.slice(0, maxDetails));
}

const badPath = (details: ErrorDetail[]) => new AppError('BAD_REQUEST', 'Invalid path', { details });
const badQuery = (details: ErrorDetail[]) => new AppError('BAD_REQUEST', 'Invalid query parameters', { details });
const badBody = (details: ErrorDetail[]) => new AppError('VALIDATION_ERROR', 'Invalid request body', { details });

/** Parses the arguments of a tool as strictly as a request body. Throws 422 with every problem. */
export const parseArguments = <S extends z.ZodType>(schema: S, raw: unknown): z.output<S> =>
  parsePart(schema, raw, (details) => new AppError('VALIDATION_ERROR', 'Invalid arguments', { details })) as z.output<S>;

function createRoute<P extends Maybe<Shape>, Q extends Maybe<Shape>, B extends Maybe<z.ZodType>, R extends Maybe<z.ZodType>, C>(
  access: Route['access'],
  spec: Spec<P, Q, B, R, Route['permission'], C>,
  contextOf: (ctx: CallerCtx, input: Input<P, Q, B>) => C,
): Route {
  return {
    ...spec,
    access,
    params: spec.params,
    query: spec.query,
    body: spec.body,
    response: spec.response,
    stream: spec.stream && {
      ...spec.stream,
      run: async (ctx, input, channel) => spec.stream?.run(contextOf(ctx, input as Input<P, Q, B>), input as Input<P, Q, B>, channel),
    },
    download: spec.download && {
      ...spec.download,
      open: async (ctx, input, signal) => {
        const { download } = spec;
        if (download === undefined) throw new Error(`${spec.id} has no download`);
        return download.open(contextOf(ctx, input as Input<P, Q, B>), input as Input<P, Q, B>, signal);
      },
    },
    parse: (raw) => ({
      params: parsePart(spec.params ?? emptyObject, raw.params, badPath),
      query: parsePart(spec.query ?? emptyObject, raw.query, badQuery, 'query parameter'),
      body: spec.body === undefined ? parseNoBody(raw.body) : parsePart(spec.body, raw.body ?? {}, badBody),
    }),
    handle: async (ctx, input) => spec.handler(contextOf(ctx, input as Input<P, Q, B>), input as Input<P, Q, B>),
  };
}

/**
 * An operation on the caller's organization. Its handler throws 403 when the caller belongs to no organization, and 404 when the path
 * starts with `/organizations/{id}` and the id is another organization's.
 */
export function defineRoute<
  P extends Maybe<Shape> = undefined,
  Q extends Maybe<Shape> = undefined,
  B extends Maybe<z.ZodType> = undefined,
  R extends Maybe<z.ZodType> = undefined,
>(spec: Spec<P, Q, B, R, RoutePermission, RequestCtx>): Route {
  const namesOrganization = spec.path.startsWith('/organizations/{id}');
  return createRoute('credential', spec, (ctx, { params }) => {
    const { principal, refusal } = ctx.caller;
    if (principal === undefined || refusal !== undefined) throw refusal ?? new AppError('FORBIDDEN', forbiddenText.noOrganization);
    const organizationId = principal.organization.id;
    if (namesOrganization && (params as { id?: unknown } | undefined)?.id !== organizationId) throw notFound('Organization');
    return { ...ctx, principal, organizationId };
  });
}

/** An operation of a person, who may belong to no organization. */
export const definePersonRoute = <
  P extends Maybe<Shape> = undefined,
  Q extends Maybe<Shape> = undefined,
  B extends Maybe<z.ZodType> = undefined,
  R extends Maybe<z.ZodType> = undefined,
>(
  spec: Spec<P, Q, B, R, PersonPermission, CallerCtx>,
): Route => createRoute('person', spec, (ctx) => ctx);

/** For operations without a body. Throws 422 unless the body is absent or an empty object. */
function parseNoBody(body: unknown): undefined {
  if (body !== undefined) parsePart(emptyObject, body, badBody);
  return undefined;
}

/** For operations without query parameters. Throws 400 when the query holds any. */
export const assertNoQuery = (query: unknown): unknown => parsePart(emptyObject, query, badQuery, 'query parameter');

export const definePublicRoute = (spec: Omit<PublicRoute, 'access' | 'params' | 'maxBodyBytes'>): PublicRoute => ({
  ...spec,
  access: 'public',
  params: undefined,
  maxBodyBytes: undefined,
});

/**
 * Receives another service's events, signed over the raw body. A 400 or 404 of its handler counts as a failed authentication of the
 * sender's IP address.
 */
export const defineWebhook = (
  spec: Omit<PublicRoute, 'access' | 'method'> & { readonly method: 'POST'; readonly params: Shape; readonly maxBodyBytes: number },
): PublicRoute => ({ ...spec, access: 'public' });

export const missingPermission = (permission: Permission): AppError =>
  new AppError('FORBIDDEN', `Missing required permission: ${permission}`);
/** Messages of 403 responses, which the OpenAPI document quotes as examples. */
export const forbiddenText = {
  noOrganization: 'You belong to no organization',
  restrictedKey: 'A key restricted to versions or resources may only call GET /whoami on the management interface',
  apiKey: 'Only a signed-in person may call this operation, not an API key',
} as const;
const forbidden = (message: string, code: string, reason: string): AppError =>
  new AppError('FORBIDDEN', message, { details: [{ path: '', code, message: reason }] });

/** Throws 403 for a key restricted to versions or resources: such keys are for the public interface. */
function assertUnrestrictedKey({ caller }: CallerCtx): void {
  if (caller.principal?.isRestrictedKey !== true) return;
  throw forbidden(forbiddenText.restrictedKey, 'restricted_key', 'Use this key with the public interface, or use an unrestricted key');
}

function authorizePerson(route: Route, ctx: CallerCtx): void {
  assertUnrestrictedKey(ctx);
  const { credential, readOnly } = ctx.caller;
  if (route.permission === signUpPermission) {
    if (credential.kind === 'api-key' || readOnly || !ctx.settings.allowSignup) throw missingPermission(signUpPermission);
  } else if (route.permission === 'signed-in') {
    if (credential.kind === 'api-key')
      throw forbidden(forbiddenText.apiKey, 'sign_in_needed', 'Use an access token or a session instead of an API key');
    if (readOnly && route.method !== 'GET')
      throw forbidden('This token is read-only', 'read_only', 'Its scope is portal:read; use a token with write access');
  }
}

/** Throws 403 when the caller may not call the route, or the reason why no organization could be chosen for the caller. */
export function authorize(route: Route, ctx: CallerCtx): void {
  if (route.access === 'person') {
    authorizePerson(route, ctx);
    return;
  }
  const { principal, refusal } = ctx.caller;
  if (refusal !== undefined) throw refusal;
  if (route.permission === 'any') return;
  assertUnrestrictedKey(ctx);
  if (principal === undefined || !principal.permissions.has(route.permission as Permission))
    throw missingPermission(route.permission as Permission);
}

export const successStatus = (route: AnyRoute): number => route.status ?? (route.response === undefined ? 204 : 200);

/** authorize → parse. Returns the parsed input. Throws 403 when the caller lacks the permission, 400 or 422 for invalid input. */
export function authorizeAndParse(route: Route, ctx: CallerCtx, raw: RawInput): unknown {
  authorize(route, ctx);
  return route.parse(raw);
}

/**
 * authorize → parse → handle → validate the response. `around` may respond instead of the handler, as idempotency does. Throws what these
 * steps throw: 403, 400 or 422, the handler's errors, and a ZodError (500) when the response doesn't fit its schema.
 */
export async function invoke(
  route: Route,
  ctx: CallerCtx,
  raw: RawInput,
  around: (handle: (ctx: CallerCtx) => Promise<RouteResponse>) => Promise<RouteResponse> = (handle) => handle(ctx),
): Promise<RouteResponse> {
  const input = authorizeAndParse(route, ctx, raw);
  return around(async (handlerCtx) => {
    const result = await route.handle(handlerCtx, input);
    return { status: successStatus(route), body: route.response?.parse(result) };
  });
}

/** Called at start-up. Throws when two routes share an id or an address, or when a path and its schema name different parameters. */
export function assertRoutes(routes: readonly AnyRoute[]): void {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const route of routes) {
    for (const name of [route.id, `${route.method} ${route.path.replaceAll(/\{\w+\}/g, '{}')}`]) {
      if (seen.has(name)) problems.push(`${name} is defined twice`);
      seen.add(name);
    }
    const inPath = [...route.path.matchAll(/\{(\w+)\}/g)]
      .map(([, name]) => name ?? '')
      .sort()
      .join();
    const inSchema = Object.keys(route.params?.shape ?? {})
      .sort()
      .join();
    if (inPath !== inSchema) problems.push(`${route.id}: the path names {${inPath}}, its schema {${inSchema}}`);
  }
  if (problems.length > 0) throw new Error(`routes: ${problems.join('; ')}`);
}

// An operation as a value. Express, OpenAPI, agents' tools and the every-route test all read this value and all call `invoke`,
// so that permission, validation and the shape of the answer are the same whichever way a call came in.
import { z } from 'zod';
import type { CallerCtx, Ctx, RequestCtx } from '../core/ctx.ts';
import { AppError, type ErrorDetail, notFound } from '../core/errors.ts';
import { type Permission, signUpPermission } from '../core/permissions.ts';
import { holdsTooMuch, holdsTooMuchText } from './body-values.ts';
import { pickForms, plainWords } from './plain-words.ts';

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
  /** OpenAPI's form, below the interface's base: `/api-keys/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** Status of a good answer; 200 unless stated, 204 when there is no response schema. */
  readonly status?: 200 | 201 | 202;
  /** A body that works, for the description. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** A good answer for the description; made from the response schema unless given. */
  readonly responseExample?: unknown;
  /** Error answers that don't follow from the route's kind: 404 where its one object may be absent, 422 of a GET. */
  readonly alsoAnswers?: readonly (404 | 422)[];
  /** Fields of the answer that are shown once: null when a stored answer is replayed. */
  readonly writeOnce?: readonly string[];
};

type Input<P, Q, B> = { readonly params: Out<P>; readonly query: Out<Q>; readonly body: Out<B> };

/** Where an operation puts its events when it is asked for a stream. */
export type EventChannel = {
  /** Aborted when nobody reads any more; whoever works for the stream stops then. */
  readonly signal: AbortSignal;
  /** What the client saw last, by the ids of its events; null when it begins. */
  readonly lastEventId: string | null;
  /** Words about a topic, told by NOTIFY on `streams`. */
  follow(topic: string): { next(): Promise<void>; end(): void };
  /** Waits while the client reads slowly. Rejects once the signal is aborted. */
  send(event: { readonly event: string; readonly data: unknown; readonly id?: string }): Promise<void>;
};

type Maybe<S> = S | undefined;
type Stream<C, I> = {
  readonly description: string;
  /** What each kind of event holds. */
  readonly events: Readonly<Record<string, z.ZodType>>;
  /** Of a POST: the event that holds the answer. It is all that a repeated request gets. */
  readonly last?: string;
  /**
   * Sends events until there are no more. What it throws before the first one is an ordinary error answer. Gives what the handler
   * would have answered, where that is kept for repetition.
   */
  follow(ctx: C, input: I, channel: EventChannel): Promise<unknown>;
};
/** A whole result as a file. */
export type OpenDownload = {
  readonly fileName: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: AsyncIterable<Buffer>;
  /** Aborted when the bytes end too early. */
  readonly cut: AbortSignal;
};
type Download<C, I> = {
  readonly mediaType: 'text/csv';
  readonly description: string;
  readonly example: string;
  /** What it throws is an ordinary error answer. `left` is aborted when nobody waits for it any more. */
  open(ctx: C, input: I, left: AbortSignal): Promise<OpenDownload>;
};
type Spec<P extends Maybe<Shape>, Q extends Maybe<Shape>, B extends Maybe<z.ZodType>, R extends Maybe<z.ZodType>, Needs, C> = Common & {
  readonly permission: Needs;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly response?: R;
  /** The second answer of the operation: server-sent events, for whoever accepts `text/event-stream`. */
  readonly stream?: Stream<C, Input<P, Q, B>>;
  /** The whole result as a file, without pages, for whoever accepts its media type. */
  readonly download?: Download<C, Input<P, Q, B>>;
  handler(ctx: C, input: Input<P, Q, B>): Promise<R extends z.ZodType ? z.input<R> : void>;
};

/** 'any' lets every valid credential in, restricted keys included. */
type Needed = Permission | 'any';
/**
 * What a person does as such, with or without an organization. 'authenticated': every credential but a restricted key.
 * 'signed-in': a person's own token or session, never a key. Making an organization needs the permission for it.
 */
type NeededOfPerson = 'authenticated' | 'signed-in' | typeof signUpPermission;

export type RawInput = { readonly params: unknown; readonly query: unknown; readonly body: unknown };

export type Route = Common & {
  readonly access: 'credential' | 'person';
  readonly permission: Needed | NeededOfPerson;
  readonly params: Shape | undefined;
  readonly query: Shape | undefined;
  readonly body: z.ZodType | undefined;
  readonly response: z.ZodType | undefined;
  readonly stream: Stream<CallerCtx, unknown> | undefined;
  readonly download: Download<CallerCtx, unknown> | undefined;
  /** Parses strictly; 400 for path and query, 422 for the body, all problems at once. */
  parse(raw: RawInput): unknown;
  handle(ctx: CallerCtx, input: unknown): Promise<unknown>;
};

/** What a caller without a credential sent. The bytes are as they came: a signature is over them. */
export type PublicCall = {
  readonly params: Readonly<Record<string, string>>;
  readonly rawBody: Buffer;
  readonly headers: Readonly<Record<string, string | undefined>>;
};

/** Answered without a credential; a test holds their list. */
export type PublicRoute = Common & {
  readonly access: 'public';
  readonly params: Shape | undefined;
  /** Only of a webhook, which takes a body: whoever sends it proves itself by what it sends. */
  readonly maxBodyBytes: number | undefined;
  readonly response: z.ZodType;
  handler(ctx: Ctx, call: PublicCall): Promise<unknown>;
};

export type AnyRoute = Route | PublicRoute;
export type Answer = { readonly status: number; readonly body: unknown };

const pathText = (path: readonly PropertyKey[]): string =>
  path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`)).join('');

export const toDetails = (error: z.ZodError): ErrorDetail[] =>
  error.issues
    .flatMap(pickForms)
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => ({ path: pathText([...issue.path, key]), code: 'unknown_field', message: `${key} is not known here` }))
        : [{ path: pathText(issue.path), code: issue.code, message: issue.message }],
    );

const nothing = z.strictObject({});

/** How many problems one answer names. */
const mostDetails = 100;

/**
 * What schemas let through: texts that no database column holds (NUL and halves of surrogate pairs), and a name that they overlook. A
 * loop, because nesting may be deeper than the stack.
 */
function overlooked(raw: unknown): ErrorDetail[] {
  const found: ErrorDetail[] = [];
  const waiting: { value: unknown; path: PropertyKey[] }[] = [{ value: raw, path: [] }];
  const check = (text: string, path: readonly PropertyKey[]): void => {
    if (text.includes('\0') || !text.isWellFormed())
      found.push({ path: pathText(path), code: 'unstorable_text', message: 'must not hold NUL or broken characters' });
  };
  for (let next = waiting.pop(); next !== undefined && found.length < mostDetails; next = waiting.pop()) {
    const { value, path } = next;
    if (typeof value === 'string') check(value, path);
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, item] of Object.entries(value)) {
      // A schema passes over this name in silence, and a filter that is passed over widens the answer.
      if (key === '__proto__')
        found.push({ path: pathText([...path, key]), code: 'unknown_field', message: '__proto__ is not known here' });
      if (typeof item === 'object' || typeof item === 'string')
        waiting.push({ value: item, path: path.length > 8 ? path : [...path, Array.isArray(value) ? Number(key) : key] });
    }
  }
  return found;
}

function parsePart(schema: z.ZodType, raw: unknown, refuse: (details: ErrorDetail[]) => AppError): unknown {
  if (holdsTooMuch(raw)) throw refuse([{ path: '', code: 'too_many_values', message: holdsTooMuchText }]);
  const result = schema.safeParse(raw, { error: plainWords });
  const details = [...(result.success ? [] : toDetails(result.error)), ...overlooked(raw)];
  if (result.success && details.length === 0) return result.data;
  throw refuse(details.slice(0, mostDetails));
}

const badPath = (details: ErrorDetail[]) => new AppError('BAD_REQUEST', 'The path is not valid', { details });
const badQuery = (details: ErrorDetail[]) => new AppError('BAD_REQUEST', 'The query is not valid', { details });
const badBody = (details: ErrorDetail[]) => new AppError('VALIDATION_ERROR', 'The body is not valid', { details });

/** Arguments of a tool, as strictly as a body. Throws 422. */
export const parseArguments = <S extends z.ZodType>(schema: S, raw: unknown): z.output<S> =>
  parsePart(schema, raw, (details) => new AppError('VALIDATION_ERROR', 'The arguments are not valid', { details })) as z.output<S>;

function makeRoute<P extends Maybe<Shape>, Q extends Maybe<Shape>, B extends Maybe<z.ZodType>, R extends Maybe<z.ZodType>, C>(
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
      follow: async (ctx, input, channel) => spec.stream?.follow(contextOf(ctx, input as Input<P, Q, B>), input as Input<P, Q, B>, channel),
    },
    download: spec.download && {
      ...spec.download,
      open: async (ctx, input, left) => {
        const { download } = spec;
        if (download === undefined) throw new Error(`${spec.id} has no download`);
        return download.open(contextOf(ctx, input as Input<P, Q, B>), input as Input<P, Q, B>, left);
      },
    },
    parse: (raw) => ({
      params: parsePart(spec.params ?? nothing, raw.params, badPath),
      query: parsePart(spec.query ?? nothing, raw.query, badQuery),
      body: spec.body === undefined ? parseNoBody(raw.body) : parsePart(spec.body, raw.body ?? {}, badBody),
    }),
    handle: async (ctx, input) => spec.handler(contextOf(ctx, input as Input<P, Q, B>), input as Input<P, Q, B>),
  };
}

/** An operation on the caller's organization. Below `/organizations/{id}` that id must be it; any other is unknown. */
export function defineRoute<
  P extends Maybe<Shape> = undefined,
  Q extends Maybe<Shape> = undefined,
  B extends Maybe<z.ZodType> = undefined,
  R extends Maybe<z.ZodType> = undefined,
>(spec: Spec<P, Q, B, R, Needed, RequestCtx>): Route {
  const namesOrganization = spec.path.startsWith('/organizations/{id}');
  return makeRoute('credential', spec, (ctx, { params }) => {
    const { principal, refusal } = ctx.caller;
    if (principal === undefined || refusal !== undefined) throw refusal ?? new AppError('FORBIDDEN', 'You belong to no organization');
    const organizationId = principal.organization.id;
    if (namesOrganization && (params as { id?: unknown } | undefined)?.id !== organizationId) throw notFound('Organization');
    return { ...ctx, principal, organizationId };
  });
}

/** An operation of a person as such, who may have no organization. */
export const definePersonRoute = <
  P extends Maybe<Shape> = undefined,
  Q extends Maybe<Shape> = undefined,
  B extends Maybe<z.ZodType> = undefined,
  R extends Maybe<z.ZodType> = undefined,
>(
  spec: Spec<P, Q, B, R, NeededOfPerson, CallerCtx>,
): Route => makeRoute('person', spec, (ctx) => ctx);

/** An operation without a body takes none, or an empty object. */
function parseNoBody(body: unknown): undefined {
  if (body !== undefined) parsePart(nothing, body, badBody);
  return undefined;
}

/** For operations that take no query at all. */
export const refuseQuery = (query: unknown): unknown => parsePart(nothing, query, badQuery);

export const definePublicRoute = (spec: Omit<PublicRoute, 'access' | 'params' | 'maxBodyBytes'>): PublicRoute => ({
  ...spec,
  access: 'public',
  params: undefined,
  maxBodyBytes: undefined,
});

/**
 * Where another service tells what happened, signed over the raw body. What its handler answers 400 or 404 counts as a failed
 * authentication of the sender's address.
 */
export const defineWebhook = (
  spec: Omit<PublicRoute, 'access' | 'method'> & { readonly method: 'POST'; readonly params: Shape; readonly maxBodyBytes: number },
): PublicRoute => ({ ...spec, access: 'public' });

export const missing = (permission: Permission): AppError => new AppError('FORBIDDEN', `Missing required permission: ${permission}`);
const because = (message: string, code: string, reason: string): AppError =>
  new AppError('FORBIDDEN', message, { details: [{ path: '', code, message: reason }] });

/** A key restricted to versions or resources is for the public interface. */
function refuseRestrictedKey({ caller }: CallerCtx): void {
  if (caller.principal?.identityOnly !== true) return;
  throw because(
    'A key restricted to versions or resources may only call GET /whoami here',
    'restricted_key',
    'This key is meant for the public interface',
  );
}

function authorizePerson(route: Route, ctx: CallerCtx): void {
  refuseRestrictedKey(ctx);
  const { credential, readOnly } = ctx.caller;
  if (route.permission === signUpPermission) {
    if (credential.kind === 'api-key' || readOnly || !ctx.settings.allowSignup) throw missing(signUpPermission);
  } else if (route.permission === 'signed-in') {
    if (credential.kind === 'api-key') throw because('Only a signed-in person may do this', 'sign_in_needed', 'Use a token or a session');
    if (readOnly && route.method !== 'GET') throw because('This token only reads', 'read_only', 'Its scope names portal:read');
  }
}

export function authorize(route: Route, ctx: CallerCtx): void {
  if (route.access === 'person') {
    authorizePerson(route, ctx);
    return;
  }
  const { principal, refusal } = ctx.caller;
  if (refusal !== undefined) throw refusal;
  if (route.permission === 'any') return;
  refuseRestrictedKey(ctx);
  if (principal === undefined || !principal.permissions.has(route.permission as Permission)) throw missing(route.permission as Permission);
}

export const goodStatus = (route: AnyRoute): number => route.status ?? (route.response === undefined ? 204 : 200);

/** authorize → parse: the input of an operation that may go on. */
export function admit(route: Route, ctx: CallerCtx, raw: RawInput): unknown {
  authorize(route, ctx);
  return route.parse(raw);
}

/** authorize → parse → handle → check the answer. `around` may answer instead of the handler: idempotency does. */
export async function invoke(
  route: Route,
  ctx: CallerCtx,
  raw: RawInput,
  around: (handle: (ctx: CallerCtx) => Promise<Answer>) => Promise<Answer> = (handle) => handle(ctx),
): Promise<Answer> {
  const input = admit(route, ctx, raw);
  return around(async (handlerCtx) => {
    const result = await route.handle(handlerCtx, input);
    return { status: goodStatus(route), body: route.response?.parse(result) };
  });
}

/** Refuses routes that can't live together or describe themselves wrongly; called at start-up. */
export function checkRoutes(routes: readonly AnyRoute[]): void {
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

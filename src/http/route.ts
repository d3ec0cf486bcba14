// An operation as a value. Express, OpenAPI, agents' tools and the every-route test all read this value and all call `invoke`,
// so that permission, validation and the shape of the answer are the same whichever way a call came in.
import { z } from 'zod';
import type { Ctx, RequestCtx } from '../core/ctx.ts';
import { AppError, type ErrorDetail } from '../core/errors.ts';
import type { Permission } from '../core/permissions.ts';

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
  /** Fields of the answer that are shown once: null when a stored answer is replayed. */
  readonly writeOnce?: readonly string[];
};

type Input<P, Q, B> = { readonly params: Out<P>; readonly query: Out<Q>; readonly body: Out<B> };

export type RouteSpec<
  P extends Shape | undefined,
  Q extends Shape | undefined,
  B extends z.ZodType | undefined,
  R extends z.ZodType | undefined,
> = Common & {
  /** 'any' lets every valid credential in, restricted keys included. */
  readonly permission: Permission | 'any';
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly response?: R;
  handler(ctx: RequestCtx, input: Input<P, Q, B>): Promise<R extends z.ZodType ? z.input<R> : void>;
};

export type RawInput = { readonly params: unknown; readonly query: unknown; readonly body: unknown };

export type Route = Common & {
  readonly access: 'credential';
  readonly permission: Permission | 'any';
  readonly params: Shape | undefined;
  readonly query: Shape | undefined;
  readonly body: z.ZodType | undefined;
  readonly response: z.ZodType | undefined;
  /** Parses strictly; 400 for path and query, 422 for the body, all problems at once. */
  parse(raw: RawInput): unknown;
  handle(ctx: RequestCtx, input: unknown): Promise<unknown>;
};

/** Answered without a credential; a test holds their list. */
export type PublicRoute = Common & {
  readonly access: 'public';
  readonly response: z.ZodType;
  handler(ctx: Ctx): Promise<unknown>;
};

export type AnyRoute = Route | PublicRoute;
export type Answer = { readonly status: number; readonly body: unknown };

const pathText = (path: readonly PropertyKey[]): string =>
  path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`)).join('');

export const toDetails = (error: z.ZodError): ErrorDetail[] =>
  error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: pathText([...issue.path, key]), code: 'unknown_field', message: `${key} is not known here` }))
      : [{ path: pathText(issue.path), code: issue.code, message: issue.message }],
  );

const nothing = z.strictObject({});

/** How many problems one answer names. */
const mostDetails = 100;

/** Texts that no database column holds: NUL and halves of surrogate pairs. A loop, because nesting may be deeper than the stack. */
function unstorableTexts(raw: unknown): ErrorDetail[] {
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
      if (typeof item === 'object' || typeof item === 'string')
        waiting.push({ value: item, path: path.length > 8 ? path : [...path, Array.isArray(value) ? Number(key) : key] });
    }
  }
  return found;
}

function parsePart(schema: z.ZodType, raw: unknown, refuse: (details: ErrorDetail[]) => AppError): unknown {
  const result = schema.safeParse(raw);
  const details = [...(result.success ? [] : toDetails(result.error)), ...unstorableTexts(raw)];
  if (result.success && details.length === 0) return result.data;
  throw refuse(details.slice(0, mostDetails));
}

const badPath = (details: ErrorDetail[]) => new AppError('BAD_REQUEST', 'The path is not valid', { details });
const badQuery = (details: ErrorDetail[]) => new AppError('BAD_REQUEST', 'The query is not valid', { details });
const badBody = (details: ErrorDetail[]) => new AppError('VALIDATION_ERROR', 'The body is not valid', { details });

export function defineRoute<
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  R extends z.ZodType | undefined = undefined,
>(spec: RouteSpec<P, Q, B, R>): Route {
  return {
    ...spec,
    access: 'credential',
    params: spec.params,
    query: spec.query,
    body: spec.body,
    response: spec.response,
    parse: (raw) => ({
      params: parsePart(spec.params ?? nothing, raw.params, badPath),
      query: parsePart(spec.query ?? nothing, raw.query, badQuery),
      body: spec.body === undefined ? parseNoBody(raw.body) : parsePart(spec.body, raw.body ?? {}, badBody),
    }),
    handle: (ctx, input) => spec.handler(ctx, input as Input<P, Q, B>),
  };
}

/** An operation without a body takes none, or an empty object. */
function parseNoBody(body: unknown): undefined {
  if (body !== undefined) parsePart(nothing, body, badBody);
  return undefined;
}

/** For operations that take no query at all. */
export const refuseQuery = (query: unknown): unknown => parsePart(nothing, query, badQuery);

export const definePublicRoute = (spec: Omit<PublicRoute, 'access'>): PublicRoute => ({ ...spec, access: 'public' });

export function authorize(route: Route, ctx: RequestCtx): void {
  if (route.permission === 'any') return;
  if (ctx.principal.identityOnly) {
    throw new AppError('FORBIDDEN', 'A key restricted to versions or resources may only call GET /whoami here', {
      details: [{ path: '', code: 'restricted_key', message: 'This key is meant for the public interface' }],
    });
  }
  if (!ctx.principal.permissions.has(route.permission)) throw new AppError('FORBIDDEN', `Missing required permission: ${route.permission}`);
}

export const goodStatus = (route: AnyRoute): number => route.status ?? (route.response === undefined ? 204 : 200);

/** authorize → parse → handle → check the answer. `around` may answer instead of the handler: idempotency does. */
export async function invoke(
  route: Route,
  ctx: RequestCtx,
  raw: RawInput,
  around: (handle: () => Promise<Answer>) => Promise<Answer> = (handle) => handle(),
): Promise<Answer> {
  authorize(route, ctx);
  const input = route.parse(raw);
  return around(async () => {
    const result = await route.handle(ctx, input);
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
    const inSchema =
      route.access === 'public'
        ? ''
        : Object.keys(route.params?.shape ?? {})
            .sort()
            .join();
    if (inPath !== inSchema) problems.push(`${route.id}: the path names {${inPath}}, its schema {${inSchema}}`);
  }
  if (problems.length > 0) throw new Error(`routes: ${problems.join('; ')}`);
}

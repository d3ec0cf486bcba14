// Makes route values from typed specifications: the schemas of a specification give its handler's input and
// result their types. One function for each kind of access: to the caller's organization, of a person,
// without a credential, and a webhook's.
import type { z } from 'zod';
import type { CallerCtx, RequestCtx } from '../../core/ctx.ts';
import type { Permission } from '../../core/permissions.ts';
import { toOrganizationCtx } from './authorize.ts';
import { parseInput } from './parse.ts';
import type {
  AnyRoute,
  Download,
  Endpoint,
  Operation,
  OperationDetails,
  PersonPermission,
  PublicRoute,
  Route,
  RouteGroup,
  Stream,
  Ungrouped,
} from './route.ts';

type Shape = z.ZodObject;
type Maybe<S> = S | undefined;
type Out<S> = S extends z.ZodType ? z.output<S> : undefined;
type Input<P, Q, B> = { readonly params: Out<P>; readonly query: Out<Q>; readonly body: Out<B> };

type Spec<
  P extends Maybe<Shape>,
  Q extends Maybe<Shape>,
  B extends Maybe<z.ZodType>,
  R extends Maybe<z.ZodType>,
  Needs,
  C,
> = OperationDetails & {
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

function parseEndpoint(endpoint: Endpoint): Pick<Operation, 'method' | 'path'> {
  const [method, path] = endpoint.split(' ') as [Operation['method'], string];
  return { method, path };
}

function createRoute<
  P extends Maybe<Shape>,
  Q extends Maybe<Shape>,
  B extends Maybe<z.ZodType>,
  R extends Maybe<z.ZodType>,
  C,
>(
  access: Route['access'],
  id: string,
  endpoint: Endpoint,
  spec: Spec<P, Q, B, R, Route['permission'], C>,
  toContext: (ctx: CallerCtx, input: Input<P, Q, B>) => C,
): Ungrouped<Route> {
  type In = Input<P, Q, B>;
  const { stream, download } = spec;
  return {
    ...spec,
    ...parseEndpoint(endpoint),
    id,
    access,
    params: spec.params,
    query: spec.query,
    body: spec.body,
    response: spec.response,
    stream: stream && {
      ...stream,
      run: async (ctx, input, channel) => stream.run(toContext(ctx, input as In), input as In, channel),
    },
    download: download && {
      ...download,
      open: async (ctx, input, form, signal) =>
        download.open(toContext(ctx, input as In), input as In, form, signal),
    },
    parse: (raw) => parseInput(spec, raw),
    handle: async (ctx, input) => spec.handler(toContext(ctx, input as In), input as In),
  };
}

/**
 * An operation on the caller's organization. Its handler throws 403 when the caller belongs to no
 * organization, and 404 when the path starts with `/organizations/{id}` and the id is another organization's.
 * 'authenticated': every member may call it.
 */
export function defineRoute<
  P extends Maybe<Shape> = undefined,
  Q extends Maybe<Shape> = undefined,
  B extends Maybe<z.ZodType> = undefined,
  R extends Maybe<z.ZodType> = undefined,
>(
  id: string,
  endpoint: Endpoint,
  spec: Spec<P, Q, B, R, Permission | 'authenticated', RequestCtx>,
): Ungrouped<Route> {
  const namesOrganization = endpoint.includes(' /organizations/{id}');
  return createRoute('credential', id, endpoint, spec, (ctx, { params }) =>
    toOrganizationCtx(ctx, namesOrganization ? (params as { id: unknown }).id : undefined),
  );
}

/** An operation of a person, who may belong to no organization. */
export const definePersonRoute = <
  P extends Maybe<Shape> = undefined,
  Q extends Maybe<Shape> = undefined,
  B extends Maybe<z.ZodType> = undefined,
  R extends Maybe<z.ZodType> = undefined,
>(
  id: string,
  endpoint: Endpoint,
  spec: Spec<P, Q, B, R, PersonPermission, CallerCtx>,
): Ungrouped<Route> => createRoute('person', id, endpoint, spec, (ctx) => ctx);

export const definePublicRoute = (
  id: string,
  endpoint: Endpoint,
  spec: OperationDetails & Pick<PublicRoute, 'response' | 'handler'>,
): Ungrouped<PublicRoute> => ({
  ...spec,
  ...parseEndpoint(endpoint),
  id,
  access: 'public',
  params: undefined,
  maxBodyBytes: undefined,
});

/**
 * Receives another service's events, signed over the raw body. A 400 or 404 of its handler counts as a failed
 * authentication of the sender's IP address.
 */
export const defineWebhook = (
  id: string,
  endpoint: Endpoint & `POST ${string}`,
  spec: OperationDetails &
    Pick<PublicRoute, 'response' | 'handler'> & { readonly params: Shape; readonly maxBodyBytes: number },
): Ungrouped<PublicRoute> => ({ ...spec, ...parseEndpoint(endpoint), id, access: 'public' });

/** The routes of a group of the OpenAPI description. */
export const inGroup = <R extends Ungrouped<Route> | Ungrouped<PublicRoute>>(
  group: RouteGroup,
  routes: readonly R[],
) => routes.map((route) => ({ ...route, group }));

/**
 * Called at start-up. Throws when two routes share an id or an address, or when a path and its schema name
 * different parameters.
 */
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
    if (inPath !== inSchema)
      problems.push(`${route.id}: the path names {${inPath}}, its schema {${inSchema}}`);
  }
  if (problems.length > 0) throw new Error(`routes: ${problems.join('; ')}`);
}

// Builds an Express router from route values: request-log → authenticate → rate-limit → invoke.
import { isUtf8 } from 'node:buffer';
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Ctx, ReadingCtx } from '../core/ctx.ts';
import { AppError, notFound } from '../core/errors.ts';
import { toQueryText } from '../core/text/query-text.ts';
import type { VerifyToken } from '../identity/access-token.ts';
import { assertSameOrigin, authenticate, callerCtx } from './authenticate.ts';
import { sendDownload } from './download.ts';
import { createStreams, replayStream, type Streams } from './event-stream.ts';
import type { FailureLimit } from './failure-limit.ts';
import { invokeOnce, streamOnce, unquoted } from './idempotency.ts';
import { wantsPage } from './pages/error-page.ts';
import { rateLimitRequests } from './request-limits.ts';
import { maxBodyBytes } from './route/body-limits.ts';
import { authorizeAndParse, type RouteResponse } from './route/invoke.ts';
import { assertNoQuery } from './route/parse.ts';
import {
  type AnyRoute,
  downloadTypes,
  type PublicRoute,
  type RawInput,
  type Route,
  successStatus,
} from './route/route.ts';
import { platformBase, recordServed } from './served.ts';

function send(res: Response, { status, body }: RouteResponse): void {
  res.setHeader('Cache-Control', 'no-store');
  if (body === undefined) res.status(status).end();
  else res.status(status).json(body);
}

const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/**
 * Throws 403 for a session used by a page of another origin. Runs after the rate limit, since every request
 * of a known caller counts.
 */
const assertSessionOrigin =
  (ctx: Ctx): RequestHandler =>
  (req, res, next) => {
    if (callerCtx(res).caller.credential.kind === 'session') assertSameOrigin(req, ctx.settings.publicUrl);
    next();
  };

/**
 * Middleware that throws 415 when a request has a body that isn't application/json. A request without a body
 * needs no Content-Type.
 */
export const assertJsonBody: RequestHandler = (req, _res, next) => {
  const hasBody =
    req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
  if (hasBody && req.is('application/json') === false) {
    throw new AppError('BAD_REQUEST', 'The body must be application/json', {
      status: 415,
      details: [
        {
          path: 'content-type',
          code: 'unsupported_media_type',
          message: 'Set Content-Type: application/json',
        },
      ],
    });
  }
  next();
};

/** Throws 400 for malformed UTF-8, which would otherwise silently become replacement characters. */
function assertUtf8(_req: unknown, _res: unknown, body: Buffer): void {
  if (isUtf8(body)) return;
  throw new AppError('BAD_REQUEST', 'The body is not UTF-8', {
    details: [{ path: '', code: 'malformed_text', message: 'Encode the body as UTF-8' }],
  });
}

type Offers = Partial<Pick<Route, 'stream' | 'download'>>;

/**
 * The media type to send: JSON unless the client prefers another one that the route offers; for HEAD also
 * JSON instead of a stream, and of a file whose route doesn't serve it. A person who opens the address of a
 * file in a browser gets the file. Throws 406.
 */
function negotiateType(req: Request, { stream, download }: Offers): string {
  const offered = [
    'application/json',
    ...(stream === undefined ? [] : ['text/event-stream']),
    ...(download === undefined ? [] : download.forms.map((form) => downloadTypes[form])),
  ];
  const isOpened = download !== undefined && wantsPage(req) && Object.keys(req.query).length === 0;
  const type = isOpened ? downloadTypes[download.forms[0]] : req.accepts(offered);
  const isHeadServed = type !== 'application/json' && download?.servesHead === true;
  if (type !== false) return req.method === 'HEAD' && !isHeadServed ? 'application/json' : type;
  throw new AppError('BAD_REQUEST', 'None of the accepted media types is available', {
    status: 406,
    details: [{ path: 'accept', code: 'not_acceptable', message: `Accept ${offered.join(' or ')}` }],
  });
}

async function serveStream(
  route: Route,
  streams: Streams,
  raw: RawInput,
  key: string | undefined,
  req: Request,
  res: Response,
) {
  const ctx = callerCtx(res);
  const stored = await streamOnce(route, ctx, raw, key, (input, keyCtx) =>
    streams.serve(route, keyCtx, input, req.headers['last-event-id'], res),
  );
  if (stored === null) return;
  res.setHeader('Idempotency-Replayed', 'true');
  if (stored.status >= 400) send(res, stored);
  else replayStream(route, stored.body, res);
}

function serve(route: Route, streams: Streams): RequestHandler {
  const [served, streamed] = (['platform', 'stream'] as const).map((kind) => ({
    route: `${platformBase}${route.path}`,
    kind,
  }));
  return async (req: Request, res: Response) => {
    if (served !== undefined) recordServed(res, served);
    const ctx = callerCtx(res);
    const raw = {
      params: req.params,
      query: req.query,
      queryText: toQueryText(req.originalUrl),
      body: req.body as unknown,
    };
    const given = req.headers['idempotency-key'];
    const key = typeof given === 'string' ? unquoted(given) : undefined;
    if (route.stream !== undefined || route.download !== undefined) res.vary('Accept');
    const type = negotiateType(req, route);
    if (type === 'text/event-stream') {
      if (streamed !== undefined) recordServed(res, streamed);
      return serveStream(route, streams, raw, key, req, res);
    }
    if (type !== 'application/json')
      return sendDownload(route, ctx, { input: authorizeAndParse(route, ctx, raw), type }, req, res);
    const { response, replayed } = await invokeOnce(route, ctx, raw, key);
    if (replayed) res.setHeader('Idempotency-Replayed', 'true');
    send(res, response);
  };
}

const servePublic =
  (ctx: Ctx, route: PublicRoute): RequestHandler =>
  async (req, res) => {
    negotiateType(req, {});
    assertNoQuery(req.query);
    send(res, {
      status: successStatus(route),
      body: await route.handler(ctx, { params: {}, rawBody: Buffer.alloc(0), headers: {} }),
    });
  };

const isRejected = (error: unknown): error is AppError =>
  error instanceof AppError && (error.status === 400 || error.status === 404);

/** Accepts any content type but no compressed body: the signature covers the bytes as received. */
function serveWebhook(ctx: Ctx, route: PublicRoute, maxBytes: number, failures: FailureLimit) {
  const handle: RequestHandler = async (req, res) => {
    try {
      const params = route.params?.safeParse(req.params);
      if (params?.success !== true) throw notFound('Webhook');
      const rawBody: unknown = req.body;
      const headers = Object.fromEntries(
        Object.entries(req.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
      );
      const call = {
        params: params.data as Readonly<Record<string, string>>,
        rawBody: Buffer.isBuffer(rawBody) ? rawBody : Buffer.alloc(0),
        headers,
      };
      send(res, { status: successStatus(route), body: route.response.parse(await route.handler(ctx, call)) });
    } catch (error) {
      throw isRejected(error) ? await failures.count(req, error) : error;
    }
  };
  return [express.raw({ type: () => true, limit: maxBytes, inflate: false }), handle];
}

const methods = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const;

/** Throws 405 with `Allow` when the path has routes but none for the method. */
function assertKnownMethod(routes: readonly AnyRoute[]): RequestHandler {
  const known = routes.map(({ path, method }) => ({
    method,
    form: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`),
  }));
  return (req, _res, next) => {
    const methods = known.filter(({ form }) => form.test(req.path)).map(({ method }) => method);
    if (methods.length === 0) return next();
    const allowed = [...new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : [])])].join(', ');
    throw new AppError('BAD_REQUEST', `${req.method} is not allowed for this path`, {
      status: 405,
      headers: { Allow: allowed },
      details: [{ path: '', code: 'method_not_allowed', message: `Allowed: ${allowed}` }],
    });
  };
}

/** Paths without parameters first, so that `organizations` of `/whoami/organizations` is never an id. */
const literalFirst = (a: AnyRoute, b: AnyRoute) => a.path.split('{').length - b.path.split('{').length;

/** Serves the routes: public ones and webhooks first, all others behind authentication and the rate limit. */
export function createRouteRouter(
  ctx: ReadingCtx,
  routes: readonly AnyRoute[],
  verify: VerifyToken,
  failures: FailureLimit,
  streams = createStreams(ctx),
): Router {
  const router = Router({ caseSensitive: true });
  for (const route of routes) {
    if (route.access !== 'public') continue;
    const handlers =
      route.maxBodyBytes === undefined
        ? [servePublic(ctx, route)]
        : serveWebhook(ctx, route, route.maxBodyBytes, failures);
    router[methods[route.method]](expressPath(route.path), ...handlers);
  }
  const guarded = Router({ caseSensitive: true });
  guarded.use(
    authenticate(ctx, verify, failures),
    ...rateLimitRequests(ctx),
    assertSessionOrigin(ctx),
    assertJsonBody,
    express.json({ limit: maxBodyBytes, strict: true, verify: assertUtf8 }),
  );
  for (const route of [...routes].sort(literalFirst)) {
    if (route.access !== 'public')
      guarded[methods[route.method]](expressPath(route.path), serve(route, streams));
  }
  guarded.use(assertKnownMethod(routes));
  router.use(guarded);
  return router;
}

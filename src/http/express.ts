// Reads route values into an Express router: request-log → authenticate → rate-limit → invoke.
import { isUtf8 } from 'node:buffer';
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Ctx } from '../core/ctx.ts';
import { AppError, notFound } from '../core/errors.ts';
import type { VerifyToken } from '../identity/access-token.ts';
import { authenticate, budgetKey, callerAddress, callerCtx, networkOf, refuseForeignOrigin } from './authenticate.ts';
import { maxBodyBytes } from './connections.ts';
import { sendDownload } from './download.ts';
import { openStreams, replayStream, type Streams } from './event-stream.ts';
import { invokeOnce, streamOnce } from './idempotency.ts';
import { countFailure, requestBudget } from './rate-limit.ts';
import { type Answer, type AnyRoute, admit, goodStatus, type PublicRoute, type RawInput, type Route, refuseQuery } from './route.ts';

function send(res: Response, { status, body }: Answer): void {
  res.setHeader('Cache-Control', 'no-store');
  if (body === undefined) res.status(status).end();
  else res.status(status).json(body);
}

const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** Comes after the budget: every request of a known caller counts. */
const ownPagesOnly =
  (ctx: Ctx): RequestHandler =>
  (req, res, next) => {
    if (callerCtx(res).caller.credential.kind === 'session') refuseForeignOrigin(req, ctx.settings.publicUrl);
    next();
  };

/** A body must say that it is JSON; one that says nothing and holds nothing is no body. */
import { noteServed, platformBase } from './served.ts';

export const jsonOnly: RequestHandler = (req, _res, next) => {
  const hasBody = req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
  if (hasBody && req.is('application/json') === false) {
    throw new AppError('BAD_REQUEST', 'The body must be application/json', {
      status: 415,
      details: [{ path: 'content-type', code: 'unsupported_media_type', message: 'Send application/json' }],
    });
  }
  next();
};

/** Broken UTF-8 would be stored as replacement characters, in silence. */
function refuseBrokenText(_req: unknown, _res: unknown, body: Buffer): void {
  if (isUtf8(body)) return;
  throw new AppError('BAD_REQUEST', 'The body is not UTF-8', {
    details: [{ path: '', code: 'malformed_text', message: 'Send UTF-8' }],
  });
}

/** JSON unless the caller rather has one of the other forms; HEAD tells of JSON alone. */
function wantedType(req: Request, { stream, download }: Route): string {
  const offered = [
    'application/json',
    ...(stream === undefined ? [] : ['text/event-stream']),
    ...(download === undefined ? [] : [download.mediaType]),
  ];
  const type = req.accepts(offered);
  if (type !== false) return req.method === 'HEAD' ? 'application/json' : type;
  throw new AppError('BAD_REQUEST', 'None of the accepted media types is offered', {
    status: 406,
    details: [{ path: 'accept', code: 'not_acceptable', message: `Accept ${offered.join(' or ')}` }],
  });
}

async function serveStream(route: Route, streams: Streams, raw: RawInput, key: string | undefined, req: Request, res: Response) {
  const ctx = callerCtx(res);
  const kept = await streamOnce(route, ctx, raw, key, (input, held) =>
    streams.serve(route, held, input, req.headers['last-event-id'], res),
  );
  if (kept === null) return;
  res.setHeader('Idempotency-Replayed', 'true');
  if (kept.status >= 400) send(res, kept);
  else replayStream(route, kept.body, res);
}

function serve(route: Route, streams: Streams): RequestHandler {
  const [served, streamed] = (['platform', 'stream'] as const).map((kind) => ({ route: `${platformBase}${route.path}`, kind }));
  return async (req: Request, res: Response) => {
    if (served !== undefined) noteServed(res, served);
    const ctx = callerCtx(res);
    const raw = { params: req.params, query: req.query, body: req.body as unknown };
    const given = req.headers['idempotency-key'];
    const key = typeof given === 'string' ? given : undefined;
    if (route.stream !== undefined || route.download !== undefined) {
      res.vary('Accept');
      const type = wantedType(req, route);
      if (type === 'text/event-stream') {
        if (streamed !== undefined) noteServed(res, streamed);
        return serveStream(route, streams, raw, key, req, res);
      }
      if (type !== 'application/json') return sendDownload(route, ctx, admit(route, ctx, raw), req, res);
    }
    const { answer, replayed } = await invokeOnce(route, ctx, raw, key);
    if (replayed) res.setHeader('Idempotency-Replayed', 'true');
    send(res, answer);
  };
}

const servePublic =
  (ctx: Ctx, route: PublicRoute): RequestHandler =>
  async (req, res) => {
    refuseQuery(req.query);
    send(res, { status: goodStatus(route), body: await route.handler(ctx, { params: {}, rawBody: Buffer.alloc(0), headers: {} }) });
  };

const isRefused = (error: unknown): error is AppError => error instanceof AppError && (error.status === 400 || error.status === 404);

/** Takes any content type, and no compressed body: what is signed are the bytes. */
function serveWebhook(ctx: Ctx, route: PublicRoute, maxBytes: number): RequestHandler[] {
  const answer: RequestHandler = async (req, res) => {
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
      send(res, { status: goodStatus(route), body: route.response.parse(await route.handler(ctx, call)) });
    } catch (error) {
      throw isRefused(error) ? await countFailure(ctx, networkOf(callerAddress(req)), error) : error;
    }
  };
  return [express.raw({ type: () => true, limit: maxBytes, inflate: false }), answer];
}

const methods = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const;

/** Answers 405 with `Allow` where the address is known and the method isn't. */
function refuseOtherMethods(routes: readonly AnyRoute[]): RequestHandler {
  const known = routes.map(({ path, method }) => ({ method, form: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`) }));
  return (req, _res, next) => {
    const methods = known.filter(({ form }) => form.test(req.path)).map(({ method }) => method);
    if (methods.length === 0) return next();
    const allowed = [...new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : [])])].join(', ');
    throw new AppError('BAD_REQUEST', `${req.method} is not allowed here`, {
      status: 405,
      headers: { Allow: allowed },
      details: [{ path: '', code: 'method_not_allowed', message: `Allowed: ${allowed}` }],
    });
  };
}

/** Addresses without parameters go first, so that `/whoami/organizations` is never taken for an id. */
const literalFirst = (a: AnyRoute, b: AnyRoute): number => a.path.split('{').length - b.path.split('{').length;

export function routeRouter(ctx: Ctx, routes: readonly AnyRoute[], verify: VerifyToken, streams = openStreams(ctx)): Router {
  const router = Router({ caseSensitive: true });
  for (const route of routes) {
    if (route.access !== 'public') continue;
    const handlers = route.maxBodyBytes === undefined ? [servePublic(ctx, route)] : serveWebhook(ctx, route, route.maxBodyBytes);
    router[methods[route.method]](expressPath(route.path), ...handlers);
  }
  const guarded = Router({ caseSensitive: true });
  guarded.use(
    authenticate(ctx, verify),
    requestBudget(ctx, (_req, res) => budgetKey(res)),
    ownPagesOnly(ctx),
    jsonOnly,
    express.json({ limit: maxBodyBytes, strict: true, verify: refuseBrokenText }),
  );
  for (const route of [...routes].sort(literalFirst)) {
    if (route.access !== 'public') guarded[methods[route.method]](expressPath(route.path), serve(route, streams));
  }
  guarded.use(refuseOtherMethods(routes));
  router.use(guarded);
  return router;
}

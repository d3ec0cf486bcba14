// The door of `/mcp`: who may come in, how much and how often; what the messages say is others' business. A key or a token, as for the
// management interface and out of the same budget. No session: a cookie travels by itself, and an agent has no browser. Host and Origin
// must be this service's own, so that no page can reach it under a name that it made point here.
import { isUtf8 } from 'node:buffer';
import express, {
  type ErrorRequestHandler,
  type Request as HttpRequest,
  type Response as HttpResponse,
  type RequestHandler,
  Router,
} from 'express';
import type { CallerCtx, Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { isLoopbackName } from '../core/loopback.ts';
import type { VerifyToken } from '../identity/access-token.ts';
import { authenticate, budgetKey, callerCtx } from './authenticate.ts';
import { holdsTooMuch, holdsTooMuchText } from './body-values.ts';
import { maxBodyBytes } from './connections.ts';
import { jsonOnly } from './express.ts';
import { requestBudget, spendMore } from './rate-limit.ts';

/** `body` is the message or the batch, as it was parsed; the request carries its headers. */
export type ServeMcp = (ctx: CallerCtx, request: Request, body: unknown) => Promise<Response>;

export const mcpPath = '/mcp';
const metadataPath = '/.well-known/oauth-protected-resource';
/** Where clients look: with the path of the resource, and without. */
export const metadataPaths = [`${metadataPath}${mcpPath}`, metadataPath];
/** What this service calls itself as a resource for agents; tokens for it are accepted. */
export const mcpResource = (publicUrl: string): string => `${publicUrl}${mcpPath}`;

/** RFC 9728: whose tokens open `/mcp`. Without an identity provider only keys do, and there is nothing to tell. */
export const resourceMetadata =
  ({ settings: { oidc, publicUrl } }: Pick<Ctx, 'settings'>): RequestHandler =>
  (_req, res, next) => {
    if (oidc === null) return next();
    res.json({
      resource: mcpResource(publicUrl),
      authorization_servers: [oidc.issuer],
      bearer_methods_supported: ['header'],
      resource_name: 'Portal Service',
    });
  };

const foreign = (path: 'host' | 'origin', message: string): AppError =>
  new AppError('FORBIDDEN', message, { details: [{ path, code: `foreign_${path}`, message }] });

/** On a machine of its own the service answers under every name of the loopback. */
function refuseForeign({ settings: { publicUrl } }: Ctx): RequestHandler {
  const own = new URL(publicUrl);
  const isOwn = (hostname: string): boolean => hostname === own.hostname || (isLoopbackName(own.hostname) && isLoopbackName(hostname));
  return (req, _res, next) => {
    if (!isOwn((req.hostname ?? '').toLowerCase())) throw foreign('host', 'This service has another name than the Host of the request');
    const { origin } = req.headers;
    const page = origin === undefined ? own : URL.parse(origin);
    if (page === null || page.protocol !== own.protocol || page.port !== own.port || !isOwn(page.hostname))
      throw foreign('origin', 'Pages of other origins may not call this');
    next();
  };
}

const postOnly: RequestHandler = (req, _res, next) => {
  if (req.method === 'POST') return next();
  throw new AppError('BAD_REQUEST', `${req.method} is not allowed here`, {
    status: 405,
    headers: { Allow: 'POST' },
    details: [{ path: '', code: 'method_not_allowed', message: 'There are no sessions and no streams: every message is a POST' }],
  });
};

/** The protocol's own headers. Every answer is JSON, also for who says so by less than the protocol asks. */
function requestOf(req: HttpRequest, publicUrl: string): Request {
  if (req.accepts('application/json') === false) {
    throw new AppError('BAD_REQUEST', 'None of the accepted media types is offered', {
      status: 406,
      details: [{ path: 'accept', code: 'not_acceptable', message: 'Accept application/json and text/event-stream' }],
    });
  }
  const own = Object.entries(req.headers).flatMap(([name, value]): [string, string][] =>
    name.startsWith('mcp-') && typeof value === 'string' ? [[name, value]] : [],
  );
  const headers = [...own, ['content-type', 'application/json'], ['accept', 'application/json, text/event-stream']] as [string, string][];
  return new Request(mcpResource(publicUrl), { method: 'POST', headers });
}

/** Undefined for what is no JSON. */
function parsed(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || !isUtf8(body)) return undefined;
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}

/** JSON-RPC's own refusals of what is no message. */
const refuse = (res: HttpResponse, code: number, message: string): unknown =>
  res.status(400).json({ jsonrpc: '2.0', id: null, error: { code, message } });

const idsOf = (batch: readonly unknown[]): unknown[] =>
  batch.flatMap((message) => (typeof message === 'object' && message !== null && 'id' in message ? [message.id] : []));

async function answer(ctx: Ctx, serve: ServeMcp, req: HttpRequest, res: HttpResponse): Promise<void> {
  const body = parsed(req.body);
  res.setHeader('Cache-Control', 'no-store');
  if (body === undefined) return void refuse(res, -32_700, 'Parse error: the body is not JSON');
  if (holdsTooMuch(body)) return void refuse(res, -32_600, `Invalid request: the body ${holdsTooMuchText}`);
  if (Array.isArray(body)) {
    const ids = idsOf(body);
    if (new Set(ids).size < ids.length) return void refuse(res, -32_600, 'Invalid request: two messages of the batch have the same id');
    if (body.length > 1) await spendMore(ctx, budgetKey(res), body.length - 1);
  }
  const response = await serve(callerCtx(res), requestOf(req, ctx.settings.publicUrl), body);
  const text = await response.text();
  res.status(response.status);
  if (text === '') res.end();
  else res.type(response.headers.get('content-type') ?? 'application/json').send(text);
}

/** Where to get a token is told with every 401, as RFC 9728 asks. */
function challenge({ settings: { oidc, publicUrl } }: Ctx): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (oidc !== null && error instanceof AppError && error.status === 401) {
      const reason = req.headers.authorization === undefined ? '' : 'error="invalid_token", ';
      res.setHeader('WWW-Authenticate', `Bearer ${reason}resource_metadata="${publicUrl}${metadataPaths[0]}"`);
    }
    next(error);
  };
}

/** To be mounted at `mcpPath`. */
export function mcpRouter(ctx: Ctx, verify: VerifyToken, serve: ServeMcp): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.use(
    (req, _res, next) => next(req.path === '/' ? undefined : 'router'),
    refuseForeign(ctx),
    authenticate(ctx, verify, { sessions: false }),
    requestBudget(ctx, (_req, res) => budgetKey(res)),
    postOnly,
    jsonOnly,
    express.raw({ type: 'application/json', limit: maxBodyBytes }),
  );
  router.use((req, res) => answer(ctx, serve, req, res));
  router.use(challenge(ctx));
  return router;
}

// The HTTP side of `/mcp`: authentication, body size and rate limit; it doesn't interpret the messages. Takes
// an API key or a token, as the management interface does, under the same rate limit, and also the tokens
// that API keys mint. Sessions aren't accepted: browsers send cookies by themselves, and an agent has no
// browser. Host and Origin must be this service's own, which prevents DNS rebinding.
import { isUtf8 } from 'node:buffer';
import express, {
  type ErrorRequestHandler,
  type Request as HttpRequest,
  type Response as HttpResponse,
  type RequestHandler,
  Router,
} from 'express';
import type { CallerCtx, Ctx, ReadingCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { isLoopbackName } from '../core/network/loopback.ts';
import { readScope } from '../core/permissions.ts';
import { findJson } from '../core/text/parse-json.ts';
import type { VerifyToken } from '../identity/access-token.ts';
import { authenticate, callerCtx } from './authenticate.ts';
import type { FailureLimit } from './failure-limit.ts';
import { consumeRateLimit, rateLimitRequests } from './request-limits.ts';
import { hasTooManyValues, maxBodyBytes, tooManyValuesText } from './route/body-limits.ts';
import { assertJsonBody } from './router.ts';

/** `body` is the parsed message or batch; `request` carries the headers only. */
export type ServeMcp = (ctx: CallerCtx, request: Request, body: unknown) => Promise<Response>;

export const mcpPath = '/mcp';
const metadataPath = '/.well-known/oauth-protected-resource';
/** Both locations at which clients look for it: with the resource's path and without. */
export const metadataPaths = [`${metadataPath}${mcpPath}`, metadataPath];
/** The OAuth resource identifier of `/mcp`; tokens with this audience are accepted. */
export const mcpResource = (publicUrl: string): string => `${publicUrl}${mcpPath}`;

/**
 * RFC 9728: which authorization server issues tokens for `/mcp`, and the scope that clients request by
 * default: reading. Readable for pages of any origin, since clients in a browser need it. Not served without
 * an identity provider: then only API keys work.
 */
export const serveResourceMetadata =
  ({ settings: { oidc, publicUrl } }: Pick<Ctx, 'settings'>): RequestHandler =>
  (_req, res, next) => {
    if (oidc === null) return next();
    res.setHeader('Access-Control-Allow-Origin', '*');
    res.json({
      resource: mcpResource(publicUrl),
      authorization_servers: [oidc.issuer],
      scopes_supported: [readScope],
      bearer_methods_supported: ['header'],
      resource_name: 'Portal Service',
    });
  };

const foreignError = (path: 'host' | 'origin', message: string): AppError =>
  new AppError('FORBIDDEN', message, { details: [{ path, code: `foreign_${path}`, message }] });

/** Throws 403 for a foreign Host or Origin. A service with a loopback address accepts every loopback name. */
function assertOwnHostAndOrigin({ settings: { publicUrl } }: Ctx): RequestHandler {
  const own = new URL(publicUrl);
  const isOwn = (hostname: string): boolean =>
    hostname === own.hostname || (isLoopbackName(own.hostname) && isLoopbackName(hostname));
  return (req, _res, next) => {
    if (!isOwn((req.hostname ?? '').toLowerCase()))
      throw foreignError('host', 'The Host header does not name this service');
    const { origin } = req.headers;
    const page = origin === undefined ? own : URL.parse(origin);
    if (page === null || page.protocol !== own.protocol || page.port !== own.port || !isOwn(page.hostname))
      throw foreignError('origin', 'Pages of other origins may not call this service');
    next();
  };
}

const assertPost: RequestHandler = (req, _res, next) => {
  if (req.method === 'POST') return next();
  throw new AppError('BAD_REQUEST', `${req.method} is not allowed for this path`, {
    status: 405,
    headers: { Allow: 'POST' },
    details: [
      {
        path: '',
        code: 'method_not_allowed',
        message: 'Send every message as a POST; there are no sessions and no streams',
      },
    ],
  });
};

/**
 * A request with the protocol's own headers only. Every response is JSON, so a client may send a narrower
 * Accept header than the protocol demands. Throws 406 when it doesn't accept JSON.
 */
function toRequest(req: HttpRequest, publicUrl: string): Request {
  if (req.accepts('application/json') === false) {
    throw new AppError('BAD_REQUEST', 'None of the accepted media types is available', {
      status: 406,
      details: [
        { path: 'accept', code: 'not_acceptable', message: 'Accept application/json and text/event-stream' },
      ],
    });
  }
  const own = Object.entries(req.headers).flatMap(([name, value]): [string, string][] =>
    name.startsWith('mcp-') && typeof value === 'string' ? [[name, value]] : [],
  );
  const headers = [
    ...own,
    ['content-type', 'application/json'],
    ['accept', 'application/json, text/event-stream'],
  ] as [string, string][];
  return new Request(mcpResource(publicUrl), { method: 'POST', headers });
}

/** Undefined when the body is not JSON. */
const parsed = (body: unknown): unknown =>
  Buffer.isBuffer(body) && isUtf8(body) ? findJson(body.toString()) : undefined;

/** JSON-RPC's own error response for what isn't a message. */
const sendJsonRpcError = (res: HttpResponse, code: number, message: string): unknown =>
  res.status(400).json({ jsonrpc: '2.0', id: null, error: { code, message } });

const listIds = (batch: readonly unknown[]): unknown[] =>
  batch.flatMap((message) =>
    typeof message === 'object' && message !== null && 'id' in message ? [message.id] : [],
  );

async function serveMessages(ctx: Ctx, serve: ServeMcp, req: HttpRequest, res: HttpResponse): Promise<void> {
  const body = parsed(req.body);
  res.setHeader('Cache-Control', 'no-store');
  if (body === undefined) return void sendJsonRpcError(res, -32_700, 'Parse error: the body is not JSON');
  if (hasTooManyValues(body))
    return void sendJsonRpcError(res, -32_600, `Invalid request: the body ${tooManyValuesText}`);
  if (Array.isArray(body)) {
    const ids = listIds(body);
    if (new Set(ids).size < ids.length)
      return void sendJsonRpcError(
        res,
        -32_600,
        'Invalid request: two messages of the batch have the same id',
      );
    if (body.length > 1) await consumeRateLimit(ctx, res, body.length - 1);
  }
  const response = await serve(callerCtx(res), toRequest(req, ctx.settings.publicUrl), body);
  const text = await response.text();
  res.status(response.status);
  if (text === '') res.end();
  else res.type(response.headers.get('content-type') ?? 'application/json').send(text);
}

/** Adds to every 401 where to get a token, with which scope: RFC 9728 and the protocol require it. */
function addResourceMetadata({ settings: { oidc, publicUrl } }: Ctx): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (oidc !== null && error instanceof AppError && error.status === 401) {
      const reason = req.headers.authorization === undefined ? '' : 'error="invalid_token", ';
      res.setHeader(
        'WWW-Authenticate',
        `Bearer ${reason}resource_metadata="${publicUrl}${metadataPaths[0]}", scope="${readScope}"`,
      );
    }
    next(error);
  };
}

/** Mount it at `mcpPath`. */
export function createMcpRouter(
  ctx: ReadingCtx,
  verify: VerifyToken,
  failures: FailureLimit,
  serve: ServeMcp,
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.use(
    (req, _res, next) => next(req.path === '/' ? undefined : 'router'),
    assertOwnHostAndOrigin(ctx),
    authenticate(ctx, verify, failures, { sessions: false, tokens: true }),
    ...rateLimitRequests(ctx),
    assertPost,
    assertJsonBody,
    express.raw({ type: 'application/json', limit: maxBodyBytes }),
  );
  router.use((req, res) => serveMessages(ctx, serve, req, res));
  router.use(addResourceMetadata(ctx));
  return router;
}

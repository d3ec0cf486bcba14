// The listener of a control interface, on loopback only. Every request but those for open files needs the token, which
// only the process that started it knows. There are no CORS headers: other origins can't read an answer. Other
// simulators use it, too: it knows nothing of the account.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from 'express';
import { closeServer, listen } from '../listen.ts';
import { ControlError, notFound } from './control-error.ts';

export type ControlAccess = { url: string; token: string };
export type ControlServer = ControlAccess & { stop(): Promise<void> };
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
/** Answers are JSON with status 200 unless said otherwise. */
export type Route = { method: Method; path: string; status?: number; handle: (request: Request) => unknown };
export type GuardedServerOptions = {
  port: number;
  /** Handlers that need no token. */
  open?: RequestHandler[];
  /** Handlers behind the token. */
  guarded: RequestHandler[];
  /** Errors besides ControlError that have a meaning. */
  toControlError?: (error: unknown) => ControlError | undefined;
};

const LOOPBACK = '127.0.0.1';
const MAX_BODY_SIZE = '1mb';

/** Rejects with the system's error when the port is taken. */
export async function startGuardedServer(options: GuardedServerOptions): Promise<ControlServer> {
  const { port, open = [], guarded, toControlError } = options;
  const token = randomBytes(32).toString('base64url');
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(requireLoopbackHost, ...open);
  app.use(requireToken(token), noStore, express.text({ type: () => true, limit: MAX_BODY_SIZE }), ...guarded);
  app.use((request) => {
    throw notFound(`${request.method} ${request.path} is no request of the control interface.`);
  });
  app.use(sendError(toControlError));
  const server: Server = createServer(app);
  return { url: await listen(server, LOOPBACK, port), token, stop: () => closeServer(server) };
}

/** The routes throw ControlError, 405 for another method of a known path included. */
export function createControlRouter(routes: readonly Route[]): Router {
  const router = Router({ caseSensitive: true });
  for (const { method, path, status = 200, handle } of routes) {
    router[method](path, async (request: Request, response: Response) => {
      response.status(status).json(await handle(request));
    });
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const allowed = routes.filter((route) => route.path === path).map(({ method }) => method.toUpperCase());
    router.all(path, (request, response) => {
      response.set('allow', allowed.join(', '));
      throw new ControlError(405, `${request.method} is not allowed here. Use ${allowed.join(' or ')}.`);
    });
  }
  return router;
}

const noStore: RequestHandler = (_request, response, next) => {
  response.set({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
  next();
};

const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;

/** Against DNS rebinding: a page whose name was made to lead here sends its own name. */
const requireLoopbackHost: RequestHandler = ({ headers }, _response, next) => {
  const { host = '', origin } = headers;
  if (!LOOPBACK_HOST.test(host))
    throw new ControlError(421, 'The control interface is reached at a loopback address only.');
  if (origin !== undefined && origin !== `http://${host}`)
    throw new ControlError(403, 'Requests from other origins are not allowed.');
  next();
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

function requireToken(token: string): RequestHandler {
  const expected = digest(`Bearer ${token}`);
  return ({ headers }, response, next) => {
    if (timingSafeEqual(digest(headers.authorization ?? ''), expected)) return next();
    response.set('www-authenticate', 'Bearer');
    throw new ControlError(
      401,
      'The header Authorization must be Bearer and the token that was issued when it started.',
    );
  };
}

const sendError =
  (toControlError: GuardedServerOptions['toControlError']): ErrorRequestHandler =>
  (error: unknown, _request, response, _next) => {
    const known =
      error instanceof ControlError
        ? error
        : (bodyError(error) ?? toControlError?.(error) ?? unexpected(error));
    if (response.headersSent) response.destroy();
    else response.status(known.status).json(known.body());
  };

/** Express could not read the body. */
function bodyError(error: unknown): ControlError | undefined {
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 0;
  if (status < 400 || status >= 500) return undefined;
  return new ControlError(status === 413 ? 413 : 400, 'The body could not be read.', [], { cause: error });
}

const unexpected = (error: unknown): ControlError =>
  new ControlError(500, `Unexpected error: ${error instanceof Error ? error.message : String(error)}`, [], {
    cause: error,
  });

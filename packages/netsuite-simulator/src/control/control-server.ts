// The control interface's own listener, on loopback only. Every request but those for the page's files needs
// the token, which only the process that started the account knows. There are no CORS headers: other origins
// can't read an answer.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import path from 'node:path';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { closeServer, listen } from '../listen.ts';
import { createSetUpRoutes } from '../set-up-pages/routes.ts';
import type { Control } from './control.ts';
import { ControlError, notFound } from './control-error.ts';
import { servePage } from './page-files.ts';
import { controlRoutes } from './routes.ts';

export type ControlAccess = { url: string; token: string };
export type ControlServer = ControlAccess & { stop(): Promise<void> };

const LOOPBACK = '127.0.0.1';
const MAX_BODY_SIZE = '1mb';

/** Rejects with the system's error when the port is taken. */
export async function startControlServer(control: Control, port: number): Promise<ControlServer> {
  const token = randomBytes(32).toString('base64url');
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(requireLoopbackHost);
  app.use(
    servePage(path.join(import.meta.dirname, 'page'), '/'),
    servePage(path.join(import.meta.dirname, '../set-up-pages/page'), '/set-up'),
  );
  app.use(requireToken(token), noStore, express.text({ type: () => true, limit: MAX_BODY_SIZE }));
  app.use('/set-up', createSetUpRoutes(control.setUp));
  app.use(controlRoutes(control));
  app.use((request) => {
    throw notFound(`${request.method} ${request.path} is no request of the control interface.`);
  });
  app.use(sendError);
  const server: Server = createServer(app);
  return { url: await listen(server, LOOPBACK, port), token, stop: () => closeServer(server) };
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
      'The header Authorization must be Bearer and the token that the account printed when it started.',
    );
  };
}

const sendError: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
  const known =
    error instanceof ControlError ? error : (bodyError(error) ?? databaseError(error) ?? unexpected(error));
  if (response.headersSent) response.destroy();
  else response.status(known.status).json(known.body());
};

/** Express could not read the body. */
function bodyError(error: unknown): ControlError | undefined {
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 0;
  if (status < 400 || status >= 500) return undefined;
  return new ControlError(status === 413 ? 413 : 400, 'The body could not be read.', [], { cause: error });
}

/** PostgreSQL refuses values that don't fit its types or break a constraint. */
function databaseError(error: unknown): ControlError | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!(error instanceof Error) || !/^2[23]/.test(code)) return undefined;
  return new ControlError(422, `The account refuses these values: ${error.message}.`, [], { cause: error });
}

const unexpected = (error: unknown): ControlError =>
  new ControlError(500, `Unexpected error: ${error instanceof Error ? error.message : String(error)}`, [], {
    cause: error,
  });

// What the ways to sign in share: whose browser it is, the cookies that it gets, and the forms that it sends.
// Only the files of this folder set cookies.
import {
  type CookieOptions,
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  urlencoded,
} from 'express';
import type { z } from 'zod';
import type { Ctx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { isLoopbackHttp } from '../../core/network/loopback.ts';
import type { Settings } from '../../core/settings.ts';
import type { ClientInfo } from '../../identity/sign-in.ts';
import { assertSameOrigin } from '../authenticate.ts';
import { callerAddress } from '../caller-address.ts';
import { sessionCookieName } from '../cookies.ts';
import { getRequestId } from '../errors.ts';
import { isLoopbackHost } from '../own-host.ts';
import { wantsPage } from '../pages/error-page.ts';
import { toErrorDetails } from '../route/parse.ts';
import { validationMessage } from '../route/validation-messages.ts';

export const toClientInfo = (req: Request, res: Response): ClientInfo => ({
  ip: callerAddress(req),
  userAgent: req.headers['user-agent'] ?? null,
  requestId: getRequestId(res),
});

/** `secure` is false on loopback http alone. */
export const createCookieOptions = (publicUrl: string, path = '/'): CookieOptions => ({
  httpOnly: true,
  sameSite: 'lax',
  secure: !isLoopbackHttp(publicUrl),
  path,
});

export function setSessionCookie(res: Response, { settings }: Pick<Ctx, 'settings'>, token: string): void {
  const { publicUrl, session } = settings;
  res.cookie(sessionCookieName(publicUrl), token, {
    ...createCookieOptions(publicUrl),
    maxAge: session.absoluteMs,
  });
}

/** The handler throws 405 with the allowed methods. */
export const methodNotAllowed =
  (allowed: string): RequestHandler =>
  (req) => {
    throw new AppError('BAD_REQUEST', `${req.method} is not allowed for this path`, {
      status: 405,
      headers: { Allow: allowed },
      details: [{ path: '', code: 'method_not_allowed', message: `Allowed: ${allowed}` }],
    });
  };

/** Throws 400 with all problems of the query. */
export function parseQuery<S extends z.ZodType>(schema: S, req: Request): z.output<S> {
  const { data, error } = schema.safeParse(req.query, { error: validationMessage });
  if (error === undefined) return data as z.output<S>;
  throw new AppError('BAD_REQUEST', 'Invalid query parameters', {
    details: toErrorDetails(error, 'query parameter'),
  });
}

export const readForm: RequestHandler = urlencoded({ extended: false, limit: 4_096, parameterLimit: 10 });

/** Throws 422 with all problems of the form. */
export function parseForm<S extends z.ZodType>(schema: S, req: Request): z.output<S> {
  const { data, error } = schema.safeParse(req.body ?? {}, { error: validationMessage });
  if (error === undefined) return data as z.output<S>;
  throw new AppError('VALIDATION_ERROR', 'Invalid form', { details: toErrorDetails(error, 'field') });
}

/** Shows an error of a form in that form, to browsers; other errors go to the next handler. */
export const showInForm =
  (send: (res: Response, problem: AppError, req: Request) => void): ErrorRequestHandler =>
  (error: unknown, req, res, next) => {
    if (!(error instanceof AppError) || res.headersSent || !wantsPage(req)) return next(error);
    send(res, error, req);
  };

/** What proxies, tunnels and content delivery networks add, each in its own way. */
const proxyHeader =
  /^(?:forwarded|via|x-real-ip|x-(?:forwarded|original)(?:-.*)?|(?:.*-)?(?:client|connecting)-ip)$/;

/**
 * Whether the request comes from this machine's own browser, as far as it shows: it names a loopback host,
 * came through no proxy or tunnel, and the service has no address that others could know.
 */
export const isFromThisMachine = (req: Request, { publicUrl }: Pick<Settings, 'publicUrl'>): boolean =>
  isLoopbackHttp(publicUrl) &&
  isLoopbackHost(req) &&
  !Object.keys(req.headers).some((name) => proxyHeader.test(name));

const foreign = (path: string, code: string, message: string): AppError =>
  new AppError('FORBIDDEN', 'This sign-in works on its own machine, from its own page only', {
    details: [{ path, code, message }],
  });

/**
 * Throws 403 unless a page of this service sends the request, in a browser on this machine. Browsers of today
 * all say which site's page sends it.
 */
export function assertFromOwnPage(req: Request, settings: Pick<Settings, 'publicUrl'>): void {
  if (!isFromThisMachine(req, settings))
    throw foreign('host', 'foreign_host', 'Open this service by its loopback address');
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin')
    throw foreign('sec-fetch-site', 'foreign_origin', 'Use the button on the page of this service');
  assertSameOrigin(req, settings.publicUrl);
}

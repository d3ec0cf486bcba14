// The sign-in endpoints below /auth. Only this file sets cookies: the encrypted sign-in attempt, valid for
// ten minutes, and the session. Browsers get errors as an HTML page, programs as the usual error body.
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { isLoopbackHttp } from '../core/loopback.ts';
import { createIdentityProvider, type IdentityProvider, prompts } from '../identity/provider.ts';
import { findSession } from '../identity/sessions.store.ts';
import {
  attemptTtlMs,
  type ClientInfo,
  type DemoPerson,
  finishSignIn,
  isDemoReady,
  signInAsDemo,
  signOut,
  startSignIn,
} from '../identity/sign-in.ts';
import { activeMembership, findMemberships } from '../identity/users.store.ts';
import { assertSameOrigin } from './authenticate.ts';
import { callerAddress } from './caller-address.ts';
import {
  attemptCookieName,
  attemptCookiePath,
  listCookieValues,
  sessionCookieName,
  sessionCookies,
} from './cookies.ts';
import { getRequestId, logFailure, toAppError } from './errors.ts';
import type { FailureLimit } from './failure-limit.ts';
import { isLoopbackHost } from './own-host.ts';
import { wantsPage } from './pages/error-page.ts';
import { sendSignInError } from './pages/sign-in-page.ts';
import { toErrorDetails } from './route/parse.ts';
import { validationMessage } from './route/validation-messages.ts';

const LoginQuery = z.strictObject({
  returnTo: z.string('must be given once').default('/'),
  prompt: z.enum(prompts).optional(),
});

const toClientInfo = (req: Request, res: Response): ClientInfo => ({
  ip: callerAddress(req),
  userAgent: req.headers['user-agent'] ?? null,
  requestId: getRequestId(res),
});

const toSearchParams = (req: Request): URLSearchParams => {
  const start = req.originalUrl.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : req.originalUrl.slice(start));
};

/**
 * Renders errors of /auth as an HTML page for browsers; for programs the next error handler sends the usual
 * body.
 */
function errorPage(ctx: Ctx): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent || !wantsPage(req)) return next(error);
    const shown = toAppError(error);
    logFailure(ctx.log, getRequestId(res), shown, error);
    sendSignInError(res, shown);
  };
}

const methodNotAllowed =
  (allowed: string): RequestHandler =>
  (req) => {
    throw new AppError('BAD_REQUEST', `${req.method} is not allowed for this path`, {
      status: 405,
      headers: { Allow: allowed },
      details: [{ path: '', code: 'method_not_allowed', message: `Allowed: ${allowed}` }],
    });
  };

/** What proxies, tunnels and content delivery networks add, each in its own way. */
const proxyHeader =
  /^(?:forwarded|via|x-real-ip|x-(?:forwarded|original)(?:-.*)?|(?:.*-)?(?:client|connecting)-ip)$/;

/**
 * Whether the request comes from this machine's own browser, as far as it shows: it names a loopback host,
 * came through no proxy or tunnel, and the service has no address that others could know.
 */
export const mayUseDemo = (req: Request, { publicUrl }: Pick<Ctx['settings'], 'publicUrl'>): boolean =>
  isLoopbackHttp(publicUrl) &&
  isLoopbackHost(req) &&
  !Object.keys(req.headers).some((name) => proxyHeader.test(name));

/** A demo's owner, and whether their organization exists: once it did, it isn't looked up again. */
export type Demo = { readonly owner: DemoPerson; isReady(): Promise<boolean> };
export function createDemo(ctx: Ctx, owner: DemoPerson): Demo {
  let ready = false;
  const isReady = async (): Promise<boolean> => {
    ready ||= await isDemoReady(ctx, owner);
    return ready;
  };
  return { owner, isReady };
}

/**
 * Throws 403 when the browser says that a page of another site, or none, sends the request. Browsers of today
 * all say it.
 */
function assertSameSite({ headers: { 'sec-fetch-site': site } }: Request): void {
  if (site === undefined || site === 'same-origin') return;
  throw new AppError('FORBIDDEN', 'The demo signs in from its own page only', {
    details: [
      {
        path: 'sec-fetch-site',
        code: 'foreign_origin',
        message: 'Use the button on the first page of the demo',
      },
    ],
  });
}

/**
 * Signs in as the demo's owner without the identity provider; leads back to the welcome page while the demo
 * is being prepared. Throws 403 unless a page of this service asks, on this machine.
 */
function signInDemo(ctx: Ctx, { owner, isReady }: Demo): RequestHandler {
  const { publicUrl } = ctx.settings;
  return async (req, res) => {
    if (!mayUseDemo(req, ctx.settings))
      throw new AppError('FORBIDDEN', 'The demo signs in on its own machine only', {
        details: [{ path: 'host', code: 'foreign_host', message: 'Open the demo by its loopback address' }],
      });
    assertSameOrigin(req, publicUrl);
    assertSameSite(req);
    if (!(await isReady())) return res.redirect(303, '/');
    const token = await signInAsDemo(ctx, owner, sessionCookies(req, publicUrl), toClientInfo(req, res));
    res.cookie(sessionCookieName(publicUrl), token, {
      ...createCookieOptions(publicUrl),
      maxAge: ctx.settings.session.absoluteMs,
    });
    res.redirect(303, '/console');
  };
}

/** `secure` is false on loopback http alone. */
const createCookieOptions = (publicUrl: string) =>
  ({ httpOnly: true, sameSite: 'lax', secure: !isLoopbackHttp(publicUrl), path: '/' }) as const;

type Handlers = { login: RequestHandler; callback: RequestHandler; logout: RequestHandler };

function parseLoginQuery(req: Request) {
  const { data, error } = LoginQuery.safeParse(req.query, { error: validationMessage });
  if (error === undefined) return { returnTo: data.returnTo, prompt: data.prompt };
  throw new AppError('BAD_REQUEST', 'Invalid query parameters', {
    details: toErrorDetails(error, 'query parameter'),
  });
}

function createHandlers(ctx: Ctx, provider: IdentityProvider, failures: FailureLimit): Handlers {
  const { publicUrl } = ctx.settings;
  const [attemptName, sessionName] = [attemptCookieName(publicUrl), sessionCookieName(publicUrl)];
  const heldCookie = createCookieOptions(publicUrl);
  const attemptCookie = { ...heldCookie, path: attemptCookiePath(publicUrl) };

  return {
    async login(req, res) {
      const { url, cookie } = await startSignIn(ctx, provider, parseLoginQuery(req));
      res.cookie(attemptName, cookie, { ...attemptCookie, maxAge: attemptTtlMs });
      res.redirect(302, url);
    },

    async callback(req, res) {
      const given = {
        query: toSearchParams(req),
        cookies: listCookieValues(req, attemptName),
        sessions: sessionCookies(req, publicUrl),
      };
      const visitor = toClientInfo(req, res);
      const { token, returnTo } = await finishSignIn(ctx, provider, given, visitor).catch(
        async (error: unknown) => {
          throw error instanceof AppError && error.status < 500 ? await failures.count(req, error) : error;
        },
      );
      res.clearCookie(attemptName, attemptCookie);
      res.cookie(sessionName, token, { ...heldCookie, maxAge: ctx.settings.session.absoluteMs });
      res.redirect(302, returnTo);
    },

    async logout(req, res) {
      assertSameOrigin(req, publicUrl);
      await signOut(ctx, sessionCookies(req, publicUrl), toClientInfo(req, res));
      res.clearCookie(sessionName, heldCookie);
      // While the provider is unreachable, the person is signed out of this service only.
      const next = await provider.endSessionUrl().catch(() => null);
      if (wantsPage(req)) return res.redirect(303, next?.href ?? '/');
      // Scripts read the address from the header: they can't see the target of a redirect.
      if (next !== null) res.setHeader('Location', next.href);
      res.status(204).end();
    },
  };
}

/**
 * Whether sign-in is configured, and who is signed in. Needs no credential, so that a page may call it before
 * sign-in.
 */
const serveSession =
  (ctx: Ctx, failures: FailureLimit): RequestHandler =>
  async (req, res) => {
    const tokens = sessionCookies(req, ctx.settings.publicUrl);
    const session = await findSession(ctx, tokens);
    if (tokens.length > 0 && session === undefined) await failures.countGuess(req);
    const memberships = session === undefined ? [] : await findMemberships(ctx, session.user.id);
    const organization = activeMembership(memberships, session?.organizationId ?? null)?.organization ?? null;
    const client = ctx.settings.oidc?.client ?? null;
    res.json({
      signIn: client !== null,
      session: session === undefined ? null : { user: session.user, organization },
    });
  };

/**
 * Mount it at /auth. Without an identity provider its sign-in endpoints throw 404, and so does that of the
 * demo without `demo`.
 */
export function createSignInRouter(ctx: Ctx, failures: FailureLimit, demo?: Demo): Router {
  const router = Router({ caseSensitive: true });
  const { oidc } = ctx.settings;
  router.use((_req, res, next) => {
    res.setHeader('Cache-Control', 'no-store');
    next();
  });
  router.get('/session', serveSession(ctx, failures));
  router.all('/session', methodNotAllowed('GET, HEAD'));
  if (demo !== undefined) router.post('/demo', signInDemo(ctx, demo)).all('/demo', methodNotAllowed('POST'));
  if (oidc === null || oidc.client === null) {
    router.use(['/login', '/callback', '/logout'], () => {
      throw new AppError('NOT_FOUND', 'Sign-in is not available: no identity provider is configured');
    });
  } else {
    const { login, callback, logout } = createHandlers(
      ctx,
      createIdentityProvider(ctx, oidc, oidc.client),
      failures,
    );
    router.get('/login', login).all('/login', methodNotAllowed('GET, HEAD'));
    router.get('/callback', callback).all('/callback', methodNotAllowed('GET, HEAD'));
    router.post('/logout', logout).all('/logout', methodNotAllowed('POST'));
  }
  router.use(errorPage(ctx));
  return router;
}

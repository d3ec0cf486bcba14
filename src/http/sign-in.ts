// The addresses of sign-in, below /auth. Cookies are set and read here alone: the sealed attempt for ten minutes and for /auth,
// the session for every address. People in a browser get a page where programs get the error body.
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { isLoopbackHttp } from '../core/loopback.ts';
import { type IdentityProvider, openIdentityProvider, prompts } from '../identity/provider.ts';
import { findSession } from '../identity/sessions.store.ts';
import { attemptMs, beginSignIn, finishSignIn, signOut, type Visitor } from '../identity/sign-in.ts';
import { membershipsOf, workingMembership } from '../identity/users.store.ts';
import { callerAddress, cookieOf, countGuess, networkOf, refuseForeignOrigin, sessionCookie, sessionCookieName } from './authenticate.ts';
import { logFailure, requestIdOf, toAppError } from './errors.ts';
import { plainWords } from './plain-words.ts';
import { countFailure } from './rate-limit.ts';
import { toDetails } from './route.ts';
import { sendSignInProblem } from './sign-in-page.ts';

const attemptCookieName = 'portal_sign_in';
const LoginQuery = z.strictObject({
  returnTo: z.string('must stand once').default('/'),
  prompt: z.enum(prompts).optional(),
});

const wantsPage = (req: Request): boolean => req.accepts(['json', 'html']) === 'html';

const visitorOf = (req: Request, res: Response): Visitor => ({
  ip: callerAddress(req),
  userAgent: req.headers['user-agent'] ?? null,
  requestId: requestIdOf(res),
});

const queryOf = (req: Request): URLSearchParams => {
  const start = req.originalUrl.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : req.originalUrl.slice(start));
};

/** Failures of /auth as a page for people; programs get the usual body from whoever comes next. */
function problemPage(ctx: Ctx): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    res.vary('Accept');
    if (res.headersSent || !wantsPage(req)) return next(error);
    const shown = toAppError(error);
    logFailure(ctx.log, requestIdOf(res), shown, error);
    sendSignInProblem(res, shown);
  };
}

const onlyMethod =
  (allowed: string): RequestHandler =>
  (req) => {
    throw new AppError('BAD_REQUEST', `${req.method} is not allowed here`, {
      status: 405,
      headers: { Allow: allowed },
      details: [{ path: '', code: 'method_not_allowed', message: `Allowed: ${allowed}` }],
    });
  };

type Handlers = { login: RequestHandler; callback: RequestHandler; logout: RequestHandler };

function handlersOf(ctx: Ctx, provider: IdentityProvider): Handlers {
  const secure = !isLoopbackHttp(ctx.settings.publicUrl);
  const attemptCookie = { httpOnly: true, sameSite: 'lax', secure, path: '/auth' } as const;
  const heldCookie = { httpOnly: true, sameSite: 'lax', secure, path: '/' } as const;

  /** Null while the provider can't say: whoever signs out here is signed out here. */
  const farewell = (): Promise<URL | null> => provider.endSessionUrl().catch(() => null);

  return {
    async login(req, res) {
      const query = LoginQuery.safeParse(req.query, { error: plainWords });
      if (!query.success) throw new AppError('BAD_REQUEST', 'The query is not valid', { details: toDetails(query.error) });
      const { url, box } = await beginSignIn(ctx, provider, { returnTo: query.data.returnTo, prompt: query.data.prompt });
      res.cookie(attemptCookieName, box, { ...attemptCookie, maxAge: attemptMs });
      res.redirect(302, url);
    },

    async callback(req, res) {
      const given = { answer: queryOf(req), box: cookieOf(req, attemptCookieName), session: sessionCookie(req) };
      const visitor = visitorOf(req, res);
      const { token, returnTo } = await finishSignIn(ctx, provider, given, visitor).catch(async (error: unknown) => {
        throw error instanceof AppError && error.status < 500 ? await countFailure(ctx, networkOf(visitor.ip), error) : error;
      });
      res.clearCookie(attemptCookieName, attemptCookie);
      res.cookie(sessionCookieName, token, { ...heldCookie, maxAge: ctx.settings.session.absoluteMs });
      res.redirect(302, returnTo);
    },

    async logout(req, res) {
      refuseForeignOrigin(req, ctx.settings.publicUrl);
      const token = sessionCookie(req);
      if (token !== undefined) await signOut(ctx, token, visitorOf(req, res));
      res.clearCookie(sessionCookieName, heldCookie);
      const next = await farewell();
      if (wantsPage(req)) return res.redirect(303, next?.href ?? '/');
      // A script reads it here: a redirect would hide it.
      if (next !== null) res.setHeader('Location', next.href);
      res.status(204).end();
    },
  };
}

/** Whether one can sign in here, and who is. Needs no credential, so that a page may ask before there is one. */
const whoIsHere =
  (ctx: Ctx): RequestHandler =>
  async (req, res) => {
    const token = sessionCookie(req);
    const session = token === undefined ? undefined : await findSession(ctx, token);
    if (token !== undefined && session === undefined) await countGuess(ctx, req);
    const memberships = session === undefined ? [] : await membershipsOf(ctx, session.user.id);
    const organization = workingMembership(memberships, session?.organizationId ?? null)?.organization ?? null;
    const client = ctx.settings.oidc?.client ?? null;
    res.json({ signIn: client !== null, session: session === undefined ? null : { user: session.user, organization } });
  };

export function signInRouter(ctx: Ctx): Router {
  const router = Router({ caseSensitive: true });
  const { oidc } = ctx.settings;
  router.use((_req, res, next) => {
    res.setHeader('Cache-Control', 'no-store');
    next();
  });
  router.get('/session', whoIsHere(ctx));
  router.all('/session', onlyMethod('GET, HEAD'));
  if (oidc === null || oidc.client === null) {
    router.use(['/login', '/callback', '/logout'], () => {
      throw new AppError('NOT_FOUND', 'Nobody can sign in here: no identity provider is configured');
    });
  } else {
    const { login, callback, logout } = handlersOf(ctx, openIdentityProvider(ctx, oidc, oidc.client));
    router.get('/login', login).all('/login', onlyMethod('GET, HEAD'));
    router.get('/callback', callback).all('/callback', onlyMethod('GET, HEAD'));
    router.post('/logout', logout).all('/logout', onlyMethod('POST'));
  }
  router.use(problemPage(ctx));
  return router;
}

// The sign-in endpoints below /auth. Browsers get errors as an HTML page, programs as the usual error body.
import { type ErrorRequestHandler, type RequestHandler, Router } from 'express';
import { z } from 'zod';
import type { Ctx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { createIdentityProvider, type IdentityProvider, prompts } from '../../identity/provider.ts';
import { findSession } from '../../identity/sessions.store.ts';
import { hasSignInPage, resolveReturnUrl, signOut } from '../../identity/sign-in.ts';
import { allowsSignInLinks } from '../../identity/sign-in-link.ts';
import { activeMembership, findMemberships } from '../../identity/users.store.ts';
import { assertSameOrigin } from '../authenticate.ts';
import { sessionCookieName, sessionCookies } from '../cookies.ts';
import { getRequestId, logFailure, toAppError } from '../errors.ts';
import type { FailureLimit } from '../failure-limit.ts';
import { wantsPage } from '../pages/error-page.ts';
import { sendAddressForm } from '../pages/sign-in-forms.ts';
import { sendSignInError } from '../pages/sign-in-page.ts';
import type { SmallPageFiles } from '../pages/small-page.ts';
import { createCookieOptions, methodNotAllowed, parseQuery, toClientInfo } from './browser.ts';
import { type Demo, signInDemo } from './demo.ts';
import { mountSignInLink } from './link.ts';
import { mountMailedCode, type SendCodeMail } from './mailed-code.ts';
import { createProviderSignIn, type ProviderSignIn } from './provider.ts';

const LoginQuery = z.strictObject({
  returnTo: z.string('must be given once').default('/'),
  prompt: z.enum(prompts).optional(),
  with: z.literal('provider').optional(),
});

/** Renders errors of /auth as an HTML page for browsers; programs get the usual body. */
function errorPage(ctx: Ctx, files: SmallPageFiles): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent || !wantsPage(req)) return next(error);
    const shown = toAppError(error);
    logFailure(ctx.log, getRequestId(res), shown, error);
    sendSignInError(res, shown, hasSignInPage(ctx.settings), files);
  };
}

/**
 * Leads to the identity provider; with mailed codes, to a page with the form for the address and, beside a
 * provider, a button for it.
 */
const login =
  (ctx: Ctx, provider: ProviderSignIn | undefined, files: SmallPageFiles): RequestHandler =>
  async (req, res, next) => {
    const { returnTo, prompt, with: way } = parseQuery(LoginQuery, req);
    const { publicUrl, signIn } = ctx.settings;
    if (provider !== undefined && (!signIn.byMail || prompt !== undefined || way === 'provider'))
      return provider.login({ returnTo, prompt }, req, res, next);
    resolveReturnUrl(returnTo, publicUrl);
    sendAddressForm(res, { email: '', returnTo, provider: provider !== undefined, files });
  };

const logout =
  (ctx: Ctx, provider: IdentityProvider | undefined): RequestHandler =>
  async (req, res) => {
    const { publicUrl } = ctx.settings;
    assertSameOrigin(req, publicUrl);
    await signOut(ctx, sessionCookies(req, publicUrl), toClientInfo(req, res));
    res.clearCookie(sessionCookieName(publicUrl), createCookieOptions(publicUrl));
    // While the provider is unreachable, the person is signed out of this service only.
    const next = (await provider?.endSessionUrl().catch(() => null)) ?? null;
    if (wantsPage(req)) return res.redirect(303, next?.href ?? '/');
    // Scripts read the address from the header: they can't see the target of a redirect.
    if (next !== null) res.setHeader('Location', next.href);
    res.status(204).end();
  };

/** Whether sign-in is configured, and who is signed in. Without a credential, for pages before sign-in. */
const serveSession =
  (ctx: Ctx, failures: FailureLimit): RequestHandler =>
  async (req, res) => {
    const tokens = sessionCookies(req, ctx.settings.publicUrl);
    const session = await findSession(ctx, tokens);
    if (tokens.length > 0 && session === undefined) await failures.countGuess(req);
    const memberships = session === undefined ? [] : await findMemberships(ctx, session.user.id);
    const organization = activeMembership(memberships, session?.organizationId ?? null)?.organization ?? null;
    res.json({
      signIn: hasSignInPage(ctx.settings),
      session: session === undefined ? null : { user: session.user, organization },
    });
  };

export type SignInOptions = {
  readonly failures: FailureLimit;
  readonly demo: Demo | undefined;
  readonly sendCodeMail: SendCodeMail;
  readonly files: SmallPageFiles;
};

/** Mount it at /auth. Handlers of what isn't configured throw 404. */
export function createSignInRouter(ctx: Ctx, options: SignInOptions): Router {
  const router = Router({ caseSensitive: true });
  const { failures, demo, sendCodeMail, files } = options;
  const { oidc, signIn } = ctx.settings;
  router.use((_req, res, next) => {
    res.setHeader('Cache-Control', 'no-store');
    next();
  });
  router.get('/session', serveSession(ctx, failures)).all('/session', methodNotAllowed('GET, HEAD'));
  if (demo !== undefined) router.post('/demo', signInDemo(ctx, demo)).all('/demo', methodNotAllowed('POST'));
  if (allowsSignInLinks(ctx.settings)) mountSignInLink(router, ctx, { failures, files });
  if (signIn.byMail) mountMailedCode(router, ctx, { failures, send: sendCodeMail, files });
  const client =
    oidc?.client != null
      ? createIdentityProvider(ctx, {
          ...oidc.client,
          issuer: oidc.issuer,
          redirectUri: `${ctx.settings.publicUrl}/auth/callback`,
        })
      : undefined;
  const provider = client && createProviderSignIn(ctx, client, failures);
  if (hasSignInPage(ctx.settings))
    router.get('/login', login(ctx, provider, files)).all('/login', methodNotAllowed('GET, HEAD'));
  if (provider !== undefined)
    router.get('/callback', provider.callback).all('/callback', methodNotAllowed('GET, HEAD'));
  router.post('/logout', logout(ctx, client)).all('/logout', methodNotAllowed('POST'));
  router.all(['/login', '/callback'], () => {
    throw new AppError('NOT_FOUND', 'Sign-in is not available: no identity provider is configured');
  });
  router.use(errorPage(ctx, files));
  return router;
}

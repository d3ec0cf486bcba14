// Sign-in with the identity provider: the code flow's two requests.
import type { Request, RequestHandler } from 'express';
import type { Ctx } from '../../core/ctx.ts';
import type { IdentityProvider, Prompt } from '../../identity/provider.ts';
import { attemptTtlMs, finishSignIn, resolveReturnUrl, startSignIn } from '../../identity/sign-in.ts';
import { attemptCookieName, attemptCookiePath, listCookieValues, sessionCookies } from '../cookies.ts';
import type { FailureLimit } from '../failure-limit.ts';
import { createCookieOptions, setSessionCookie, toClientInfo } from './browser.ts';

export const toSearchParams = (req: Request): URLSearchParams => {
  const start = req.originalUrl.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : req.originalUrl.slice(start));
};

export type LoginRequest = { readonly returnTo: string; readonly prompt?: Prompt | undefined };
export type ProviderSignIn = {
  login(login: LoginRequest, ...[req, res]: Parameters<RequestHandler>): Promise<void>;
  readonly callback: RequestHandler;
};

export function createProviderSignIn(
  ctx: Ctx,
  provider: IdentityProvider,
  failures: FailureLimit,
): ProviderSignIn {
  const { publicUrl } = ctx.settings;
  const attemptName = attemptCookieName(publicUrl);
  const attemptCookie = createCookieOptions(publicUrl, attemptCookiePath(publicUrl));
  return {
    async login({ returnTo, prompt }, _req, res) {
      const target = resolveReturnUrl(returnTo, publicUrl);
      const { url, cookie } = await startSignIn(ctx, provider, { returnTo: target, prompt });
      res.cookie(attemptName, cookie, { ...attemptCookie, maxAge: attemptTtlMs });
      res.redirect(302, url);
    },

    async callback(req, res) {
      const given = {
        query: toSearchParams(req),
        cookies: listCookieValues(req, attemptName),
        sessions: sessionCookies(req, publicUrl),
      };
      const { token, returnTo } = await finishSignIn(ctx, provider, given, toClientInfo(req, res)).catch(
        failures.countRefusal(req),
      );
      res.clearCookie(attemptName, attemptCookie);
      setSessionCookie(res, ctx, token);
      res.redirect(302, returnTo);
    },
  };
}

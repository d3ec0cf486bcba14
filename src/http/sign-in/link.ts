// Sign-in with the link that the service prints on one's own machine. Opening it shows a button: programs that
// open links, such as previews, must not use it up.
import type { RequestHandler, Router } from 'express';
import { z } from 'zod';
import type { Ctx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { finishWithLink, readSignInLink } from '../../identity/sign-in-link.ts';
import { sessionCookies } from '../cookies.ts';
import type { FailureLimit } from '../failure-limit.ts';
import { redirectToOwnHost } from '../own-host.ts';
import { sendLinkPage } from '../pages/sign-in-forms.ts';
import type { SmallPageFiles } from '../pages/small-page.ts';
import {
  assertFromOwnPage,
  isFromThisMachine,
  methodNotAllowed,
  parseForm,
  parseQuery,
  readForm,
  setSessionCookie,
  toClientInfo,
} from './browser.ts';

const Token = z.strictObject({ token: z.string().max(1_000) });

/** Adds /link below /auth. Its handlers throw 404 for other hosts, and 403 unless its own page sends the form. */
export function mountSignInLink(
  router: Router,
  ctx: Ctx,
  { failures, files }: { failures: FailureLimit; files: SmallPageFiles },
): void {
  const { publicUrl } = ctx.settings;

  const showButton: RequestHandler = async (req, res) => {
    if (!isFromThisMachine(req, ctx.settings))
      throw new AppError('NOT_FOUND', 'There is nothing at this address');
    const { token } = parseQuery(Token, req);
    sendLinkPage(res, { email: await readSignInLink(ctx, token), token, files });
  };

  const signIn: RequestHandler = async (req, res) => {
    assertFromOwnPage(req, ctx.settings);
    const { token } = parseForm(Token, req);
    const session = await finishWithLink(
      ctx,
      token,
      sessionCookies(req, publicUrl),
      toClientInfo(req, res),
    ).catch(async (error: unknown) => {
      throw error instanceof AppError && error.status === 400 ? await failures.count(req, error) : error;
    });
    setSessionCookie(res, ctx, session);
    res.redirect(303, '/console');
  };

  router
    .get('/link', redirectToOwnHost(publicUrl), showButton)
    .post('/link', readForm, signIn)
    .all('/link', methodNotAllowed('GET, HEAD, POST'));
}

// The page that tells a person in a browser what went wrong. Plain HTML without scripts; it shows nothing
// that the request or another server sent: a link could put any words on it.
import type { ErrorRequestHandler, Request, Response } from 'express';
import type { Ctx } from '../../core/ctx.ts';
import type { AppError } from '../../core/errors.ts';
import { escapeHtml } from '../../core/text/escape-html.ts';
import { hasSignInPage } from '../../identity/sign-in.ts';
import { getRequestId, logFailure, setErrorHeaders, toAppError } from '../errors.ts';
import { renderSmallPage, type SmallPageFiles, setPrivatePageHeaders } from './small-page.ts';

/**
 * Whether a browser asks for something to show. Programs that accept anything get JSON, and so does every
 * request with an Authorization header: browsers open addresses without one, while there are HTTP libraries
 * whose default Accept names text/html first.
 */
export const wantsPage = (req: Request): boolean =>
  req.headers.authorization === undefined && req.accepts(['json', 'html']) === 'html';

/** `action` is the one thing to do, as a button; `reason` must not repeat it. */
type ErrorPage = {
  readonly reason: string | undefined;
  readonly action: { readonly label: string; readonly path: string } | undefined;
};

export function sendErrorPage(
  res: Response,
  problem: AppError,
  { reason, action }: ErrorPage,
  files: SmallPageFiles,
): void {
  setErrorHeaders(res, problem);
  setPrivatePageHeaders(res, null);
  const lines = [
    `<h1>${escapeHtml(problem.message)}</h1>`,
    ...(reason === undefined ? [] : [`<p>${escapeHtml(reason)}</p>`]),
    ...(action === undefined
      ? []
      : [`<p><a class="main" href="${escapeHtml(action.path)}">${action.label}</a></p>`]),
    '<p><a href="/">Go to the start page</a>, or to the <a href="/docs">documentation</a></p>',
    `<p class="fine">Request ${escapeHtml(getRequestId(res))}</p>`,
  ];
  const title = `${problem.message} · Portal Service`;
  res
    .type('html')
    .send(renderSmallPage({ title, body: lines.map((line) => `    ${line}`).join('\n'), files }));
}

/** Why, in the words of the error's first detail. Undefined where they repeat a name from the request. */
export const detailForPage = ({ details: [detail] }: AppError): string | undefined =>
  detail?.code.startsWith('unknown_') ? undefined : detail?.message;

const findHint = (problem: AppError): string | undefined => {
  if (problem.status === 404)
    return 'The address may be incomplete. If you followed a link in a mail, use the one in the latest mail.';
  if (problem.status === 401) return 'Programs read this address with an API key.';
  return detailForPage(problem);
};

type PageCtx = Pick<Ctx, 'log' | 'settings'>;

/**
 * Shows errors to browsers as a page; the next error handler sends the usual body to programs. Offers to sign
 * in below `sessionBase`, whose addresses a session can read. Mount it behind everything else.
 */
export function errorPages(
  { log, settings }: PageCtx,
  sessionBase: string,
  files: SmallPageFiles,
): ErrorRequestHandler {
  const signIn = ({ method, originalUrl }: Request): ErrorPage['action'] =>
    method === 'GET' && hasSignInPage(settings) && originalUrl.startsWith(`${sessionBase}/`)
      ? { label: 'Sign in', path: `/auth/login?returnTo=${encodeURIComponent(originalUrl)}` }
      : undefined;
  return (error: unknown, req, res, next) => {
    if (res.headersSent || !wantsPage(req)) return next(error);
    const shown = toAppError(error);
    logFailure(log, getRequestId(res), shown, error);
    sendErrorPage(
      res,
      shown,
      {
        reason: findHint(shown),
        action: shown.status === 401 ? signIn(req) : undefined,
      },
      files,
    );
  };
}

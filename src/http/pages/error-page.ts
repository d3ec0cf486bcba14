// The page that tells a person in a browser what went wrong. Plain HTML without scripts; it shows nothing
// that the request or another server sent: a link could put any words on it.
import { createHash } from 'node:crypto';
import type { ErrorRequestHandler, Request, Response } from 'express';
import type { Ctx } from '../../core/ctx.ts';
import type { AppError } from '../../core/errors.ts';
import { escapeHtml } from '../../core/escape-html.ts';
import { hasSignInPage } from '../../identity/sign-in.ts';
import { getRequestId, logFailure, setErrorHeaders, toAppError } from '../errors.ts';

const style = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif;background:#f6f7f9;color:#1b2430}
body{margin:0;padding:12vh 1rem 2rem;display:grid;justify-items:center}
main{box-sizing:border-box;width:100%;max-width:30rem;padding:1.5rem;border:1px solid #d5dae1;border-radius:10px;background:#fff}
h1{margin:0 0 .75rem;font-size:1.25rem;line-height:1.3}p{margin:0 0 1rem;overflow-wrap:anywhere}small{color:#56616f}
a{color:#1d5fd1}a.main{display:inline-block;padding:.55rem 1.1rem;border-radius:6px;background:#1d5fd1;color:#fff;font-weight:600;text-decoration:none}
a:focus-visible{outline:3px solid #1d5fd1;outline-offset:2px}
@media (prefers-color-scheme:dark){:root{background:#12161b;color:#e4e8ee}main{background:#1a2027;border-color:#343d48}small{color:#a0abb8}
a{color:#7db0ff}a.main{background:#7db0ff;color:#0d1b30}a:focus-visible{outline-color:#7db0ff}}`;

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

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

export function sendErrorPage(res: Response, problem: AppError, { reason, action }: ErrorPage): void {
  setErrorHeaders(res, problem);
  res.setHeader('Content-Security-Policy', policy);
  res.type('html').send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(problem.message)} · Portal Service</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(problem.message)}</h1>
${reason === undefined ? '' : `<p>${escapeHtml(reason)}</p>\n`}${action === undefined ? '' : `<p><a class="main" href="${escapeHtml(action.path)}">${action.label}</a></p>\n`}<p><a href="/">Go to the start page</a></p>
<small>Request ${escapeHtml(getRequestId(res))}</small>
</main>
</body>
</html>
`);
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
export function errorPages({ log, settings }: PageCtx, sessionBase: string): ErrorRequestHandler {
  const signIn = ({ method, originalUrl }: Request): ErrorPage['action'] =>
    method === 'GET' && hasSignInPage(settings) && originalUrl.startsWith(`${sessionBase}/`)
      ? { label: 'Sign in', path: `/auth/login?returnTo=${encodeURIComponent(originalUrl)}` }
      : undefined;
  return (error: unknown, req, res, next) => {
    if (res.headersSent || !wantsPage(req)) return next(error);
    const shown = toAppError(error);
    logFailure(log, getRequestId(res), shown, error);
    sendErrorPage(res, shown, {
      reason: findHint(shown),
      action: shown.status === 401 ? signIn(req) : undefined,
    });
  };
}

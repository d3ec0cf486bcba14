// The page that tells a person in a browser why signing in failed. Plain HTML without scripts; it shows nothing that the request or the
// identity provider sent.
import { createHash } from 'node:crypto';
import type { Response } from 'express';
import type { AppError } from '../../core/errors.ts';
import { escapeHtml } from '../../core/escape-html.ts';
import { requestIdOf } from '../errors.ts';

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
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A link to try again: as someone else when this person has no access; no link when sign-in isn't configured. */
function retryLink({ status }: AppError): string {
  if (status === 404) return '';
  if (status === 403) return '<p><a class="main" href="/auth/login?prompt=login">Sign in as someone else</a></p>';
  return '<p><a class="main" href="/auth/login">Sign in again</a></p>';
}

export function sendSignInError(res: Response, problem: AppError): void {
  const reason = problem.details[0]?.code === 'unavailable' ? undefined : problem.details[0]?.message;
  for (const [name, value] of Object.entries(problem.headers)) res.setHeader(name, value);
  res.setHeader('Content-Security-Policy', policy);
  res.setHeader('Cache-Control', 'no-store');
  res
    .status(problem.status)
    .type('html')
    .send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(problem.message)} · Portal Service</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(problem.message)}</h1>
${reason === undefined ? '' : `<p>${escapeHtml(reason)}</p>\n`}${retryLink(problem)}
<p><a href="/">Go to the start page</a></p>
<small>Request ${escapeHtml(requestIdOf(res))}</small>
</main>
</body>
</html>
`);
}

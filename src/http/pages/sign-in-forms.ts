// The pages on which people sign in without an identity provider: for the address, for the mailed code, and
// behind the link that the service prints. No script.
import type { Response } from 'express';
import type { AppError } from '../../core/errors.ts';
import { escapeHtml } from '../../core/text/escape-html.ts';
import { linkMinutes } from '../../identity/sign-in-link.ts';
import { setErrorHeaders } from '../errors.ts';
import { renderSmallPage, type SmallPageFiles, setPrivatePageHeaders } from './small-page.ts';

type Shown = { readonly files: SmallPageFiles; readonly problem?: AppError | undefined };

function send(res: Response, heading: string, lines: readonly string[], { files, problem }: Shown): void {
  setPrivatePageHeaders(res, "'self'");
  if (problem !== undefined) setErrorHeaders(res, problem);
  const shown =
    problem === undefined
      ? []
      : [
          `<p id="problem" role="alert">${escapeHtml([problem.message, problem.details[0]?.message].filter((text) => text !== undefined).join('. '))}</p>`,
        ];
  res.type('html').send(
    renderSmallPage({
      title: `${heading} · Portal Service`,
      body: [`<h1>${heading}</h1>`, ...shown, ...lines].map((line) => `    ${line}`).join('\n'),
      files,
    }),
  );
}

type AddressForm = Shown & {
  readonly email: string;
  readonly returnTo: string;
  /** Whether there is an identity provider to choose instead. */
  readonly provider: boolean;
};

export function sendAddressForm(res: Response, { email, returnTo, provider, ...shown }: AddressForm): void {
  const withProvider = `/auth/login?with=provider&returnTo=${encodeURIComponent(returnTo)}`;
  const lines = [
    '<form method="post" action="/auth/mail">',
    `<input type="hidden" name="returnTo" value="${escapeHtml(returnTo)}">`,
    '<label for="email">E-mail address</label>',
    `<input id="email" name="email" type="email" autocomplete="email" maxlength="254" required autofocus value="${escapeHtml(email)}">`,
    '<button type="submit">Send a code</button>',
    '</form>',
    ...(provider
      ? [
          '<p>People of a company with its own sign-in use that.</p>',
          `<p><a href="${escapeHtml(withProvider)}">Continue to the identity provider</a></p>`,
        ]
      : []),
  ];
  send(res, 'Sign in', lines, shown);
}

/** `email` is undefined when this browser has no attempt. */
export function sendCodeForm(
  res: Response,
  { email, ...shown }: Shown & { readonly email: string | undefined },
): void {
  const about =
    email === undefined
      ? 'Request a code in this browser first.'
      : `If ${email} may sign in with a code, one is on its way. It works once, for ten minutes, in this browser.`;
  const lines = [
    `<p>${escapeHtml(about)}</p>`,
    '<form method="post" action="/auth/code">',
    '<label for="code">Six digits</label>',
    '<input id="code" name="code" class="code" inputmode="numeric" autocomplete="one-time-code" pattern="[ \\-]*([0-9][ \\-]*){6}" title="Six digits" maxlength="20" required autofocus>',
    '<button type="submit">Sign in</button>',
    '</form>',
    '<p>No mail after a few minutes? Look in the spam folder, then <a href="/auth/login">request another code</a>.</p>',
  ];
  send(res, 'Enter the code', lines, shown);
}

export const sendOtherBrowserPage = (res: Response, files: SmallPageFiles): void =>
  send(
    res,
    'Return to the other browser',
    [
      '<p>The code works in the browser in which you asked for it. Enter the six digits of the mail there.</p>',
      '<p>If this is that browser, the ten minutes are over, or a newer code was requested: use the latest mail, or <a href="/auth/login">request another code</a>.</p>',
    ],
    { files },
  );

export const sendLinkPage = (
  res: Response,
  { email, token, files }: { email: string; token: string; files: SmallPageFiles },
): void =>
  send(
    res,
    'Sign in',
    [
      `<p>This link signs you in once, within ${linkMinutes} minutes after it was printed.</p>`,
      '<form method="post" action="/auth/link">',
      `<input type="hidden" name="token" value="${escapeHtml(token)}">`,
      `<button type="submit">Sign in as ${escapeHtml(email)}</button>`,
      '</form>',
    ],
    { files },
  );

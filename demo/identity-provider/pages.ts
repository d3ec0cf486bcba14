// The pages of the demo's identity provider: choosing a person, signing out, and errors. Plain HTML without
// scripts, responsive, in the reader's preferred color scheme.
import { createHash } from 'node:crypto';
import { escapeHtml } from '../../src/core/text/escape-html.ts';

const style = `*{box-sizing:border-box}
:root{color-scheme:light dark;--page:#f4f6f4;--card:#fff;--text:#17231c;--muted:#52605a;--line:#cfd8d2;--accent:#0f6b4f;--on:#fff}
@media (prefers-color-scheme:dark){:root{--page:#10151a;--card:#182025;--text:#e3ebe6;--muted:#9fb0a7;--line:#33413a;--accent:#6fd3ae;--on:#06231a}}
body{margin:0;padding:8vh 1rem 2rem;background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif}
main{max-width:28rem;margin:0 auto;padding:1.5rem;background:var(--card);border:1px solid var(--line);border-radius:10px}
h1{margin:0 0 .5rem;font-size:1.3rem;line-height:1.3}p{margin:0 0 1rem;overflow-wrap:anywhere}.muted{color:var(--muted);font-size:.9rem}
ul{list-style:none;margin:0 0 1rem;padding:0;display:grid;gap:.6rem}
button{font:inherit;cursor:pointer;border-radius:8px;border:1px solid var(--line);background:transparent;color:inherit;padding:.6rem 1rem}
ul button{width:100%;text-align:left;overflow-wrap:anywhere}ul button strong{display:block}ul button span{color:var(--muted);font-size:.9rem}
button:hover{border-color:var(--accent)}button.main{background:var(--accent);border-color:var(--accent);color:var(--on);font-weight:600}
button:focus-visible{outline:3px solid var(--accent);outline-offset:2px}`;

/** A source of a Content-Security-Policy: the origin of a web address, the scheme of any other. */
function toCspSource(address: string): string {
  const { origin, protocol } = new URL(address);
  return origin === 'null' ? protocol : origin;
}

/**
 * Content-Security-Policy. `form-action` also covers the redirects after a form is sent, so along with 'self'
 * it names the portal, or the redirect address of another client. Throws for an invalid address.
 */
export const contentSecurityPolicy = (portalUrl: string, redirectUri: string = portalUrl): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    `form-action 'self' ${toCspSource(redirectUri)}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · Demo identity provider</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</body>
</html>
`;

export type PersonChoice = { readonly id: string; readonly email: string; readonly about: string };

/** A client that registered itself; its name and redirect address are its own words. */
export type RegisteredClient = {
  readonly id: string;
  readonly name: string;
  readonly redirectUri: string;
  /** Whether it asked for a token that only reads. */
  readonly readsOnly: boolean;
};

const describeRequest = ({ name, redirectUri, readsOnly }: RegisteredClient): string =>
  `<p>A program that calls itself <strong>${escapeHtml(name)}</strong> asks to ${readsOnly ? 'read' : 'read and change'} what the person may ${readsOnly ? 'read' : 'read and change'} in the portal. You will be sent to ${escapeHtml(toCspSource(redirectUri))}. Go on only if you started this yourself.</p>`;

/** With `client`, the choice also allows that client what it asks for. */
export const choosePersonPage = (people: readonly PersonChoice[], client?: RegisteredClient): string =>
  page(
    'Who do you want to sign in as?',
    `<p>This is the identity provider of the demo. It runs on this machine and asks for no password.</p>
${client === undefined ? '' : describeRequest(client)}
<form method="post">
<ul>
${people
  .map(
    ({ id, email, about }) =>
      `<li><button name="person" value="${escapeHtml(id)}"><strong>${escapeHtml(email)}</strong><span>${escapeHtml(about)}</span></button></li>`,
  )
  .join('\n')}
</ul>
<button name="cancel" value="yes">Don't sign in</button>
</form>`,
  );

/** `form` is the provider's own form with its token; the buttons refer to it by its id. */
export const signOutPage = (form: string): string =>
  page(
    'Sign out of the demo identity provider too?',
    `<p>You are signed out of the portal. Sign out here as well to choose another person next time.</p>
${form}
<p><button class="main" form="op.logoutForm" name="logout" value="yes" autofocus>Sign out</button>
<button form="op.logoutForm">Stay signed in here</button></p>`,
  );

export const messagePage = (title: string, text: string): string => page(title, `<p>${escapeHtml(text)}</p>`);

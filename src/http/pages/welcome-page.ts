// The page at /: what the service is, how to sign in, and the reference pages. It holds no tenant's data and
// is the same for everyone who isn't signed in; someone who is goes on to the console.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Request, RequestHandler } from 'express';
import type { Ctx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { isId } from '../../core/id.ts';
import { escapeHtml } from '../../core/text/escape-html.ts';
import { findSession } from '../../identity/sessions.store.ts';
import { hasSignInPage } from '../../identity/sign-in.ts';
import { allowsSignInLinks } from '../../identity/sign-in-link.ts';
import { sessionCookies } from '../cookies.ts';
import type { FailureLimit } from '../failure-limit.ts';
import { type PageAssets, webFolders } from './page-assets.ts';
import { serveText } from './static-page.ts';

const demoEntrance = `<form method="post" action="/auth/demo"><button type="submit" class="main">Open the console as the demo's owner</button></form>
      <p class="fine">Or <a href="/auth/login?returnTo=/console&amp;prompt=login">sign in as another person of the demo</a>: an editor, a viewer or a newcomer without an organization.</p>`;
/** A form that signs in as one of the demo's customers. */
const portalEntrance = (slug: string | undefined): string =>
  slug === undefined
    ? ''
    : `\n      <form method="post" action="/portal/${escapeHtml(slug)}/demo"><button type="submit">See what a customer sees</button></form>`;
const demoPreparation = `<p role="status"><strong>The demo is being prepared.</strong> You can sign in within a few seconds: this page loads itself again.</p>`;
const signInEntrance = '<p><a class="main" href="/auth/login?returnTo=/console">Sign in</a></p>';
const linkEntrance = `<p>Open the sign-in link that the service printed when it started. It works once, for 15 minutes. To get another one, run
      <code>npm run admin -- sign-in-link</code> in the folder of the service.</p>
      <p class="fine">For other people, set an identity provider or <code>SIGN_IN_BY_MAIL</code>: see <a href="/docs/management#set-up-sign-in">Set up sign-in</a>.</p>`;
const noEntrance = `<p>Sign-in is not configured yet. Set an identity provider (<code>OIDC_ISSUER</code> and what belongs to it) or
      <code>SIGN_IN_BY_MAIL</code> in the environment of the service and start it again; see <a href="/docs/management#set-up-sign-in">Set up sign-in</a>.
      Programs use API keys and need none of this.</p>`;
const chooseEntrance = ({ settings }: Pick<Ctx, 'settings'>): string => {
  if (hasSignInPage(settings)) return signInEntrance;
  return allowsSignInLinks(settings) ? linkEntrance : noEntrance;
};

/** The demo as whose owner this request may sign in with one click. */
type DemoOf = (req: Request) => Readonly<Record<'findSlug' | 'findPortal', Find>> | undefined;
type Find = () => Promise<string | undefined>;
const preparationSeconds = 2;

/** Mount `page` for GET / and `openReference` for GET /reference. */
export function createWelcomePage(
  ctx: Ctx,
  failures: FailureLimit,
  { address }: PageAssets,
  findDemo: DemoOf,
): { page: RequestHandler; openReference: RequestHandler } {
  const template = readFileSync(path.join(webFolders.welcome, 'welcome.html'), 'utf8').replaceAll(
    '{{assets}}',
    address,
  );
  const pageWith = (entrance: string): RequestHandler =>
    serveText(
      template.replace('{{entrance}}', () => entrance),
      { cacheControl: 'no-store', sendsForms: true },
    );
  const preparing = pageWith(demoPreparation);
  const plain = pageWith(chooseEntrance(ctx));
  return {
    openReference,
    page: async (req, res, next) => {
      const tokens = sessionCookies(req, ctx.settings.publicUrl);
      if ((await findSession(ctx, tokens)) !== undefined) {
        res.setHeader('Cache-Control', 'no-store');
        return res.redirect(302, '/console');
      }
      if (tokens.length > 0) await failures.countGuess(req);
      const demo = findDemo(req);
      if (demo === undefined) return plain(req, res, next);
      if ((await demo.findSlug()) !== undefined)
        return pageWith(demoEntrance + portalEntrance(await demo.findPortal()))(req, res, next);
      res.setHeader('Refresh', String(preparationSeconds));
      return preparing(req, res, next);
    },
  };
}

/**
 * Turns the fields of the page's form into the address of a reference page. Throws 400 when they can't be
 * those of a version.
 */
const openReference: RequestHandler = (req, res) => {
  const { version, tenant } = req.query;
  const [label, id] = [version, tenant].map((value) =>
    typeof value === 'string' ? value.trim().toLowerCase() : '',
  );
  if (label === undefined || !/^v[1-9]\d{0,5}$/.test(label))
    throw new AppError('BAD_REQUEST', 'The version must be a label such as v1', {
      details: [{ path: 'version', code: 'invalid', message: 'must be a version label such as v1' }],
    });
  if (id === undefined || !(id === '' || isId(id)))
    throw new AppError('BAD_REQUEST', 'The tenant id is not valid', {
      details: [{ path: 'tenant', code: 'invalid', message: 'must be the id of an organization, or empty' }],
    });
  res.setHeader('Cache-Control', 'no-store');
  res.redirect(302, `/api/public/openapi/${label}/preview${id === '' ? '' : `#tenant=${id}`}`);
};

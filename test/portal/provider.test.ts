// Visitors sign in at an identity provider of the organization's own: the address that it verified decides, as a
// mailed code does. What it answers counts in the browser, on the host and for the organization that asked, once.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openClientStore } from '../../demo/identity-provider/client-store.ts';
import {
  type IdentityProviderServer,
  startIdentityProvider,
} from '../../demo/identity-provider/identity-provider.ts';
import { createIdentityProviderSecrets } from '../../demo/identity-provider/secrets.ts';
import { createApp } from '../../src/app.ts';
import { GuardedFetchError } from '../../src/core/network/guarded-fetch.ts';
import { startUsageCounter } from '../../src/public/index.ts';
import { openBrowser as openProviderBrowser } from '../setup/identity-provider.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { loadCompany } from './company.ts';
import { addDomain, asOwner, type PortalOwner, switchOn } from './served-portal.ts';
import { openBrowser, type VisitorBrowser } from './visiting.ts';

const lines: string[] = [];
/** Paths that were requested through the guarded fetch, which refuses them while it is `closed`. */
const fetched: string[] = [];
let closed = false;
const org = useOrganization({
  ...{ mail: true, dns: true, lines },
  alter: (ctx) => ({
    ...ctx,
    fetch: async (url, request) => {
      fetched.push(new URL(url).pathname);
      if (closed) throw new GuardedFetchError('refused-address', 'not allowed');
      return ctx.fetch(url, request);
    },
  }),
});
const host = 'portal.aster-wholesale.example';
const customers = ['orders@aster.example', 'blocked@birch.example', 'unverified@cedar.example'].map(
  (email, index) => ({ id: index + 1, name: `Customer ${index + 1}`, email, isinactive: false }),
);
const invoice = { trandate: '2026-01-15', duedate: '2026-02-15', total: 10, unpaid: 5, status: 'open' };
const invoices = customers.map(({ id }) => ({ id: 100 + id, tranid: `INV-${id}`, entity: id, ...invoice }));
const company = { customers, contacts: [], invoices };
const toPerson = (email: string) => ({ id: email, email, name: '', about: '' });
const people = [
  ...['Orders@Aster.example', 'blocked@birch.example', 'unknown@elsewhere.example'].map(toPerson),
  { ...toPerson('unverified@cedar.example'), emailVerified: false },
];

let provider: IdentityProviderServer;
let owner: PortalOwner;
/** Registers the portal at the provider, and tells the portal so. Returns the secret. */
async function connect({ api }: Pick<PortalOwner, 'api'>): Promise<string> {
  const { callbackUrls } = (await api('get', '/portal/sign-in')).body;
  const registered = await fetch(`${provider.issuer}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: callbackUrls }),
  });
  const { client_id: clientId, client_secret: clientSecret } = (await registered.json()) as Record<
    string,
    string
  >;
  const openIdConnect = { issuer: provider.issuer, clientId, clientSecret, label: 'Aster' };
  const saved = await api('put', '/portal/sign-in', { openIdConnect });
  expect(saved.status).toBe(200);
  return clientSecret ?? '';
}
let secret: string;

beforeAll(async () => {
  provider = await startIdentityProvider({
    ...{ port: 0, people, agentFor: '', secrets: await createIdentityProviderSecrets() },
    ...{ clients: await openClientStore(null), nowMs: () => performance.now() },
  });
  provider.startServing('http://127.0.0.1');
  await loadCompany(org.ctx, org.id, company);
  owner = await asOwner(org);
  await switchOn(owner);
  await addDomain(owner, org.dns, host);
  secret = await connect(owner);
});
afterAll(() => provider.stop());
beforeEach(() => org.admin('rate_limits').delete());

/** Through the provider, up to the page to which it sends the visitor back: its path and query. */
async function goThrough(
  { get, base }: VisitorBrowser,
  email: string | null,
  returnTo = '/',
): Promise<string> {
  const begun = await get(`/sign-in/provider?returnTo=${encodeURIComponent(returnTo)}`);
  expect(begun.status).toBe(303);
  const { throughProvider } = openProviderBrowser();
  const back = await throughProvider(begun.headers['location'] ?? '', email, `${base}/sign-in/callback`);
  return back.slice(new URL(back).origin.length + base.length);
}
const signIn = async (browser: VisitorBrowser, email: string | null, returnTo?: string) =>
  browser.get(await goThrough(browser, email, returnTo));
const sessions = async (): Promise<number> =>
  Number((await org.admin('portal_sessions').count<{ count: string }[]>())[0]?.count);
const notSignedIn = (browser: VisitorBrowser) => `${browser.base}/sign-in?problem=not_signed_in`;

describe.each([
  ['below the address of the service', {}],
  ['on a domain', { host }],
])('a visitor %s', (_title, at) => {
  it('signs in there, and sees the own records', async () => {
    const browser = openBrowser(org, at);
    const { text } = await browser.get('/sign-in?returnTo=%2Fx');
    expect(text).toContain(`href="${browser.base}/sign-in/provider?returnTo=%2Fx"`);
    expect(text).toContain('Sign in with Aster');
    const list = `${browser.base}/records/invoice`;
    const back = await signIn(browser, 'Orders@Aster.example', list);
    expect([back.status, back.headers['location']]).toEqual([303, `${browser.origin}${list}`]);
    expect(back.headers['cache-control']).toBe('private, no-store');
    const page = (await browser.get('/records/invoice')).text;
    expect([page.includes('INV-1'), page.includes('INV-2')]).toEqual([true, false]);
  });

  it('gets a new session, which ends the one that the browser held', async () => {
    const browser = openBrowser(org, at);
    await signIn(browser, 'Orders@Aster.example');
    const before = new Map(browser.held);
    await signIn(browser, 'Orders@Aster.example');
    const former = openBrowser(org, at);
    for (const [name, value] of before) former.held.set(name, value);
    expect([(await former.get('/')).status, (await browser.get('/')).status]).toEqual([303, 200]);
  });

  it.each(['https://evil.example/', '//evil.example', '/portal/other'])(
    'is sent to a page of the portal alone: not to %s',
    async (returnTo) => {
      const browser = openBrowser(org, at);
      const { headers } = await signIn(browser, 'Orders@Aster.example', returnTo);
      expect(headers['location']).toMatch(new RegExp(`^${browser.origin}${browser.base}/`));
      expect(headers['location']).not.toContain('evil');
    },
  );
});

it('a sign-in there is counted with its result', async () => {
  const usage = startUsageCounter(org.ctx);
  const app = createApp(org.ctx, { usage });
  for (const person of ['Orders@Aster.example', 'unknown@elsewhere.example', 'unverified@cedar.example'])
    await signIn(openBrowser(org, { app }), person);
  expect(usage.signIns).toMatchObject({ succeeded: 1, refused: 2, failed: 0 });
  await usage.stop();
});

describe('no session', () => {
  it('is for an address that is unknown or blocked: both get the same page', async () => {
    const { id } = (
      await owner.api('post', '/portal/visitors', { email: 'blocked@birch.example', blocked: true })
    ).body;
    const before = await sessions();
    const pages: string[] = [];
    for (const email of ['unknown@elsewhere.example', 'blocked@birch.example']) {
      const { status, text } = await signIn(openBrowser(org), email);
      expect([status, text.includes(email)]).toEqual([403, false]);
      pages.push(text.replaceAll(/[0-9a-f-]{36}|callback\?[^"]*/g, ''));
    }
    expect(pages[1]).toBe(pages[0]);
    await owner.api('patch', `/portal/visitors/${id}`, { blocked: false });
    expect((await signIn(openBrowser(org), 'blocked@birch.example')).status).toBe(303);
    expect(await sessions()).toBe(before + 1);
  });

  it('is for an address that the provider has not verified, or a visitor who cancels', async () => {
    const browser = openBrowser(org);
    const before = await sessions();
    const unverified = await signIn(browser, 'unverified@cedar.example');
    expect(unverified.headers['location']).toBe(`${browser.base}/sign-in?problem=not_verified`);
    expect((await browser.get('/sign-in?problem=not_verified')).text).toContain('is not verified there');
    expect((await signIn(browser, null)).headers['location']).toBe(notSignedIn(browser));
    expect((await browser.get('/sign-in?problem=not_signed_in')).text).toContain('You were not signed in');
    expect(await sessions()).toBe(before);
  });

  it('comes from another state, code or browser, or from a second use', async () => {
    const browser = openBrowser(org);
    const back = await goThrough(browser, 'Orders@Aster.example');
    const before = await sessions();
    const change = (name: string, value: string) => {
      const url = new URL(back, 'http://x');
      url.searchParams.set(name, value);
      return `${url.pathname}${url.search}`;
    };
    const refused = [
      await openBrowser(org).get(back),
      await browser.get(change('state', 'x'.repeat(43))),
      await browser.get('/sign-in/callback'),
      await browser.get(change('iss', 'https://elsewhere.example')),
    ];
    // The attempt is used up by then.
    refused.push(await browser.get(back));
    const other = openBrowser(org);
    await goThrough(other, 'Orders@Aster.example');
    refused.push(await other.get(change('code', 'x'.repeat(43))));
    expect(refused.map(({ headers }) => headers['location'])).toEqual(
      refused.map(() => notSignedIn(browser)),
    );
    expect(await sessions()).toBe(before);
  });

  it('comes from the answer to another organization or host, even with its cookie', async () => {
    const other = await org.another();
    await loadCompany(org.ctx, other.id, company);
    const theirs = await asOwner(other);
    await switchOn(theirs);
    const { app, ctx, mails } = org;
    const browser = openBrowser({ app, ctx, mails, slug: other.slug });
    expect((await browser.get('/sign-in/provider')).status).toBe(404);
    await connect(theirs);
    const before = await sessions();
    const back = await goThrough(browser, 'Orders@Aster.example');
    const attempt = browser.held.get(`portal_visitor_sign_in_${other.id}`) ?? '';
    expect(attempt).not.toBe('');
    const own = openBrowser(org);
    own.held.set(`portal_visitor_sign_in_${org.id}`, attempt);
    expect((await own.get(back)).headers['location']).toBe(notSignedIn(own));
    const onDomain = openBrowser(org, { host });
    const ownBack = await goThrough(own, 'Orders@Aster.example');
    onDomain.held.set(
      '__Host-portal_visitor_sign_in',
      own.held.get(`portal_visitor_sign_in_${org.id}`) ?? '',
    );
    expect((await onDomain.get(ownBack)).headers['location']).toBe(notSignedIn(onDomain));
    expect(await sessions()).toBe(before);
    expect((await own.get(ownBack)).status).toBe(303);
  });
});

it('all requests to the provider are guarded, and refused ones lead back to the form', async () => {
  await connect(owner);
  fetched.length = 0;
  await signIn(openBrowser(org), 'Orders@Aster.example');
  expect(fetched).toEqual(['/.well-known/openid-configuration', '/token', '/jwks', '/me']);
  secret = await connect(owner);
  closed = true;
  const browser = openBrowser(org);
  const refused = await browser.get('/sign-in/provider');
  closed = false;
  expect(refused.headers['location']).toBe(notSignedIn(browser));
});

describe('the settings', () => {
  const put = (openIdConnect: unknown) => owner.api('put', '/portal/sign-in', { openIdConnect });
  const code = (answer: Awaited<ReturnType<typeof put>>): [number, string] => [
    answer.status,
    answer.body.error?.details[0].code,
  ];

  it('keep the secret for its issuer and client, and never show it', async () => {
    const { body, text } = await owner.api('get', '/portal/sign-in');
    expect(text).not.toContain(secret);
    const { issuer, clientId, hasClientSecret, label } = body.openIdConnect;
    expect([hasClientSecret, label]).toEqual([true, 'Aster']);
    expect(body.callbackUrls).toEqual([
      `${org.ctx.settings.publicUrl}/portal/${org.slug}/sign-in/callback`,
      `https://${host}/sign-in/callback`,
    ]);
    expect(code(await put({ issuer, clientId: 'another' }))).toEqual([422, 'secret_needed']);
    expect(code(await put({ issuer: `${issuer}/x`, clientId }))).toEqual([422, 'not_an_issuer']);
    expect((await put({ issuer, clientId })).body.openIdConnect.hasClientSecret).toBe(true);
    const named = (await openBrowser(org).get('/sign-in')).text;
    expect(named).toContain(`Sign in with ${new URL(issuer).host}`);
    expect((await signIn(openBrowser(org), 'Orders@Aster.example')).status).toBe(303);
  });

  it('lead nowhere once the provider is removed, and the secret is in no log and no audit entry', async () => {
    const browser = openBrowser(org);
    const back = await goThrough(browser, 'Orders@Aster.example');
    expect((await put(null)).body.openIdConnect).toBeNull();
    expect([(await browser.get(back)).status, (await browser.get('/sign-in/provider')).status]).toEqual([
      404, 404,
    ]);
    expect((await browser.get('/sign-in')).text).not.toContain('Sign in with');
    const entries = await org.admin('audit_log').where({ action: 'portal.update-sign-in' });
    expect(entries.length).toBeGreaterThan(2);
    const kept = [...lines, JSON.stringify(entries)].join('\n');
    expect([
      kept.includes(secret),
      kept.includes(new URLSearchParams(back.split('?')[1]).get('code') ?? '-'),
    ]).toEqual([false, false]);
  });
});

// Signing out, and whether someone is signed in.
import supertest from 'supertest';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { openBrowser } from '../setup/identity-provider.ts';
import { useSignIn } from '../setup/use-sign-in.ts';
import { readAudit, statusOf } from './fixture.ts';

const site = useSignIn();
const signedIn = async () => {
  const browser = openBrowser();
  await browser.signIn(site.origin, 'owner');
  return browser;
};

describe('POST /auth/logout', () => {
  const signOut = (headers: Record<string, string> = { origin: site.origin }) => ({
    ...{ method: 'POST', headers },
  });
  const url = () => `${site.origin}/auth/logout`;

  it('ends the session and returns the address where the provider ends its own', async () => {
    const browser = await signedIn();
    const token = browser.session();
    const response = await browser.send(url(), signOut());
    expect(response.status).toBe(204);
    const next = new URL(response.headers.get('location') ?? '');
    expect([next.origin, next.pathname]).toEqual([site.provider.issuer, '/session/end']);
    const post_logout_redirect_uri = `${site.origin}/`;
    expect(Object.fromEntries(next.searchParams)).toEqual({ client_id: 'portal', post_logout_redirect_uri });
    expect([browser.session(), await statusOf(site, token)]).toEqual(['', 401]);
    const row = { actor_email: 'owner@acme.example', credential_kind: 'session' };
    expect((await readAudit(site, 'session.end')).at(-1)).toMatchObject(row);
    expect((await browser.send(next.href)).status).toBe(200);
  });

  it('redirects a browser to the provider, which asks for confirmation and redirects back', async () => {
    const browser = await signedIn();
    const form = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' };
    const asked = signOut({ origin: site.origin, ...form });
    const response = await browser.send(url(), { ...asked, body: 'a=b' });
    const { pathname } = new URL(response.headers.get('location') ?? '');
    expect([response.status, pathname]).toEqual([303, '/session/end']);
  });

  it('403 without the Origin of this service, and the session continues', async () => {
    const browser = await signedIn();
    expect((await browser.send(url(), signOut({}))).status).toBe(403);
    for (const origin of ['https://evil.example', 'null', `${site.origin}.evil.example`])
      expect([origin, (await browser.send(url(), signOut({ origin }))).status]).toEqual([origin, 403]);
    expect(await statusOf(site, browser.session())).toBe(200);
  });

  it('responds the same when not signed in; 405 for GET', async () => {
    for (const cookie of ['', 'portal_session=x', `portal_session=${'A'.repeat(43)}`]) {
      const response = await fetch(url(), signOut({ origin: site.origin, cookie }));
      expect(response.status).toBe(204);
    }
    const response = await fetch(url());
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

it('GET /auth/session tells, without a credential, whether sign-in is available and who is signed in', async () => {
  const url = `${site.origin}/auth/session`;
  const unauthenticated = await fetch(url, { headers: { cookie: 'portal_session=nonsense' } });
  const none = { signIn: true, session: null };
  expect([unauthenticated.status, await unauthenticated.json()]).toEqual([200, none]);
  const browser = await signedIn();
  const session = { user: { email: 'owner@acme.example' }, organization: { id: site.organization.id } };
  expect(await (await browser.send(url)).json()).toMatchObject({ session });
  const off = await supertest(createApp(site.database.ctx)).get('/auth/session');
  expect(off.body).toEqual({ signIn: false, session: null });
});

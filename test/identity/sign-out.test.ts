// Signing out, and whether someone is signed in.
import supertest from 'supertest';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { openBrowser } from '../setup/identity-provider.ts';
import { useSignIn } from '../setup/use-sign-in.ts';
import { readAudit, statusOf } from './fixture.ts';

const site = useSignIn();

describe('POST /auth/logout', () => {
  const signedIn = async () => {
    const browser = openBrowser();
    await browser.signIn(site.origin, 'owner');
    return browser;
  };

  it('ends the session and returns the address where the provider ends its own', async () => {
    const browser = await signedIn();
    const token = browser.session();
    const response = await browser.send(`${site.origin}/auth/logout`, {
      method: 'POST',
      headers: { origin: site.origin },
    });
    expect(response.status).toBe(204);
    const next = new URL(response.headers.get('location') ?? '');
    expect([next.origin, next.pathname]).toEqual([site.provider.issuer, '/session/end']);
    expect(Object.fromEntries(next.searchParams)).toEqual({
      client_id: 'portal',
      post_logout_redirect_uri: `${site.origin}/`,
    });
    expect([browser.session(), await statusOf(site, token)]).toEqual(['', 401]);
    expect((await readAudit(site, 'session.end')).at(-1)).toMatchObject({
      actor_email: 'owner@acme.example',
      credential_kind: 'session',
    });
    expect((await browser.send(next.href)).status).toBe(200);
  });

  it('redirects a browser to the provider, which asks for confirmation and redirects back', async () => {
    const browser = await signedIn();
    const form = {
      method: 'POST',
      headers: {
        origin: site.origin,
        accept: 'text/html',
        'content-type': 'application/x-www-form-urlencoded',
      },
    };
    const response = await browser.send(`${site.origin}/auth/logout`, { ...form, body: 'a=b' });
    expect([response.status, new URL(response.headers.get('location') ?? '').pathname]).toEqual([
      303,
      '/session/end',
    ]);
  });

  it('403 without the Origin of this service, and the session continues', async () => {
    const browser = await signedIn();
    for (const headers of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${site.origin}.evil.example` },
    ] as const) {
      const response = await browser.send(`${site.origin}/auth/logout`, {
        method: 'POST',
        headers: { ...headers },
      });
      expect(response.status).toBe(403);
    }
    expect(await statusOf(site, browser.session())).toBe(200);
  });

  it('responds the same when not signed in; 405 for GET', async () => {
    for (const cookie of ['', 'portal_session=x', `portal_session=${'A'.repeat(43)}`]) {
      const response = await fetch(`${site.origin}/auth/logout`, {
        method: 'POST',
        headers: { origin: site.origin, cookie },
      });
      expect(response.status).toBe(204);
    }
    const response = await fetch(`${site.origin}/auth/logout`);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

it('GET /auth/session tells, without a credential, whether sign-in is available and who is signed in', async () => {
  const unauthenticated = await fetch(`${site.origin}/auth/session`, {
    headers: { cookie: 'portal_session=nonsense' },
  });
  expect([unauthenticated.status, await unauthenticated.json()]).toEqual([
    200,
    { signIn: true, session: null },
  ]);
  const browser = openBrowser();
  await browser.signIn(site.origin, 'owner');
  expect(await (await browser.send(`${site.origin}/auth/session`)).json()).toMatchObject({
    session: { user: { email: 'owner@acme.example' }, organization: { id: site.organization.id } },
  });
  const off = await supertest(createApp(site.database.ctx)).get('/auth/session');
  expect(off.body).toEqual({ signIn: false, session: null });
});

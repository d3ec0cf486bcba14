// Sign-in through a real identity provider.
import supertest from 'supertest';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { DemoPerson } from '../../demo/identity-provider/identity-provider.ts';
import { createApp } from '../../src/app.ts';
import { createApi } from '../setup/api.ts';
import { openBrowser, type SignInSite, startSignInSite } from '../setup/identity-provider.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { createLimitClock } from '../setup/rate-limits.ts';
import { findStablePort } from '../setup/stable-port.ts';
import { until } from '../setup/until.ts';
import { useSignIn } from '../setup/use-sign-in.ts';
import { readAudit, refusal, statusOf } from './fixture.ts';

const lines: string[] = [];
const { clock, forget } = createLimitClock();
const site = useSignIn({
  clock,
  lines,
  people: [{ id: 'stranger', email: 'stranger@acme.example', name: 'Stranger', about: '' }],
});
beforeEach(() => forget(site.ctx));

/** Another person of the provider. */
const person = (id: string, more: Partial<DemoPerson> = {}): string => {
  site.people.push({ id, email: `${id}@acme.example`, name: `Person ${id}`, about: '', ...more });
  return id;
};
const users = (): Promise<string[]> => site.admin('users').orderBy('email').pluck('email');
const signInAs = (id: string, more?: Partial<DemoPerson>, at: { origin: string } = site) =>
  openBrowser().signIn(at.origin, more === undefined ? id : person(id, more));
const login = (query = '') => fetch(`${site.origin}/auth/login?${query}`, { redirect: 'manual' });

describe('signing in', () => {
  it('uses the authorization code flow with PKCE, state and nonce, and keeps their secrets in an encrypted cookie', async () => {
    const browser = openBrowser();
    const response = await browser.send(`${site.origin}/auth/login`);
    const url = new URL(response.headers.get('location') ?? '');
    expect([response.status, url.origin, url.pathname]).toEqual([302, site.provider.issuer, '/auth']);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'portal',
      redirect_uri: `${site.origin}/auth/callback`,
      response_type: 'code',
      scope: 'openid email profile',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(
      /^portal_sign_in=[^;]+; Max-Age=600; Path=\/auth; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
    );
    expect(cookie).not.toContain(url.searchParams.get('state'));
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
  });

  it('gives a known person a session, a name and an audit row', async () => {
    const browser = openBrowser({ 'user-agent': `Tester/1 ${'x'.repeat(400)}` });
    const started = await browser.begin(site.origin, '/api/platform/v1/whoami?a=1#part');
    const callback = await browser.throughProvider(started, 'owner');
    const response = await browser.send(callback);
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe(`${site.origin}/api/platform/v1/whoami?a=1#part`);
    const cookie = response.headers.getSetCookie().find((line) => line.startsWith('portal_session='));
    expect(cookie).toMatch(
      /^portal_session=[\w-]{43}; Max-Age=604800; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
    );
    expect([...browser.jar.keys()]).not.toContain('portal_sign_in');
    const me = (await (await browser.send(`${site.origin}/api/platform/v1/whoami`)).json()) as {
      user: object;
      credential: { id: string };
    };
    expect(me).toMatchObject({
      user: { id: site.organization.ownerId, email: 'owner@acme.example', name: 'Owner of Acme' },
      organization: { id: site.organization.id },
      credential: { kind: 'session' },
    });
    const row = await site.admin('sessions').where('id', me.credential.id).first();
    expect(row).toMatchObject({ ip: '127.0.0.1', active_organization_id: site.organization.id });
    expect(row.user_agent).toHaveLength(300);
    expect((await readAudit(site, 'session.start')).at(-1)).toMatchObject({
      actor_id: site.organization.ownerId,
      credential_kind: 'session',
      target_id: me.credential.id,
    });
  });

  it('issues a new token each time and ends the session that the browser still had', async () => {
    const browser = openBrowser();
    // As another site might plant it, to use the session of the person who signs in.
    const planted = 'x'.repeat(43);
    browser.jar.set('portal_session', { value: planted, path: '/' });
    await browser.signIn(site.origin, 'owner');
    const first = browser.session();
    await browser.signIn(site.origin, 'owner');
    expect(new Set([planted, first, browser.session()]).size).toBe(3);
    expect(await statusOf(site, planted)).toBe(401);
    expect([await statusOf(site, first), await statusOf(site, browser.session())]).toEqual([401, 200]);
    expect((await readAudit(site, 'session.end')).length).toBe(1);
  });

  it('over https its cookies are Secure and have the prefix __Host-, which a sibling domain can not set', async () => {
    const publicUrl = 'https://portal.acme.example';
    const secure = await startSignInSite({ ctx: site.database.ctx, people: site.people, publicUrl });
    onTestFinished(() => secure.stop());
    const browser = openBrowser();
    const login = await browser.send(`${secure.origin}/auth/login`);
    expect(login.headers.getSetCookie()[0]).toMatch(
      /^__Host-portal_sign_in=[^;]+; Max-Age=600; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Lax$/,
    );
    const callback = new URL(await browser.throughProvider(login.headers.get('location') ?? '', 'stranger'));
    expect(callback.origin).toBe('https://portal.acme.example');
    site.people.push({ id: 'second', email: 'owner@acme.example', name: '', about: '' });
    const again = openBrowser();
    const back = new URL(await again.throughProvider(await again.begin(secure.origin), 'second'));
    const response = await again.send(`${secure.origin}/auth/callback${back.search}`);
    expect(response.headers.get('location')).toBe('https://portal.acme.example/');
    const cookie = response.headers.getSetCookie().find((line) => line.includes('portal_session=')) ?? '';
    expect(cookie).toMatch(
      /^__Host-portal_session=[\w-]{43}; Max-Age=604800; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Lax$/,
    );
    // A sibling domain can only set a cookie without the prefix: it is ignored.
    const whoAmI = (cookies: string) =>
      fetch(`${secure.origin}/api/platform/v1/whoami`, { headers: { cookie: cookies } });
    const [own = ''] = cookie.split(';');
    expect((await whoAmI(`portal_session=${'a'.repeat(43)}; ${own}`)).status).toBe(200);
    expect((await whoAmI(own.replace('__Host-', ''))).status).toBe(401);
  });
});

describe('who may sign in', () => {
  it('403 without a verified e-mail address, and without an account or invitation', async () => {
    const before = await users();
    const unverified = await signInAs('unverified', { emailVerified: false });
    expect(await refusal(unverified)).toEqual([403, 'email_not_verified']);
    expect(await refusal(await signInAs('stranger'))).toEqual([403, 'no_account']);
    expect(await users()).toEqual(before);
  });

  it('creates and links a user with a pending invitation', async () => {
    const host = await makeOrganization(site.database.ctx);
    const { secret } = await makeKey(site.database.ctx, host.id, { permissions: ['write'] });
    const owner = createApi(createApp(site.database.ctx), secret);
    const roles = await owner('get', `/organizations/${host.id}/roles?q=viewer`);
    const waiting = { email: 'invited@acme.example', roleId: roles.body.data[0].id };
    expect((await owner('post', `/organizations/${host.id}/invitations`, waiting)).status).toBe(201);
    const browser = openBrowser();
    const invited = person('invited', { email: 'Invited@Acme.Example' });
    expect((await browser.signIn(site.origin, invited)).status).toBe(302);
    const read = async (path: string) => {
      const response = await browser.send(site.origin + path);
      return [response.status, await response.json()];
    };
    const user = { email: 'invited@acme.example', name: 'Person invited' };
    expect(await read('/auth/session')).toMatchObject([
      200,
      { signIn: true, session: { user, organization: null } },
    ]);
    expect(await read('/api/platform/v1/whoami')).toMatchObject([
      200,
      { organization: null, nextStep: { code: 'no_organization' } },
    ]);
    expect(await read('/api/platform/v1/whoami/organizations')).toMatchObject([200, { data: [] }]);
  });

  it('recognizes a linked person by the subject only, and keeps their name', async () => {
    const known = site.people.find(({ id }) => id === 'owner');
    if (known === undefined) throw new Error('no owner');
    const moved = { email: 'moved@acme.example', emailVerified: false, name: 'Another name' };
    site.people[site.people.indexOf(known)] = { ...known, ...moved };
    expect((await signInAs('owner')).status).toBe(302);
    site.people[site.people.findIndex(({ id }) => id === 'owner')] = known;
    const { email, name } = known;
    const stored = site.admin('users').where('id', site.organization.ownerId).first('email', 'name');
    expect(await stored).toEqual({ email, name });
  });
});

describe('signing in while sign-up is open', () => {
  let open: SignInSite;
  beforeAll(async () => {
    const settings = { allowSignup: true };
    open = await startSignInSite({ ctx: site.database.ctx, people: site.people, settings });
  });
  afterAll(() => open.stop());

  it('creates a user for anyone, only one for concurrent sign-ins', async () => {
    person('fresh', { name: ' Fresh\u0000\u0007 person ' });
    const browsers = [openBrowser(), openBrowser()];
    const callbacks = await Promise.all(
      browsers.map(async (browser) => browser.throughProvider(await browser.begin(open.origin), 'fresh')),
    );
    const answers = await Promise.all(browsers.map((browser, index) => browser.send(callbacks[index] ?? '')));
    expect(answers.map(({ status }) => status)).toEqual([302, 302]);
    const names = await site.admin('users').where('email', 'fresh@acme.example').pluck('name');
    expect(names).toEqual(['Fresh person']);
  });

  it('403 for an e-mail address that now belongs to another person', async () => {
    const shared = { email: 'shared@acme.example' };
    expect((await signInAs('first-holder', shared, open)).status).toBe(302);
    expect(await refusal(await signInAs('next-holder', shared, open))).toEqual([403, 'no_account']);
  });
});

it('prompt is passed to the provider; 400 for an unknown one', async () => {
  const location = (await login('prompt=login')).headers.get('location') ?? '';
  expect(new URL(location).searchParams.get('prompt')).toBe('login');
  expect((await login('prompt=none')).status).toBe(400);
});

describe('returnTo', () => {
  it.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '\\/evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    ' /x',
    'javascript:alert(1)',
    'evil.example',
    '',
    '/ü',
    `/${'x'.repeat(1_001)}`,
    '/a\u0000',
    '/a\\b',
  ])('400 for %j', async (returnTo) => {
    const response = await login(`returnTo=${encodeURIComponent(returnTo)}`);
    expect(await refusal(response)).toEqual([400, 'foreign_address']);
  });

  it('400 for two of them and for unknown parameters', async () => {
    for (const query of ['returnTo=/a&returnTo=/b', 'next=/a']) expect((await login(query)).status).toBe(400);
  });

  it.each([
    '/.//evil.example',
    '/./\u002f/evil.example',
    '/%2f/evil.example',
    '/@evil.example',
    '/..//evil.example',
  ])('stays here for %j', async (returnTo) => {
    const browser = openBrowser();
    const callback = await browser.throughProvider(await browser.begin(site.origin, returnTo), 'owner');
    const location = (await browser.send(callback)).headers.get('location') ?? '';
    expect(new URL(location, `${site.origin}/auth/callback`).origin).toBe(site.origin);
    expect(location.startsWith(`${site.origin}/`)).toBe(true);
  });
});

describe('problems', () => {
  it('404 with an explanation when no provider is configured', async () => {
    const app = createApp(site.database.ctx);
    for (const path of ['/auth/login', '/auth/callback?code=x']) {
      const answer = await supertest(app).get(path);
      expect([answer.status, answer.body.error.code]).toEqual([404, 'NOT_FOUND']);
      expect(answer.body.error.message).toContain('no identity provider is configured');
    }
    const page = await supertest(app).get('/auth/login').set('accept', 'text/html');
    expect(page.text).not.toContain('Sign in again');
  });

  it('503 while the provider is unreachable; sign-in works again once it is back', async () => {
    const port = await findStablePort();
    const away = await startSignInSite({ ctx: site.database.ctx, people: site.people, providerPort: port });
    await away.provider.stop();
    onTestFinished(() => away.stop());
    const down = await fetch(`${away.origin}/auth/login`, { redirect: 'manual' });
    expect([down.status, down.headers.get('retry-after')]).toEqual([503, '10']);
    const { createServer } = await import('node:http');
    const { issuer } = away.provider;
    const back = createServer((_req, res) => {
      const ends = { authorization: '/auth', token: '/token' };
      const metadata = {
        ...{ issuer, jwks_uri: `${issuer}/jwks` },
        ...{ authorization_endpoint: issuer + ends.authorization, token_endpoint: issuer + ends.token },
      };
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
    });
    await new Promise<void>((resolve) => back.listen(port, '127.0.0.1', resolve));
    try {
      expect((await fetch(`${away.origin}/auth/login`, { redirect: 'manual' })).status).toBe(302);
    } finally {
      back.closeAllConnections();
      await new Promise((resolve) => back.close(resolve));
    }
  });

  it('are a simple page for people: with a strict policy, without scripts and without texts from the provider', async () => {
    const browser = openBrowser({
      accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    });
    const callback = new URL(await browser.throughProvider(await browser.begin(site.origin), 'owner'));
    callback.searchParams.set('error', '<script>alert(1)</script>');
    callback.searchParams.set('error_description', '<img src=x onerror=alert(2)>');
    const response = await browser.send(callback.href);
    const page = await response.text();
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(page).not.toMatch(/script|onerror|alert/);
    expect(page).toContain('href="/auth/login"');
    expect(page).not.toContain('Start again'); // the button says so
  });

  it('leave no codes, tokens, states or verifiers in the log', async () => {
    const browser = openBrowser();
    const callback = new URL(await browser.throughProvider(await browser.begin(site.origin), 'owner'));
    const box = browser.jar.get('portal_sign_in')?.value ?? '';
    const response = await browser.send(callback.href);
    // It is logged after the response was sent.
    const requestId = response.headers.get('x-request-id') ?? 'none';
    const log = await until(
      async () =>
        lines.some((line) => line.includes(requestId) && line.includes('/auth/callback')) && lines.join('\n'),
    );
    const sent = ['code', 'state'].map((name) => callback.searchParams.get(name) ?? '');
    for (const secret of [...sent, box, browser.session()]) {
      expect(secret.length).toBeGreaterThan(20);
      expect((secret ?? '').length).toBeGreaterThan(20);
      expect(log).not.toContain(secret);
    }
    expect(log).not.toMatch(/code_verifier|id_token|access_token|eyJ/);
  });
});

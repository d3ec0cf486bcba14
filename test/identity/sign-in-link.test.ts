// Signing in with the link that a service on one's own machine prints: opening it changes nothing, its button
// works once, within 15 minutes, in this machine's browser alone.
import type { Express } from 'express';
import supertest from 'supertest';
import { beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Settings } from '../../src/core/settings.ts';
import { createOwnerLink, createSignInLink } from '../../src/identity/sign-in-link.ts';
import { useOrganization } from '../setup/use-organization.ts';

const publicUrl = 'http://127.0.0.1:8080';
const own = { host: '127.0.0.1:8080', origin: publicUrl };
let passedMs = 0;
const org = useOrganization({
  settings: { publicUrl, signIn: { byMail: false, byLink: true } },
  alter: (ctx) => ({
    ...ctx,
    clock: {
      now: () => new Date(ctx.clock.now().getTime() + passedMs),
      monotonicMs: () => ctx.clock.monotonicMs(),
    },
  }),
});
beforeEach(async () => {
  passedMs = 0;
  await org.admin('rate_limits').delete();
});

const createLink = async (): Promise<{ path: string; token: string; email: string }> => {
  const { link, email } = (await createOwnerLink(org.ctx, org.id)) ?? { link: '', email: '' };
  expect(link.startsWith(`${publicUrl}/auth/link?token=`)).toBe(true);
  const { pathname, search, searchParams } = new URL(link);
  return { path: pathname + search, token: searchParams.get('token') ?? '', email };
};
const press = (token: string, headers: Record<string, string> = own, app: Express = org.app) =>
  supertest(app).post('/auth/link').type('form').set(headers).send({ token });
const withSettings = (more: Partial<Settings>): Express =>
  createApp({ ...org.ctx, settings: { ...org.ctx.settings, ...more } });

describe('the link', () => {
  it('opens a page with a button, which signs the owner in, once', async () => {
    const { path, token, email } = await createLink();
    for (let opened = 0; opened < 3; opened += 1) {
      const page = await supertest(org.app)
        .get(path)
        .set({ ...own, accept: 'text/html' });
      expect([page.status, page.get('Set-Cookie'), page.headers['cache-control']]).toEqual([
        200,
        undefined,
        'no-store',
      ]);
      expect(page.text).toContain(`Sign in as ${email}</button>`);
      expect(page.text).toContain(`value="${token}"`);
    }
    const done = await press(token);
    expect([done.status, done.headers['location']]).toEqual([303, '/console']);
    const cookie = String(done.get('Set-Cookie')).split(';')[0] ?? '';
    const { body } = await supertest(org.app).get('/auth/session').set({ cookie });
    expect(body.session).toMatchObject({ user: { email }, organization: { id: org.id } });
    const again = await press(token);
    expect([again.status, again.get('Set-Cookie')]).toEqual([400, undefined]);
    expect(again.body.error.details[0].message).toContain('npm run admin -- sign-in-link');
    const used = await supertest(org.app)
      .get(path)
      .set({ ...own, accept: 'text/html' });
    expect([used.status, used.text.includes('<form'), used.text.includes('/auth/login')]).toEqual([
      400,
      false,
      false,
    ]);
  });

  it('ends after 15 minutes', async () => {
    const { path, token } = await createLink();
    passedMs = 15 * 60_000 + 1;
    expect((await press(token)).status).toBe(400);
    expect((await supertest(org.app).get(path).set(own)).status).toBe(400);
  });

  it.each(['', 'x', 'a.b.c.d'])('%j is none', async (token) => {
    expect((await press(token)).status).toBe(400);
    expect((await supertest(org.app).get('/auth/link').query({ token }).set(own)).status).toBe(400);
  });

  it('is none for someone who has no account any more', async () => {
    const token = new URL(
      createSignInLink(org.ctx, { id: '', email: 'gone@acme.example', name: '' }),
    ).searchParams.get('token');
    expect((await press(token ?? '')).status).toBe(403);
  });

  it.each<[string, Record<string, string>]>([
    ['of another site', { ...own, origin: 'https://evil.example' }],
    ['without an origin', { host: own.host }],
    ['by DNS rebinding', { host: 'evil.example:8080', origin: publicUrl }],
    ['through a proxy', { ...own, 'x-forwarded-for': '203.0.113.9' }],
    ['of a page that is cross-site', { ...own, 'sec-fetch-site': 'cross-site' }],
  ])('is refused in a request %s, and still works afterwards', async (_title, headers) => {
    const { token } = await createLink();
    const refused = await press(token, headers);
    // At a name that is not the service's own there is nothing.
    const status = 'host' in headers && headers.host?.startsWith('evil') ? 404 : 403;
    expect([refused.status, refused.get('Set-Cookie')]).toEqual([status, undefined]);
    await press(token).expect(303);
  });

  it('opens for no other host', async () => {
    const { path } = await createLink();
    expect((await supertest(org.app).get(path).set({ host: 'evil.example' })).status).toBe(404);
  });

  it.each<[string, Partial<Settings>]>([
    ['in production or on an address that others reach', { signIn: { byMail: false, byLink: false } }],
    [
      'next to an identity provider',
      {
        oidc: {
          issuer: 'http://127.0.0.1:9',
          audience: 'a',
          jwksUri: 'http://127.0.0.1:9/j',
          userinfoUri: null,
          client: null,
        },
      },
    ],
  ])('does not exist %s', async (_title, settings) => {
    const { path, token } = await createLink();
    const app = withSettings(settings);
    expect((await press(token, own, app)).status).toBe(404);
    expect((await supertest(app).get(path).set(own)).status).toBe(404);
    expect((await supertest(app).get('/').set(own)).text).not.toContain('sign-in-link');
  });

  it('is what the start page tells of', async () => {
    expect((await supertest(org.app).get('/').set(own)).text).toContain('npm run admin -- sign-in-link');
  });
});

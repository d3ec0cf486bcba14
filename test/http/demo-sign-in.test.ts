// The demo's sign-in with one click asks for no proof of who the person is. So it exists in the demo alone,
// and works for its own page on its own machine alone: not for other sites, not through another name of this
// machine, a proxy or a tunnel.
import type { Express } from 'express';
import supertest from 'supertest';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { consoleText } from '../../demo/demo.ts';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { startService } from '../../src/service.ts';
import { testDatabase } from '../setup/database.ts';
import { makeOrganization, makeSession } from '../setup/organization.ts';
import { useStarted } from '../setup/use-started.ts';

const publicUrl = 'http://127.0.0.1:8080';
const own = { host: '127.0.0.1:8080', origin: publicUrl };
const owner = { email: 'owner@demo.example', name: 'Demo owner' };

const database = useStarted(() => testDatabase({ settings: { publicUrl } }));
let demo: Express;
let organization: { id: string; ownerId: string };
beforeAll(async () => {
  organization = await makeOrganization(database.ctx, { name: 'Demo wholesaler', ownerEmail: owner.email });
  demo = createApp(database.ctx, { demoOwner: owner });
});

const click = (app: Express, headers: Record<string, string>) =>
  supertest(app).post('/auth/demo').set(headers);
/** The status, and the cookie with which a session begins. */
const shown = (response: supertest.Response) => [response.status, response.get('Set-Cookie')];
const parseSession = (response: supertest.Response): string =>
  /portal_session=([^;]+)/.exec(response.get('Set-Cookie')?.join('\n') ?? '')?.[1] ?? '';

describe('POST /auth/demo', () => {
  it('signs in as the owner and leads to the console', async () => {
    const response = await click(demo, own);
    expect(response.status).toBe(303);
    expect(response.headers).toMatchObject({ location: '/console', 'cache-control': 'no-store' });
    expect(response.get('Set-Cookie')?.join()).toMatch(
      /^portal_session=[^;]+; Max-Age=\d+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
    );
    const cookie = `portal_session=${parseSession(response)}`;
    const { body } = await supertest(demo).get('/api/platform/v1/whoami').set({ cookie }).expect(200);
    expect(body).toMatchObject({ user: { email: owner.email }, organization: { id: organization.id } });
    const audited = await inTransaction({ db: database.ctx.db, organizationId: organization.id }, (tx) =>
      tx('audit_log').where({ action: 'session.start' }),
    );
    expect(audited).toHaveLength(1);
  });

  it('ends the session that the browser had', async () => {
    const before = await makeSession(database.ctx, organization.ownerId, organization.id);
    const response = await click(demo, { ...own, cookie: before.cookie, 'sec-fetch-site': 'same-origin' });
    expect(parseSession(response)).not.toBe('');
    await supertest(demo).get('/api/platform/v1/whoami').set({ cookie: before.cookie }).expect(401);
  });

  it.each<[string, Record<string, string>]>([
    ['of another site', { ...own, origin: 'https://evil.example' }],
    ['of another site on this machine', { ...own, origin: 'http://127.0.0.1:3000' }],
    ['of another name of this machine', { ...own, origin: 'http://localhost:8080' }],
    ['of a page whose origin is hidden', { ...own, origin: 'null' }],
    ['without an origin', { host: own.host }],
    ['by DNS rebinding', { host: 'evil.example:8080', origin: 'http://evil.example:8080' }],
    ['by DNS rebinding with a forged origin', { host: 'evil.example:8080', origin: publicUrl }],
    ['for a host that only begins like this one', { ...own, host: '127.0.0.1.evil.example:8080' }],
    ['for a host behind a user name', { ...own, host: '127.0.0.1:8080@evil.example' }],
    ['for an address of the network', { ...own, host: '192.168.1.10:8080' }],
    ['through a proxy', { ...own, 'x-forwarded-for': '203.0.113.9' }],
    ['through a tunnel', { ...own, 'x-forwarded-host': 'demo.tunnel.example' }],
    ['through a proxy of RFC 7239', { ...own, forwarded: 'for=203.0.113.9' }],
    ['through a proxy that says so', { ...own, via: '1.1 proxy' }],
    ...[
      'x-forwarded',
      'x-forwarded-proto',
      'x-forwarded-port',
      'x-original-host',
      'x-original-for',
      'x-real-ip',
      'true-client-ip',
      'x-client-ip',
      'x-cluster-client-ip',
      'client-ip',
      'cf-connecting-ip',
    ].map((name): [string, Record<string, string>] => [`with ${name}`, { ...own, [name]: '203.0.113.9' }]),
    ...['cross-site', 'same-site', 'none', ''].map((site): [string, Record<string, string>] => [
      `of a page that is ${site === '' ? 'of an unknown site' : site}`,
      { ...own, 'sec-fetch-site': site },
    ]),
  ])('%s is refused', async (_title, headers) => {
    const response = await click(demo, headers);
    // At a name that is not the service's own there is nothing.
    const isNamed = 'host' in headers && headers.host.includes('evil.example');
    const expected = isNamed ? [404, undefined, 'NOT_FOUND'] : [403, undefined, 'FORBIDDEN'];
    expect([...shown(response), response.body.error.code]).toEqual(expected);
  });

  it('is refused where the service has an address that others know', async () => {
    const settings = { ...database.ctx.settings, publicUrl: 'https://demo.example' };
    const app = createApp({ ...database.ctx, settings }, { demoOwner: owner });
    for (const origin of ['https://demo.example', publicUrl])
      expect((await click(app, { ...own, origin })).status).toBe(403);
    expect((await supertest(app).get('/').set(own)).text).not.toContain('/auth/demo');
  });

  it('is not answered to other methods', async () => {
    const response = await supertest(demo).get('/auth/demo').set(own);
    expect([...shown(response), response.headers['allow']]).toEqual([405, undefined, 'POST']);
  });

  it('does not exist outside of the demo', async () => {
    const app = createApp(database.ctx);
    const response = await click(app, own);
    expect(shown(response)).toEqual([404, undefined]);
    expect((await supertest(app).get('/').set(own)).text).not.toContain('/auth/demo');
  });
});

describe('a demo whose organization does not exist yet', () => {
  it('says that it is being prepared, and signs in once it is', async () => {
    const first = { email: 'first@demo.example', name: 'First owner' };
    const starting = createApp(database.ctx, { demoOwner: first });
    const page = await supertest(starting).get('/').set(own).expect(200);
    expect(page.text).toContain('The demo is being prepared.');
    expect(page.text).not.toContain('/auth/demo');
    expect(page.headers['refresh']).toBe('2');
    const early = await click(starting, own);
    expect([...shown(early), early.headers['location']]).toEqual([303, undefined, '/']);
    const ownerEmail = first.email;
    const { id } = await makeOrganization(database.ctx, { name: 'First wholesaler', ownerEmail });
    const prepared = await supertest(starting).get('/').set(own);
    expect(prepared.text).toContain('action="/auth/demo"');
    expect(prepared.headers['refresh']).toBeUndefined();
    const response = await click(starting, own);
    expect(response.headers['location']).toBe('/console');
    const { body } = await supertest(starting)
      .get('/auth/session')
      .set({ cookie: `portal_session=${parseSession(response)}` });
    expect(body.session.organization.id).toBe(id);
  });
});

describe('the button on the welcome page', () => {
  const shows = async (headers: Record<string, string>): Promise<boolean> =>
    (await supertest(demo).get('/').set(headers)).text.includes('action="/auth/demo"');

  it('is there for a browser on this machine alone', async () => {
    expect(await shows({ host: own.host })).toBe(true);
    expect(await shows({ host: 'evil.example:8080' })).toBe(false);
    expect(await shows({ host: own.host, 'x-forwarded-for': '203.0.113.9' })).toBe(false);
    expect(await shows({ host: own.host, 'x-original-host': 'demo.tunnel.example' })).toBe(false);
    // An address that was typed or followed shows the page; its button posts from the page itself.
    for (const site of ['none', 'cross-site'])
      expect(await shows({ host: own.host, 'sec-fetch-site': site })).toBe(true);
  });
});

describe('a service with a demo owner', () => {
  const start = (HOST: string) => {
    const config = readConfig({
      HOST,
      PORT: '0',
      LOG_LEVEL: 'silent',
      ENCRYPTION_KEY: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    });
    return startService(
      config,
      { control: database.service, data: database.service, owner: database.address, embedded: undefined },
      undefined,
      owner,
    );
  };

  it.each([
    ['127.0.0.1', 303],
    ['0.0.0.0', 404],
  ])('listening on %s answers %i', async (host, expected) => {
    const service = await start(host);
    onTestFinished(() => service.stop());
    const response = await fetch(`${service.localUrl}/auth/demo`, {
      method: 'POST',
      headers: { origin: service.localUrl },
      redirect: 'manual',
    });
    expect(response.status).toBe(expected);
    const page = await (await fetch(service.localUrl)).text();
    const text = consoleText(service);
    expect([
      text.startsWith(`The console is at ${service.url}`),
      text.includes('its first page signs you in'),
    ]).toEqual([true, expected === 303]);
    expect(service.hasDemoSignIn).toBe(expected === 303);
    // The organization of this demo exists: the page has the button wherever the text says so.
    expect(page.includes('action="/auth/demo"')).toBe(expected === 303);
  });
});

// The page at /: for someone who isn't signed in it says what this is and how to sign in; someone who is goes
// on to the console.
import supertest from 'supertest';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { createId } from '../../src/core/id.ts';
import { createSecretToken } from '../../src/core/secrets/secret-token.ts';
import { testSettings } from '../setup/database.ts';
import { makeSession } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';

const publicUrl = 'http://127.0.0.1:8080';
const oidc = {
  issuer: 'http://127.0.0.1:9',
  audience: 'portal',
  jwksUri: 'http://127.0.0.1:9/jwks',
  userinfoUri: null,
  client: { id: 'portal', secret: null },
};

const org = useOrganization({ name: 'Secret Company', settings: { publicUrl, oidc } });

const open = (address: string, host = '127.0.0.1:8080', more: Record<string, string> = {}, by = org.app) =>
  supertest(by)
    .get(address)
    .set({ host, accept: 'text/html', ...more });

describe('GET /', () => {
  it('says what this is, and links to sign-in and to the references', async () => {
    const { headers, text } = await open('/').expect(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    });
    for (const link of ['/auth/login?returnTo=/console', '/api/platform/v1/openapi/preview', '/reference'])
      expect(text).toContain(`"${link}"`);
    expect(text).not.toMatch(/\{\{|Secret Company|\/auth\/demo/);
    expect(headers['content-security-policy']).toContain("form-action 'self'");
    expect(headers['content-security-policy']).toContain("script-src 'self'");
  });

  it('has its files', async () => {
    const { text } = await open('/');
    const files = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, address = '']) => address);
    const names = files.map((address) => address.split('/').at(-1));
    expect(names).toEqual(['icon.svg', 'tokens.css', 'welcome.css', 'theme.js', 'icon.svg']);
    for (const address of files)
      expect((await open(address)).headers['cache-control']).toContain('immutable');
    await open('/assets/0/welcome/welcome.css').expect(404);
  });

  it('says how to configure sign-in where there is none', async () => {
    const settings = { ...testSettings, publicUrl, oidc: null, signIn: { byMail: false, byLink: false } };
    const { text } = await open('/', undefined, {}, createApp({ ...org.ctx, settings }));
    expect(text).toMatch(/OIDC_ISSUER.*SIGN_IN_BY_MAIL/s);
    expect(text).not.toContain('/auth/');
  });

  it('leads to the console with a session, and nowhere with one that is not known', async () => {
    const { cookie } = await makeSession(org.ctx, org.owner.id, org.id);
    const known = await open('/', undefined, { cookie }).expect(302);
    expect(known.headers).toMatchObject({ location: '/console', 'cache-control': 'no-store' });
    const unknown = { cookie: `portal_session=${createSecretToken()}` };
    expect((await open('/', undefined, unknown)).status).toBe(200);
    // A cookie that is not known may be a guess.
    const answers: number[] = [];
    for (let count = 0; count < 25; count += 1) answers.push((await open('/', undefined, unknown)).status);
    expect(answers.at(-1)).toBe(429);
    expect((await open('/', undefined, { cookie })).status).toBe(302);
  });

  it('answers HEAD, and no other method', async () => {
    await supertest(org.app).head('/').set('host', '127.0.0.1:8080').expect(200);
    await supertest(org.app).post('/').expect(404);
  });
});

describe('GET /reference', () => {
  it('leads to the page of that version, for that tenant', async () => {
    const tenant = createId();
    const to = async (search: string) => (await open(`/reference?${search}`).expect(302)).headers['location'];
    expect(await to(`version=v2&tenant=${tenant}`)).toBe(`/api/public/openapi/v2/preview#tenant=${tenant}`);
    expect(await to(`version=+V1+&tenant=%20${tenant.toUpperCase()}`)).toBe(
      `/api/public/openapi/v1/preview#tenant=${tenant}`,
    );
    expect(await to('version=v1&tenant=')).toBe('/api/public/openapi/v1/preview');
  });

  it.each([
    'version=',
    '',
    'version=1',
    'version=v1/../../x',
    'version=v1&version=v2',
    'version=v1&tenant=abc',
    'version=v1&tenant=%0d%0aSet-Cookie:%20a=b',
    'version=//elsewhere.example',
  ])('%s is refused', async (search) => {
    const { headers } = await open(`/reference?${search}`).expect(400);
    expect([headers['location'], headers['set-cookie']]).toEqual([undefined, undefined]);
  });
});

describe('another loopback name of the same service', () => {
  it.each([
    ['/', '/'],
    ['/console', '/console'],
    ['/console/syncs?page=2', '/console/syncs?page=2'],
    ['/console//elsewhere.example', '/console//elsewhere.example'],
  ])('%s leads to the name where sign-in works', async (address, expected) => {
    for (const host of ['localhost:8080', '[::1]:8080', '127.0.0.2:8080', 'LOCALHOST:8080']) {
      const { headers } = await open(address, host).expect(302);
      expect(headers['location']).toBe(`${publicUrl}${expected}`);
    }
  });

  it('is not assumed of other ports; at names that others can have there is nothing', async () => {
    await open('/', 'localhost:9999').expect(200);
    const named = ['portal.example', 'localhost.evil.example:8080', 'localhost:8080@evil.example'];
    for (const host of named) await open('/', host).expect(404);
  });

  it('does not matter where the service has an address of its own', async () => {
    const settings = { ...org.ctx.settings, publicUrl: 'https://portal.example' };
    expect((await open('/', 'localhost:8080', {}, createApp({ ...org.ctx, settings }))).status).toBe(200);
  });
});

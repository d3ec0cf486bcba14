// API8:2023 Security misconfiguration. The first headers of every response: test/public/headers; responses to
// requests that Node rejects: test/http/server; what is logged: test/contract/secrets. Here every kind of
// response, including pages and errors, of the whole server process: strict headers, nothing about the
// technology behind it, methods, hosts and origins without effect, and settings that production rejects.
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { BadEnvironment, readConfig } from '../../src/config.ts';
import { createLog } from '../../src/core/log.ts';
import { serveProbes } from '../../src/http/health.ts';
import { platformBase } from '../../src/http/served.ts';
import { createMetrics } from '../../src/operate/metrics.ts';
import { listen } from '../contract/http.ts';
import { loadInvoices, publishVersion } from '../public/fixture.ts';
import { makeSession } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization({
  settings: { publicUrl: 'https://portal.example', corsOrigins: ['https://shop.example'] },
});
let server: Server;
let origin: string;
beforeAll(async () => {
  const { ctx, app, id } = org;
  await loadInvoices(ctx, id, [{ id: 1, tranid: 'INV-1', status: 'open' }]);
  await publishVersion(ctx, id);
  const readiness = async () => ({ ready: true, checks: { database: 'ok' } });
  server = createServer({ keepAliveTimeout: 0 }, serveProbes(readiness, ctx.log, app));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const keyed = () => ({ authorization: `Bearer ${org.owner.secret}`, 'x-tenant-id': org.id });
type Asked = [name: string, path: string, init?: () => RequestInit];
const whoami = `${platformBase}/whoami`;
const keyedGet = () => ({ headers: keyed() });
const jsonType = { 'content-type': 'application/json' };
const keyedPost = (body: string) => () => ({ method: 'POST', headers: { ...keyed(), ...jsonType }, body });
const asked: Asked[] = [
  ['a management read', whoami, keyedGet],
  ['no credential', whoami],
  ['not found', `${platformBase}/nothing`, keyedGet],
  ['a refused body', `${platformBase}/teams`, keyedPost('{"')],
  ['too large a body', `${platformBase}/teams`, keyedPost(`"${'x'.repeat(1_100_000)}"`)],
  ['another method', whoami, () => ({ method: 'DELETE', headers: keyed() })],
  ['the description', `${platformBase}/openapi`],
  ['a list', '/api/public/v1/invoices', keyedGet],
  ['a record', '/api/public/v1/invoices/1', keyedGet],
  ['an export', '/api/public/v1/invoices', () => ({ headers: { ...keyed(), accept: 'text/csv' } })],
  ['a public refusal', '/api/public/v1/invoices?nonsense=1', keyedGet],
  ['no public credential', '/api/public/v1/invoices'],
  ['a public description', '/api/public/openapi/v1', keyedGet],
  ['MCP', '/mcp', keyedPost('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')],
  ['MCP refused', '/mcp', () => ({ method: 'POST', headers: jsonType, body: '{}' })],
  ['the bare address', '/'],
  ['the reference', `${platformBase}/openapi/preview`],
  ['a public reference', '/api/public/openapi/v1/preview'],
  ['the page of an invitation', '/invitations/accept'],
  ['an unsubscribe page', '/unsubscribe?token=x'],
  ['a payment page', '/pay/sandbox/x'],
  ['who is signed in', '/auth/session'],
  ['sign-in that is off', '/auth/login', () => ({ headers: { accept: 'text/html' } })],
  ['nowhere', '/nowhere'],
  ['a malformed escape', '/%'],
];
const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${origin}${path}`, { redirect: 'manual', ...init });

describe('every kind of response', () => {
  it.each(asked)(
    '%s: strict headers, nothing about the technology behind it, and private responses are not cached',
    async (_name, path, init) => {
      const response = await ask(path, init?.());
      const text = await response.text();
      const header = (name: string) => response.headers.get(name) ?? '';
      expect(header('x-content-type-options')).toBe('nosniff');
      expect(header('x-frame-options')).toMatch(/^(?:DENY|SAMEORIGIN)$/);
      expect(header('strict-transport-security')).toMatch(/^max-age=\d{8}/);
      expect(header('content-security-policy')).toContain("default-src 'none'");
      expect(header('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(header('content-security-policy')).not.toMatch(
        /unsafe-eval|script-src[^;]*(?:unsafe-inline|\*|https?:)/,
      );
      expect(header('referrer-policy')).toMatch(/no-referrer|same-origin/);
      expect(header('cross-origin-resource-policy')).toBe('same-origin');
      expect(header('permissions-policy')).toContain('camera=(), ');
      for (const name of ['server', 'x-powered-by', 'access-control-allow-origin', 'x-aspnet-version', 'via'])
        expect([name, header(name)]).toEqual([name, '']);
      expect(response.headers.getSetCookie()).toEqual([]);
      if (response.status >= 400)
        expect(text).not.toMatch(
          /node_modules|\bat [\w.<>]+ \(|\.ts:\d+|ECONN|postgres|knex|express|"stack"/i,
        );
      const isSomebodys = response.status >= 400 || [whoami, '/auth/session', '/mcp'].includes(path);
      if (isSomebodys) expect(header('cache-control')).toBe('no-store');
      else if (path.startsWith('/api/public')) expect(header('cache-control')).toMatch(/private|no-/);
    },
  );
});

/** Sends a raw request; returns the status line and the rest of the response. */
const raw = (text: string): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1', () => socket.write(text));
    let heard = '';
    socket.on('data', (chunk) => (heard += chunk.toString()));
    socket.on('error', reject);
    socket.on('close', () => resolve({ status: Number(heard.split(' ')[1]), text: heard }));
  });

describe('a request', () => {
  it.each(['TRACE', 'OPTIONS', 'PROPFIND', 'PURGE', 'SEARCH'])(
    'by %s does nothing, and repeats nothing of what it brought',
    async (method) => {
      for (const path of [whoami, '/api/public/v1/invoices', '/auth/session', '/healthz', '/']) {
        const head = `${method} ${path} HTTP/1.1\r\nHost: portal\r\nX-Marked: marked-secret\r\nAuthorization: Bearer ${org.owner.secret}\r\nx-tenant-id: ${org.id}\r\nConnection: close\r\n\r\n`;
        const { status, text } = await raw(head);
        expect([path, status >= 400 || (method === 'OPTIONS' && status === 204)]).toEqual([path, true]);
        expect(text).not.toContain('marked-secret');
        expect(text).not.toContain(org.owner.secret);
      }
    },
  );

  it('for another host gets the configured host name, whatever the headers', async () => {
    const lying = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=evil.example',
      'x-forwarded-proto': 'gopher',
    };
    for (const path of [
      `${platformBase}/openapi`,
      '/api/public/v1/invoices',
      '/api/public/openapi/v1',
      '/',
      '/.well-known/oauth-protected-resource',
      '/invitations/accept',
      '/auth/login',
    ]) {
      const lines = Object.entries({ ...lying, ...keyed(), connection: 'close' }).map(
        ([name, value]) => `${name}: ${value}`,
      );
      const { text } = await raw(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      expect([path, text.includes('evil.example'), text.includes('gopher')]).toEqual([path, false, false]);
    }
  });

  it('from a page of another origin cannot read anything, with or without a cookie', async () => {
    const { cookie } = await makeSession(org.ctx, org.owner.id, org.id);
    const lookalikes = ['https://shop.example.evil.example', 'http://shop.example'];
    const paths = [whoami, '/api/public/v1/invoices', '/auth/session', '/mcp', `${platformBase}/openapi`];
    for (const from of ['https://evil.example', 'null', ...lookalikes])
      for (const path of paths)
        for (const method of ['GET', 'OPTIONS']) {
          const headers = { ...keyed(), cookie, origin: from, 'access-control-request-method': 'GET' };
          const { headers: sent } = await ask(path, { method, headers });
          const allowed = ['origin', 'credentials'].map((name) => sent.get(`access-control-allow-${name}`));
          expect([from, path, ...allowed]).toEqual([from, path, null, null]);
        }
    const headers = { ...keyed(), origin: 'https://shop.example' };
    const shop = await ask('/api/public/v1/invoices', { headers });
    expect(shop.headers.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(shop.headers.get('access-control-allow-credentials')).toBeNull();
    expect((await ask(whoami, { headers })).headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('operator endpoints', () => {
  it('reveal no organization, person, key or record: health, readiness and metrics', async () => {
    const metrics = createMetrics({
      version: '1.0.0',
      pools: () => ({}),
      caches: () => ({}),
      queues: () => ({}),
      reads: () => ({}),
      replicas: () => ({}),
      signIns: () => ({ succeeded: 0, refused: 0, failed: 0 }),
      sinceTickSeconds: () => 0,
      databaseStats: async () => undefined,
    });
    const app = createApp({ ...org.ctx, log: createLog('silent') }, { onServed: metrics.onServed });
    const { url: at, stop } = await listen(app);
    await fetch(`${at}/api/public/v1/invoices/1?number=marked`, { headers: keyed() });
    await fetch(`${at}${platformBase}/teams/${org.id}?marked=1`, { headers: keyed() });
    await fetch(`${at}/unsubscribe?token=marked`);
    await fetch(`${at}/marked/${org.owner.secret}`);
    await stop();
    const text = [
      await metrics.text(),
      ...(await Promise.all(['/healthz', '/readyz'].map(async (path) => (await ask(path)).text()))),
    ].join();
    expect(text).toContain('/api/public/{version}/{resource}/{id}');
    for (const never of [
      org.id,
      org.owner.secret,
      org.owner.secret.slice(0, 12),
      'marked',
      'INV-1',
      'example.test',
    ])
      expect([never, text.includes(never)]).toEqual([never, false]);
  });
});

describe('production', () => {
  const safe = {
    NODE_ENV: 'production',
    DATABASE_URL: 'postgres://db/portal',
    ENCRYPTION_KEY: `k1:${randomBytes(32).toString('base64')}`,
    PUBLIC_URL: 'https://portal.example',
  };
  const oidc = {
    OIDC_ISSUER: 'https://id.example',
    OIDC_AUDIENCE: 'portal',
    OIDC_JWKS_URI: 'https://id.example/jwks',
  };
  const refused = (more: Record<string, string>): string[] => {
    try {
      readConfig({ ...safe, ...more });
      return [];
    } catch (error) {
      if (!(error instanceof BadEnvironment)) throw error;
      return [...error.message.matchAll(/^ {2}([A-Z_]+)/gm)].map(([, name = '']) => name);
    }
  };

  it.each<[string, Record<string, string>, string[]]>([
    ['nothing of this', {}, []],
    ['nothing of sign-in over https', oidc, []],
    ['an address without TLS', { PUBLIC_URL: 'http://portal.example' }, ['PUBLIC_URL']],
    ['calls into the private network', { ALLOW_PRIVATE_ERP_HOSTS: 'true' }, ['ALLOW_PRIVATE_ERP_HOSTS']],
    ['keys of tokens without TLS', { ...oidc, OIDC_JWKS_URI: 'http://id.example/jwks' }, ['OIDC_JWKS_URI']],
    [
      'tokens sent without TLS',
      { ...oidc, OIDC_USERINFO_URI: 'http://id.example/me' },
      ['OIDC_USERINFO_URI'],
    ],
    [
      'a model’s key without TLS',
      { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'http://models.example' },
      ['ANTHROPIC_BASE_URL'],
    ],
    [
      'another model’s key without TLS',
      { OPENAI_COMPATIBLE_API_KEY: 'k', OPENAI_COMPATIBLE_URL: 'http://models.example' },
      ['OPENAI_COMPATIBLE_URL'],
    ],
    ['payments without TLS', { STRIPE_API_URL: 'http://stripe.example' }, ['STRIPE_API_URL']],
    ['any origin', { CORS_ORIGINS: '*' }, ['CORS_ORIGINS']],
    ['bounds that are none', { ORGANIZATION_LIMITS: 'views=many' }, ['ORGANIZATION_LIMITS']],
    ['bounds of nothing', { ORGANIZATION_LIMITS: 'constructor=1' }, ['ORGANIZATION_LIMITS']],
    ['bounds', { ORGANIZATION_LIMITS: 'views=1, agents=0' }, []],
  ])('rejects %s', (_name, more, names) => {
    expect(refused(more)).toEqual(names);
  });
});

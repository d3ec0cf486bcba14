// Response headers: the same for HEAD, gzipped or not, CORS, and the announcement of a deprecation.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import supertest from 'supertest';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { createMessageClasses } from '../../../src/http/driver/message-classes.ts';
import { asBuffer, unpacked } from '../../setup/raw-body.ts';
import { listenLocally } from '../../setup/sockets.ts';
import { useStarted } from '../../setup/use-started.ts';
import { callerHeaders, type Get, invoicesEndpoint, openSite } from '../fixture.ts';

const site = useStarted(() => {
  const rows = Array.from({ length: 60 }, (_, index) => ({ id: index + 1, tranid: `INV-${index}` }));
  return openSite({ settings: { corsOrigins: ['https://portal.example'] }, rows });
});
let ctx: Ctx;
let caller: ReturnType<typeof callerHeaders>;
const get: Get = (path, headers) => site.get(path, headers);

beforeAll(async () => {
  ({ ctx } = site);
  caller = callerHeaders({ ...site, ...(await site.key()) });
});

describe('HEAD, gzip and CORS', () => {
  it('compresses only bodies larger than 1 KiB, and only if accepted', async () => {
    const packed = await get('/v1/invoices', { 'accept-encoding': 'gzip' })
      .buffer(true)
      .parse(asBuffer)
      .expect(200);
    const plain = await get('/v1/invoices', { 'accept-encoding': 'identity' }).expect(200);
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(Number(plain.headers['content-length'])).toBe(Buffer.byteLength(plain.text));
    expect(unpacked(packed.body)).toBe(plain.text);
    const small = await get('/v1/invoices/1', { 'accept-encoding': 'gzip' }).expect(200);
    expect(small.headers['content-encoding']).toBeUndefined();
  });

  it.each([
    ['a list', '/v1/invoices', {}],
    ['a record', '/v1/invoices/1', {}],
    ['changes', '/v1/invoices/changes', {}],
    ['an export', '/v1/invoices', { accept: 'text/csv' }],
    ['the versions', '', {}],
    ['a description', '/openapi/v1', {}],
  ])('412 for If-Match without the tag of %s, before 304', async (_what, path, accept) => {
    const tag = String((await get(path, accept).expect(200)).headers['etag']);
    for (const match of [tag, `"other", ${tag}`, '*']) {
      await get(path, { ...accept, 'if-match': match }).expect(200);
      await get(path, { ...accept, 'if-match': match, 'if-none-match': tag }).expect(304);
    }
    for (const match of ['"other"', `W/${tag}`, 'other', '']) {
      const refused = await get(path, { ...accept, 'if-match': match, 'if-none-match': tag }).expect(412);
      expect(refused.body.error).toMatchObject({
        code: 'BAD_REQUEST',
        details: [{ path: 'If-Match', code: 'precondition_failed' }],
      });
    }
  });

  it('404 and 403 come before If-Match', async () => {
    await get('/v1/invoices/99', { 'if-match': '"other"' }).expect(404);
    await get('/v9/invoices', { 'if-match': '"other"' }).expect(404);
  });

  // Other origins: test/owasp/api08.
  it('allows the configured origins, for errors too', async () => {
    const origin = 'https://portal.example';
    for (const [path, status] of [
      ['/v1/invoices', 200],
      ['/v1/bills', 404],
    ] as const) {
      const { headers } = await get(path, { origin }).expect(status);
      expect(headers['access-control-allow-origin']).toBe(origin);
      expect(headers['access-control-expose-headers']).toContain('X-Data-Generation');
    }
    const preflight = await supertest(site.app)
      .options('/api/public/v1/invoices')
      .set({ origin, 'access-control-request-method': 'GET' })
      .expect(204);
    expect(preflight.headers['access-control-allow-headers']).toContain('x-tenant-id');
  });
});

describe('the whole application', () => {
  it('promises https to browsers only where it is served over https', async () => {
    const { settings } = site.ctx;
    for (const [publicUrl, expected] of [
      ['http://127.0.0.1:8080', undefined],
      ['https://portal.example', 'max-age=31536000; includeSubDomains'],
    ] as const) {
      const app = createApp({ ...site.ctx, settings: { ...settings, publicUrl } });
      for (const path of ['/', '/api/public/v1/invoices', '/api/platform/v1/whoami']) {
        const { headers } = await supertest(app).get(path);
        expect(headers['strict-transport-security']).toBe(expected);
      }
    }
  });

  const safe = [
    ...['content-security-policy', 'cross-origin-opener-policy', 'cross-origin-resource-policy'],
    ...['origin-agent-cluster', 'permissions-policy', 'referrer-policy'],
    ...['x-content-type-options', 'x-dns-prefetch-control', 'x-download-options', 'x-frame-options'],
    ...['x-permitted-cross-domain-policies', 'x-request-id', 'x-xss-protection'],
  ];
  const read = ['cache-control', 'etag', 'vary', 'x-data-generation', 'x-data-synced-at'];
  const sent = ['connection', 'date', 'keep-alive'];
  const full = ['content-length', 'content-type'];

  /** Raw headers, each as often as it was sent. */
  async function ask(server: Server, path: string, headers: Record<string, string> = {}) {
    const { port } = server.address() as AddressInfo;
    const asked = request({
      host: '127.0.0.1',
      port,
      path,
      headers: { 'x-request-id': 'asked-for-12', connection: 'keep-alive', ...headers },
    });
    const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage];
    await answer.resume().toArray();
    const names = answer.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    return { status: answer.statusCode, names: names.sort(), headers: answer.headers };
  }

  it('sends the same first headers with every response, exactly once, whichever part writes it', async () => {
    const messages = createMessageClasses();
    const app = createApp(ctx, { messages });
    const server = createServer({ ...messages, keepAliveTimeout: 120_000 }, app);
    await listenLocally(server);
    try {
      const list = await ask(server, '/api/public/v1/invoices', caller);
      expect(list).toMatchObject({ status: 200, names: [...safe, ...read, ...sent, ...full, 'link'].sort() });
      expect(list.headers['x-request-id']).toBe('asked-for-12');
      const known = { ...caller, 'if-none-match': String(list.headers.etag) };
      const held = await ask(server, '/api/public/v1/invoices', known);
      expect(held).toMatchObject({ status: 304, names: [...safe, ...read, ...sent].sort() });
      const names = [...safe, ...sent, ...full, 'cache-control', 'vary'].sort();
      for (const path of ['/api/public/v1/none', '/nothing/here'])
        expect(await ask(server, path, caller)).toMatchObject({
          status: 404,
          names,
          headers: { 'cache-control': 'no-store' },
        });
      const page = await ask(server, '/api/public/openapi/v1/preview');
      expect(page.status).toBe(200);
      expect(page.names).toEqual(expect.arrayContaining(safe));
      expect(new Set(page.names).size).toBe(page.names.length);
      // Requests are created by the message class of the application.
      expect(Object.getPrototypeOf(app.request)).toBe(express.request);
      expect([app.request, app.response]).toEqual([
        messages.IncomingMessage.prototype,
        messages.ServerResponse.prototype,
      ]);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});

describe('deprecation', () => {
  it('is announced with its sunset and a link to the successor', async () => {
    await site.publish({ version: 'v2', status: 'deprecated', sunsetAt: '2027-01-31T00:00:00Z' });
    await site.publish({ version: 'v10', endpoints: [{ ...invoicesEndpoint, name: 'bills' }] });
    const { headers } = await get('/v2/invoices?pageSize=1').expect(200);
    expect(headers['deprecation']).toMatch(/^@\d{10}$/);
    expect(headers['sunset']).toBe('Sun, 31 Jan 2027 00:00:00 GMT');
    expect(headers['link']).toContain('</api/public/openapi/v10>; rel="successor-version"');
    expect(headers['link']).toContain('rel="next"');
    await get('/v2/invoices?pageSize=1', { 'if-none-match': String(headers['etag']) })
      .expect(304)
      .expect('deprecation', String(headers['deprecation']));
    expect((await get('/v1/invoices').expect(200)).headers['deprecation']).toBeUndefined();
  });

  it('does not name an older version as the successor', async () => {
    await site.publish({ version: 'v11', status: 'deprecated' });
    const { headers } = await get('/v11/invoices?pageSize=1').expect(200);
    expect(headers['deprecation']).toMatch(/^@\d{10}$/);
    expect(headers['link']).not.toContain('successor-version');
  });
});

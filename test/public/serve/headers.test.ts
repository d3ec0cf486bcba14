// Response headers: the same for HEAD, gzipped or not, CORS, and the announcement of a deprecation.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import express from 'express';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { createMessageClasses } from '../../../src/http/driver/message-classes.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { callerOf, invoicesEndpoint, loadInvoices, publicApp, publishVersion } from '../fixture.ts';

let database: TestDatabase;
let ctx: Ctx;
let organizationId: string;
let get: ReturnType<typeof callerOf>;

beforeAll(async () => {
  database = await testDatabase({ settings: { corsOrigins: ['https://portal.example'] } });
  ({ ctx } = database);
  ({ id: organizationId } = await makeOrganization(ctx));
  const rows = Array.from({ length: 60 }, (_, index) => ({
    id: index + 1,
    tranid: `INV-${index}`,
    status: index % 3 === 0 ? 'open' : 'paid',
  }));
  await loadInvoices(ctx, organizationId, rows);
  await publishVersion(ctx, organizationId);
  const { secret } = await makeKey(ctx, organizationId);
  get = callerOf(publicApp(ctx), { secret, organizationId });
});
afterAll(() => database.close());

describe('HEAD, gzip and CORS', () => {
  it('HEAD has the headers of GET and no body', async () => {
    for (const path of ['/v1/invoices', '/v1/invoices/1', '/openapi/v1']) {
      const full = await get(path).expect(200);
      const head = await supertest(publicApp(ctx))
        .head(`/api/public${path}`)
        .set({ ...authorization(), 'accept-encoding': 'gzip, deflate' })
        .expect(200);
      expect(head.text ?? '').toBe('');
      for (const name of ['etag', 'content-length', 'content-type', 'link', 'vary', 'x-data-generation'])
        expect(head.headers[name]).toBe(full.headers[name]);
    }
  });

  const authorization = () => ({
    authorization: String(get('/').get('authorization')),
    'x-tenant-id': organizationId,
  });

  it('compresses only bodies larger than 1 KiB, and only if accepted', async () => {
    const packed = await get('/v1/invoices', { 'accept-encoding': 'gzip' })
      .buffer(true)
      .parse((res, done) => {
        const chunks: Buffer[] = [];
        res
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => done(null, Buffer.concat(chunks)));
      })
      .expect(200);
    const plain = await get('/v1/invoices', { 'accept-encoding': 'identity' }).expect(200);
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(Number(plain.headers['content-length'])).toBe(Buffer.byteLength(plain.text));
    // supertest decompresses by itself if it may.
    const body: Buffer = packed.body;
    expect((body[0] === 0x1f ? gunzipSync(body) : body).toString()).toBe(plain.text);
    for (const coding of ['gzip;q=0', 'br', '*;q=0', 'gzip;q=0.2, identity;q=0.5']) {
      expect(
        (await get('/v1/invoices', { 'accept-encoding': coding }).expect(200)).headers['content-encoding'],
      ).toBeUndefined();
    }
    for (const coding of ['*', 'br, gzip;q=0.5', 'GZIP'])
      expect(
        (await get('/v1/invoices', { 'accept-encoding': coding }).expect(200)).headers['content-encoding'],
      ).toBe('gzip');
    expect(
      (await get('/v1/invoices/1', { 'accept-encoding': 'gzip' }).expect(200)).headers['content-encoding'],
    ).toBeUndefined();
  });

  it('304 for the ETag of either coding that the client accepts', async () => {
    const gzip = String(
      (await get('/v1/invoices', { 'accept-encoding': 'gzip' }).expect(200)).headers['etag'],
    );
    await get('/v1/invoices', { 'accept-encoding': 'gzip', 'if-none-match': gzip }).expect(304);
    await get('/v1/invoices', { 'accept-encoding': 'identity', 'if-none-match': gzip }).expect(200);
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

  it('allows only the configured origins, for errors too', async () => {
    const allowed = await get('/v1/invoices', { origin: 'https://portal.example' }).expect(200);
    expect(allowed.headers['access-control-allow-origin']).toBe('https://portal.example');
    expect(allowed.headers['access-control-expose-headers']).toContain('X-Data-Generation');
    expect(
      (await get('/v1/bills', { origin: 'https://portal.example' }).expect(404)).headers[
        'access-control-allow-origin'
      ],
    ).toBe('https://portal.example');
    expect(
      (await get('/v1/invoices', { origin: 'https://evil.example' }).expect(200)).headers[
        'access-control-allow-origin'
      ],
    ).toBeUndefined();
    const app = publicApp(ctx);
    const preflight = await supertest(app)
      .options('/api/public/v1/invoices')
      .set({ origin: 'https://portal.example', 'access-control-request-method': 'GET' })
      .expect(204);
    expect(preflight.headers['access-control-allow-headers']).toContain('x-tenant-id');
    expect(
      (
        await supertest(app)
          .options('/api/public/v1/invoices')
          .set('origin', 'https://evil.example')
          .expect(204)
      ).headers['access-control-allow-origin'],
    ).toBeUndefined();
  });
});

describe('the whole application', () => {
  const safe = [
    'content-security-policy',
    'cross-origin-opener-policy',
    'cross-origin-resource-policy',
    'origin-agent-cluster',
    'permissions-policy',
    'referrer-policy',
    'strict-transport-security',
    'x-content-type-options',
    'x-dns-prefetch-control',
    'x-download-options',
    'x-frame-options',
    'x-permitted-cross-domain-policies',
    'x-request-id',
    'x-xss-protection',
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
    const server = createServer({ ...messages, keepAliveTimeout: 120_000 }, app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const caller = { authorization: String(get('/').get('authorization')), 'x-tenant-id': organizationId };
    try {
      const list = await ask(server, '/api/public/v1/invoices', caller);
      expect(list).toMatchObject({ status: 200, names: [...safe, ...read, ...sent, ...full, 'link'].sort() });
      expect(list.headers['x-request-id']).toBe('asked-for-12');
      const held = await ask(server, '/api/public/v1/invoices', {
        ...caller,
        'if-none-match': String(list.headers.etag),
      });
      expect(held).toMatchObject({ status: 304, names: [...safe, ...read, ...sent].sort() });
      const none = await ask(server, '/api/public/v1/none', caller);
      expect(none).toMatchObject({
        status: 404,
        names: [...safe, ...sent, ...full, 'cache-control', 'vary'].sort(),
      });
      expect(none.headers['cache-control']).toBe('no-store');
      const elsewhere = await ask(server, '/nothing/here');
      expect(elsewhere).toMatchObject({
        status: 404,
        names: [...safe, ...sent, ...full, 'cache-control', 'vary'].sort(),
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
    await publishVersion(ctx, organizationId, {
      version: 'v2',
      status: 'deprecated',
      sunsetAt: '2027-01-31T00:00:00Z',
    });
    await publishVersion(ctx, organizationId, {
      version: 'v10',
      endpoints: [{ ...invoicesEndpoint, name: 'bills' }],
    });
    const { headers } = await get('/v2/invoices?pageSize=1').expect(200);
    expect(headers['deprecation']).toMatch(/^@\d{10}$/);
    expect(headers['sunset']).toBe('Sun, 31 Jan 2027 00:00:00 GMT');
    expect(headers['link']).toContain('</api/public/openapi/v10>; rel="successor-version"');
    expect(headers['link']).toContain('rel="next"');
    const held = await get('/v2/invoices?pageSize=1', { 'if-none-match': String(headers['etag']) }).expect(
      304,
    );
    expect(held.headers['deprecation']).toBe(headers['deprecation']);
    expect((await get('/v1/invoices').expect(200)).headers['deprecation']).toBeUndefined();
  });

  it('does not name an older version as the successor', async () => {
    await publishVersion(ctx, organizationId, { version: 'v11', status: 'deprecated' });
    const { headers } = await get('/v11/invoices?pageSize=1').expect(200);
    expect(headers['deprecation']).toMatch(/^@\d{10}$/);
    expect(headers['link']).not.toContain('successor-version');
  });
});

describe('publicHandler', () => {
  it('delegates the reference page to the given handler, without a credential', async () => {
    await supertest(publicApp(ctx))
      .get('/api/public/openapi/v77/preview')
      .expect(200)
      .expect('content-type', /html/);
  });
});

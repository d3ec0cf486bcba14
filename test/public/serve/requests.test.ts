import type { Express } from 'express';
import fc from 'fast-check';
import supertest from 'supertest';
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { attachApp, createHttpServer } from '../../../src/http/server/server.ts';
import { generateApiKey } from '../../../src/identity/api-key.ts';
import { listenLocally, openSocket, readToClose } from '../../setup/sockets.ts';
import { useStarted } from '../../setup/use-started.ts';
import { type Caller, type Get, invoicesEndpoint, openSite, type Site } from '../fixture.ts';

const site = useStarted(() => {
  const times = { trandate: '2026-01-31', lastmodified: '2026-01-31T10:00:00.123456Z' };
  return openSite({
    rows: [
      { id: 1, tranid: 'INV-1', total: '0.0000001', seq: '100000', ...times },
      { id: 2, tranid: 'INV-2' },
    ],
    versions: [
      {},
      { version: 'v2', status: 'retired' },
      { version: 'v3', status: 'draft' },
      { version: 'v4', endpoints: [{ ...invoicesEndpoint, maxPageSize: 1000 }] },
    ],
  });
});
let app: Express;
let caller: Caller;
let other: Awaited<ReturnType<Site['another']>>;
const get: Get = (path, headers) => site.get(path, headers);

beforeAll(async () => {
  const bills = { ...invoicesEndpoint, name: 'bills' };
  other = await site.another({
    rows: [{ id: 77, tranid: 'SECRET' }],
    versions: [{}, { version: 'v9', endpoints: [bills] }],
  });
  ({ app } = site);
  caller = { organizationId: site.organizationId, secret: (await site.key()).secret };
});

const findReason = (response: { body: { error: { details?: { code: string }[] } } }) =>
  response.body.error.details?.[0]?.code;

describe('the order of the checks', () => {
  it.each([
    ['no key', {}],
    ['another scheme', { authorization: 'Basic abc' }],
    ['an empty key', { authorization: 'Bearer ' }],
    ['a mistyped key', { authorization: `Bearer psk_${'a'.repeat(49)}` }],
    ['a huge key', { authorization: `Bearer ${'a'.repeat(7_000)}` }],
    ['an unknown key', { authorization: `Bearer ${generateApiKey().secret}` }],
  ])('401 first: %s', async (_, headers) => {
    const response = await supertest(app)
      .get('/api/public/v1/nothing?bogus=1')
      .set(headers as Record<string, string>)
      .expect(401);
    expect(response.body.error.code).toBe('UNAUTHORIZED');
    expect(response.headers['www-authenticate']).toBe('Bearer');
  });

  it('400 without a tenant header and for a malformed one, before any other check', async () => {
    const authorization = `Bearer   ${caller.secret}`;
    for (const [headers, code] of [
      [{}, 'tenant_missing'],
      [{ 'x-tenant-id': '' }, 'tenant_missing'],
      [{ 'x-tenant-id': 'acme' }, 'tenant_malformed'],
      [{ 'x-tenant-id': `${caller.organizationId}, ${caller.organizationId}` }, 'tenant_malformed'],
    ] as const) {
      const path = '/api/public/v8/nothing?bogus=1';
      expect(
        findReason(
          await supertest(app)
            .get(path)
            .set({ authorization, ...headers })
            .expect(400),
        ),
      ).toBe(code);
    }
  });

  it("403 for another tenant's id and for one that doesn't exist, with the same message", async () => {
    const bodies = await Promise.all(
      [other.organizationId, createId()].map(
        async (tenant) =>
          (await get('/v8/nothing?bogus=1', { 'x-tenant-id': tenant }).expect(403)).body.error,
      ),
    );
    expect(bodies[0]).toMatchObject({ code: 'FORBIDDEN', details: [{ code: 'tenant_mismatch' }] });
    expect({ ...bodies[0], requestId: '' }).toEqual({ ...bodies[1], requestId: '' });
  });

  it('403 for a version or resource outside the scopes, whether it exists or not, before 404', async () => {
    const scoped = await site.callerWith({ versions: ['v1'], resources: ['invoices'] });
    for (const path of ['/v1/invoices', '/v1/invoices/1', '/openapi/v1']) await scoped(path).expect(200);
    const resources = ['/v2/invoices', '/v3/invoices', '/v8/invoices', '/v1/bills', '/v1/bills/1'];
    for (const path of [...resources, '/openapi/v2', '/openapi/v3?draft=true'])
      expect((await scoped(path).expect(403)).body.error.code).toBe('FORBIDDEN');
  });

  it("404 for an unknown version, resource, record, another tenant's, or a draft, with the same message and before 400", async () => {
    const paths = [
      ...['/v8/invoices', '/v0/invoices', '/V1/invoices', '/latest/invoices', '/v9/bills', '/v3/invoices'],
      ...['/v1/bills', '/v1/Invoices', '/v1/__proto__', '/v1/inv%E0/1', '/v1', '/v1/', '/v1//1'],
      ...['/v1/invoices/77', '/v1/invoices/0', '/v1/invoices/x%2Fy', '/v1/invoices/1/lines'],
      ...['/openapi/v8', '/openapi/v3', '/openapi', '/openapi/v1/other', '/v1/invoices/77?fields=bogus'],
    ];
    const bodies = await Promise.all(
      paths.map(
        async (path) => (await get(path.includes('?') ? path : `${path}?bogus=1`).expect(404)).body.error,
      ),
    );
    expect(new Set(bodies.map((body) => JSON.stringify({ ...body, requestId: '' }))).size).toBe(1);
    expect(bodies[0].code).toBe('NOT_FOUND');
  });

  it('410 for a retired version, before 400', async () => {
    for (const path of ['/v2/invoices?bogus=1', '/v2/invoices/1?bogus=1', '/openapi/v2']) {
      const response = await get(path).expect(410);
      expect(response.body.error.code).toBe('NOT_FOUND');
      expect(findReason(response)).toBe('version_retired');
    }
    await get('/v2/bills').expect(404);
  });

  it('parameters are checked before 304 is possible', async () => {
    const { headers } = await get('/v1/invoices').expect(200);
    await get('/v1/invoices?bogus=1', { 'if-none-match': String(headers['etag']) }).expect(400);
    await get('/v1/invoices?bogus=1', { 'if-none-match': '*' }).expect(400);
  });

  it('405 for every method that writes', async () => {
    for (const method of ['post', 'put', 'patch', 'delete'] as const) {
      const response = await supertest(app)[method]('/api/public/v1/invoices').expect(405);
      expect(response.headers['allow']).toBe('GET, HEAD, OPTIONS');
      expect(response.body.error.code).toBe('BAD_REQUEST');
    }
  });
});

describe('400 for parameters', () => {
  it.each([
    ['page=0', 'page', 'out_of_range'],
    ['page=1.0', 'page', 'out_of_range'],
    ['page=1&page=1', 'page', 'repeated_parameter'],
    ['page=', 'page', 'empty_value'],
    ['page=+1', 'page', 'out_of_range'],
    ['pageSize=101', 'pageSize', 'out_of_range'],
    ['pageSize=0', 'pageSize', 'out_of_range'],
    ['sort=customer', 'sort', 'unknown_sort'],
    ['sort=', 'sort', 'empty_value'],
    ['sort=date&sort=date', 'sort', 'repeated_parameter'],
    ['sort=__proto__', 'sort', 'unknown_sort'],
    ['order=DESC', 'order', 'invalid_value'],
    ['fields=', 'fields', 'empty_value'],
    ['fields=number,', 'fields', 'unknown_field'],
    ['fields=number&fields=status', 'fields', 'repeated_parameter'],
    ['bogus=1', 'bogus', 'unknown_parameter'],
    ['number[]=1', 'number[]', 'unknown_parameter'],
    ['=1', '', 'unknown_parameter'],
    ['status_contains=abc', 'status_contains', 'unknown_parameter'],
    ['customer=7', 'customer', 'unknown_parameter'],
    ['draft=true', 'draft', 'unknown_parameter'],
    ['__proto__=1', '__proto__', 'unknown_parameter'],
    ['number_contains=ab', 'number_contains', 'out_of_range'],
    ['number_contains=abc&number_contains=abc', 'number_contains', 'repeated_parameter'],
    ['number_contains=%F0%9F%98%80a', 'number_contains', 'out_of_range'],
    ['number_starts_with=', 'number_starts_with', 'empty_value'],
    ['status_null=yes', 'status_null', 'invalid_value'],
    ['status_null=', 'status_null', 'empty_value'],
    ['date=2026-02-30', 'date', 'invalid_value'],
    ['date=2026-01-01%0A', 'date', 'invalid_value'],
    ['date=0000-01-01', 'date', 'invalid_value'],
    ['date=2026-01-31T00:00:00Z', 'date', 'invalid_value'],
    ['date=', 'date', 'empty_value'],
    ['date=1900-02-29', 'date', 'invalid_value'],
    ['modified=2026-01-31T24:00:00Z', 'modified', 'invalid_value'],
    ['modified=2026-01-31T10:00:00', 'modified', 'invalid_value'],
    ['modified=2026-01-31T10:00:00+01:00', 'modified', 'invalid_value'],
    ['modified=2026-01-31T10:00:00%2B99:00', 'modified', 'invalid_value'],
    ['total=1e400', 'total', 'out_of_range'],
    ['total=1e-400', 'total', 'out_of_range'],
    ['seq=1e-1', 'seq', 'invalid_value'],
    ['seq=1e%2B21', 'seq', 'out_of_range'],
    ['total=1,5', 'total', 'invalid_value'],
    [`total=${'9'.repeat(101)}`, 'total', 'out_of_range'],
    ['seq=1.5', 'seq', 'invalid_value'],
    ['seq=9223372036854775808', 'seq', 'out_of_range'],
    [`seq=${'1'.repeat(5000)}`, 'seq', 'out_of_range'],
    ['seq_gt=%20', 'seq_gt', 'invalid_value'],
    ['paid=1', 'paid', 'invalid_value'],
    ['id=abc', 'id', 'invalid_value'],
    ['id=99999999999999999999', 'id', 'out_of_range'],
    ['id=', 'id', 'empty_value'],
    ['status=%00', 'status', 'illegal_character'],
    ['number_contains=abc%00', 'number_contains', 'illegal_character'],
    ['a%00b=1', 'ab', 'illegal_character'],
    ['status=%ED%A0%80', '', 'malformed_escape'],
    ['status=%C3%28', '', 'malformed_escape'],
    [Array.from({ length: 101 }, (_, id) => `id=${id}`).join('&'), 'id', 'too_many_values'],
    [Array.from({ length: 101 }, (_, index) => `status=${index}`).join('&'), 'status', 'too_many_values'],
    ['a&'.repeat(5_000), '', 'too_many_parameters'],
  ])('%s', async (query, path, code) => {
    const response = await get(`/v1/invoices?${query}`).expect(400);
    expect(response.body.error).toMatchObject({
      code: 'BAD_REQUEST',
      details: expect.arrayContaining([expect.objectContaining({ path, code })]),
    });
  });

  it('accepts values just inside the bounds', async () => {
    const ids = Array.from({ length: 100 }, (_, id) => `id=${id}`).join('&');
    for (const query of [
      ids,
      'pageSize=100&page=2147483647',
      'seq=-9223372036854775808',
      `total=-${'9'.repeat(99)}`,
      `total=0.${'0'.repeat(97)}1`,
      'modified=9999-12-31T23:59:59-14:00',
      'modified=0001-01-01T00:00:00%2B14:00',
      'date=2024-02-29',
      'date=9999-12-31',
      '&&page=1&',
    ]) {
      await get(`/v1/invoices?${query}`).expect(200);
    }
    await get('/v4/invoices?pageSize=1000').expect(200);
    expect((await get('/v4/invoices?pageSize=1001').expect(400)).body.error.message).toContain('1 to 1000');
  });

  it.each([
    // As .NET, Go and Java write times; RFC 3339 also has small letters. Digits after the sixth are cut off.
    'modified_gte=2026-01-31T10:00:00.0000000Z',
    'modified=2026-01-31t10:00:00.123456999z',
    'modified_after=2026-01-31T11:00:00.123455999%2B01:00&modified_lte=2026-01-31T10:00:00.1234569Z',
    // As JavaScript writes numbers.
    'total=1e-7',
    'total_lt=1E%2B21',
    'total_gte=1.0e-7',
    'seq=1e5',
  ])('finds the record by %s', async (query) => {
    expect((await get(`/v1/invoices?${query}`).expect(200)).body.data).toMatchObject([{ id: '1' }]);
  });

  it('names the bounds and the nearest allowed name, and every problem at once', async () => {
    for (const [query, text] of [
      ['pageSize=500', '"pageSize" must be a whole number from 1 to 100'],
      ['statsu=open', 'Did you mean "status"?'],
      ['date_afer=2026-01-01', 'Did you mean "date_after"?'],
    ])
      expect((await get(`/v1/invoices?${query}`).expect(400)).body.error.message).toContain(text);
    const { body } = await get('/v1/invoices?page=0&sort=x&bogus=1&date=x').expect(400);
    expect(body.error.details).toMatchObject(['bogus', 'page', 'sort', 'date'].map((path) => ({ path })));
    await get('/v1/invoices/1?page=1').expect(400);
  });

  it('never responds 5xx, whatever the parameters', async () => {
    const names = [
      ...['page', 'pageSize', 'sort', 'order', 'fields', 'id'],
      ...invoicesEndpoint.filters.flatMap(({ field, operators }) =>
        operators.map((operator) => (operator === 'eq' ? field : `${field}_${operator}`)),
      ),
    ];
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.constantFrom('', '%', '_', '\\', "'", '"', '\u0000', '\uffff', 'NaN', '-0', '1e400', 'infinity'),
      fc.constantFrom(
        'true',
        'null',
        '2026-02-30',
        '9999-12-31',
        '9223372036854775807',
        '-9223372036854775809',
      ),
      fc.integer().map(String),
      fc.double().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
    );
    const query = fc.array(
      fc.tuple(
        fc.oneof(
          { weight: 9, arbitrary: fc.constantFrom(...names) },
          { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
        ),
        value,
      ),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(
        query,
        fc.constantFrom('/v1/invoices', '/v1/invoices/1', '/openapi/v1'),
        async (parameters, path) => {
          const text = parameters
            .map(([name, given]) => `${encodeURIComponent(name)}=${encodeURIComponent(given)}`)
            .join('&');
          const { status } = await get(`${path}?${text}`);
          expect([200, 400]).toContain(status);
        },
      ),
      { numRuns: 250 },
    );
  });

  it('rejects raw bytes in the URL, and accepts an absolute URL as a proxy sends it', async () => {
    const { server } = createHttpServer(site.ctx.log);
    attachApp(server, app);
    await listenLocally(server);
    const readStatus = async (target: Buffer | string): Promise<string> => {
      const head = `Host: portal\r\nAuthorization: Bearer ${caller.secret}\r\nx-tenant-id: ${caller.organizationId}\r\nConnection: close\r\n\r\n`;
      const socket = openSocket(server);
      socket.write(
        Buffer.concat([Buffer.from('GET '), Buffer.from(target), Buffer.from(` HTTP/1.1\r\n${head}`)]),
      );
      return (await readToClose(socket)).split(' ')[1] ?? '';
    };
    try {
      expect(await readStatus(Buffer.from('/api/public/v1/invoices?status=\xe9', 'latin1'))).toBe('400');
      expect(await readStatus('/api/public/v1/invoices?status=é')).toBe('400');
      expect(await readStatus('/api/public/v1/é')).toBe('400');
      expect(await readStatus('http://portal/api/public/v1/invoices?status=x')).toBe('200');
    } finally {
      server.close();
    }
  });

  it('never responds 5xx, whatever the raw URL', async () => {
    const raw = fc.string({
      unit: fc.constantFrom(...'%0Ev1/?&=+;.[]', 'invoices', 'status'),
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(raw, async (text) => {
        const { status } = await get(`/v1/invoices${text}`);
        expect([200, 400, 404]).toContain(status);
      }),
      { numRuns: 120 },
    );
  });
});

// API10:2023 Unsafe consumption of APIs. In detail: test/connectors/netsuite/wire, test/core/guarded-fetch,
// test/gateways. Here an ERP that lies in every way it can, behind a connection of a real organization: each
// time a clear error in bounded time, and nothing of it is stored or believed. Then the contents of records
// on their way out to spreadsheets, browsers, templates and models.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTools } from '../gateways/model/ask.ts';
import { loadInvoices, publishVersion } from '../public/fixture.ts';
import { testSettings } from '../setup/database.ts';
import { useOrganization } from '../setup/use-organization.ts';

let erp: Server;
let lie: (response: ServerResponse) => void = (response) => response.end();
/**
 * The timeout for the test of an unresponsive ERP; every other lie is detected by its content, however slow
 * the machine.
 */
const patience = { usualMs: 60_000, forSilenceMs: 200 };
const erpSettings = {
  ...testSettings.erp,
  allowedHosts: [] as string[],
  requestTimeoutMs: patience.usualMs,
  maxResponseBytes: 1_000_000,
};

const org = useOrganization({ settings: { erp: erpSettings } });

const hostile = [
  '=HYPERLINK("http://evil.example","x")',
  "+1+cmd|' /C calc'!A0",
  '@SUM(1)',
  "'; drop table users; --",
  '<script>alert(1)</script><img src=x onerror=alert(1)>',
  '{{ secrets }}{% include "/etc/passwd" %}#{7*7}',
  'a\r\nBcc: victim@evil.example\r\n\r\nbody',
  '"quoted", and ""twice""\nnext',
  '\u202Egnp.exe\u0000'.replace('\u0000', ''),
  '__proto__',
  'constructor',
  '\\x27 or 1=1',
];

beforeAll(async () => {
  erp = createServer((_request, response) => lie(response));
  await new Promise<void>((resolve) => erp.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(erp.address() as AddressInfo).port}`;
  erpSettings.allowedHosts.push(host);
  const authentication = {
    method: 'tba',
    consumerKey: 'ck',
    tokenId: 'ti',
    consumerSecret: 'x'.repeat(32),
    tokenSecret: 'y'.repeat(32),
  };
  const connected = await org.api('put', '/netsuite/connection', {
    accountId: '1234567_SB1',
    baseUrl: `http://${host}`,
    authentication,
  });
  expect(connected.status).toBe(200);
  const rows = hostile.map((text, index) => ({ id: index + 1, tranid: text, entity: '1', entityName: text }));
  await loadInvoices(org.ctx, org.id, rows);
  await publishVersion(org.ctx, org.id);
});
afterAll(async () => {
  erp.closeAllConnections();
  await new Promise((resolve) => erp.close(resolve));
});

const answer =
  (body: string | Buffer, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);
const deep = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000);

describe('an ERP', () => {
  const silent = 'says nothing';
  it.each<[string, (response: ServerResponse) => void]>([
    ['sends more than it may', answer('x'.repeat(2_000_000))],
    ['sends a gzip bomb', answer(gzipSync(Buffer.alloc(50_000_000)), { 'content-encoding': 'gzip' })],
    ['uses an encoding that was not requested', answer('{}', { 'content-encoding': 'br' })],
    ['nests lists without end', answer(deep('[', ']'))],
    ['nests objects without end', answer(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)],
    ['sends a page for people', answer('<html>Log in</html>', { 'content-type': 'text/html' })],
    ['sends nothing', answer('')],
    ['sends null', answer('null')],
    ['sends a number', answer('7')],
    ['sends a list', answer('[]')],
    [
      'sends other types everywhere',
      answer('{"items":"none","count":"many","hasMore":7,"totalResults":{},"links":null,"offset":[]}'),
    ],
    [
      'sends rows that are none',
      answer('{"items":[1,null,[],"x"],"count":4,"hasMore":false,"totalResults":4,"links":[],"offset":0}'),
    ],
    ['sends broken UTF-8', answer(Buffer.from([0x7b, 0xff, 0xfe, 0x7d]))],
    [
      'leads elsewhere',
      (response) =>
        void response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
    ],
    ['hangs up', (response) => void response.socket?.destroy()],
    [silent, () => undefined],
    [
      'never ends',
      (response) => {
        const more = setInterval(() => response.write('{"a":1},'.repeat(20_000)), 1);
        response.on('close', () => clearInterval(more));
      },
    ],
  ])('that %s: a clear error, nothing stored, nothing believed', async (name, next) => {
    lie = next;
    erpSettings.requestTimeoutMs = name === silent ? patience.forSilenceMs : patience.usualMs;
    const tested = await org.api('post', '/netsuite/connection/test');
    expect([tested.status, tested.body.ok]).toEqual([200, false]);
    expect(tested.body.problems.length).toBeGreaterThan(0);
    const refreshed = await org.api('post', '/netsuite/metadata/refresh');
    expect([422, 503]).toContain(refreshed.status);
    expect(refreshed.text).not.toMatch(/169\.254|Log in|node_modules/);
    expect((await org.api('get', '/netsuite/metadata')).body.data ?? []).toEqual([]);
  });

  it('that sends prototype keys changes no prototype and adds no unrequested name', async () => {
    erpSettings.requestTimeoutMs = patience.usualMs;
    lie = answer(
      '{"__proto__":{"polluted":1},"items":[{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}],"count":1,"hasMore":false,"totalResults":1,"links":[],"offset":0}',
    );
    for (const path of ['/netsuite/connection/test', '/netsuite/metadata/refresh'])
      expect((await org.api('post', path)).status).toBeLessThan(500);
    const kept = JSON.stringify((await org.api('get', '/netsuite/metadata')).body);
    expect(kept).not.toMatch(/polluted|__proto__/);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('the contents of records', () => {
  const read = (accept: string, query = '') =>
    supertest(org.app)
      .get(`/api/public/v1/invoices${query}`)
      .set({ authorization: `Bearer ${org.owner.secret}`, 'x-tenant-id': org.id, accept });

  it('are data in JSON and CSV: the same texts come out, none ends its cell, no browser renders them as a page', async () => {
    const json = await read('application/json').expect(200);
    expect(json.body.data.map(({ number }: { number: string }) => number)).toEqual(hostile);
    expect([json.headers['content-type'], json.headers['x-content-type-options']]).toEqual([
      'application/json; charset=utf-8',
      'nosniff',
    ]);
    const csv = await read('text/csv').expect(200);
    expect([csv.headers['content-type'], csv.headers['x-content-type-options']]).toEqual([
      'text/csv; charset=utf-8; header=present',
      'nosniff',
    ]);
    const rows = parse(csv.text, { columns: true }) as { number: string }[];
    expect(rows.map(({ number }) => number)).toEqual(hostile);
  });
});

describe('a filter from a model', () => {
  it('of any name is rejected or applied, never skipped', async () => {
    const tools = openTools(org.ctx, org.id);
    const query = tools.find(({ name }) => name === 'query');
    const ask = async (text: string): Promise<string> => {
      try {
        return (await query?.run(JSON.parse(text), new AbortController().signal)) ?? '';
      } catch (error) {
        return String(error);
      }
    };
    for (const name of ['__proto__', 'constructor', 'toString', 'number"', 'NUMBER', ''])
      expect([
        name,
        await ask(`{"resource":"invoices","filters":{"${name.replace('"', '\\"')}":"x"}}`),
      ]).toEqual([name, expect.stringMatching(/^AppError|Error/)]);
    for (const wish of [
      '{"resource":"invoices","__proto__":{"version":"v2"}}',
      '{"resource":"invoices","version":"v2"}',
      '{"resource":"../v2/invoices"}',
    ])
      expect([wish, await ask(wish)]).toEqual([wish, expect.stringMatching(/Error/)]);
    expect(
      JSON.parse(await ask('{"resource":"invoices","filters":{"number":"@SUM(1)"}}')).pagination.total,
    ).toBe(1);
  });
});

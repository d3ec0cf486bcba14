// A list as a whole: the same records as its pages, to the digit, in two forms.
import { Readable } from 'node:stream';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bindDocument } from '../../src/public/bind.ts';
import { readWanted } from '../../src/public/change-feed.ts';
import { type CompiledEndpoint, compileSchema } from '../../src/public/compile.ts';
import { copyStatement } from '../../src/public/export-sql.ts';
import { planList } from '../../src/public/plan.ts';
import { SchemaDocument } from '../../src/public/schema-document.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import {
  type Caller,
  callerOf,
  type InvoiceRow,
  invoiceColumns,
  invoicesEndpoint,
  loadInvoices,
  publicApp,
  publishVersion,
} from './fixture.ts';

const ndjson = { accept: 'application/x-ndjson' };
const csv = { accept: 'text/csv' };

// Whatever CSV, COPY or JSON might take for its own, ties, and nulls.
const texts = [
  'a',
  'B',
  '',
  'a,b',
  '"',
  'x""y',
  'l1\nl2',
  'l1\r\nl2',
  '\r',
  '\n',
  '\\',
  '\\n',
  '\\.',
  '\t',
  '\u0001\u0002',
  ' ',
  'é😀',
  'NULL',
];
const pick = <T>(list: readonly T[], seed: number): T | null => list[seed % (list.length + Math.ceil(list.length / 2))] ?? null;
const rows: InvoiceRow[] = Array.from({ length: 61 }, (_, index) => ({
  id: index + 1,
  tranid: pick(texts, index * 7),
  status: pick(['open', 'paid'], index),
  total: pick(['1.50', '-0.10', '12345678901234567890', '1.0000000000000000001'], index * 5),
  seq: pick(['1', '9007199254740993'], index * 3),
  paid: pick([true, false], index),
  trandate: pick(['2026-01-31', '2026-02-01'], index),
  lastmodified: pick(['2026-01-31T23:59:59.999999Z', '2026-02-01T00:00:00Z'], index),
  entityName: pick(texts, index * 5),
  lines: pick(['[]', '[{"item":"a\\"b,c\\n","quantity":12345678901234567890.50}]'], index),
}));

let database: TestDatabase;
let get: ReturnType<typeof callerOf>;
let caller: Caller;
beforeAll(async () => {
  database = await testDatabase({ settings: { corsOrigins: ['https://portal.example'] } });
  const { id } = await makeOrganization(database.ctx);
  await loadInvoices(database.ctx, id, rows);
  await publishVersion(database.ctx, id);
  caller = { organizationId: id, secret: (await makeKey(database.ctx, id)).secret };
  get = callerOf(publicApp(database.ctx), caller);
});
afterAll(() => database.close());

const wholeText = async (query: string, headers: Record<string, string>) => {
  const response = await get(`/v1/invoices${query}`, headers).buffer(true).parse(asBuffer).expect(200);
  return { headers: response.headers, text: (response.body as Buffer).toString() };
};
function asBuffer(response: Readable | supertest.Response, done: (error: Error | null, body: Buffer) => void): void {
  if (!(response instanceof Readable)) throw new Error('no stream');
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('end', () => done(null, Buffer.concat(chunks)));
}

const headOf = async (path: string, headers: Record<string, string>) => {
  const answer = await supertest(publicApp(database.ctx))
    .head(`/api/public${path}`)
    .set({ authorization: `Bearer ${caller.secret}`, 'x-tenant-id': caller.organizationId, ...headers })
    .expect(200);
  expect(answer.text ?? '').toBe('');
  return answer.headers;
};

/** The page walk's records as the very text of the pages. */
async function walk(query: string): Promise<string[]> {
  const found: string[] = [];
  for (let page = 1; ; page += 1) {
    const { text, body } = await get(`/v1/invoices?${query}${query === '' ? '' : '&'}pageSize=23&page=${page}`).expect(200);
    const data = text.slice('{"data":['.length, text.lastIndexOf('],"pagination"'));
    if (data !== '') found.push(...data.split(/,(?=\{"id":")/));
    if (page >= body.pagination.totalPages) return found;
  }
}

function compiledEndpoint(): CompiledEndpoint {
  const document = SchemaDocument.parse({ endpoints: [invoicesEndpoint] });
  const bindings = bindDocument(document, { invoice: { label: 'Invoice', idType: 'integer', columns: invoiceColumns, hasData: true } });
  const endpoint = compileSchema({ id: 'x', version: 'v1', bindings, ...document }).endpoints.get('invoices');
  if (endpoint === undefined) throw new Error('no endpoint');
  return endpoint;
}

const csvText = (value: unknown): string | null => (value === null ? null : Array.isArray(value) ? 'lines' : String(value));

describe('an export', () => {
  it('holds what the pages hold, as NDJSON to the letter, as CSV to the value', async () => {
    const filters = [
      '',
      'status=open',
      'status_null=true',
      'number_contains=l1%0A',
      'customerName_starts_with=',
      'total_gt=1',
      'status=nobody',
      'number=%5C.&number=%22',
      'modified=2026-01-31&modified=2026-02-01T00:00:00Z',
      'id=3&id=5',
      'number_starts_with=%5C',
    ];
    const sorts = ['', ...invoicesEndpoint.sorts.map((name) => `sort=${name}`)];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...filters),
        fc.constantFrom(...sorts),
        fc.constantFrom('', 'order=desc'),
        fc.constantFrom('', 'fields=number,lines', 'fields=number', 'fields=id'),
        async (...parts) => {
          const query = parts.filter((part) => part !== '' && part !== 'customerName_starts_with=').join('&');
          const wanted = await walk(query);
          const asJson = await wholeText(`?${query}`, ndjson);
          expect(asJson.headers['x-total-count']).toBe(String(wanted.length));
          expect(asJson.text).toBe(wanted.map((record) => `${record}\n`).join(''));
          const asCsv = await wholeText(`?${query}`, csv);
          const table: (string | null)[][] = parse(asCsv.text, {
            record_delimiter: '\r\n',
            cast: (value, { quoting }) => (value === '' && !quoting ? null : value),
          });
          const [names = [], ...values] = table;
          const records: Record<string, unknown>[] = wanted.map((text) => JSON.parse(text));
          if (records[0] !== undefined) expect(names).toEqual(Object.keys(records[0]));
          expect(values).toHaveLength(records.length);
          for (const [index, record] of records.entries()) {
            for (const [at, name] of names.entries()) {
              const value = values[index]?.[at] ?? null;
              if (name === 'lines' || name === 'total') continue;
              expect([name, value]).toEqual([name, csvText(record[name ?? ''])]);
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('keeps every digit, and tells null from empty text', async () => {
    const { text } = await wholeText('?fields=total,totalText,seq,paid,modified,number,lines&number=%22&number=&number=l1%0Al2', csv);
    expect(text.startsWith('id,number,total,totalText,seq,paid,modified,lines\r\n')).toBe(true);
    const lines = text.split('\r\n').slice(1, -1);
    const wanted = rows.filter(({ tranid }) => tranid === '"' || tranid === '' || tranid === 'l1\nl2');
    expect(lines).toEqual(
      wanted.map(({ id, tranid, total, seq, paid, lastmodified, lines: held }) =>
        [
          id,
          tranid === '' ? '""' : tranid === '"' ? '""""' : '"l1\nl2"',
          total ?? '',
          total ?? '',
          seq ?? '',
          paid ?? '',
          lastmodified ?? '',
          held === null
            ? ''
            : held === '[]'
              ? '[]'
              : '"[{""item"":""a\\""b,c\\n"",""itemName"":null,""quantity"":12345678901234567890.50}]"',
        ].join(','),
      ),
    );
  });

  it('has its own tag in each form and coding, answers 304 and HEAD, and is gzip where that is taken', async () => {
    const plain = { 'accept-encoding': 'identity' };
    const tags: string[] = [];
    for (const accept of ['application/x-ndjson', 'text/csv', 'application/json']) {
      for (const coding of ['identity', 'gzip']) {
        const answer = await get('/v1/invoices', { accept, 'accept-encoding': coding }).buffer(true).parse(asBuffer).expect(200);
        tags.push(String(answer.headers['etag']));
        const held = { accept, 'accept-encoding': coding, 'if-none-match': String(answer.headers['etag']) };
        const again = await get('/v1/invoices', held).expect(304);
        expect(again.headers).toMatchObject({
          etag: held['if-none-match'],
          'x-data-generation': '1',
          'cache-control': 'private, no-cache',
        });
      }
    }
    expect(new Set(tags).size).toBe(6);
    await get('/v1/invoices', { ...csv, 'if-none-match': '*' }).expect(304);
    const { headers } = await wholeText('?status=open', { ...ndjson, ...plain, origin: 'https://portal.example' });
    expect(headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'x-data-synced-at': '2026-03-01T08:00:00Z',
      'access-control-allow-origin': 'https://portal.example',
      vary: expect.stringContaining('Accept, Accept-Encoding'),
    });
    expect(headers['access-control-expose-headers']).toContain('X-Total-Count');
    const head = await headOf('/v1/invoices?status=open', { ...ndjson, ...plain });
    expect([head['etag'], head['x-total-count'], head['content-type']]).toEqual([
      headers['etag'],
      headers['x-total-count'],
      headers['content-type'],
    ]);
    expect((await wholeText('', { ...csv, ...plain })).headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
  });

  it.each([
    ['text/csv;q=0.5, application/json;q=0.4', 'text/csv'],
    ['text/*', 'text/csv'],
    ['*/*', 'application/json'],
    ['application/x-ndjson, application/json', 'application/json'],
    ['application/json;q=0, */*', 'application/x-ndjson'],
    ['text/csv;q=0, text/*', null],
    ['application/xml', null],
  ])('for Accept %s is %s', async (accept, type) => {
    const response = await get('/v1/invoices', { accept });
    if (type === null) expect(response.body.error).toMatchObject({ code: 'BAD_REQUEST', details: [{ code: 'not_acceptable' }] });
    expect([response.status, type ?? 'application/json']).toEqual([
      type === null ? 406 : 200,
      String(response.headers['content-type']).split(';')[0],
    ]);
  });

  it('400 for a page of it, and for what a list refuses', async () => {
    for (const query of ['page=1', 'pageSize=5', 'page=x', 'statsu=1', 'sort=none']) {
      const { body } = await get(`/v1/invoices?${query}`, csv).expect(400);
      expect(body.error.details[0].path).toBe(query.split('=')[0]);
    }
    await get('/v1/invoices/1', csv).expect(406);
    await get('/v1/invoices/changes', ndjson).expect(406);
  });
});

describe('a parameter whose name is off by one character', () => {
  it('is refused, for pages and for exports, by the list and by its changes', async () => {
    const endpoint = compiledEndpoint();
    const names = [...endpoint.filters.keys(), 'page', 'pageSize', 'sort', 'order', 'fields', 'since', 'limit'];
    const mutation = fc.record({
      name: fc.constantFrom(...names),
      at: fc.nat({ max: 30 }),
      letter: fc.constantFrom('a', 'e', 'S', '_', '1', '-', ' ', '\u0301'),
      way: fc.constantFrom('put', 'drop', 'set', 'case'),
    });
    fc.assert(
      fc.property(mutation, fc.boolean(), ({ name, at, letter, way }, paged) => {
        const place = at % name.length;
        const old = name.charAt(place);
        const swapped = old === old.toLowerCase() ? old.toUpperCase() : old.toLowerCase();
        const put = { put: letter + old, drop: '', set: letter, case: swapped }[way] ?? '';
        const mutated = name.slice(0, place) + put + name.slice(place + 1);
        fc.pre(mutated !== name && !names.includes(mutated) && mutated !== '');
        const query = new Map([[mutated, ['1']]]);
        expect(() => planList(endpoint, query, { paged })).toThrow(/There is no parameter of this name/);
        expect(() => readWanted(query)).toThrow(/There is no parameter of this name/);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the statement of an export', () => {
  it('holds no text of the request', () => {
    const endpoint = compiledEndpoint();
    const evil = "x'); drop table t; --";
    const query = new Map(
      [...endpoint.filters.values()]
        .filter(({ column }) => column.type === 'text')
        .map(({ name }) => [name, [name.endsWith('_null') ? 'true' : evil]] as const),
    );
    const { text, settings } = copyStatement({ schema: 'wh_x', table: 'invoice_1' }, planList(endpoint, query, { paged: false }));
    expect(text + settings.text).not.toContain('drop');
    expect(settings.values.length).toBeGreaterThan(4);
  });
});

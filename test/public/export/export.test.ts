// Exports of a whole list: the same records as its pages, to the digit, in two formats.
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import supertest from 'supertest';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseChangesQuery } from '../../../src/public/changes/change-feed.ts';
import { copyStatement } from '../../../src/public/export/export-sql.ts';
import { planList } from '../../../src/public/read/plan/plan.ts';
import { asBuffer } from '../../setup/raw-body.ts';
import { useStarted } from '../../setup/use-started.ts';
import { compileInvoices } from '../compiled.ts';
import { callerHeaders, type Get, invoicesEndpoint, openSite } from '../fixture.ts';
import { rows } from './odd-rows.ts';

const ndjson = { accept: 'application/x-ndjson' };
const csv = { accept: 'text/csv' };

const site = useStarted(() => openSite({ settings: { corsOrigins: ['https://portal.example'] }, rows }));
let caller: ReturnType<typeof callerHeaders>;
const get: Get = (path, headers) => site.get(path, headers);
beforeAll(async () => {
  caller = callerHeaders({ ...site, ...(await site.key()) });
});

const wholeText = async (query: string, headers: Record<string, string>) => {
  const response = await get(`/v1/invoices${query}`, headers).buffer(true).parse(asBuffer).expect(200);
  return { headers: response.headers, text: (response.body as Buffer).toString() };
};
const sendHead = async (path: string, headers: Record<string, string>) => {
  const answer = await supertest(site.app)
    .head(`/api/public${path}`)
    .set({ ...caller, ...headers })
    .expect(200);
  expect(answer.text ?? '').toBe('');
  return answer.headers;
};

/** The records of all pages, as the exact text of the pages. */
async function walk(query: string): Promise<string[]> {
  const found: string[] = [];
  for (let page = 1; ; page += 1) {
    const { text, body } = await get(
      `/v1/invoices?${query}${query === '' ? '' : '&'}pageSize=23&page=${page}`,
    ).expect(200);
    const data = text.slice('{"data":['.length, text.lastIndexOf('],"pagination"'));
    if (data !== '') found.push(...data.split(/,(?=\{"id":")/));
    if (page >= body.pagination.totalPages) return found;
  }
}

describe('an export', () => {
  it('contains what the pages contain, as NDJSON byte for byte, as CSV value for value', async () => {
    const filters = [
      ...['', 'status=open', 'status_null=true', 'total_gt=1', 'status=unknown', 'id=3&id=5'],
      ...['number_contains=l1%0A', 'number=%5C.&number=%22', 'number_starts_with=%5C'],
      'modified=2026-01-31&modified=2026-02-01T00:00:00Z',
    ];
    const sorts = ['', ...invoicesEndpoint.sorts.map((name) => `sort=${name}`)];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...filters),
        fc.constantFrom(...sorts),
        fc.constantFrom('', 'order=desc'),
        fc.constantFrom('', '', 'fields=number,lines', 'fields=id'),
        async (...parts) => {
          const query = parts.filter((part) => part !== '').join('&');
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
              // The digits of a number are those of the same field as text; lines are the last field, as JSON
              // text.
              const text = wanted[index] ?? '';
              const lines = text.slice(text.indexOf(',"lines":') + ',"lines":'.length, -1);
              const meant =
                name === 'lines'
                  ? lines === 'null'
                    ? null
                    : lines
                  : record[name === 'total' ? 'totalText' : (name ?? '')];
              expect([name, value]).toEqual([name, meant === null ? null : String(meant)]);
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('has its own ETag per format and coding, supports 304 and HEAD, and is gzipped if accepted', async () => {
    const plain = { 'accept-encoding': 'identity' };
    const tags: string[] = [];
    for (const accept of ['application/x-ndjson', 'text/csv', 'application/json']) {
      for (const coding of ['identity', 'gzip']) {
        const answer = await get('/v1/invoices', { accept, 'accept-encoding': coding })
          .buffer(true)
          .parse(asBuffer)
          .expect(200);
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
    const asked = { ...ndjson, ...plain, origin: 'https://portal.example' };
    const { headers } = await wholeText('?status=open', asked);
    expect(headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'x-data-synced-at': '2026-03-01T08:00:00Z',
      'access-control-allow-origin': 'https://portal.example',
      vary: expect.stringContaining('Accept, Accept-Encoding'),
    });
    expect(headers['access-control-expose-headers']).toContain('X-Total-Count');
    const head = await sendHead('/v1/invoices?status=open', { ...ndjson, ...plain });
    for (const name of ['etag', 'x-total-count', 'content-type']) expect(head[name]).toBe(headers[name]);
    expect((await wholeText('', { ...csv, ...plain })).headers['content-type']).toBe(
      'text/csv; charset=utf-8; header=present',
    );
  });

  it('is chosen by Accept', async () => {
    for (const [accept, type] of [
      ['text/csv;q=0.5, application/json;q=0.4', 'text/csv'],
      ['text/*', 'text/csv'],
      ['*/*', 'application/json'],
      ['', 'application/json'],
      ['text/html,*/*;q=0.1', 'application/json'],
      ['application/x-ndjson, application/json', 'application/json'],
      ['application/json;q=0, */*', 'application/x-ndjson'],
    ] as const)
      expect([accept, (await get('/v1/invoices', { accept }).expect(200)).type]).toEqual([accept, type]);
    for (const accept of ['text/csv;q=0, text/*', 'application/xml', 'text/html']) {
      const { body } = await get('/v1/invoices', { accept }).expect(406);
      expect(body.error).toMatchObject({ code: 'BAD_REQUEST', details: [{ code: 'not_acceptable' }] });
    }
  });

  it('begins with a byte order mark when CSV is asked for with one, which has an ETag of its own', async () => {
    const [bare, marked] = [
      await wholeText('', csv),
      await wholeText('', { accept: 'application/json;q=0.1, text/csv; bom=present' }),
    ];
    expect(marked.text).toBe(`\ufeff${bare.text}`);
    expect(marked.headers['etag']).not.toBe(bare.headers['etag']);
  });

  it('400 for paging parameters, and for what a list rejects', async () => {
    for (const query of ['page=1', 'pageSize=5', 'page=x', 'statsu=1', 'sort=none']) {
      const { body } = await get(`/v1/invoices?${query}`, csv).expect(400);
      expect(body.error.details[0].path).toBe(query.split('=')[0]);
    }
    await get('/v1/invoices/1', csv).expect(406);
    await get('/v1/invoices/changes', ndjson).expect(406);
  });
});

describe('a parameter whose name is off by one character', () => {
  it('is rejected, for pages and for exports, by the list and by its changes', async () => {
    const { endpoint, whole } = compileInvoices();
    const own = ['page', 'pageSize', 'sort', 'order', 'fields', 'since', 'limit'];
    const names = [...endpoint.filters.keys(), ...own];
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
        expect(() => planList(whole, query, { paged })).toThrow(/Unknown parameter/);
        expect(() => parseChangesQuery(query)).toThrow(/Unknown parameter/);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the statement of an export', () => {
  it('contains no text of the request', () => {
    const { endpoint, whole } = compileInvoices();
    const evil = "x'); drop table t; --";
    const query = new Map(
      [...endpoint.filters.values()]
        .filter(({ column }) => column.type === 'text')
        .map(({ name }) => [name, [name.endsWith('_null') ? 'true' : evil]] as const),
    );
    const { text } = copyStatement(
      { schema: 'wh_x', table: 'invoice_1' },
      planList(whole, query, { paged: false }),
    );
    expect(text).not.toContain('drop');
    expect(text.split(Buffer.from('drop table').toString('hex')).length - 1).toBeGreaterThan(4);
  });
});

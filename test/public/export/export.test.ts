// Exports of a whole list: the same records as its pages, to the digit, in two formats.
import { Readable } from 'node:stream';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyOut, createCopyDataParser } from '../../../src/db/driver/copy-out.ts';
import { parseChangesQuery } from '../../../src/public/changes/change-feed.ts';
import type { RowWriter } from '../../../src/public/export/copy-rows.ts';
import { createCsvWriter } from '../../../src/public/export/csv.ts';
import { copyStatement } from '../../../src/public/export/export-sql.ts';
import { createJsonLinesWriter } from '../../../src/public/export/json-lines.ts';
import { planList } from '../../../src/public/read/plan.ts';
import { parseQuery } from '../../../src/public/read/request.ts';
import type { TableRef } from '../../../src/public/read/sql.ts';
import { bindDocument } from '../../../src/public/version/bind.ts';
import { type CompiledEndpoint, compileSchema } from '../../../src/public/version/compile.ts';
import { readWhole } from '../../../src/public/version/narrow.ts';
import { SchemaDocument } from '../../../src/public/version/schema-document.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import {
  type Caller,
  callerOf,
  type InvoiceRow,
  invoiceColumns,
  invoicesEndpoint,
  loadInvoices,
  publicApp,
  publishVersion,
} from '../fixture.ts';

const ndjson = { accept: 'application/x-ndjson' };
const csv = { accept: 'text/csv' };

// Texts that CSV, COPY or JSON might misinterpret, ties, and nulls.
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
/**
 * What a byte-wise writer could misread: escapes of COPY and JSON, control characters, separators beyond
 * ASCII.
 */
const pieces = [
  '\\N',
  'N',
  '\\',
  '"',
  ',',
  '\t',
  '\n',
  '\r',
  '\b',
  '\f',
  '\v',
  '\u0001',
  '\u001f',
  '\u007f',
  '\u2028',
  '\ufeff',
  'é',
  '😀',
  "'",
  '=1',
  'x',
];
const nasty = fc
  .sample(fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 9 }), 29)
  .map((parts) => `~${parts.join('')}`);
const largest = '9007199254740992';
const numbers = [
  '0.00',
  '1.500',
  `-${largest}`,
  `${largest}.5`,
  '9007199254740993.000',
  '-9007199254740993',
  `${'9'.repeat(60)}.10`,
  `0.${'0'.repeat(40)}1`,
  'NaN',
];
const integers = [largest, '-9007199254740993', '9223372036854775807', '-9223372036854775808', '0'];
const days = ['10000-01-01', '0044-03-15 BC', 'infinity', '0001-01-01'];
const times = [
  '10000-01-01T00:00:00.5Z',
  '0044-03-15 01:02:03 BC',
  '-infinity',
  '1900-01-01T00:00:00.000001Z',
];
const pick = <T>(list: readonly T[], seed: number): T | null =>
  list[seed % (list.length + Math.ceil(list.length / 2))] ?? null;
const odd: InvoiceRow[] = nasty.map((text, index) => ({
  id: 100 + index,
  tranid: text,
  status: pick(['open', 'paid'], index),
  total: pick(numbers, index),
  seq: pick(integers, index),
  trandate: pick(days, index),
  lastmodified: pick(times, index),
  entityName: nasty[nasty.length - 1 - index] ?? null,
  lines: JSON.stringify([{ item: text, quantity: index / 2 }, { 'item.name': text }]),
}));
const usual: InvoiceRow[] = Array.from({ length: 61 }, (_, index) => ({
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
const rows = [...usual, ...odd];

let database: TestDatabase;
let get: ReturnType<typeof callerOf>;
let caller: Caller;
let place: TableRef;
beforeAll(async () => {
  database = await testDatabase({ settings: { corsOrigins: ['https://portal.example'] } });
  const { id } = await makeOrganization(database.ctx);
  place = { schema: tenantSchema(id), table: await loadInvoices(database.ctx, id, rows) };
  await publishVersion(database.ctx, id);
  caller = { organizationId: id, secret: (await makeKey(database.ctx, id)).secret };
  get = callerOf(publicApp(database.ctx), caller);
});
afterAll(() => database.close());

const wholeText = async (query: string, headers: Record<string, string>) => {
  const response = await get(`/v1/invoices${query}`, headers).buffer(true).parse(asBuffer).expect(200);
  return { headers: response.headers, text: (response.body as Buffer).toString() };
};
function asBuffer(
  response: Readable | supertest.Response,
  done: (error: Error | null, body: Buffer) => void,
): void {
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

function compiledEndpoint(): CompiledEndpoint {
  const document = SchemaDocument.parse({ endpoints: [invoicesEndpoint] });
  const bindings = bindDocument(document, {
    invoice: { label: 'Invoice', idType: 'integer', columns: invoiceColumns, hasData: true },
  });
  const endpoint = compileSchema({ id: 'x', version: 'v1', bindings, ...document }).endpoints.get('invoices');
  if (endpoint === undefined) throw new Error('no endpoint');
  return endpoint;
}

describe('an export', () => {
  it('contains what the pages contain, as NDJSON byte for byte, as CSV value for value', async () => {
    const filters = [
      '',
      'status=open',
      'status_null=true',
      'number_contains=l1%0A',
      'customerName_starts_with=',
      'total_gt=1',
      'status=unknown',
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
        fc.constantFrom('', '', 'fields=number,lines', 'fields=id'),
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

  it('keeps every digit, and distinguishes null from empty text', async () => {
    const { text } = await wholeText(
      '?fields=total,totalText,seq,paid,modified,number,lines&number=%22&number=&number=l1%0Al2',
      csv,
    );
    expect(text.startsWith('id,number,total,totalText,seq,paid,modified,lines\r\n')).toBe(true);
    const lines = text.split('\r\n').slice(1, -1);
    const wanted = usual.filter(({ tranid }) => tranid === '"' || tranid === '' || tranid === 'l1\nl2');
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
    const { headers } = await wholeText('?status=open', {
      ...ndjson,
      ...plain,
      origin: 'https://portal.example',
    });
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
    expect((await wholeText('', { ...csv, ...plain })).headers['content-type']).toBe(
      'text/csv; charset=utf-8; header=present',
    );
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
    if (type === null)
      expect(response.body.error).toMatchObject({
        code: 'BAD_REQUEST',
        details: [{ code: 'not_acceptable' }],
      });
    expect([response.status, type ?? 'application/json']).toEqual([
      type === null ? 406 : 200,
      String(response.headers['content-type']).split(';')[0],
    ]);
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
    const endpoint = compiledEndpoint();
    const names = [
      ...endpoint.filters.keys(),
      'page',
      'pageSize',
      'sort',
      'order',
      'fields',
      'since',
      'limit',
    ];
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
        expect(() => planList(readWhole(endpoint), query, { paged })).toThrow(/Unknown parameter/);
        expect(() => parseChangesQuery(query)).toThrow(/Unknown parameter/);
      }),
      { numRuns: 500 },
    );
  });
});

function written(writer: RowWriter, given: readonly Uint8Array[]): string {
  const texts = [writer.head.toString()];
  for (const piece of given) for (const made of writer.write(piece)) texts.push(made.toString());
  return texts.join('');
}

describe('a row writer', () => {
  it('writes the same wherever its input is cut', async () => {
    const ids = [1, 4, 9, 100, 103, 108, 117].map((id) => `id=${id}`).join('&');
    const { text, columns } = copyStatement(
      place,
      planList(readWhole(compiledEndpoint()), parseQuery(ids), { paged: false }),
    );
    const client = await database.ctx.db.exports.connect();
    await client.query('begin');
    const { pieces: given, rowCount } = copyOut(client, text);
    const chunks: Buffer[] = [];
    for await (const chunk of given) chunks.push(Buffer.from(chunk));
    await client.query('commit');
    client.release();
    expect(rowCount()).toBe(7);
    const bytes = Buffer.concat(chunks);
    for (const open of [
      () => createJsonLinesWriter(columns),
      () => createCsvWriter(columns, { guardFormulas: true }),
    ]) {
      const whole = written(open(), [bytes]);
      expect(
        written(
          open(),
          Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)),
        ),
      ).toBe(whole);
      for (let at = 0; at <= bytes.length; at += 1)
        expect(written(open(), [bytes.subarray(0, at), bytes.subarray(at)])).toBe(whole);
    }
  });

  it('grows for rows larger than a chunk, also when each byte becomes six', () => {
    const columns = [{ name: 'id', kind: 'text' as const }];
    const [long, short] = ['\u0001"\u000b'.repeat(70_000), 'x'];
    const given = [long, short, long].map((text) => `${text.replaceAll('\v', '\\v')}\n`).join('');
    const lines = [long, short, long].map((text) => `${JSON.stringify({ id: text })}\n`).join('');
    const pieces = Array.from({ length: Math.ceil(given.length / 60_000) }, (_, at) =>
      Buffer.from(given.slice(at * 60_000, (at + 1) * 60_000)),
    );
    expect(written(createJsonLinesWriter(columns), pieces) === lines).toBe(true);
    const fields = [long, short, long].map((text) =>
      text === short ? text : `"${text.replaceAll('"', '""')}"`,
    );
    expect(written(createCsvWriter(columns), pieces) === ['id', ...fields, ''].join('\r\n')).toBe(true);
  });

  it('guards against spreadsheet formulas when asked to, and leaves numbers, dates and nulls unchanged', () => {
    const columns = (['text', 'number', 'date', 'json', 'digits'] as const).map((kind) => ({
      name: `-${kind}`,
      kind,
    }));
    const row = (text: string) => Buffer.from(`${text}\t-1.50\t2026-01-31\t[]\t-7\n`);
    const guarded = (text: string) =>
      written(createCsvWriter(columns, { guardFormulas: true }), [row(text)]).split('\r\n')[1];
    const rest = ',-1.50,2026-01-31,[],-7';
    const cases = [
      ['=1+1', "'=1+1"],
      ['+1', "'+1"],
      ['-1', "'-1"],
      ['@x', "'@x"],
      ['\\t=1', "'\t=1"],
      ['a=1', 'a=1'],
      ['\\N', ''],
      ['', '""'],
      ['=A1,"x"', `"'=A1,""x"""`],
    ];
    for (const [given = '', meant] of cases) expect(guarded(given)).toBe(`${meant}${rest}`);
    expect(written(createCsvWriter(columns, { guardFormulas: true }), [row('\\r=1')])).toContain(
      `"'\r=1"${rest}`,
    );
    // Invisible characters before the sign, and its full-width forms.
    const unseen = Array.from({ length: 0x10ffff }, (_, at) => at + 1)
      .filter((point) => point < 0xd800 || point > 0xdfff)
      .map((point) => String.fromCodePoint(point))
      .filter((sign) => /[\s\p{Cc}\p{Cf}\p{Z}]/u.test(sign));
    const inCopy = (text: string) =>
      text.replaceAll(
        /[\b\t\n\v\f\r]/g,
        (sign) => `\\${{ '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r' }[sign]}`,
      );
    const bare = (text: string) => guarded(inCopy(text))?.replace(rest, '').replaceAll('"', '');
    const formulas = [
      ...unseen.flatMap((sign) => [`${sign}=1`, ` ${sign}\u200b@x`]),
      '\uff1d1',
      '\uff0b1',
      '\uff0d1',
      '\uff20x',
      '\u3000\uff1d1',
    ];
    const passed = formulas.filter((text) => !text.includes('\n') && bare(text) !== `'${text}`);
    expect([passed, written(createCsvWriter(columns, { guardFormulas: true }), [row('\\n=1')])]).toEqual([
      [],
      expect.stringContaining(`"'\n=1"`),
    ]);
    for (const text of [' a=1', '\u3042=1', '\u00e9-1', '\uff0c=', '\u200b', '\\\\=1'])
      expect(guarded(text)).not.toContain("'");
    expect(written(createCsvWriter(columns), [row('=1+1')])).toBe(
      `-text,-number,-date,-json,-digits\r\n=1+1${rest}\r\n`,
    );
    expect(createCsvWriter(columns, { guardFormulas: true }).head.toString()).toBe(
      "'-text,'-number,'-date,'-json,'-digits\r\n",
    );
  });
});

describe('the rows of a COPY', () => {
  it('are found in the messages of the connection, wherever those are cut', () => {
    const message = (letter: string, body: string) => {
      const header = Buffer.from(`${letter}....`);
      header.writeUInt32BE(4 + Buffer.byteLength(body), 1);
      return Buffer.concat([header, Buffer.from(body)]);
    };
    const row = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('d', 'd', 'N', 'S'), row), { maxLength: 8 }),
        fc.array(fc.nat({ max: 120 })),
        (sent, cuts) => {
          const end = Buffer.concat([message('c', ''), message('C', 'COPY 1\0')]);
          const all = Buffer.concat([
            message('H', '\0\0\0'),
            ...sent.map(([letter, body]) => message(letter, body)),
            end,
          ]);
          const { take } = createCopyDataParser();
          const edges = [
            0,
            ...cuts.map((cut) => Math.min(cut, all.length)).sort((a, b) => a - b),
            all.length,
          ];
          let payload = '';
          let rest: Buffer[] = [];
          for (const [index, edge] of edges.slice(1).entries()) {
            const piece = Buffer.from(all.subarray(edges[index], edge));
            if (rest.length > 0) rest.push(piece);
            else {
              const taken = take(piece);
              payload += taken.payload.toString('latin1');
              if (taken.rest !== undefined) rest = [taken.rest];
            }
          }
          const data = sent.filter(([letter]) => letter === 'd').map(([, body]) => body);
          expect(payload).toBe(Buffer.from(data.join('')).toString('latin1'));
          expect(Buffer.concat(rest)).toEqual(end);
        },
      ),
    );
  });
});

describe('the statement of an export', () => {
  it('contains no text of the request', () => {
    const endpoint = compiledEndpoint();
    const evil = "x'); drop table t; --";
    const query = new Map(
      [...endpoint.filters.values()]
        .filter(({ column }) => column.type === 'text')
        .map(({ name }) => [name, [name.endsWith('_null') ? 'true' : evil]] as const),
    );
    const { text } = copyStatement(
      { schema: 'wh_x', table: 'invoice_1' },
      planList(readWhole(endpoint), query, { paged: false }),
    );
    expect(text).not.toContain('drop');
    expect(text.split(Buffer.from('drop table').toString('hex')).length - 1).toBeGreaterThan(4);
  });
});

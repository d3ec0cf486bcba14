// A list as a workbook, read back by another library: the same records as its pages, with Excel's own types.
import readXlsxFile from 'read-excel-file/node';
import { describe, expect, it } from 'vitest';
import { asBuffer } from '../../setup/raw-body.ts';
import { useStarted } from '../../setup/use-started.ts';
import { type Get, type InvoiceRow, invoicesEndpoint, openSite } from '../fixture.ts';
import { rows } from './odd-rows.ts';

const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const maxCharacters = 32_767;
const texts = [
  ...['_x0041_', '_x000d_', '_', '_x12', '<b>&amp;</b>', ' spaces  ', '=1+1', 'é😀', 'line\nbreak'],
  ...[`${'x'.repeat(maxCharacters)}yz`, `${'é'.repeat(maxCharacters - 1)}😀`],
];
const numbers = ['0.1', '123456789012345', '1234567890123456', '-0.000000000000012', '100.00', '0.0', '-0'];
const days = ['1900-02-28', '1900-03-01', '1999-12-31', '9999-12-31'];
const more = texts.map(
  (tranid, index): InvoiceRow => ({
    id: 900 + index,
    tranid,
    status: 'more',
    total: numbers[index] ?? null,
    trandate: days[index] ?? null,
    lastmodified: days[index] === undefined ? null : `${days[index]}T23:59:59.5Z`,
  }),
);
const site = useStarted(() => openSite({ rows: [...rows, ...more] }));
const get: Get = (path, headers) => site.get(path, headers);

type Cell = string | number | boolean | Date | null | undefined;
type Sheet = { readonly sheet: string; readonly data: readonly (readonly Cell[])[] };

async function readBook(query: string, headers: Record<string, string> = {}) {
  const response = await get(`/v1/invoices${query}`, headers).buffer(true).parse(asBuffer).expect(200);
  const bytes = response.body as Buffer;
  return {
    headers: response.headers,
    bytes,
    sheets: (await readXlsxFile(bytes, { trim: false })) as Sheet[],
  };
}

/** A number as the list writes it. */
type Digits = { readonly digits: string };
const isDigits = (value: unknown): value is Digits =>
  typeof value === 'object' && value !== null && 'digits' in value;
const keepDigits = (_key: string, value: unknown, { source }: { source?: string }): unknown =>
  typeof value === 'number' ? { digits: source ?? '' } : value;
const parseKeeping = JSON.parse as (text: string, reviver: typeof keepDigits) => Record<string, unknown>;

const countSignificant = (digits: string): number => {
  const [whole = '', fraction = ''] = digits.replace('-', '').split('.');
  return `${whole}${fraction.replace(/0+$/, '')}`.replace(/^0+/, '').length;
};
/** To a hundredth of a second: days in binary floats are off by less than a millisecond. */
const toInstant = (at: Date): number => Math.round(at.getTime() / 10);
const firstRightDay = Date.UTC(1900, 2, 1);
/** What a cell holds for a value of the list. */
function toCell(value: unknown, isInstant: boolean): unknown {
  if (isDigits(value)) return countSignificant(value.digits) <= 15 ? Number(value.digits) : value.digits;
  if (typeof value !== 'string') return value ?? null;
  const at = new Date(value);
  if (isInstant && /^\d{4}-[^ ]*$/.test(value) && at.getTime() >= firstRightDay) return toInstant(at);
  return value === ''
    ? null
    : value.slice(0, value.codePointAt(maxCharacters - 1) === 0x1f600 ? -2 : maxCharacters);
}
function toShown(cell: Cell): unknown {
  if (cell instanceof Date) return toInstant(cell);
  return cell ?? null;
}

describe('a list as a workbook', () => {
  it.each([
    '',
    'status=more&',
    'sort=date&order=desc&status=open&',
    'fields=number,lines&',
    'fields=id&',
    'status=none&',
  ])('has the records of the list and their lines: %j', async (query) => {
    const { text } = await get(`/v1/invoices?${query}`, { accept: 'application/x-ndjson' })
      .buffer(true)
      .expect(200);
    const records = text
      .split('\n')
      .slice(0, -1)
      .map((line) => parseKeeping(line, keepDigits));
    const { headers, sheets } = await readBook(`?${query}format=xlsx`);
    expect(headers).toMatchObject({
      'content-type': type,
      'x-total-count': String(records.length),
      'content-disposition': 'attachment; filename="invoices.xlsx"',
    });
    expect(headers['content-encoding']).toBeUndefined();
    const names = (
      /fields=([^&]*)/.exec(query)?.[1]?.split(',') ?? invoicesEndpoint.fields.map(({ name }) => name)
    ).filter((name) => name !== 'id');
    const columns = ['id', ...names.filter((name) => name !== 'lines')];
    expect(sheets.map(({ sheet }) => sheet)).toEqual([
      'invoices',
      ...(names.includes('lines') ? ['lines'] : []),
    ]);
    const [list, lines] = sheets;
    const pad = (row: readonly Cell[], count: number) =>
      Array.from({ length: count }, (_, at) => toShown(row[at]));
    expect(list?.data[0]).toEqual(columns);
    expect(list?.data.slice(1).map((row) => pad(row, columns.length))).toEqual(
      records.map((record) =>
        columns.map((name) => toCell(record[name], name === 'date' || name === 'modified')),
      ),
    );
    if (lines === undefined) return;
    expect(lines.data[0]).toEqual(['id', 'line', 'item', 'itemName', 'quantity']);
    expect(lines.data.slice(1).map((row) => pad(row, 5))).toEqual(
      records.flatMap(({ id, lines: held }) =>
        ((held ?? []) as Record<string, unknown>[]).map((line, index) => [
          id,
          index + 1,
          ...['item', 'itemName', 'quantity'].map((name) => toCell(line[name], false)),
        ]),
      ),
    );
  });

  it('is the same for Accept, byte for byte, with a strong entity tag', async () => {
    const { bytes, headers } = await readBook('?status=more', { accept: type });
    expect(headers['content-disposition']).toBeUndefined();
    expect(bytes.equals((await readBook('?status=more&format=xlsx')).bytes)).toBe(true);
    const tag = String(headers['etag']);
    await get('/v1/invoices?status=more', { accept: type, 'if-none-match': tag }).expect(304);
  });
});

describe('the parameter format', () => {
  const text = (query: string, headers: Record<string, string> = {}) =>
    get(`/v1/invoices?status=more&fields=number&${query}`, headers).buffer(true);

  it('chooses the form as Accept does, and wins over it', async () => {
    const forms = [
      ['csv', 'text/csv', 'attachment; filename="invoices.csv"'],
      ['ndjson', 'application/x-ndjson', undefined],
      ['json', 'application/json', undefined],
    ] as const;
    for (const [format, accept, disposition] of forms) {
      const [named, accepted] = [
        await text(`format=${format}`, { accept: 'text/csv' }),
        await text('', { accept }),
      ];
      expect([named.status, named.headers['content-type'], named.text]).toEqual([
        200,
        accepted.headers['content-type'],
        accepted.text,
      ]);
      expect(named.headers['content-disposition']).toBe(disposition);
    }
    expect((await text('%66ormat=csv')).headers['content-type']).toContain('text/csv');
  });

  it('takes a byte order mark for CSV, and stays in the links of pages', async () => {
    expect((await text('format=csv&bom=true')).text.startsWith('\ufeffid,')).toBe(true);
    expect((await text('format=csv&bom=false')).text.startsWith('id,')).toBe(true);
    expect((await text('format=json&pageSize=1')).headers['link']).toContain('format=json');
  });

  it.each([
    ['format=pdf', 'format', 'invalid_value'],
    ['format=', 'format', 'empty_value'],
    ['format=csv&format=csv', 'format', 'repeated_parameter'],
    ['bom=true', 'bom', 'not_applicable'],
    ['format=xlsx&bom=true', 'bom', 'not_applicable'],
    ['format=csv&bom=1', 'bom', 'invalid_value'],
    ['format=csv&page=1', 'page', 'not_paged'],
    ['format=xlsx&nonsense=1', 'nonsense', 'unknown_parameter'],
  ])('400 for %s', async (query, path, code) => {
    const { status, body } = await get(`/v1/invoices?${query}`);
    expect([status, body.error.details[0].path, body.error.details[0].code]).toEqual([400, path, code]);
  });

  it('is unknown in versions that were published before, where a field may have its name', async () => {
    await site.publish({
      version: 'v2',
      without: 'takesFormat',
      endpoints: [
        {
          ...invoicesEndpoint,
          fields: [{ name: 'format', source: 'status' }],
          filters: [{ field: 'format', operators: ['eq'] }],
          sorts: [],
        },
      ],
    });
    const { body } = await get('/v2/invoices?format=more&pageSize=1').expect(200);
    expect([body.data[0].format, body.pagination.total]).toEqual(['more', more.length]);
    expect((await get('/v2/invoices?bom=true')).status).toBe(400);
    expect((await get('/v2/invoices', { accept: type })).status).toBe(406);
  });
});

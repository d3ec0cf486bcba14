// Pages of large records over the wire: a page ends early, so that what it holds in memory is bounded, and no
// record is lost.
import { expect, it } from 'vitest';
import type { RecordPage, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import type { Settings } from '../../../src/core/settings.ts';
import {
  createConnectorAt,
  firstPage,
  getMetadata,
  readPages,
  rowsResponse,
  signal,
  useWire,
} from './wire.ts';

const customer = getMetadata('customer');
const invoice = getMetadata('invoice');
const wire = useWire();

const modified = '2026-01-02T03:04:05Z';
const isLines = (query: string): boolean => query.includes('parent_id');
const listed = (query: string, column: string): string[] | undefined =>
  new RegExp(`${column} IN \\(([^)]*)\\)`).exec(query)?.[1]?.split(', ');

/** Serves records 1 to `count` whose names have this many characters. */
function serveRecords(count: number, computeLength: (id: number) => number): void {
  wire.answer = ({ query, path }) => {
    const limit = Number(/limit=(\d+)/.exec(path)?.[1]);
    const after = Number(/t\.id > (-?\d+)/.exec(query)?.[1] ?? 0);
    const ids = Array.from({ length: count }, (_unused, n) => n + 1).filter((id) => id > after);
    const wanted = listed(query, 't\\.id');
    const found = ids.filter((id) => wanted?.includes(String(id)) ?? true);
    const rows = found.slice(0, limit).map((id) => ({
      id: String(id),
      ...(query.includes('t.entityid') && {
        lastmodifieddate: modified,
        entityid: 'x'.repeat(computeLength(id)),
      }),
    }));
    return rowsResponse(rows, found.length > limit);
  };
}

const requested = () =>
  wire.seen.map(
    ({ path, query }) => listed(query, 't\\.id')?.length ?? Number(/limit=(\d+)/.exec(path)?.[1]),
  );

/** All pages of a record type with this field. */
function readAll(recordType: RecordTypeMetadata, field: string, erp: Partial<Settings['erp']>) {
  const connector = createConnectorAt(wire.url, { erp });
  const page = { ...firstPage, recordType, fields: [field], limit: 100 };
  return readPages((last) => connector.readPage({ ...page, afterId: last?.lastId ?? null }));
}
const listIds = (pages: readonly RecordPage[]) =>
  pages.flatMap(({ records }) => records.map(({ id }) => Number(id)));
const upTo = (count: number) => Array.from({ length: count }, (_unused, n) => n + 1);
const countCharacters = ({ records }: RecordPage): number =>
  records.reduce((sum, { values }) => sum + (values['entityid']?.length ?? 0), 0);

it('requests as many records as fit, by the size of those before', async () => {
  serveRecords(300, (id) => (id <= 200 ? 1_000 : 10));
  const pages = await readAll(customer, 'entityid', { maxPageCharacters: 20_000 });
  expect(listIds(pages)).toEqual(upTo(300));
  expect(requested().slice(0, 3)).toEqual([100, 18, 18]);
  expect(pages.slice(1).every((page) => countCharacters(page) <= 20_000)).toBe(true);
  expect(requested().at(-1)).toBe(100);
});

it('reads a page in parts where it is too large for one response, and ends it once it is full', async () => {
  serveRecords(100, () => 1_000);
  const pages = await readAll(customer, 'entityid', { maxResponseBytes: 30_000, maxPageCharacters: 15_000 });
  expect(listIds(pages)).toEqual(upTo(100));
  expect(pages.flatMap(({ rejected }) => rejected)).toEqual([]);
  expect(Math.max(...pages.map(countCharacters))).toBeLessThanOrEqual(30_000);
});

it('rejects only the record that is too large for a response', async () => {
  serveRecords(100, (id) => (id === 57 ? 100_000 : 100));
  const pages = await readAll(customer, 'entityid', { maxResponseBytes: 50_000, maxPageCharacters: 40_000 });
  expect(listIds(pages)).toEqual(upTo(100).filter((id) => id !== 57));
  expect(pages.flatMap(({ rejected }) => rejected)).toMatchObject([{ id: '57', code: 'RECORD_UNREADABLE' }]);
});

it('ends a page of given ids early, and says where', async () => {
  serveRecords(100, (id) => (id === 3 ? 0 : 1_000));
  const connector = createConnectorAt(wire.url, {
    erp: { maxResponseBytes: 20_000, maxPageCharacters: 10_000 },
  });
  let ids = upTo(101).toReversed().map(String);
  const pages = await readPages(async (last) => {
    ids = ids.filter((id) => last === undefined || Number(id) > Number(last.lastId));
    return connector.readByIds({ recordType: customer, fields: ['entityid'], ids, signal });
  });
  expect(listIds(pages)).toEqual(upTo(100));
  expect(Math.max(...pages.map(countCharacters))).toBeLessThanOrEqual(20_000);
});

/** Serves invoices 1 to `count` with `lines` lines each, whose memos have this many characters. */
function serveInvoices(count: number, lines: (id: number) => number, length: number): void {
  wire.answer = ({ query, path }) => {
    const limit = Number(/limit=(\d+)/.exec(path)?.[1]);
    const after = Number(/t\.id > (-?\d+)/.exec(query)?.[1] ?? 0);
    const wanted = listed(query, isLines(query) ? 'l\\.transaction' : 't\\.id');
    const ids = upTo(count).filter((id) => id > after && (wanted?.includes(String(id)) ?? true));
    const [, parent = '0', line = '0'] = /l\.transaction = (\d+) AND l\.id > (\d+)/.exec(query) ?? [];
    const isBehind = (id: number, n: number): boolean =>
      id > Number(parent) || (id === Number(parent) && n > Number(line));
    const rows = isLines(query)
      ? ids.flatMap((id) =>
          upTo(lines(id))
            .filter((n) => isBehind(id, n))
            .map((n) => ({
              parent_id: String(id),
              parent_modified: modified,
              id: String(n),
              linesequencenumber: String(n),
              memo: 'x'.repeat(length),
            })),
        )
      : ids.map((id) => ({ id: String(id), lastmodifieddate: modified }));
    return rowsResponse(rows.slice(0, limit), rows.length > limit);
  };
}

const countLines = (pages: readonly RecordPage[]) =>
  pages.flatMap(({ records }) => records.map(({ id, lines }) => [Number(id), lines?.length]));

it.each([
  ['by their size', { maxPageCharacters: 50_000 }],
  ['where they are too large for one response', { maxPageCharacters: 50_000, maxResponseBytes: 60_000 }],
])('ends a page of large lines early, %s, and loses none', async (_name, erp) => {
  serveInvoices(60, (id) => id % 7, 2_000);
  const pages = await readAll(invoice, 'lines', erp);
  expect(countLines(pages)).toEqual(upTo(60).map((id) => [id, id % 7]));
  expect(pages.length).toBeGreaterThan(3);
});

it('rejects a record whose lines are larger than a record can be, without reading all of them', async () => {
  serveInvoices(5, (id) => (id === 3 ? 20_000 : 2), 200);
  const pages = await readAll(invoice, 'lines', { maxPageCharacters: 100_000 });
  expect(countLines(pages)).toEqual([1, 2, 4, 5].map((id) => [id, 2]));
  expect(pages.flatMap(({ rejected }) => rejected)).toMatchObject([
    {
      id: '3',
      code: 'LINE_UNREADABLE',
      message: expect.stringContaining('The lines of the record 3 are too large'),
    },
  ]);
  expect(wire.seen.filter(({ query }) => isLines(query)).length).toBeLessThan(20);
});

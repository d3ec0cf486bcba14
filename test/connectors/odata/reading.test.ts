// The queries of the connector, judged by a server that was written elsewhere: pages by key, ids, counts, changes
// and lines. What must come back is computed from the data files alone.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connector, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import { firstPage, readPages, signal } from '../netsuite/wire.ts';
import { type Judge, startJudge } from './judge.ts';
import { createOdataAt, describeOne, fieldNames } from './service.ts';

type Row = Readonly<Record<string, string>>;
const readData = (name: string): Row[] =>
  JSON.parse(readFileSync(new URL(`data/${name}.json`, import.meta.url), 'utf8'));
const orders = readData('PurchaseOrder');
const items = readData('PurchaseOrderItem');
const orderIds = orders.map((row) => String(row['PurchaseOrder'])).sort();
const itemId = (row: Row): string =>
  [row['PurchaseOrder'], row['PurchaseOrderItem']]
    .map((part) => part?.replace(/[%,]/g, (found) => (found === '%' ? '%25' : '%2C')))
    .join();

let judge: Judge;
let connector: Connector;
let order: RecordTypeMetadata;
let item: RecordTypeMetadata;
beforeAll(async () => {
  judge = await startJudge();
  connector = createOdataAt(judge.url, { dialect: 'sap' });
  order = await describeOne(connector, 'PurchaseOrder');
  item = await describeOne(connector, 'PurchaseOrderItem');
});
afterAll(() => judge.stop());

const readAll = (recordType: RecordTypeMetadata, limit: number, changedSince: Date | null = null) =>
  readPages((last) =>
    connector.readPage({
      ...firstPage,
      recordType,
      fields: fieldNames(recordType),
      afterId: last?.lastId ?? null,
      changedSince,
      limit,
    }),
  );

describe('the judge', () => {
  it('supports key paging and lines within records', () => {
    expect([order.definition, item.definition]).toMatchObject([
      { paging: 'key', lines: { navigation: '_PurchaseOrderItem' } },
      { paging: 'key', lines: null },
    ]);
    expect(order.modifiedField).toBe('LastChangeDateTime');
  });
});

describe('pages by key', () => {
  it.each([1, 5, 12, 100])('of %i records have every record once', async (limit) => {
    const pages = await readAll(order, limit);
    const ids = pages.flatMap(({ records }) => records.map(({ id }) => id));
    expect(ids.toSorted()).toEqual(orderIds);
    expect(pages.every(({ records }) => records.length <= limit)).toBe(true);
    expect(judge.seen.filter((path) => path.includes('$skip'))).toEqual([]);
  });

  it.each([1, 4, 100])('of %i records have every record of a composite key once', async (limit) => {
    const pages = await readAll(item, limit);
    const ids = pages.flatMap(({ records }) => records.map(({ id }) => id));
    expect(ids.toSorted()).toEqual(items.map(itemId).sort());
  });

  it('have values as exact text, and the lines of each record', async () => {
    const [page] = await readAll(order, 100);
    const record = page?.records.find(({ id }) => id === '4500000001');
    expect(record).toEqual({
      id: '4500000001',
      modifiedAt: '2026-02-01T10:00:00Z',
      values: {
        id: '4500000001',
        PurchaseOrder: '4500000001',
        Supplier: 'S0',
        PurchaseOrderDate: '2026-01-01',
        NetAmount: '1234567890123.125',
        LastChangeDateTime: '2026-02-01T10:00:00Z',
      },
      labels: {},
      lines: [],
    });
    for (const { id, lines } of page?.records ?? []) {
      const texts = items
        .filter((row) => row['PurchaseOrder'] === id)
        .map((row) => row['PurchaseOrderItemText']);
      expect(lines?.map((line) => line['PurchaseOrderItemText'])).toEqual(texts);
    }
  });

  it('contain what changed since an instant, that instant included', async () => {
    const pages = await readAll(order, 3, new Date('2026-02-08T10:00:00.123Z'));
    const expected = orders.filter((row) => String(row['LastChangeDateTime']) >= '2026-02-08').length;
    expect(pages.flatMap(({ records }) => records)).toHaveLength(expected);
  });
});

describe('records by id', () => {
  it('are found, and ids that do not exist are absent', async () => {
    const page = await connector.readByIds({
      recordType: order,
      fields: fieldNames(order),
      ids: [...orderIds, 'none', '45000000011'],
      signal,
    });
    expect(page.records.map(({ id }) => id).toSorted()).toEqual(orderIds);
    expect(page.hasMore).toBe(false);
  });

  it('are found by composite keys', async () => {
    const ids = items.slice(0, 5).map(itemId);
    const page = await connector.scan({
      recordType: item,
      fields: ['PurchaseOrderItemText'],
      ids: [...ids, 'one', 'one,two,three', '4500000001,99999'],
      signal,
    });
    expect(page.records.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });

  it('are requested in as many requests as the length of queries needs', async () => {
    const ids = Array.from({ length: 1_000 }, (_, n) => `id-${n}-${'x'.repeat(20)}`);
    const before = judge.seen.length;
    const page = await connector.readByIds({
      recordType: order,
      fields: [],
      ids: [...ids, ...orderIds].slice(-1_000),
      signal,
    });
    expect(page.records).toHaveLength(orderIds.length);
    expect(Math.max(...judge.seen.slice(before).map((path) => path.length))).toBeLessThan(4_500);
    await expect(
      connector.readByIds({ recordType: order, fields: [], ids: [...ids, 'one more'], signal }),
    ).rejects.toThrow(RangeError);
  });
});

describe('ids', () => {
  it('are listed with the times of changes', async () => {
    const changedSince = new Date('2026-02-11T00:00:00Z');
    const { listed, hasMore } = await connector.listIds({
      recordType: order,
      afterId: null,
      changedSince,
      limit: 100,
      signal,
    });
    expect([listed.toSorted((a, b) => (a.id < b.id ? -1 : 1)), hasMore]).toEqual([
      [
        { id: '+1', modifiedAt: '2026-02-12T10:00:00Z' },
        { id: 'q?#', modifiedAt: '2026-02-11T10:00:00Z' },
      ],
      false,
    ]);
  });
});

describe('counts', () => {
  it('are those of the service', async () => {
    expect(await connector.count(order, signal)).toBe(orders.length);
    expect(await connector.count(item, signal)).toBe(items.length);
  });

  it('of changes are those of the service, of all ids or of a range', async () => {
    const since = new Date('2026-02-08T00:00:00Z');
    const changed = orders.filter((row) => String(row['LastChangeDateTime']) >= '2026-02-08');
    const request = { recordType: order, since, signal };
    expect(await connector.countChanged?.(request)).toEqual({
      records: changed.length,
      withChangedLines: null,
    });
    const { listed } = await connector.listIds({ ...firstPage, recordType: order, changedSince: since });
    const upTo = listed[1]?.id ?? null;
    expect(await connector.countChanged?.({ ...request, range: { afterId: null, upTo } })).toMatchObject({
      records: 2,
    });
  });

  it.each(['order', 'item'] as const)('of ranges add up: %s', async (which) => {
    const recordType = which === 'order' ? order : item;
    const { listed } = await connector.listIds({ recordType, afterId: null, limit: 1_000, signal });
    const ids = listed.map(({ id }) => id);
    for (const [index, id] of ids.entries()) {
      const before = await connector.count(recordType, signal, { afterId: null, upTo: id });
      const behind = await connector.count(recordType, signal, { afterId: id, upTo: null });
      expect([before, behind]).toEqual([index + 1, ids.length - index - 1]);
    }
  });
});

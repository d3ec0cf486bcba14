// Saved queries by callers without unmasked access: a source that any living version masks is masked, by its
// strictest mask.
import { beforeAll, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../../src/core/ctx.ts';
import { getRecordReader, type RecordReader } from '../../../src/public/index.ts';
import { useStarted } from '../../setup/use-started.ts';
import { type InvoiceRow, maskInvoices, openSite, readText, withReads } from '../fixture.ts';

const rows: InvoiceRow[] = [
  {
    id: 1,
    tranid: 'INV-0001234',
    total: '2500.75',
    trandate: '2026-01-31',
    entity: 'acme',
    entityName: 'The acme company',
    lines: '[{"item":"1","item.name":"A bolt of steel","quantity":2.50,"secretcost":9}]',
  },
  { id: 2, tranid: 'short', total: '3', trandate: null, lines: null },
];

const named = (...sources: string[]) => sources.map((source) => ({ name: source, source }));
const query = (asked: object) => ({
  recordType: 'invoice',
  columns: named('tranid', 'total', 'trandate', 'lines', 'status'),
  filters: [],
  sort: [],
  ...asked,
});
const page = { page: 1, pageSize: 10 };
const masked = { unmasked: false, rows: 'all' } as const;
const unmasked = { unmasked: true, rows: 'all' } as const;

const site = useStarted(() => {
  const last4 = { number: 'last4', total: 'last4', totalText: 'last4' };
  const strict = [maskInvoices({ total: 'hash', totalText: 'hash', date: 'year' })];
  return openSite({
    settings: { cacheTtlMs: 0 },
    rows,
    versions: [
      { endpoints: [maskInvoices(last4, { itemName: 'last4' })] },
      { version: 'v2', status: 'deprecated', endpoints: strict },
      { version: 'v3', status: 'draft', endpoints: [maskInvoices({ status: 'hash' })] },
    ],
  });
});
let tenant: TenantCtx;
let records: RecordReader;
const setStatus = (version: string, status: string) =>
  site.inTransaction((tx) => tx('api_schemas').where({ version }).update({ status }));

beforeAll(async () => {
  ({ tenant } = site);
  records = getRecordReader(withReads(site.ctx));
});

const listCodes = ({ problems }: { problems: readonly { path: string; code: string }[] }) =>
  problems.map(({ path, code }) => [path, code]);

describe('a query by a caller who reads masked values', () => {
  it('shows them masked in pages, single records and CSV, lines included; others read them as they are', async () => {
    const found = await records.list(tenant, query({}), page, masked);
    const [first, second] = JSON.parse(found.records);
    expect(first).toMatchObject({ id: '1', tranid: '****1234', trandate: '2026', status: null });
    expect(first.total).toMatch(/^[0-9a-f]{64}$/);
    expect(first.lines).toEqual([{ item: '1', 'item.name': '****teel', quantity: 2.5, secretcost: 9 }]);
    expect(second).toMatchObject({ tranid: '****', trandate: null, lines: null });
    expect(found.columns.map(({ type }) => type)).toEqual(['text', 'text', 'text', 'lines', 'text']);
    expect(found.problems).toEqual([]);
    const sources = ['tranid', 'total', 'trandate', 'lines', 'status'];
    const single = await records.get(tenant, 'invoice', '1', sources, masked);
    expect(JSON.parse(single ?? '')).toEqual(first);
    const some = query({ columns: named('tranid', 'total', 'trandate') });
    const { bytes } = await records.file(tenant, some, 'csv', new AbortController().signal, masked);
    expect((await readText(bytes)).split('\r\n')[1]).toBe(`1,****1234,${first.total},2026`);
    const whole = await records.list(tenant, query({}), page, unmasked);
    expect(whole.records).toContain('"total":2500.75,"trandate":"2026-01-31"');
    expect(whole.columns.map(({ type }) => type)).toEqual(['text', 'number', 'date', 'lines', 'text']);
  });

  it('is held back by a filter on one, and skips a sort by one', async () => {
    const filtered = query({ filters: [{ source: 'total', operator: 'gte', values: [1] }] });
    const held = await records.list(tenant, filtered, page, masked);
    expect([held.heldBack, held.records, held.total, listCodes(held)]).toEqual([
      true,
      '[]',
      0,
      [['filters[0].source', 'masked_field']],
    ]);
    const csv = await records.file(tenant, filtered, 'csv', new AbortController().signal, masked);
    expect(await readText(csv.bytes)).toBe('\ufeffid,tranid,total,trandate,lines,status\r\n');
    expect((await records.list(tenant, filtered, page, unmasked)).total).toBe(2);
    const sorted = query({
      sort: [
        { source: 'trandate', direction: 'desc' },
        { source: 'id', direction: 'desc' },
      ],
    });
    const found = await records.list(tenant, sorted, page, masked);
    expect([JSON.parse(found.records).map(({ id }: { id: string }) => id), listCodes(found)]).toEqual([
      ['2', '1'],
      [['sort[0].source', 'masked_field']],
    ]);
    expect(listCodes({ problems: await records.check(tenant, { ...sorted, ...filtered }, masked) })).toEqual([
      ['filters[0].source', 'masked_field'],
    ]);
    expect(await records.check(tenant, { ...sorted, ...filtered }, unmasked)).toEqual([]);
  });

  it('follows the versions: a retired one masks nothing', async () => {
    await setStatus('v2', 'retired');
    const [first] = JSON.parse((await records.list(tenant, query({}), page, masked)).records);
    expect(first).toMatchObject({ total: '****', tranid: '****1234', trandate: '2026-01-31' });
    await setStatus('v2', 'deprecated');
    const [again] = JSON.parse((await records.list(tenant, query({}), page, masked)).records);
    expect(again.trandate).toBe('2026');
  });
});

import { describe, expect, it } from 'vitest';
import { useStarted } from '../../setup/use-started.ts';
import { type Get, type InvoiceRow, listIds, openSite } from '../fixture.ts';

const rows: InvoiceRow[] = [
  {
    id: 1,
    tranid: 'INV-001',
    status: 'open',
    total: '100.50',
    seq: '9007199254740993',
    paid: false,
    trandate: '2026-01-31',
    lastmodified: '2026-01-31T23:59:59.999999Z',
    entity: '7',
    entityName: 'ÉCLAIR & Söhne',
    lines:
      '[{"item":"11","item.name":"Bolt","quantity":2.50,"secretcost":9},{"item":"12","quantity":12345678901234567890}]',
  },
  {
    id: 2,
    tranid: 'INV-002',
    status: 'paid',
    total: '12345678901234567890',
    seq: '2',
    paid: true,
    trandate: '2026-02-01',
    lastmodified: '2026-02-01T00:00:00Z',
    lines: '[]',
  },
  {
    id: 3,
    tranid: 'inv_003%',
    status: '',
    total: '-0.10',
    seq: null,
    paid: null,
    trandate: null,
    lastmodified: null,
  },
  {
    id: 10,
    tranid: 'Z\\"\u2028',
    status: null,
    total: null,
    seq: '9007199254740992',
    paid: true,
    trandate: '2025-12-31',
    lastmodified: '2026-01-31T00:00:00Z',
  },
];

const site = useStarted(() => openSite({ rows }));
const get: Get = (path, headers) => site.get(path, headers);

describe('GET /{version}/{resource}', () => {
  it('200 with the pagination envelope and every published field', async () => {
    const response = await get('/v1/invoices').expect(200);
    expect(Object.keys(response.body)).toEqual(['data', 'pagination']);
    expect(response.body.pagination).toEqual({ total: 4, page: 1, pageSize: 25, totalPages: 1 });
    expect(listIds(response)).toEqual(['1', '2', '3', '10']);
    expect(response.text).toContain(
      '{"id":"1","number":"INV-001","status":"open","total":100.50,"totalText":"100.50","seq":"9007199254740993","paid":false,"date":"2026-01-31",' +
        '"modified":"2026-01-31T23:59:59.999999Z","customer":"7","customerName":"ÉCLAIR & Söhne",' +
        '"lines":[{"item":"11","itemName":"Bolt","quantity":2.50},{"item":"12","itemName":null,"quantity":"12345678901234567890"}]}',
    );
    const nothing = { seq: null, paid: null, date: null, modified: null, lines: null };
    expect(response.body.data.slice(1)).toMatchObject([
      { total: '12345678901234567890', modified: '2026-02-01T00:00:00Z', lines: [], customerName: null },
      { total: -0.1, totalText: '-0.10', ...nothing },
      { number: 'Z\\"\u2028', seq: 9007199254740992, total: null },
    ]);
  });

  // Others are compared for any data in walk.test.ts and pages.test.ts.
  it.each([
    ['status=', '3'],
    ['status_not=open', '2 3 10'],
    ['status_not=open&status_not=paid', '3 10'],
    ['status_null=false', '1 2 3'],
    ['id=3&id=10&id=999', '3 10'],
    ['number_contains=Z%5C%22', '10'],
    ['customerName_contains=%C3%A9cl', '1'],
    ['customerName_starts_with=%C3%89clair', '1'],
    ['customerName_contains=S%C3%96HNE', '1'],
    ['total=100.5', '1'],
    ['total=100.5&total=-0.1', '1 3'],
    ['total_gt=-1&total_lt=101', '1 3'],
    ['total_gte=12345678901234567890', '2'],
    ['total_not=100.50', '2 3 10'],
    ['seq=9007199254740993', '1'],
    ['seq_lte=9007199254740992', '2 10'],
    ['seq_gt=9007199254740992', '1'],
    ['paid=true', '2 10'],
    ['paid_not=true', '1 3'],
    ['paid=true&paid=false', '1 2 10'],
    ['paid_null=true', '3'],
    ['date=2026-01-31', '1'],
    ['date_before=2026-01-31', '10'],
    ['date_gte=2026-01-31', '1 2'],
    ['date_lte=2026-01-31', '1 10'],
    ['date_not=2026-01-31', '2 3 10'],
    ['modified=2026-01-31', '1 10'],
    ['modified_after=2026-01-31', '2'],
    ['modified_before=2026-01-31', ''],
    ['modified_gte=2026-01-31', '1 2 10'],
    ['modified_lte=2026-01-31', '1 10'],
    ['modified_not=2026-01-31', '2 3'],
    ['modified=2026-01-31&modified=2026-02-01T01:00:00%2B01:00', '1 2 10'],
    ['modified_after=2026-01-31T00:00:00Z', '1 2'],
    ['modified_not=2026-01-31&modified_not=2026-02-01', '3'],
    ['modified_lte=9999-12-31', '1 2 10'],
    ['date_gte=0001-01-01', '1 2 10'],
    ['modified_gte=0001-01-01', '1 2 10'],
  ])('filters by %s', async (query, ids) => {
    const response = await get(`/v1/invoices?${query}`).expect(200);
    expect(listIds(response)).toEqual(ids === '' ? [] : ids.split(' '));
    expect(response.body.pagination.total).toBe(response.body.data.length);
    expect(response.body.pagination.totalPages).toBe(response.body.data.length === 0 ? 0 : 1);
  });

  it('sorts text by code point', async () => {
    expect(listIds(await get('/v1/invoices?sort=number').expect(200))).toEqual(['1', '2', '10', '3']);
  });

  it('returns only the requested fields, in the order of the definition', async () => {
    const response = await get('/v1/invoices?fields=status,number,id&pageSize=1').expect(200);
    expect(response.text).toContain('"data":[{"id":"1","number":"INV-001","status":"open"}]');
    expect((await get('/v1/invoices?fields=id&pageSize=1').expect(200)).text).toContain(
      '"data":[{"id":"1"}]',
    );
  });

  it('links the neighbouring pages', async () => {
    const response = await get('/v1/invoices?pageSize=1&page=2&status_not=a%3Eb').expect(200);
    expect(response.headers['link']).toBe(
      ['1>; rel="first"', '1>; rel="prev"', '3>; rel="next"', '4>; rel="last"']
        .map((link) => `</api/public/v1/invoices?pageSize=1&status_not=a%3Eb&page=${link}`)
        .join(', '),
    );
  });
});

describe('Link', () => {
  it('is omitted when a long query would make the headers too large for proxies', async () => {
    const query = Array.from(
      { length: 99 },
      (_unused, index) => `number=INV-${String(index).padStart(12, '0')}`,
    ).join('&');
    const response = await get(`/v1/invoices?${query}`).expect(200);
    expect(response.headers['link']).toBeUndefined();
  });
});

describe('GET /{version}/{resource}/{id}', () => {
  it('200 with the record under data', async () => {
    const response = await get('/v1/invoices/2').expect(200);
    expect(Object.keys(response.body)).toEqual(['data']);
    expect(response.body.data).toMatchObject({ id: '2', number: 'INV-002', paid: true });
    expect((await get('/v1/invoices/2?fields=paid').expect(200)).text).toBe(
      '{"data":{"id":"2","paid":true}}',
    );
  });

  it('404 for ids that no record has, and for other spellings of ids', async () => {
    for (const id of ['999', 'abc', '02', '1.0', '-0', '%2B1', '1e0', '-', '1%202', '%EF%BC%91'])
      await get(`/v1/invoices/${id}`).expect(404);
    for (const id of ['%00', '%ED%A0%80', '%E0%A4%A', '9223372036854775808'])
      await get(`/v1/invoices/${id}`).expect(404);
  });
});

// What a reader sees of fields that an allow-list leaves out or that its version masks. Random masks and
// allow-lists at every door, with entity tags, HEAD and the texts of errors: test/access.
import { beforeAll, describe, expect, it } from 'vitest';
import { useStarted } from '../../setup/use-started.ts';
import { type Get, listIds, maskInvoices, openSite } from '../fixture.ts';

const maskedEndpoint = {
  ...maskInvoices(
    {
      ...{ number: 'last4', total: 'hash', totalText: 'hash', seq: 'last4', paid: 'hash', date: 'year' },
      ...{ modified: 'hash', customerName: 'last4' },
    },
    { itemName: 'last4', quantity: 'hash' },
  ),
  defaultSort: { field: 'date', order: 'desc' },
};
const rows = [
  {
    ...{
      id: 1,
      tranid: 'INV-0001234',
      status: 'open',
      total: '100.50',
      seq: '9007199254740993',
      paid: false,
    },
    ...{ trandate: '2026-01-31', lastmodified: '2026-01-31T23:59:59.999999Z', entity: 'acme' },
    entityName: 'ÉCLAIR & "Söhne",\t\\',
    lines: '[{"item":"11","item.name":"A long, \\"bolt\\"","quantity":2.50},{"item.name":null}]',
  },
  { id: 2, tranid: 'short', status: 'paid', seq: '7', trandate: '2025-02-01', lines: '[]' },
  { id: 3, tranid: '1234567\u{1f600}', entityName: '12345678' },
  { id: 4, tranid: '=1+1\n\u2028😀x', trandate: '2024-12-31' },
];

const site = useStarted(() =>
  openSite({ rows, versions: [{ endpoints: [maskedEndpoint] }, { version: 'v2' }] }),
);
let unmasked: Get;
const masked: Get = (path, headers) => site.get(path, headers);
beforeAll(async () => {
  unmasked = await site.callerWith({ unmasked: true });
});

describe('masked fields', () => {
  it('are text, masked alike in lists, records, NDJSON and CSV', async () => {
    const { text, body } = await masked('/v1/invoices').expect(200);
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(body.data).toMatchObject([
      {
        ...{
          number: '****1234',
          status: 'open',
          total: hash,
          totalText: body.data[0].total,
          seq: '****0993',
        },
        ...{ paid: hash, date: '2026', modified: hash, customer: 'acme', customerName: '****",\t\\' },
        lines: [
          { item: '11', itemName: '****olt"', quantity: hash },
          { item: null, itemName: null, quantity: null },
        ],
      },
      { number: '****', seq: '****', date: '2025', total: null, lines: [] },
      { number: '****567\u{1f600}', customerName: '****5678' },
      { number: '****\n\u2028😀x', date: '2024' },
    ]);
    const records = text.slice('{"data":['.length, text.lastIndexOf('],"pagination"'));
    const lines = await masked('/v1/invoices', { accept: 'application/x-ndjson' }).buffer(true).expect(200);
    expect(lines.text.trimEnd().split('\n').join()).toBe(records);
    expect(records).toContain((await masked('/v1/invoices/1').expect(200)).text.slice('{"data":'.length, -1));
    const query = '/v1/invoices?fields=total,date,seq,paid';
    const csv = (await masked(query, { accept: 'text/csv' }).buffer(true).expect(200)).text.split('\r\n');
    const [first] = body.data;
    expect(csv[1]).toBe(['1', first.total, '****0993', first.paid, '2026'].join());
  });

  it('keep the order of ids instead of the default sort, whatever the direction', async () => {
    expect(listIds(await unmasked('/v1/invoices'))).toEqual(['1', '2', '4', '3']);
    expect(listIds(await masked('/v1/invoices'))).toEqual(['1', '2', '3', '4']);
    expect(listIds(await masked('/v1/invoices?order=desc'))).toEqual(['4', '3', '2', '1']);
  });

  it.each([
    ['sort=total', ['sort']],
    ['total_gte=1&number_contains=INV&status=open&sort=date', ['total_gte', 'number_contains', 'sort']],
    ['date_null=true&nonsense=1', ['date_null']],
    ['total=nonsense', ['total']],
    ['sort=total&sort=status', ['sort']],
  ])('403 field_masked for %s, and 200 or 400 for readers of unmasked values', async (query, paths) => {
    for (const accept of ['application/json', 'text/csv']) {
      const { error } = (await masked(`/v1/invoices?${query}`, { accept }).expect(403)).body;
      expect(error.details).toMatchObject(paths.map((path) => ({ path, code: 'field_masked' })));
    }
    await unmasked(`/v1/invoices?${query}`).expect(/nonsense|sort=status/.test(query) ? 400 : 200);
  });
});

describe('an allow-list of fields', () => {
  it('leaves the others out of answers, and limits only the resources that it names', async () => {
    const get = await site.callerWith({ fields: { invoices: ['status', 'unknown'], bills: [] } });
    expect((await get('/v2/invoices?pageSize=1').expect(200)).body.data).toEqual([
      { id: '1', status: 'open' },
    ]);
    const { details } = (await get('/v2/invoices?sort=total').expect(400)).body.error;
    expect(details[0].message).toMatch(/must be one of: status\./);
    const other = await site.callerWith({ fields: { bills: ['status'] } });
    expect((await other('/v2/invoices').expect(200)).text).toBe((await site.get('/v2/invoices')).text);
  });
});

// A published version is a promise to client programs we do not know: its responses are stored as files and
// compared byte for byte, before and after everything that may happen around it. A difference means a broken
// promise; do not regenerate the file. Only the message of an error, which is documented as free text, may be
// edited.
import { describe, expect, it } from 'vitest';
import { useStarted } from '../setup/use-started.ts';
import { type InvoiceRow, invoicesEndpoint, loadInvoices, openSite } from './fixture.ts';
import { answersText, createLine, readKept } from './golden-answers.ts';

const rows: InvoiceRow[] = [
  {
    id: 1,
    tranid: 'INV-001',
    status: 'open',
    total: '10.50',
    seq: '1',
    paid: false,
    trandate: '2026-01-31',
    lastmodified: '2026-01-31T10:20:30.123456Z',
    entity: '7',
    entityName: 'Café "Zürich" \\ Söhne',
    lines: JSON.stringify([createLine('a', 1), createLine('b', 2.25)]),
  },
  {
    id: 2,
    tranid: '',
    total: '12345678901234567890.123456789',
    seq: '9007199254740993',
    trandate: '2026-01-31',
  },
  {
    id: 3,
    tranid: 'inv-002',
    status: 'paid',
    total: '-0.10',
    seq: '-1',
    paid: true,
    lastmodified: '2026-02-01T00:00:00Z',
    lines: '[]',
  },
  {
    id: 10,
    tranid: 'ß\n\u{1f600}',
    status: 'Open',
    total: '10.5',
    paid: true,
    trandate: '0001-01-01',
    lastmodified: '1970-01-01T00:00:00Z',
  },
];
const addresses = [
  '/v1/invoices',
  '/v1/invoices?pageSize=2&page=2',
  '/v1/invoices?page=9',
  '/v1/invoices?sort=total&order=desc&fields=total,totalText',
  '/v1/invoices?sort=modified&fields=modified',
  '/v1/invoices?status_not=open&date=2026-01-31',
  '/v1/invoices?total_gte=10.5&number_starts_with=INV',
  '/v1/invoices?customerName_contains=%C3%BCrich&fields=customerName',
  '/v1/invoices?modified_after=2026-01-31&fields=id',
  '/v1/invoices?seq=9007199254740993&paid_null=true',
  '/v1/invoices/1',
  '/v1/invoices/10?fields=number',
  '/v1/invoices/4',
  '/v1/invoices?totl=1',
];

const kept = readKept('v1');

const site = useStarted(() => openSite({ settings: { cacheTtlMs: 0 }, rows }));

const answers = (): Promise<string> => answersText(site.get, addresses);
const described = async () => {
  const { text, headers } = await site.get('/openapi/v1');
  return [text, headers['etag']];
};
describe('a published version', () => {
  it('returns the stored responses', async () => {
    expect(await answers()).toBe(kept);
  });

  it('still does after fields vanished or changed type, a table swap, and later versions', async () => {
    const description = await described();
    await site.sql(`update $wh.record_columns set state = 'vanished' where field in ('status', 'entity')`);
    await site.sql(`update $wh.record_columns set state = 'replaced' where field = 'total'`);
    await site.sql(
      `insert into $wh.record_columns (record_type, column_name, field, part, type, state, position)
       values ('invoice', 'f_total_2', 'total', 'value', 'text', 'live', 90), ('invoice', 'f_memo', 'memo', 'value', 'text', 'live', 91)`,
    );
    const table = await loadInvoices(site.ctx, site.organizationId, rows);
    await site.sql(`alter table $wh.${table} add f_total_2 text collate "C", add f_memo text collate "C"`);
    await site.sql(`update $wh.${table} set f_total_2 = 'ten', f_memo = 'new'`);
    await site.publish({
      version: 'v2',
      endpoints: [
        {
          ...invoicesEndpoint,
          fields: [
            { name: 'total', source: 'total' },
            { name: 'number', source: 'memo' },
          ],
          filters: [{ field: 'total', operators: ['contains'] }],
          sorts: ['total'],
          defaultSort: { field: 'total', order: 'desc' },
        },
      ],
    });
    const later = await site.get('/v2/invoices/1').expect(200);
    expect(later.body.data).toEqual({ id: '1', total: 'ten', number: 'new' });
    expect(await answers()).toBe(kept);
    expect(await described()).toEqual(description);
  });
});

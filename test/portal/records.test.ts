// What a visitor finds in the lists, and what pages say while the ERP doesn't deliver whose the records are.
import { beforeAll, expect, it } from 'vitest';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { invoiceTypes, loadCompany, loadRecords, settings } from './company.ts';
import { asOwner, type PortalOwner, switchOn } from './served-portal.ts';
import { openBrowser, type VisitorBrowser } from './visiting.ts';

const org = useOrganization({ mail: true });
let owner: PortalOwner;
let browser: VisitorBrowser;

const invoices = ['Spring order', 'Autumn order', '=Samples'].map((memo, index) => ({
  ...{ id: 100 + index, tranid: `INV-${100 + index}`, trandate: '2026-01-15', duedate: '2026-02-15', memo },
  ...{ total: 10, unpaid: 5, entity: 1, status: 'open' },
  lines: [
    { item: 'Beaker', amount: 0.1 },
    { item: 'Jug', amount: 1_234.2 },
  ],
}));

beforeAll(async () => {
  const customers = [{ id: 1, name: 'Aster', email: 'orders@aster.example', isinactive: false }];
  await loadCompany(org.ctx, org.id, { customers });
  await loadRecords(org.ctx, org.id, 'invoice', { ...invoiceTypes, memo: 'text' }, invoices);
  owner = await asOwner(org);
  await switchOn(owner);
  browser = openBrowser(org);
  await browser.signIn('orders@aster.example');
});

const find = async (q: string): Promise<string[]> => {
  const query = new URLSearchParams({ q });
  const { text } = await browser.get(`/records/invoice?${query}`);
  const file = await browser.get(`/files/invoice.csv?${query}`);
  const found = [...new Set(text.match(/INV-1\d\d/g))].filter((number) => number !== q);
  expect([...new Set(file.text.match(/INV-1\d\d/g))].filter((number) => number !== q).sort()).toEqual(
    found.sort(),
  );
  return found;
};

it('searches the number, and texts as long as the visitor sees them', async () => {
  expect([await find('order'), (await find('inv-10')).length]).toEqual([[], 3]);
  const fields = [{ source: 'tranid' }, { source: 'memo' }].map((field) => ({
    ...field,
    label: field.source,
  }));
  const { id, revision } = (
    await owner.api('post', '/portal/field-mappings', { recordType: 'invoice', fields })
  ).body;
  expect([await find('ORDER'), (await find('inv-10')).length]).toEqual([['INV-100', 'INV-101'], 3]);
  expect((await browser.get('/files/invoice.csv?q=samples')).text).toContain(",'=Samples");
  const hidden = fields.map((field) => ({ ...field, visible: field.source === 'tranid' }));
  const changed = await owner.api('patch', `/portal/field-mappings/${id}`, { fields: hidden, revision });
  expect(changed.status).toBe(200);
  expect(await find('order')).toEqual([]);
});

it('adds up the lines of a record to the cent', async () => {
  const fields = [{ source: 'lines', label: 'Lines' }];
  const { id } = (await owner.api('get', '/portal/field-mappings')).body.data[0];
  expect((await owner.api('patch', `/portal/field-mappings/${id}`, { fields })).status).toBe(200);
  const { text } = await browser.get('/records/invoice/101');
  expect(text).toMatch(/<tfoot>.*Total.*1,234\.30.*<\/tfoot>/);
});

it('adds up credit that is open, also where the ERP writes it below zero', async () => {
  const credits = [-18.5, -113.73, 0, null].map((unpaid, index) => ({
    ...{
      id: 200 + index,
      tranid: `CR-${200 + index}`,
      trandate: '2026-01-20',
      total: -200,
      unpaid,
      entity: 1,
    },
  }));
  const { lines: _, status: __, duedate: ___, ...types } = invoiceTypes;
  await loadRecords(org.ctx, org.id, 'creditmemo', types, credits);
  const fields = { number: 'tranid', date: 'trandate', amount: 'total', amountDue: 'unpaid' };
  const entry = { recordType: 'creditmemo', customerField: 'entity', role: 'credit', fields, conditions: [] };
  await switchOn(owner, { records: [...settings.records, entry] });
  expect((await browser.get('/')).text).toMatch(/Credit.*132\.23/s);
  const { text } = await browser.get('/records/creditmemo?state=open');
  expect([...new Set(text.match(/CR-2\d\d/g))].sort()).toEqual(['CR-200', 'CR-201']);
});

it.each([
  ['customer', 'email'],
  ['invoice', 'entity'],
])(
  'shows nothing while %s.%s is missing, and says when the data were last complete',
  async (recordType, field) => {
    const setStale = (stale: object) =>
      org.ctx.db.data.query(
        `update ${tenantSchema(org.id)}.record_state set stale_fields = $1, generation = generation + 1 where record_type = $2`,
        [JSON.stringify(stale), recordType],
      );
    const since = { since: '2026-02-11T00:00:00Z', syncedAt: '2026-02-10T07:30:00Z', reason: 'unreadable' };
    await setStale({ [field]: since });
    const { status, text } = await browser.get('/records/invoice');
    expect(status).toBe(503);
    expect(text).not.toContain('INV-1');
    expect(text).toMatch(/last complete on 10 Feb 2026, 07:30 UTC/);
    await setStale({});
    expect((await browser.get('/records/invoice')).status).toBe(200);
  },
);

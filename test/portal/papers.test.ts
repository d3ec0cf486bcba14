// PDFs of records and statements, read back with a library that shares no code with the one that wrote them.
import { beforeAll, expect, it } from 'vitest';
import { readPdf, textsOf } from '../pdf/read-pdf.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { contactTypes, customerTypes, invoiceTypes, loadRecords, settings } from './company.ts';
import { asOwner, type PortalOwner, switchOn } from './served-portal.ts';
import { openBrowser, type VisitorBrowser } from './visiting.ts';

const org = useOrganization({ mail: true });
let owner: PortalOwner;
let browser: VisitorBrowser;

const lines = [
  { item: 'Beaker', amount: 0.1 },
  { item: 'Jug', amount: 1_234.2 },
];
const invoice = (id: number, entity: number, change: object = {}) => ({
  ...{ id, tranid: `INV/${id}`, trandate: '2026-01-15', duedate: '2026-02-15', memo: 'Not shown' },
  ...{ total: 1_481.16, unpaid: 5, tax: 246.86, entity, status: 'Open', lines, billaddress: null },
  ...change,
});
const billaddress = 'Aster GmbH & Co\n1 Høje Vej\n2100 København';
const invoices = [
  invoice(100, 1, { billaddress }),
  invoice(101, 1, { lines: [{ item: '漢字', amount: 1 }] }),
  invoice(102, 2),
  invoice(103, 1, { lines: Array.from({ length: 2_000 }, (_, at) => ({ item: `Part ${at}`, amount: at })) }),
  invoice(104, 1, { lines: Array.from({ length: 5_101 }, () => ({ item: 'Part', amount: 1 })) }),
];
const fields = ['tranid', 'trandate', 'duedate', 'tax', 'total', 'unpaid', 'billaddress', 'lines'].map(
  (source) => ({
    ...{ source, label: `Label ${source}` },
    ...(source === 'tax' && { format: { type: 'currency', currency: 'GBP', digits: 2 } }),
  }),
);
const entry = { ...settings.records[0], conditions: [] };

beforeAll(async () => {
  const customers = [1, 2].map((id) => ({
    ...{ id, name: `Customer ${id}`, email: `books@${id}.example`, isinactive: false },
  }));
  await loadRecords(org.ctx, org.id, 'customer', customerTypes, customers);
  await loadRecords(org.ctx, org.id, 'contact', contactTypes, []);
  const types = { ...invoiceTypes, memo: 'text', tax: 'number', billaddress: 'text' } as const;
  await loadRecords(org.ctx, org.id, 'invoice', types, invoices);
  owner = await asOwner(org);
  await owner.api('post', '/portal/field-mappings', { recordType: 'invoice', fields });
  await owner.api('put', '/portal/branding', {
    ...{ name: 'Northwind', accent: '#0b6e4f', documentNote: 'IBAN GB00 TEST\nPay within 30 days.' },
    postalAddress: '12 Harbour Street\nBristol',
  });
  await switchOn(owner, { records: [entry], unusedRoles: ['credit', 'payment', 'refund', 'journal'] });
  browser = openBrowser(org);
  await browser.signIn('books@1.example');
});

const download = async (path: string, headers = {}) => {
  const answer = await browser.get(path, headers);
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/pdf']);
  expect(answer.headers['cache-control']).toBe('private, no-store');
  return { texts: textsOf(await readPdf(answer.body)), name: answer.headers['content-disposition'] };
};

it('has what the page of the record says, the company and the customer', async () => {
  const { texts, name } = await download('/records/invoice/100.pdf');
  expect(name).toBe('attachment; filename=INV-100.pdf');
  const all = texts.join(' ');
  for (const text of [
    ...['Northwind', '12 Harbour Street', 'Bristol', 'Customer 1', 'Aster GmbH & Co', '2100 København'],
    ...['Invoice INV/100', 'Label trandate', '15 Jan 2026', 'Label duedate', '15 Feb 2026', 'Page 1 of 1'],
    ...['Beaker', '0.10', 'Jug', '1,234.20', 'Subtotal', '1,234.30', 'Label tax', '£246.86'],
    ...['Label total', '1,481.16', 'Label unpaid', '5.00', 'IBAN GB00 TEST', 'Pay within 30 days.'],
  ])
    expect(all).toContain(text);
  expect(all).not.toContain('Not shown');
  expect(all).not.toContain('Label billaddress');
});

it('is written in the visitor’s language', async () => {
  const { texts } = await download('/records/invoice/100.pdf', { 'accept-language': 'de' });
  expect(texts.join(' ')).toMatch(/Rechnung INV\/100.*15\.01\.2026.*1\.234,20.*Seite 1 von 1/);
});

it('has all of 2,000 lines', async () => {
  const { texts } = await download('/records/invoice/103.pdf');
  const parts = texts.filter((text) => /^Part \d+$/.test(text));
  expect(parts).toEqual(Array.from({ length: 2_000 }, (_, at) => `Part ${at}`));
});

it.each([
  ['letters that the fonts lack', 101],
  ['more lines than a PDF has', 104],
])('leads to the page for %s, which says so', async (_, id) => {
  const answer = await browser.get(`/records/invoice/${id}.pdf`);
  const location = `/portal/${org.slug}/records/invoice/${id}?pdf=none`;
  expect([answer.status, answer.headers['location']]).toEqual([303, location]);
  expect((await browser.get(`/records/invoice/${id}?pdf=none`)).text).toContain('No PDF could be made');
});

it.each(['/records/invoice/102.pdf', '/records/invoice/999.pdf', '/records/customer/1.pdf'])(
  '%s of someone else is none',
  async (path) => {
    expect((await browser.get(path)).status).toBe(404);
  },
);

it('has the rows of a statement', async () => {
  const { texts, name } = await download('/statement.pdf?from=2026-01-01&to=2026-01-31');
  expect(name).toBe('attachment; filename="Statement 2026-01-01 2026-01-31.pdf"');
  expect(texts.join(' ')).toMatch(
    /Statement.*1 Jan 2026 – 31 Jan 2026.*Opening balance 0\.00.*INV\/100.*INV\/101.*INV\/103.*INV\/104.*Closing balance 5,924\.64/,
  );
});

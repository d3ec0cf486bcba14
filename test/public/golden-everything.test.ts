// A version that declares everything that a version can: its answers are stored as a file and compared byte
// for byte, before and after a later version. See golden.test.ts: a difference means a broken promise; do not
// regenerate the file.

import { beforeAll, describe, expect, it } from 'vitest';
import { storeAccount } from '../setup/erp-account.ts';
import { useStarted } from '../setup/use-started.ts';
import { field } from '../sync/fixture.ts';
import { type InvoiceRow, invoicesEndpoint, openSite, publicApp } from './fixture.ts';
import { answersText, createLine, readKept } from './golden-answers.ts';

const rows: InvoiceRow[] = [
  {
    id: 1,
    tranid: 'INV-001',
    status: 'EUR',
    total: '10.50',
    seq: '1',
    paid: false,
    trandate: '2026-01-31',
    lastmodified: '2026-01-31T23:30:00Z',
    entity: '3',
    entityName: 'Café "Zürich"',
    lines: JSON.stringify([createLine('a', 1), createLine('b', 2.25)]),
  },
  {
    id: 2,
    tranid: 'INV-002',
    status: 'EUR',
    total: '0.1',
    seq: '2',
    paid: true,
    trandate: '2026-02-01',
    entity: '99',
    lines: '[]',
  },
  {
    id: 3,
    tranid: 'inv,003',
    status: 'USD',
    total: '12345678901234567890.123456789',
    seq: '9007199254740993',
    entity: '1',
    lines: null,
  },
  {
    id: 10,
    tranid: 'x',
    status: null,
    total: '-3',
    paid: true,
    trandate: '2026-02-28',
    lines: JSON.stringify([createLine('a', -7)]),
  },
  {
    id: 11,
    status: 'USD',
    total: '1',
    seq: '4',
    trandate: '2025-12-29',
    lastmodified: '2026-04-01T00:00:00Z',
    entity: 'no id',
  },
];
const numbers = ['sum', 'avg', 'min', 'max', 'count_distinct'];
const endpoints = [
  {
    ...invoicesEndpoint,
    filters: [
      ...invoicesEndpoint.filters,
      { field: 'lines.item', operators: ['eq'] },
      { field: 'lines.quantity', operators: ['eq', 'gt', 'lte'] },
    ],
    search: ['number', 'customerName'],
    or: true,
    sortSets: [
      ['paid', '-total'],
      ['-date', 'number'],
    ],
    aggregates: [
      { field: 'total', functions: numbers },
      { field: 'seq', functions: numbers, currency: 'none' },
      { field: 'modified', functions: ['min', 'max', 'count_distinct'] },
      { field: 'customer', functions: ['count_distinct'] },
    ],
    groups: [
      'status',
      'paid',
      'customerName',
      { field: 'date', periods: ['day', 'week', 'month', 'quarter', 'year'] },
      { field: 'modified', periods: ['day'] },
    ],
    relations: [
      { name: 'parent', field: 'customer', resource: 'parents' },
      { name: 'self', field: 'customer', resource: 'invoices' },
    ],
  },
  {
    name: 'parents',
    recordType: 'invoice',
    fields: [
      { name: 'title', source: 'tranid' },
      { name: 'amount', source: 'total', as: 'string' },
    ],
  },
];
const addresses = [
  '/v1/invoices?q=inv&fields=number',
  '/v1/invoices?q=IN',
  '/v1/invoices?q=z%C3%9Crich&fields=customerName',
  '/v1/invoices?or=(status:eq:USD,total:lt:0)&fields=status,total',
  '/v1/invoices?or=(number:eq:"inv,003",paid:null:true)&date_null=false&fields=number,paid',
  '/v1/invoices?or=(status:eq:USD)',
  '/v1/invoices?or=(colour:eq:red,status:like:x)',
  '/v1/invoices?lines.item=a&fields=number',
  '/v1/invoices?lines.quantity_gt=1&lines.item=a&fields=lines',
  '/v1/invoices?lines.quantity_gt=many',
  '/v1/invoices?sort=paid,-total&fields=paid,total',
  '/v1/invoices?sort=-date,number&pageSize=2&page=2&fields=date',
  '/v1/invoices?sort=-total&fields=total',
  '/v1/invoices?sort=-paid,total',
  '/v1/invoices?sort=paid,-total&order=desc',
  '/v1/invoices?expand=parent,self&fields=customer',
  '/v1/invoices/1?expand=parent',
  '/v1/invoices/10?expand=self&fields=number',
  '/v1/invoices?expand=owner',
  '/v1/parents?expand=parent',
  '/v1/invoices/changes?expand=parent',
  '/v1/invoices/summary',
  '/v1/invoices/summary?sum=total&avg=total&min=total&max=total&count_distinct=total&count=true&by=status',
  '/v1/invoices/summary?sum=seq&max=modified&min=modified&count_distinct=customer',
  '/v1/invoices/summary?by=date.month&by=paid&sort=-count',
  '/v1/invoices/summary?by=date.week',
  '/v1/invoices/summary?by=date.quarter&by=date.day',
  '/v1/invoices/summary?by=date.year&sum=total&status=EUR&sort=-sum.total&limit=1',
  '/v1/invoices/summary?by=modified.day',
  '/v1/invoices/summary?by=customerName&lines.item=a&q=inv',
  '/v1/invoices/summary?status=none&sum=total',
  '/v1/invoices/summary?status=none&by=paid',
  '/v1/invoices/summary?sum=total',
  '/v1/invoices/summary?sum=number&by=number&sort=total&limit=0',
  '/v1/parents/summary',
  '/v1/invoices/summary?by=status&sum=total#application/x-ndjson',
  '/v1/invoices?q=inv&sort=-date,number&fields=number,date#application/x-ndjson',
  '/v1/invoices?or=(status:eq:EUR,status:eq:USD)&fields=status#text/csv',
];

const kept = readKept('everything');

const site = useStarted(() => openSite({ settings: { cacheTtlMs: 0 }, rows, versions: [] }));
beforeAll(async () => {
  const fields = [
    { ...field('total', 'number'), currency: 'status' },
    { ...field('entity', 'reference'), target: 'invoice' },
  ];
  const type = {
    name: 'invoice',
    label: 'Invoice',
    table: 'transaction',
    source: 'test',
    idType: 'integer' as const,
    fields,
  };
  const shown = {
    openWhen: null,
    modifiedField: null,
    linesModifiedField: null,
    shownAs: { number: null, name: null, date: null, amount: null },
  };
  const unknown = { hasSubsidiaries: null, hasCurrencies: true, baseCurrency: null, accountingBooks: null };
  await storeAccount(site.tenant, {
    described: [{ ...type, ...shown }],
    listed: [],
    account: { ...unknown, utcOffsetMinutes: 60 },
  });
  await site.publish({ endpoints });
});

/** Of a process without cached answers. */
const answers = async (): Promise<string> =>
  answersText(await site.callerWith({}, publicApp(site.ctx)), addresses);

describe('a version that declares everything', () => {
  it('returns the stored responses', async () => {
    expect(await answers()).toBe(kept);
  });

  it('still does after the account moved to another zone and lost its currencies, and a later version declares nothing', async () => {
    const known = { hasSubsidiaries: null, hasCurrencies: false, baseCurrency: null, accountingBooks: null };
    const account = { ...known, utcOffsetMinutes: -300 };
    await storeAccount(site.tenant, { described: [], listed: [], account });
    await site.publish({ version: 'v2', endpoints: [invoicesEndpoint] });
    await site.get('/v2/invoices/summary').expect(404);
    expect(await answers()).toBe(kept);
  });
});

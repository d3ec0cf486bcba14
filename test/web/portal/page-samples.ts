// Each kind of page once, with a text of the caller wherever a text comes from data.
import type { Column, Frame, Language, Page, Table, Value } from '../../../src/portal/view-model.ts';

export const languages = ['en', 'de', 'fr', 'es', 'nl'] as const satisfies readonly Language[];

const address = (text: string): string => `/portal/acme/x?q=${text}`;

const listValues = (text: string): Value[] => [
  { kind: 'number-of-record', text },
  { kind: 'text', text },
  { kind: 'status', text },
  { kind: 'number', value: text, digits: null },
  { kind: 'money', amount: text, currency: text, digits: null },
  { kind: 'date', date: text, style: 'medium' },
  { kind: 'due', date: text, days: -2 },
  { kind: 'time', instant: text, style: 'short' },
  { kind: 'yes-no', value: true },
  null,
];

function makeTable(text: string): Table {
  const cells = listValues(text);
  const columns = cells.map(
    (_, at): Column => ({
      label: text,
      numeric: at === 4,
      sort: at === 0 ? { href: address(text), now: 'ascending' } : null,
    }),
  );
  return { columns, rows: [{ href: address(text), cells }], totals: [null, ...cells.slice(1)] };
}

const listFields = (text: string) => listValues(text).map((value) => ({ label: text, value }));

export function makeFrame(language: Language, text: string, change: Partial<Frame> = {}): Frame {
  const item = { label: text, href: address(text), isExternal: true, isCurrent: false, children: [] };
  return {
    language,
    languages,
    base: '/portal/acme',
    here: address(text),
    files: { stylesheets: ['/a.css', '/b.css'], scripts: ['/a.js', '/b.js'], icon: '/icon.svg' },
    brand: {
      name: text,
      logo: null,
      supportAddress: text,
      legalLinks: [{ label: text, url: `https://acme.example/${text}` }],
    },
    visitor: {
      email: text,
      customer: { id: text, name: text },
      customers: ['', '2'].map((end) => ({ id: text + end, name: text })),
      viewAsUntil: '2026-11-29T12:00:00Z',
    },
    navigation: [{ ...item, href: null, isExternal: false, children: [item] }, item],
    timeZone: 'Europe/London',
    ...change,
  };
}

function listPayPages(text: string): Page[] {
  const money = { amount: text, currency: text };
  const createdAt = '2026-11-29T10:00:00Z';
  const row = { href: address(text), number: text, date: null, dueDate: null, due: money, left: text };
  const payment = { href: address(text), amount: money, refunded: money, createdAt, succeededAt: createdAt };
  const invoices = [{ number: text, href: address(text), amount: money }];
  return [
    {
      kind: 'pay',
      ...{ asOf: createdAt, currency: 'EUR', digits: 2, address: address(text), total: money },
      rows: ['1', '0'].map((id) => ({
        ...{ ...row, id: id + text, isChosen: true, typed: text },
        problem: { code: 'rejected', says: text },
      })),
      ...{ others: 2, notShown: 1, credits: [money], canPay: true, isTest: true },
      pending: [{ href: address(text), amount: money, createdAt }],
      ...{ payments: address(text), problem: { code: 'rejected', says: text } },
    },
    {
      kind: 'payment',
      payment: { ...payment, id: text, invoices, status: 'PENDING', books: null },
      ...{ method: { type: text, last4: text }, failure: text, isBegun: true, isBack: true },
      ...{ url: address(text), end: address(text), events: address(text), list: address(text) },
    },
    {
      kind: 'payments',
      payments: (['SUCCEEDED', 'REFUNDED'] as const).map((status) => ({
        ...{ ...payment, id: status, invoices, status },
        books: 'entered',
      })),
      pay: address(text),
      pages: { page: 2, totalPages: 3, total: 60, previous: address(text), next: address(text) },
    },
  ];
}

function listAccountPages(text: string): Page[] {
  const table = makeTable(text);
  const instant = '2026-11-29T10:00:00Z';
  return [
    {
      kind: 'home',
      pay: address(text),
      asOf: text,
      balances: ['EUR', text].map((currency) => ({
        currency,
        due: text,
        overdue: text,
        credit: text,
        aging: ['1', '2', '3', '4', text].map((amount) => ({ amount, count: 1 })),
        openCount: 3,
      })),
      open: { table, all: address(text), total: 1 },
      payments: { table, all: address(text) },
      news: { since: instant, counts: [{ label: text, count: 2, href: address(text) }] },
    },
    {
      kind: 'list',
      title: text,
      asOf: instant,
      address: address(text),
      filters: {
        q: text,
        state: { now: 'open', offered: ['all', 'open', 'overdue'] },
        period: { from: text, to: text },
        canSearch: true,
        kept: { [text]: text },
        cleared: address(text),
      },
      sums: [{ label: text, values: [{ amount: text, currency: text }] }],
      table,
      pages: { page: 2, totalPages: 3, total: 60, previous: address(text), next: address(text) },
      downloads: { csv: address(text), xlsx: address(text) },
    },
    {
      kind: 'record',
      type: text,
      title: text,
      list: address(text),
      asOf: instant,
      status: text,
      amounts: listFields(text),
      fields: listFields(text),
      lines: table,
      related: [{ title: text, table }],
      pay: address(text),
      ...{ document: text, pdf: address(text), hasNoPdf: true },
    },
    {
      ...{ kind: 'statement', asOf: instant, address: address(text), hasNoPdf: true },
      period: { from: text, to: text },
      offered: [{ period: 'thisMonth', href: address(text), isCurrent: true }],
      accounts: [text, null].map((currency) => ({
        ...{ currency, opening: text, charges: text, payments: text, closing: text, table },
        aging: Array.from({ length: 5 }, () => ({ amount: text, count: 2 })),
      })),
      downloads: { csv: address(text), pdf: address(text) },
    },
    {
      ...{ kind: 'ask', address: address(text), events: null, typed: text, maxLength: 2000, left: 3 },
      turns: [
        { ...{ failure: null, isRunning: false }, html: '<p>An <em>answer</em>.</p>' },
        { ...{ failure: 'failed' as const, isRunning: false }, html: '' },
      ].map((turn) => ({
        ...{ ...turn, question: text, askedAt: instant },
        sources: [{ label: text, href: address(text) }],
      })),
      problem: { code: 'limit', at: instant },
      canAsk: true,
    },
    {
      kind: 'profile',
      asOf: null,
      mails: { offered: ['invoice', 'due'], kinds: ['due'], dueDays: 3, withPdf: true },
      isSaved: true,
      fields: listFields(text),
      sessions: [true, false].map((isCurrent) => ({
        id: `${text}${isCurrent}`,
        isCurrent,
        browser: text,
        startedAt: instant,
        lastSeenAt: text,
      })),
    },
  ];
}

const makeConfiguredPage = (text: string): Page => ({
  kind: 'page',
  title: text,
  blocks: [
    { type: 'heading', level: 1, text },
    { type: 'heading', level: 4, text },
    { type: 'html', html: '<p>An <em>own</em> text.</p>' },
    { type: 'link', label: text, url: `https://acme.example/${text}` },
    { type: 'image', url: `https://acme.example/${text}`, alt: text },
    { type: 'table', title: text, table: makeTable(text), total: 2, all: address(text) },
    { type: 'unavailable', title: text },
  ],
});

const problemCodes = [
  'not_found',
  'no_customer',
  'too_many_customers',
  'incomplete',
  'too_long',
  'unavailable',
  'too_many_requests',
  'bad_request',
  'failed',
] as const;
const formProblems = [
  ...(['no_address', 'no_code', 'wrong_code', 'too_many', 'code_used_up', 'expired'] as const),
  ...(['not_signed_in', 'not_verified'] as const),
];

/** Each kind of page, those of problems with each problem. */
export const listPages = (text: string): Page[] => [
  ...listAccountPages(text),
  ...listPayPages(text),
  makeConfiguredPage(text),
  ...[text, null].map(
    (email): Page => ({
      ...{ kind: 'mail-link', mail: 'due', email, action: address(text) },
    }),
  ),
  ...problemCodes.map((code): Page => ({ kind: 'problem', code, completeAt: text, requestId: text })),
  {
    ...{ kind: 'sign-in', email: text, returnTo: text, problem: { code: 'no_address' } },
    ...{ demo: { email: text }, provider: text },
  },
  ...formProblems.map(
    (code): Page => ({ kind: 'code', email: text, problem: { code, minutes: 2, tries: 1 } }),
  ),
  { kind: 'code', email: null, problem: null },
  { kind: 'other-browser' },
  { kind: 'choose-customer', customers: [{ id: text, name: text }], returnTo: text },
];

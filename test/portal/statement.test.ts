// Statements of an account, compared with a model that adds up whole cents by itself.
import { beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '../access/random.ts';
import { publishVersion } from '../public/fixture.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { contactTypes, customerTypes, loadRecords, type Row } from './company.ts';
import { asOwner, type PortalOwner, switchOn } from './served-portal.ts';
import { openBrowser, type VisitorBrowser } from './visiting.ts';

const random = createRandom(53);
const between = (min: number, max: number): number => min + random.int(max - min + 1);
const org = useOrganization({ mail: true });
let owner: PortalOwner;
let browser: VisitorBrowser;

const types = {
  tranid: 'text',
  trandate: 'date',
  duedate: 'date',
  total: 'number',
  unpaid: 'number',
  entity: 'integer',
  currency: 'text',
} as const;
const fields = {
  number: 'tranid',
  date: 'trandate',
  dueDate: 'duedate',
  amount: 'total',
  currency: 'currency',
};
/** By record type: the role, and how the ERP writes what raises the balance (journals have both signs). */
const kinds = {
  invoice: { role: 'invoice', prefix: 'INV', written: 1, effect: 1 },
  creditmemo: { role: 'credit', prefix: 'CR', written: -1, effect: -1 },
  payment: { role: 'payment', prefix: 'PY', written: 1, effect: -1 },
  refund: { role: 'refund', prefix: 'RF', written: -1, effect: 1 },
  journal: { role: 'journal', prefix: 'JE', written: 0, effect: 0 },
} as const;
type Kind = keyof typeof kinds;
const names: Readonly<Record<Kind, string>> = {
  ...{ invoice: 'Invoice', creditmemo: 'Credit note', payment: 'Payment', refund: 'Refund' },
  journal: 'Journal entry',
};
const entries = Object.entries(kinds).map(([recordType, { role }]) => ({
  ...{ recordType, customerField: 'entity', role, fields, conditions: [] },
}));

type Posting = {
  kind: Kind;
  id: number;
  customer: number;
  number: string;
  date: string;
  currency: string;
  cents: number;
};
const twoDigits = (number: number): string => String(number).padStart(2, '0');
const dayOf = (): string => `202${between(4, 5)}-${twoDigits(between(1, 12))}-${twoDigits(between(1, 28))}`;
const postings = Object.entries(kinds).flatMap(([kind, { prefix, effect }], at) =>
  Array.from({ length: 120 }, (_, index): Posting => {
    const sign = effect === 0 ? random.pick([1, -1]) : effect;
    return {
      ...{ kind: kind as Kind, id: (at + 1) * 1_000 + index, customer: between(1, 4), date: dayOf() },
      ...{ number: `${prefix}-${index}`, currency: random.pick(['GBP', 'GBP', 'JPY']) },
      cents: sign * between(0, 1_000_000),
    };
  }),
);
const decimal = (cents: number): string =>
  `${cents < 0 ? '-' : ''}${Math.floor(Math.abs(cents) / 100)}.${twoDigits(Math.abs(cents) % 100)}`;

function toRow({ kind, id, customer, number, date, currency, cents }: Posting): Row {
  const { written } = kinds[kind];
  const total = decimal(written === 0 ? cents : written * Math.abs(cents));
  return {
    id,
    tranid: number,
    trandate: date,
    duedate: null,
    total,
    unpaid: '0',
    entity: customer,
    currency,
  };
}
const load = (kind: Kind, rows: readonly Posting[]) =>
  loadRecords(org.ctx, org.id, kind, types, rows.map(toRow));

beforeAll(async () => {
  const customers = [1, 2, 3, 4].map((id) => ({
    ...{ id, name: `Customer ${id}`, email: `books@${id}.example`, isinactive: false },
  }));
  await loadRecords(org.ctx, org.id, 'customer', customerTypes, customers);
  await loadRecords(org.ctx, org.id, 'contact', contactTypes, []);
  for (const kind of Object.keys(kinds) as Kind[])
    await load(
      kind,
      postings.filter((posting) => posting.kind === kind),
    );
  owner = await asOwner(org);
  await switchOn(owner, { records: entries });
  browser = openBrowser(org);
  await browser.signIn('books@1.example');
});

/** Of a CSV file without quoted cells. */
const cellsOf = (text: string): string[][] =>
  text
    .replace('\ufeff', '')
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(','));

/** What the file says: in cents, by currency. */
async function read(visitor: VisitorBrowser, from: string, to: string) {
  const { status, text } = await visitor.get(`/statement.csv?from=${from}&to=${to}`);
  expect(status).toBe(200);
  return cellsOf(text).map(([currency, date, type, number, , charge = '', payment = '', balance = '']) => ({
    ...{ currency, date, type, number },
    change: Math.round(100 * (Number(charge) - Number(payment))),
    balance: Math.round(100 * Number(balance)),
  }));
}

function expected(customer: number, from: string, to: string) {
  const own = postings.filter((posting) => posting.customer === customer && posting.date <= to);
  return [...new Set(own.map(({ currency }) => currency))].sort().flatMap((currency) => {
    const ofCurrency = own.filter((posting) => posting.currency === currency);
    const sum = (some: readonly Posting[]): number => some.reduce((total, { cents }) => total + cents, 0);
    const opening = sum(ofCurrency.filter(({ date }) => date < from));
    const within = ofCurrency.filter(({ date }) => date >= from);
    if (within.length === 0 && opening === 0) return [];
    return [{ currency, opening, within, closing: sum(ofCurrency) }];
  });
}

describe('a statement', () => {
  it.each([1, 2, 3, 4])('of customer %i is to the cent what the documents add up to', async (customer) => {
    const visitor = openBrowser(org);
    await visitor.signIn(`books@${customer}.example`);
    for (let tries = 0; tries < 15; tries += 1) {
      const [from = '', to = ''] = [dayOf(), dayOf()].sort();
      const rows = await read(visitor, from, to);
      const accounts = expected(customer, from, to);
      expect([...new Set(rows.map(({ currency }) => currency))]).toEqual(
        accounts.map(({ currency }) => currency),
      );
      for (const { currency, opening, within, closing } of accounts) {
        const [first, ...others] = rows.filter((row) => row.currency === currency);
        const last = others.pop();
        expect([first?.balance, last?.balance]).toEqual([opening, closing]);
        expect(others.map(({ date }) => date)).toEqual(others.map(({ date }) => date).sort());
        let balance = opening;
        for (const row of others) expect(row.balance).toBe((balance += row.change));
        const key = (type: unknown, number: unknown, date: unknown, cents: number): string =>
          [type, number, date, cents].join(' ');
        expect(others.map((row) => key(row.type, row.number, row.date, row.change)).sort()).toEqual(
          within.map((one) => key(names[one.kind], one.number, one.date, one.cents)).sort(),
        );
      }
    }
  });

  it('shows on its page what the file has, in both orders of the days', async () => {
    const [from, to] = ['2024-06-01', '2024-12-31'];
    const { text } = await browser.get(`/statement?from=${to}&to=${from}`);
    const accounts = expected(1, from, to);
    expect(text.match(/Statement in (GBP|JPY)<\/h2>/g)).toHaveLength(accounts.length);
    for (const { currency, opening, closing, within } of accounts) {
      const money = (cents: number): string =>
        new Intl.NumberFormat('en', {
          ...{ style: 'currency', currency },
          ...(cents % 100 !== 0 && {
            minimumFractionDigits: cents % 10 === 0 ? (currency === 'GBP' ? 2 : 1) : 2,
          }),
        }).format(cents / 100);
      for (const amount of [opening, closing]) expect(text).toContain(money(amount));
      for (const { number } of within) expect(text).toContain(number);
    }
    expect(text).toContain(`/statement.csv?from=${from}&amp;to=${to}`);
  });

  it('is read in the visitor’s language, and any other day than one leaves the usual period', async () => {
    const { text } = await browser.get('/statement?from=2024-02-31&to=nonsense', { 'accept-language': 'de' });
    expect(text).toContain('<h1>Kontoauszug</h1>');
    expect(text).toMatch(/href="[^"]*\/statement"[^>]*aria-current/);
  });

  it('of one version of the data alone, however often syncs publish', async () => {
    const invoices = postings.filter(({ kind }) => kind === 'invoice');
    const period = ['2024-01-01', '2025-12-31'] as const;
    const variants = [1, 7].map((factor) => invoices.map((one) => ({ ...one, cents: factor * one.cents })));
    const closings = variants.map((changed) =>
      postings
        .filter((one) => one.kind !== 'invoice')
        .concat(changed)
        .filter((one) => one.customer === 1 && one.currency === 'GBP')
        .reduce((total, { cents }) => total + cents, 0),
    );
    let isOver = false;
    const publishing = (async () => {
      for (let at = 0; !isOver; at += 1) await load('invoice', variants[(at + 1) % 2] ?? []);
    })();
    const found = new Set<number>();
    let refused = 0;
    for (let tries = 0; tries < 60; tries += 1) {
      const { status, text } = await browser.get(`/statement.csv?from=${period[0]}&to=${period[1]}`);
      if (status === 503) refused += 1;
      else {
        const last = cellsOf(text).findLast(([currency]) => currency === 'GBP');
        found.add(Math.round(100 * Number(last?.[7])));
      }
    }
    isOver = true;
    await publishing;
    await load('invoice', invoices);
    expect([...found].sort()).toEqual([...closings].sort());
    expect(refused).toBeLessThan(20);
  });

  it('has at most 5,000 documents: a longer period is asked to be shorter', async () => {
    const many = Array.from({ length: 5_001 }, (_, index) => ({
      ...{ kind: 'invoice' as const, id: 100_000 + index, customer: 1, number: `M-${index}` },
      ...{ date: index === 0 ? '2024-01-01' : '2024-01-02', currency: 'GBP', cents: 1 },
    }));
    await load('invoice', many);
    const page = await browser.get('/statement?from=2024-01-01&to=2024-01-31');
    expect([page.status, page.text.includes('too many documents')]).toEqual([200, true]);
    const file = await browser.get('/statement.csv?from=2024-01-01&to=2024-01-31');
    expect([file.status, file.text.includes('too long')]).toEqual([422, true]);
    expect((await browser.get('/statement.csv?from=2024-01-02&to=2024-01-02')).status).toBe(200);
    await load(
      'invoice',
      postings.filter(({ kind }) => kind === 'invoice'),
    );
  });
});

describe('statements are offered', () => {
  const isOffered = async (): Promise<boolean[]> => {
    const [page, file, home] = [
      await browser.get('/statement'),
      await browser.get('/statement.csv'),
      await browser.get('/'),
    ];
    return [page.status === 200, file.status === 200, /href="[^"]*\/statement"/.test(home.text)];
  };
  const gaps = async (): Promise<object[]> => (await owner.api('get', '/portal/access')).body.statementGaps;
  const without = (role: string) => entries.filter((entry) => entry.role !== role);

  it('with every kind of document, and without those that the ERP doesn’t have', async () => {
    expect([await isOffered(), await gaps()]).toEqual([[true, true, true], []]);
    await switchOn(owner, { records: without('journal') });
    expect(await isOffered()).toEqual([false, false, false]);
    expect(await gaps()).toEqual([{ role: 'journal', recordType: null, code: 'not_shown' }]);
    await switchOn(owner, { records: without('journal'), unusedRoles: ['journal'] });
    expect([await isOffered(), await gaps()]).toEqual([[true, true, true], []]);
  });

  it('not where the date, the amount or the currency of one of them isn’t known', async () => {
    const { date: _, ...undated } = fields;
    const { amount: __, ...unpriced } = fields;
    const { currency: ___, ...bare } = fields;
    const known: Readonly<Record<string, object>> = { credit: undated, payment: unpriced, refund: bare };
    const records = entries.map((entry) => ({ ...entry, fields: known[entry.role] ?? fields }));
    await switchOn(owner, { records });
    expect(await isOffered()).toEqual([false, false, false]);
    expect(await gaps()).toEqual([
      { role: 'credit', recordType: 'creditmemo', code: 'no_date' },
      { role: 'payment', recordType: 'payment', code: 'no_amount' },
      { role: 'refund', recordType: 'refund', code: 'no_currency' },
    ]);
  });

  it('by portals that were enabled before there were any, once they have every kind', async () => {
    await switchOn(owner, { records: entries });
    await org.sql((tx) => tx.raw("update portal_access set settings = settings - 'unusedRoles' - 'timed'"));
    expect([await isOffered(), await gaps()]).toEqual([[true, true, true], []]);
  });

  it('not to anyone whose amounts a version masks', async () => {
    const endpoint = {
      ...{ name: 'payments', recordType: 'payment', description: '', filters: [], sorts: [] },
      ...{ defaultSort: null, maxPageSize: 100 },
      fields: [{ name: 'total', source: 'total', description: '', mask: 'hash' }],
    };
    await publishVersion(org.ctx, org.id, { endpoints: [endpoint] });
    await until(async () => (await gaps()).length > 0);
    expect(await isOffered()).toEqual([false, false, false]);
    expect(await gaps()).toEqual([{ role: 'payment', recordType: 'payment', code: 'masked' }]);
  });
});

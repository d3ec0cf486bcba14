// What a controller builds from the service's exports: a trial balance by account, period and accounting book
// from the synced posting lines, and the open amounts of customers and vendors by age. Both equal what the
// account's own database says, to the last digit: after the first load and while days are entered one by one,
// with one run of each sync a day.
import { beforeAll, describe, expect, it } from 'vitest';
import { readAccount } from '../chaos/oracle/account.ts';
import { profile } from '../setup/account-profile.ts';
import { useStarted } from '../setup/use-started.ts';
import { listRecordTypes, openCompany, type Run } from './company.ts';

/** A whole month takes twice as long: `BOOKS_FROM=2011-08-01`. */
const usualFirstDay = '2011-08-18';
const firstDay = process.env['BOOKS_FROM'] ?? usualFirstDay;
/** At least these sums are compared; the books of an earlier day have fewer. */
const [minSums, minOpen] = firstDay < usualFirstDay ? [50, 20] : [100, 50];
const days = Array.from({ length: 31 }, (_unused, n) => `2011-08-${String(n + 1).padStart(2, '0')}`).filter(
  (day) => day >= firstDay,
);
const postings = 'transactionaccountingline';
const postingFields = ['transaction', 'account', 'accountingbook', 'debit', 'credit', 'amount'];
const headerFields = ['trandate', 'postingperiod'];
const openFields = ['entity', 'duedate', 'foreignamountunpaid'];

const company = useStarted(() => openCompany({ replayFrom: firstDay }));
/** All transaction types that have records, or will have some by the last day. */
let transactions: readonly string[];
const configs = new Map<string, string>();

async function listTransactions(): Promise<string[]> {
  const { rows } = await company.account.pool.query<{ recordtype: string }>(
    `select recordtype from ledger.transactiontype where code in (select type from ledger.transaction union select type from held.transaction)`,
  );
  const found = new Set(rows.map(({ recordtype }) => recordtype));
  const names = await listRecordTypes(company, '&family=transaction');
  const wanted = names.filter((name) => found.delete(name.toLowerCase()));
  expect([...found]).toEqual([]);
  return wanted;
}

const listFields = (recordType: string): readonly string[] => {
  if (recordType === postings) return postingFields;
  return ['invoice', 'vendorBill'].includes(recordType) ? [...headerFields, ...openFields] : headerFields;
};

const createShape = (recordType: string) => ({
  recordType,
  fields: listFields(recordType).map((field) => ({ name: field, field, isLabel: false, isNumber: false })),
  lineFields: null,
});

beforeAll(async () => {
  transactions = await listTransactions();
  for (const recordType of [postings, ...transactions]) {
    const config = { name: recordType, recordType, fields: listFields(recordType) };
    const made = await company.api('post', '/sync-configs', config);
    expect([recordType, made.status, made.body.error]).toEqual([recordType, 201, undefined]);
    configs.set(recordType, made.body.id);
  }
});

const scale = 1_000_000n;
/** An exact decimal as a whole number of millionths. */
function parseAmount(text: string): bigint {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d*)\.?(\d{0,6})$/.exec(text) ?? [];
  if (sign === undefined) throw new Error(`${text} has more digits than are compared`);
  const amount = BigInt(whole || '0') * scale + BigInt(fraction.padEnd(6, '0'));
  return sign === '-' ? -amount : amount;
}
type Sums = Map<string, bigint>;
const add = (sums: Sums, key: readonly unknown[], amount: unknown): void => {
  if (amount === null || amount === undefined) return;
  const name = key.join(' | ');
  sums.set(name, (sums.get(name) ?? 0n) + parseAmount(String(amount)));
};
const kept = (sums: Sums): [string, bigint][] =>
  [...sums].filter(([, amount]) => amount !== 0n).sort(([a], [b]) => (a < b ? -1 : 1));

type Posting = Readonly<Record<string, string | null>>;

async function servedBalance(runs: ReadonlyMap<string, Run>): Promise<Sums> {
  const periods = new Map<string, string | null>();
  for (const recordType of transactions)
    for (const { id, postingperiod } of await exportPostings(runs, recordType))
      periods.set(String(id), postingperiod ?? null);
  const sums: Sums = new Map();
  for (const line of await exportPostings(runs, postings)) {
    const { transaction, account, accountingbook } = line;
    if (!periods.has(String(transaction))) throw new Error(`No transaction ${transaction} is served`);
    const key = [account, periods.get(String(transaction)), accountingbook];
    for (const side of ['debit', 'credit', 'amount']) add(sums, [...key, side], line[side]);
  }
  return sums;
}

const exportPostings = (runs: ReadonlyMap<string, Run>, recordType: string): Promise<Posting[]> =>
  company.exportAll<Posting>(recordType, runs.get(recordType)?.generation ?? '0');

const ledgerBalance = (): Promise<Sums> =>
  readAccount(company.account, async (client) => {
    const { rows } = await client.query<Posting>(
      `select a.account::text, t.postingperiod::text, a.accountingbook::text, sum(a.debit)::text as debit, sum(a.credit)::text as credit,
         sum(a.amount)::text as amount
       from transactionaccountingline a join transaction t on t.id = a.transaction group by 1, 2, 3`,
    );
    const sums: Sums = new Map();
    for (const row of rows)
      for (const side of ['debit', 'credit', 'amount'])
        add(sums, [row['account'], row['postingperiod'], row['accountingbook'], side], row[side]);
    return sums;
  });

const toAgeBucket = (overdue: number): string =>
  ['not due', '1 to 30', '31 to 60', 'more'][overdue <= 0 ? 0 : overdue <= 30 ? 1 : overdue <= 60 ? 2 : 3] ??
  '';

async function servedAging(runs: ReadonlyMap<string, Run>, today: string): Promise<Sums> {
  const sums: Sums = new Map();
  for (const recordType of ['invoice', 'vendorBill'])
    for (const { entity, duedate, foreignamountunpaid } of await exportPostings(runs, recordType)) {
      const overdue =
        duedate === null || duedate === undefined
          ? 0
          : (Date.parse(today) - Date.parse(duedate)) / 86_400_000;
      add(sums, [recordType, entity, toAgeBucket(overdue)], foreignamountunpaid);
    }
  return sums;
}

/** By the account's own days overdue, which it computes for invoices. */
const ledgerAging = (): Promise<Sums> =>
  readAccount(company.account, async (client) => {
    const { rows } = await client.query<{ type: string; entity: string; overdue: number; unpaid: string }>(
      `select case t.type when 'CustInvc' then 'invoice' else 'vendorBill' end as type, t.entity::text,
         coalesce(t.daysoverduesearch, suiteql.today() - t.duedate, 0)::int as overdue, t.foreignamountunpaid::text as unpaid
       from transaction t where t.type in ('CustInvc', 'VendBill')`,
    );
    const sums: Sums = new Map();
    for (const { type, entity, overdue, unpaid } of rows)
      add(sums, [type, entity, toAgeBucket(overdue)], unpaid);
    return sums;
  });

async function expectBooks(runs: ReadonlyMap<string, Run>, today: string): Promise<void> {
  const [served, ledger] = [kept(await servedBalance(runs)), kept(await ledgerBalance())];
  expect(ledger.length).toBeGreaterThan(minSums);
  expect(served).toEqual(ledger);
  const amounts = served.filter(([key]) => key.endsWith('amount'));
  expect(amounts.reduce((sum, [, amount]) => sum + amount, 0n)).toBe(0n);
  const [aging, open] = [kept(await servedAging(runs, today)), kept(await ledgerAging())];
  expect(open.length).toBeGreaterThan(minOpen);
  expect(aging).toEqual(open);
}

describe(`the books of the profile ${profile}`, () => {
  it('equal the account after the first load', { timeout: 900_000 }, async () => {
    const runs = await company.sync(configs, 'full');
    await company.publish([postings, ...transactions].map(createShape));
    await expectBooks(runs, new Date(Date.parse(firstDay) - 86_400_000).toISOString().slice(0, 10));
    const books = new Set(
      (await exportPostings(runs, postings)).map(({ accountingbook }) => String(accountingbook)),
    );
    expect(books.size).toBe(profile === 'oneworld' ? 2 : 1);
  });

  it('equal the account after each week of daily runs', { timeout: 1_800_000 }, async () => {
    for (const [index, day] of days.entries()) {
      await company.erp.account.advanceTo(day);
      const runs = await company.sync(configs, 'incremental');
      if ((index + 1) % 7 === 0 || day === days.at(-1)) await expectBooks(runs, day);
    }
    expect(company.erp.account.daysLeft()).toBe(0);
  });
});

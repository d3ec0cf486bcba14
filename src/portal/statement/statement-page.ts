// The page of a statement: which period the address asks for, and the documents of each currency in a table.
import Big from 'big.js';
import type { Request } from 'express';
import { isDay } from '../../core/text/calendar.ts';
import { readBalances, shiftDays, unlessMasked } from '../balances.ts';
import { hasStatement } from '../offer.ts';
import { recordAddress } from '../record-table.ts';
import type { Balance, Column, StatementPage, Table, Value } from '../view-model.ts';
import { notFoundHere, type Visit } from '../visit.ts';
import { type Account, isTooLong, type Period, readStatement } from './statement.ts';

type Offered = StatementPage['offered'][number]['period'];

const startOfMonth = (day: string): string => `${day.slice(0, 7)}-01`;
/** Up to today, or whole. */
function periodsOf(today: string): Readonly<Record<Offered, Period>> {
  const endOfLast = shiftDays(startOfMonth(today), -1);
  const lastYear = String(Number(today.slice(0, 4)) - 1).padStart(4, '0');
  return {
    thisMonth: { from: startOfMonth(today), to: today },
    lastMonth: { from: startOfMonth(endOfLast), to: endOfLast },
    thisYear: { from: `${today.slice(0, 4)}-01-01`, to: today },
    lastYear: { from: `${lastYear}-01-01`, to: `${lastYear}-12-31` },
  };
}

/** Without days in the address: from the first day of the month before last to today. */
export function readPeriod({ today }: Pick<Visit, 'today'>, { query }: Pick<Request, 'query'>): Period {
  const dayOf = (name: string): string | undefined => {
    const text = query[name];
    return typeof text === 'string' && isDay(text) ? text : undefined;
  };
  const to = dayOf('to') ?? today;
  const monthBefore = startOfMonth(shiftDays(startOfMonth(to), -1));
  const from = dayOf('from') ?? startOfMonth(shiftDays(monthBefore, -1));
  return from <= to ? { from, to } : { from: to, to: from };
}

const columns: readonly Column[] = [
  { label: { meaning: 'date' }, numeric: false, sort: null },
  { label: { statement: 'type' }, numeric: false, sort: null },
  { label: { meaning: 'number' }, numeric: false, sort: null },
  { label: { meaning: 'dueDate' }, numeric: false, sort: null },
  { label: { statement: 'charge' }, numeric: true, sort: null },
  { label: { statement: 'payment' }, numeric: true, sort: null },
  { label: { statement: 'balance' }, meaning: 'amount', numeric: true, sort: null },
];

const toDate = (date: string | null): Value =>
  date === null ? null : { kind: 'date', date, style: 'medium' };

function toTable(visit: Visit, { from, to }: Period, account: Account): Table {
  const { currency, opening, postings, closing } = account;
  const money = (amount: Big): Value => ({ kind: 'money', amount: amount.toFixed(), currency, digits: null });
  const balanceRow = (date: string, statement: 'opening' | 'closing', amount: Big) => ({
    href: null,
    cells: [
      toDate(date),
      { kind: 'label' as const, label: { statement } },
      ...[null, null, null, null],
      money(amount),
    ],
  });
  let balance = opening;
  const rows = postings.map(({ role, recordType, id, number, date, dueDate, amount }) => {
    balance = balance.plus(amount);
    return {
      href: recordAddress(visit, recordType, id),
      cells: [
        toDate(date),
        { kind: 'label' as const, label: { document: role } },
        { kind: 'number-of-record' as const, text: number },
        toDate(dueDate),
        amount.lt(0) ? null : money(amount),
        amount.lt(0) ? money(amount.abs()) : null,
        money(balance),
      ],
    };
  });
  return {
    columns,
    rows: [balanceRow(from, 'opening', opening), ...rows, balanceRow(to, 'closing', closing)],
  };
}

const zero = new Big(0);
/** What raised the balance, and what lowered it, as positive amounts. */
export function turnover({ postings }: Account): { readonly charges: Big; readonly payments: Big } {
  const sum = (amounts: readonly Big[]): Big => amounts.reduce((total, amount) => total.plus(amount), zero);
  const amounts = postings.map(({ amount }) => amount);
  return {
    charges: sum(amounts.filter((amount) => amount.gt(0))),
    payments: sum(amounts.filter((amount) => amount.lt(0))).abs(),
  };
}

/** What was open at a past date isn't known: the records say what is open now. */
const readAging = (visit: Visit, { to }: Period): Promise<readonly Balance[]> =>
  to < visit.today
    ? Promise.resolve([])
    : unlessMasked(readBalances(visit)).then((found) => found?.balances ?? []);

/** Throws 404 where there are no statements, and rejects as `readStatement` does but for periods that are too long. */
export async function readStatementPage(visit: Visit, req: Pick<Request, 'query'>): Promise<StatementPage> {
  if (!(await hasStatement(visit))) throw notFoundHere();
  const period = readPeriod(visit, req);
  const address = `${visit.site.base}/statement`;
  const queryOf = ({ from, to }: Period): string => new URLSearchParams({ from, to }).toString();
  const [statement, balances] = await Promise.all([
    readStatement(visit, period).catch((error: unknown) => {
      if (isTooLong(error)) return null;
      throw error;
    }),
    readAging(visit, period),
  ]);
  return {
    kind: 'statement',
    ...{ asOf: statement?.syncedAt ?? null, address, period },
    offered: Object.entries(periodsOf(visit.today)).map(([name, one]) => ({
      period: name as Offered,
      href: `${address}?${queryOf(one)}`,
      isCurrent: one.from === period.from && one.to === period.to,
    })),
    accounts:
      statement?.accounts.map((account) => {
        const { charges, payments } = turnover(account);
        return {
          currency: account.currency,
          ...{ opening: account.opening.toFixed(), closing: account.closing.toFixed() },
          ...{ charges: charges.toFixed(), payments: payments.toFixed() },
          table: toTable(visit, period, account),
          aging: balances.find(({ currency }) => currency === account.currency)?.aging ?? null,
        };
      }) ?? null,
    downloads: { csv: `${address}.csv?${queryOf(period)}`, pdf: `${address}.pdf?${queryOf(period)}` },
    hasNoPdf: req.query['pdf'] === 'none',
  };
}

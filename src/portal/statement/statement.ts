// The account of a customer over a period: what was owed before it, every document that changed that, and what is owed
// at its end, by currency.
import Big from 'big.js';
import { AppError, invalid, unavailable } from '../../core/errors.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import type { ReceivableRole } from '../../core/text/portal-terms.ts';
import {
  listReceivables,
  type ReceivableEntry,
  recordsEndpoint,
  writesNegative,
} from '../../platform/index.ts';
import { oldest, shiftDays } from '../balances.ts';
import { findMeaning, type RecordRow, toDigits } from '../shown-fields.ts';
import type { Visit } from '../visit.ts';

/** Days, both included: `YYYY-MM-DD`. */
export type Period = { readonly from: string; readonly to: string };

/** A document. `amount` is negative where it lowers what is owed. */
export type Posting = {
  readonly role: ReceivableRole;
  readonly recordType: string;
  readonly id: string;
  readonly number: string;
  readonly date: string;
  readonly dueDate: string | null;
  readonly currency: string | null;
  readonly amount: Big;
};
/** In one currency; null where the ERP names none. */
export type Account = {
  readonly currency: string | null;
  readonly opening: Big;
  /** In order. */
  readonly postings: readonly Posting[];
  readonly closing: Big;
};
export type Statement = Period & {
  readonly accounts: readonly Account[];
  /** Of the oldest sync that was used; RFC 3339. */
  readonly syncedAt: string | null;
};

/** In one statement: more make neither a page nor a document. */
export const maxPostings = 5_000;
const pageSize = 1_000;
/** A sync may publish between two reads. */
const maxTries = 3;

const zero = new Big(0);
/** By currency. */
type Sums = ReadonlyMap<string | null, Big>;

/** Rejected with 422 by statements of more documents than `maxPostings`. */
const tooLong = (): AppError =>
  invalid(`There are more than ${maxPostings} documents in this period`, [
    { path: 'from', code: 'statement_too_long', message: 'Choose a shorter period' },
  ]);

export const isTooLong = (error: unknown): boolean =>
  error instanceof AppError && error.details[0]?.code === 'statement_too_long';

type Source = {
  readonly visit: Visit;
  readonly entry: ReceivableEntry;
  readonly fields: Readonly<
    Record<'number' | 'date' | 'dueDate' | 'amount' | 'currency', string | undefined>
  >;
  /** Makes amounts positive that raise what is owed. */
  readonly factor: 1 | -1;
};

const lowers: readonly ReceivableRole[] = ['credit', 'payment'];

async function openSource(visit: Visit, entry: ReceivableEntry): Promise<Source> {
  const of = (meaning: Parameters<typeof findMeaning>[2]) => findMeaning(visit, entry.recordType, meaning);
  const fields = {
    ...{ number: of('number'), date: of('date'), dueDate: of('dueDate') },
    ...{ amount: of('amount'), currency: of('currency') },
  };
  // Invoices and journals raise what is owed unless they are negative; of the others the ERP may write either sign.
  const isAsWritten = entry.role === 'invoice' || entry.role === 'journal';
  const isNegative =
    !isAsWritten && (await writesNegative(visit.ctx, visit.portal, entry, fields.amount ?? ''));
  return { visit, entry, fields, factor: lowers.includes(entry.role) === isNegative ? 1 : -1 };
}

const toCurrency = (value: unknown): string | null => (value == null ? null : toDigits(value));
const toAmount = (value: unknown, factor: number): Big =>
  value == null ? zero : new Big(toDigits(value)).times(factor);

/** Of all documents up to a day, which is included. */
async function sumUpTo(
  { visit, entry, fields, factor }: Source,
  day: string,
): Promise<{ sums: Sums; syncedAt: string | null }> {
  const { date, amount = '', currency } = fields;
  const { rows, syncedAt } = await visit.reader.summarize(recordsEndpoint(entry.recordType), {
    ...{ [`${date}_lte`]: day, sum: amount },
    ...(currency !== undefined && { by: currency }),
  });
  const groups = parseExact(rows) as ({ readonly sum: Readonly<Record<string, unknown>> } & Readonly<
    Record<string, unknown>
  >)[];
  const sums = groups.map(
    (group) =>
      [
        toCurrency(currency === undefined ? null : group[currency]),
        toAmount(group.sum[amount], factor),
      ] as const,
  );
  return { sums: new Map(sums), syncedAt };
}

/** Rejects with 422 `statement_too_long`. */
async function listPostings(source: Source, { from, to }: Period): Promise<Posting[]> {
  const { visit, entry, fields, factor } = source;
  const { role, recordType } = entry;
  const { number = '', date = '', dueDate = '', amount = '', currency = '' } = fields;
  const query = {
    ...{ [`${date}_gte`]: from, [`${date}_lte`]: to, sort: date, order: 'asc' },
    fields: [...new Set([number, date, dueDate, amount, currency])].filter((name) => name !== '').join(','),
    pageSize: String(pageSize),
  };
  const found: Posting[] = [];
  for (let page = 1; ; page += 1) {
    const { records, total } = await visit.reader.listKnown(recordsEndpoint(recordType), {
      ...query,
      page: String(page),
    });
    if (total > maxPostings) throw tooLong();
    const rows = parseExact(records) as RecordRow[];
    for (const row of rows)
      found.push({
        ...{ role, recordType, id: String(row.id), date: String(row[date]).slice(0, 10) },
        number: String(row[number] ?? row.id),
        dueDate: row[dueDate] == null ? null : String(row[dueDate]).slice(0, 10),
        currency: toCurrency(row[currency]),
        amount: toAmount(row[amount], factor),
      });
    if (rows.length < pageSize || found.length >= total) return found;
  }
}

function addUp(postings: readonly Posting[], opening: Sums = new Map()): Map<string | null, Big> {
  const sums = new Map(opening);
  for (const { currency, amount } of postings) sums.set(currency, (sums.get(currency) ?? zero).plus(amount));
  return sums;
}

const agree = (one: Sums, other: Sums): boolean =>
  [...new Set([...one.keys(), ...other.keys()])].every((currency) =>
    (one.get(currency) ?? zero).eq(other.get(currency) ?? zero),
  );

/**
 * The documents of one record type must lead from the sum before the period to the sum at its end. Rejects with 503
 * when they don't three times.
 */
async function readType(source: Source, period: Period) {
  for (let tries = 1; tries <= maxTries; tries += 1) {
    const [before, atEnd, postings] = await Promise.all([
      sumUpTo(source, shiftDays(period.from, -1)),
      sumUpTo(source, period.to),
      listPostings(source, period),
    ]);
    if (agree(addUp(postings, before.sums), atEnd.sums))
      return { opening: before.sums, postings, syncedAt: oldest([before.syncedAt, atEnd.syncedAt]) };
  }
  throw unavailable('The records are changing; try again', 5);
}

/** On one day, what is owed comes before what was paid. */
const order: readonly ReceivableRole[] = ['invoice', 'journal', 'refund', 'credit', 'payment'];
const compare = (one: Posting, other: Posting): number =>
  (one.date < other.date ? -1 : Number(one.date > other.date)) ||
  order.indexOf(one.role) - order.indexOf(other.role) ||
  one.number.localeCompare(other.number, 'en', { numeric: true }) ||
  (one.id < other.id ? -1 : Number(one.id > other.id));

/**
 * Currencies in order; one without any document and without a balance is left out. Rejects with 422
 * `statement_too_long`, and as lists and summaries do.
 */
export async function readStatement(visit: Visit, period: Period): Promise<Statement> {
  const sources = await Promise.all(
    listReceivables(visit.portal.settings).map((entry) => openSource(visit, entry)),
  );
  const parts = await Promise.all(sources.map((source) => readType(source, period)));
  const all = parts.flatMap(({ postings }) => postings).sort(compare);
  if (all.length > maxPostings) throw tooLong();
  const opening = new Map<string | null, Big>();
  for (const part of parts)
    for (const [currency, sum] of part.opening)
      opening.set(currency, (opening.get(currency) ?? zero).plus(sum));
  const closing = addUp(all, opening);
  const accounts = [...closing.keys()].sort().map((currency) => ({
    currency,
    opening: opening.get(currency) ?? zero,
    postings: all.filter((posting) => posting.currency === currency),
    closing: closing.get(currency) ?? zero,
  }));
  return {
    ...period,
    accounts: accounts.filter((account) => account.postings.length > 0 || !account.closing.eq(0)),
    syncedAt: oldest(parts.map(({ syncedAt }) => syncedAt)),
  };
}

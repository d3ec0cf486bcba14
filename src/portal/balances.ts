// What a customer owes by currency: due, overdue, open as credit, and by age.
import Big from 'big.js';
import { AppError } from '../core/errors.ts';
import { type Entry, listOpenTypes, sumOpen } from './open-amounts.ts';
import { findMeaning } from './shown-fields.ts';
import type { Balance } from './view-model.ts';
import type { Visit } from './visit.ts';

export const shiftDays = (date: string, days: number): string => {
  const at = new Date(`${date}T00:00:00Z`);
  at.setUTCDate(at.getUTCDate() + days);
  return at.toISOString().slice(0, 10);
};

/** Due dates of the late parts of the aging bar: 1–30 days, 31–60, 61–90, over 90. */
type Span = { readonly from?: string; readonly before: string };
const listLateSpans = (today: string): Span[] => [
  { from: shiftDays(today, -30), before: today },
  { from: shiftDays(today, -60), before: shiftDays(today, -30) },
  { from: shiftDays(today, -90), before: shiftDays(today, -60) },
  { before: shiftDays(today, -90) },
];

/** With a span, of what was due in it. */
function sumDue(visit: Visit, entry: Entry, span?: Span) {
  const dueDate = findMeaning(visit, entry.recordType, 'dueDate');
  return sumOpen(visit, entry, {
    ...(span !== undefined && { [`${dueDate}_before`]: span.before }),
    ...(span?.from !== undefined && { [`${dueDate}_gte`]: span.from }),
  });
}
type Summed = Awaited<ReturnType<typeof sumOpen>>;

const none = new Big(0);
/** By currency, over several record types. */
function addUp(parts: readonly Summed[], currency: string | null): { amount: string; count: number } {
  const own = parts.flatMap(({ sums }) => sums).filter((sum) => sum.currency === currency);
  const amount = own.reduce((total, sum) => total.plus(sum.amount), none);
  return { amount: amount.toFixed(), count: own.reduce((total, { count }) => total + count, 0) };
}

/** The oldest of these times; null where none is known. */
export const oldest = (times: readonly (string | null)[]): string | null =>
  times.reduce<string | null>(
    (least, time) => (least === null || (time !== null && time < least) ? time : least),
    null,
  );

/** What is due, by currency. Rejects with 403 where a field that it needs is masked. */
export async function readBalances(visit: Visit): Promise<{ balances: Balance[]; syncedAt: string | null }> {
  const invoices = listOpenTypes(visit, 'invoice');
  const credits = listOpenTypes(visit, 'credit');
  const isDated = invoices.length > 0 && invoices.every(({ fields }) => fields.dueDate !== undefined);
  const sumAll = (entries: readonly Entry[], span?: Span) =>
    Promise.all(entries.map((entry) => sumDue(visit, entry, span)));
  const [due = [], credit = [], ...late] = await Promise.all([
    sumAll(invoices),
    sumAll(credits),
    ...(isDated ? listLateSpans(visit.today) : []).map((span) => sumAll(invoices, span)),
  ]);
  const all = [...due, ...credit];
  const currencies = [...new Set(all.flatMap(({ sums }) => sums.map(({ currency }) => currency)))].sort();
  const balances = currencies.map((currency): Balance => {
    const total = addUp(due, currency);
    const parts = late.map((part) => addUp(part, currency));
    return {
      ...{ currency, due: total.amount, openCount: total.count },
      overdue: addUp(late.flat(), currency).amount,
      credit: credits.length === 0 ? null : addUp(credit, currency).amount.replace(/^-/, ''),
      aging: isDated ? withOthers(parts, total) : null,
    };
  });
  return { balances, syncedAt: oldest(all.map(({ syncedAt }) => syncedAt)) };
}

type Part = { readonly amount: string; readonly count: number };
/** Not late is what the late parts leave: also what has no due date. */
function withOthers(late: readonly Part[], total: Part): Part[] {
  const amount = late.reduce((rest, part) => rest.minus(part.amount), new Big(total.amount));
  const count = late.reduce((rest, part) => rest - part.count, total.count);
  return [{ amount: amount.toFixed(), count }, ...late];
}

/** Null where a field that it needs is masked; rejects otherwise as `reading` does. */
export const unlessMasked = <T>(reading: Promise<T>): Promise<T | null> =>
  reading.catch((error: unknown) => {
    if (error instanceof AppError && error.status === 403) return null;
    throw error;
  });

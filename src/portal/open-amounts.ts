// Sums of what is open on a customer's account, by currency.
import Big from 'big.js';
import { parseExact } from '../core/text/exact-json.ts';
import { recordsEndpoint } from '../platform/index.ts';
import { findMeaning, openQuery, toDigits } from './shown-fields.ts';
import type { Visit } from './visit.ts';

export type Entry = Visit['portal']['settings']['records'][number];

/** The record types of a role that say what is open. */
export const listOpenTypes = ({ portal }: Visit, role: Entry['role']): Entry[] =>
  portal.settings.records.filter((entry) => entry.role === role && entry.fields.amountDue !== undefined);

export type OpenSum = { readonly currency: string | null; readonly amount: Big; readonly count: number };
type Row = { readonly count: number; readonly sum?: Readonly<Record<string, unknown>> } & Readonly<
  Record<string, unknown>
>;

/** Of one record type. `query` narrows it. Rejects with 403 where what is open is masked. */
export async function sumOpen(
  visit: Visit,
  { recordType }: Entry,
  query: Readonly<Record<string, string>> = {},
): Promise<{ readonly sums: readonly OpenSum[]; readonly syncedAt: string | null }> {
  const amountDue = findMeaning(visit, recordType, 'amountDue') ?? '';
  const currency = findMeaning(visit, recordType, 'currency');
  const { rows, syncedAt } = await visit.reader.summarize(recordsEndpoint(recordType), {
    ...query,
    ...openQuery(visit, recordType),
    sum: amountDue,
    count: 'true',
    ...(currency !== undefined && { by: currency }),
  });
  const sums = (parseExact(rows) as Row[]).flatMap((row) => {
    if (Number(row.count) === 0) return [];
    const named = currency === undefined ? null : row[currency];
    const amount = row.sum?.[amountDue];
    return [
      {
        currency: typeof named === 'string' ? named : null,
        amount: new Big(amount == null ? '0' : toDigits(amount)),
        count: Number(row.count),
      },
    ];
  });
  return { sums, syncedAt };
}

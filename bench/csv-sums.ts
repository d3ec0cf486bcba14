// Exact counts and sums of the CSV files in a data folder, per record type. Sums are BigInt, in millionths.
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { createGunzip } from 'node:zlib';
import { parse } from 'csv-parse';

export type Sums = { records: number; lines: number; total: bigint; quantity: bigint; amount: bigint };
type Row = Record<string, string>;

const digits = 6;
/** Decimal text → millionths. Throws when the text has more than six significant decimals. */
export function millionths(text: string | null | undefined): bigint {
  if (text === null || text === undefined || text === '') return 0n;
  const negative = text.startsWith('-');
  const [whole = '0', part = ''] = text.replace('-', '').split('.');
  if (part.length > digits && !/^0*$/.test(part.slice(digits)))
    throw new Error(`${text} has more than ${digits} decimals`);
  const value = BigInt(whole) * 10n ** BigInt(digits) + BigInt(part.padEnd(digits, '0').slice(0, digits));
  return negative ? -value : value;
}

async function* rows(folder: string, file: string): AsyncGenerator<Row> {
  yield* createReadStream(path.join(folder, file))
    .pipe(createGunzip())
    .pipe(parse({ columns: true }));
}

const zeroSums = (): Sums => ({ records: 0, lines: 0, total: 0n, quantity: 0n, amount: 0n });
const typeNames: Readonly<Record<string, string>> = { CustInvc: 'invoice', CustCred: 'creditMemo' };

export async function sumFolder(folder: string): Promise<Readonly<Record<string, Sums>>> {
  const sums: Record<'customer' | 'item' | 'invoice' | 'creditMemo', Sums> = {
    customer: zeroSums(),
    item: zeroSums(),
    invoice: zeroSums(),
    creditMemo: zeroSums(),
  };
  for await (const _ of rows(folder, 'customer.csv.gz')) sums.customer.records += 1;
  for await (const _ of rows(folder, 'item.csv.gz')) sums.item.records += 1;
  const types = new Map<string, 'invoice' | 'creditMemo'>();
  for await (const row of rows(folder, 'transaction.csv.gz')) {
    const type = typeNames[row['type'] ?? ''];
    if (type !== 'invoice' && type !== 'creditMemo') continue;
    types.set(row['id'] ?? '', type);
    sums[type].records += 1;
    sums[type].total += millionths(row['foreigntotal']);
  }
  for await (const row of rows(folder, 'transactionline.csv.gz')) {
    const type = types.get(row['transaction'] ?? '');
    if (type === undefined) continue;
    sums[type].lines += 1;
    sums[type].quantity += millionths(row['quantity']);
    sums[type].amount += millionths(row['netamount']);
  }
  return sums;
}

/**
 * The transaction types in the folder, and the first and last day on which a transaction changed: YYYY-MM-DD
 * in the files' own time zone.
 */
export async function describeFolder(
  folder: string,
): Promise<{ types: string[]; firstDay: string; lastDay: string }> {
  const types = new Set<string>();
  let [firstDay, lastDay] = ['9999-12-31', ''];
  for await (const row of rows(folder, 'transaction.csv.gz')) {
    const day = (row['lastmodifieddate'] ?? '').slice(0, 10);
    if (day < firstDay) firstDay = day;
    if (day > lastDay) lastDay = day;
    types.add(row['type'] ?? '');
  }
  return { types: [...types].sort(), firstDay, lastDay };
}

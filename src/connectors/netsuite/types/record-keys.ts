// Ids of records whose key has several columns: one integer with the digits of all of them, in the order of
// the key. See `StoredDefinition`.
import type { ErpError } from '../../connector.ts';
import { querySourceRefusals } from '../../discovery.ts';
import { erpError, inconsistentResponse } from '../requests/errors.ts';
import type { SuiteqlResult, SuiteqlRow } from '../requests/suiteql.ts';
import { isQuerySource, type KeyColumn, type RowSource } from './definition.ts';
import { isIdText } from './values.ts';

type Key = readonly KeyColumn[];

/** The name of a key column in a row. No NetSuite column has this prefix. */
export const keyPart = (index: number): string => `id_part_${index + 1}`;

const base = ({ digits }: KeyColumn): bigint => 10n ** BigInt(digits);

/** What one of this column's values is multiplied by in an id. */
export const keyFactor = (key: Key, index: number): bigint =>
  key.slice(index + 1).reduce((factor, column) => factor * base(column), 1n);

/** Why this value of the key's column at this index can't be part of an id; null where it can. */
function partProblem(key: Key, index: number, part: unknown): string | null {
  const { column = '', digits = 0 } = key[index] ?? {};
  if (typeof part !== 'string' || !isIdText(part)) return `${column} is not an integer`;
  if (index > 0 && part.startsWith('-')) return `${column} is negative: ${part}`;
  return part.replace('-', '').length > digits ? `${column} has more than ${digits} digits: ${part}` : null;
}

/** Why the text in the place of the row's id isn't one. */
export function keyProblem(key: Key, row: SuiteqlRow): string {
  const problems =
    key.length === 1 ? [] : key.map((_column, index) => partProblem(key, index, row[keyPart(index)]));
  return problems.find((problem) => problem !== null) ?? 'The id is not an integer';
}

/** The id of these key values; if they don't fit into one, a text that isn't an id and shows them. */
function composeId(key: Key, parts: readonly unknown[]): string {
  const [first = '', ...others] = parts.map(String);
  if (parts.some((part, index) => partProblem(key, index, part) !== null))
    return [first, ...others].join('/');
  const padded = others.map((part, index) => part.padStart(key[index + 1]?.digits ?? 0, '0')).join('');
  return /^[1-9]/.test(first) ? first + padded : String(BigInt(first) * keyFactor(key, 0) + BigInt(padded));
}

/** The values of the key's columns. `id` must pass `isIdText`. */
export function splitId(key: Key, id: string): string[] {
  const parts: string[] = [];
  let rest = BigInt(id);
  for (const column of key.slice(1).toReversed()) {
    const unit = base(column);
    const part = ((rest % unit) + unit) % unit;
    parts.unshift(String(part));
    rest = (rest - part) / unit;
  }
  return [String(rest), ...parts];
}

const addId = (key: Key, row: SuiteqlRow): SuiteqlRow => ({
  ...row,
  id: composeId(
    key,
    key.map((_column, index) => row[keyPart(index)]),
  ),
});

/** For a customer's query. */
export const keyIsEmpty = (key: Key): ErpError =>
  erpError(
    'query',
    querySourceRefusals.keyColumn,
    `The key column ${key.map(({ column }) => column).join()} of the query is empty in a row`,
  );

/** For a customer's query: no run would find changes of such a row. */
export const modifiedIsEmpty = ({ modified }: Pick<RowSource, 'modified'>): ErpError =>
  erpError(
    'query',
    querySourceRefusals.modifiedColumn,
    `The column ${modified?.column} of the query is empty in a row`,
  );

/**
 * The rows with their id. Of a response that more rows follow, those behind the last row with a usable id are
 * left out: they come again with the next page, which starts there. Throws `ErpError` of kind `answer` where
 * no row has one, and of kind `query` where a row of a customer's query has no key.
 */
export function addIds(source: Pick<RowSource, 'table' | 'key'>, result: SuiteqlResult): SuiteqlResult {
  const { key } = source;
  const rows = key.length === 1 ? result.rows : result.rows.map((row) => addId(key, row));
  if (isQuerySource(source) && rows.some(({ id }) => id === undefined)) throw keyIsEmpty(key);
  if (!result.hasMore) return { ...result, rows };
  const last = rows.findLastIndex(({ id }) => typeof id === 'string' && isIdText(id));
  if (last === -1) throw inconsistentResponse('No row of the page has an id to continue from');
  return { ...result, rows: last === rows.length - 1 ? rows : rows.slice(0, last + 1) };
}

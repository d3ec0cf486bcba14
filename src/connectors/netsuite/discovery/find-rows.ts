// Finds where the rows of a record type are, what identifies one, and what its first rows look like.
import { type QueryRefusal, toQueryRefusal } from '../requests/probe.ts';
import type { Suiteql, SuiteqlRow } from '../requests/suiteql.ts';
import type { StoredDefinition } from '../types/stored-definition.ts';
import { isIdText } from '../types/values.ts';
import { confirmRefusal } from './catalogue.ts';
import { sampleSize } from './column-types.ts';

export type Key = StoredDefinition['key'];
/** `key` is null where no columns identify a row. */
export type FoundRows = { readonly rows: readonly SuiteqlRow[]; readonly key: Key | null };

const maxDigits = 18;
export const usualKeys = ['id', 'internalid', 'nkey', 'key', 'uniquekey'];

/**
 * `from`: what follows FROM. The rows have the alias `alias`. `key`: where it is known, or null where it is
 * known that there is none.
 */
export type RowsAt = {
  readonly from: string;
  readonly alias: 't' | 'l';
  readonly key?: Key | null | undefined;
  readonly limit?: number;
};

/**
 * The first rows by key, with all columns where `SELECT *` works and otherwise with the key alone; or
 * NetSuite's refusal. Rejects for an outage, a refused login, or with the signal's reason.
 */
export async function findRows(
  suiteql: Suiteql,
  at: RowsAt,
  signal: AbortSignal,
): Promise<FoundRows | QueryRefusal> {
  const { key: known } = at;
  const candidates =
    known === undefined ? usualKeys.map((column) => [column]) : [known?.map(({ column }) => column) ?? []];
  for (const columns of [...candidates, []]) {
    const answer = await readFirst(suiteql, at, columns, signal);
    if ('error' in answer && answer.column !== null && columns.includes(answer.column)) continue;
    if ('error' in answer) return answer;
    return { rows: answer.rows, key: known === undefined ? findKey(answer.rows, columns[0]) : known };
  }
  return { rows: [], key: null };
}

type Rows = { readonly rows: readonly SuiteqlRow[] };

/** A column that no query can have makes `SELECT *` fail with an unexpected error. */
async function readFirst(
  suiteql: Suiteql,
  at: RowsAt,
  columns: readonly string[],
  signal: AbortSignal,
): Promise<Rows | QueryRefusal> {
  const { from, alias, limit = sampleSize } = at;
  const names = columns.map((column) => `${alias}.${column}`);
  const order = names.length === 0 ? '' : ` ORDER BY ${names.map((name) => `${name} ASC`).join(', ')}`;
  const read = async (selected: string): Promise<Rows | QueryRefusal> => {
    try {
      const query = `SELECT ${selected} FROM ${from}${order}`;
      return await confirmRefusal({ suiteql, signal }, () => suiteql.query(query, limit, signal));
    } catch (error) {
      return toQueryRefusal(error);
    }
  };
  const all = await read(`${alias}.*`);
  return 'error' in all && all.error.kind === 'down' && names.length > 0 ? read(names.join(', ')) : all;
}

/** The first usual key with a different integer in each row; the one that orders an empty table. */
function findKey(rows: readonly SuiteqlRow[], ordering: string | undefined): Key | null {
  const isKey = (column: string): boolean => {
    const values = rows.map((row) => row[column]);
    return (
      values.every((value) => typeof value === 'string' && isIdText(value)) &&
      new Set(values).size === rows.length
    );
  };
  const column = rows.length === 0 ? ordering : usualKeys.find(isKey);
  return column === undefined ? null : [{ column, digits: maxDigits }];
}

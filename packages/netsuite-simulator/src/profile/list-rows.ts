// How rows of lists are written down and inserted.
import { quoteSqlText } from '../tables/table.ts';
import type { ProfileName } from './profile-name.ts';

/** Of rates, costs and classes. Another seed gives another account. */
export const SEED = 24;

/** A value of a row: text, a number, or null. */
export type Value = string | number | null;

/**
 * When the account was set up: before its first transaction. The rows of lists have it as their last change.
 */
export const SET_UP_AT =
  "(SELECT date_trunc('year', min(createddate)) + interval '9 hours' FROM ledger.transaction)";

const literal = (value: Value): string => (typeof value === 'string' ? quoteSqlText(value) : String(value));

/**
 * INSERT of constant rows. `columns` are names separated by spaces; a row that is shorter ends in nulls.
 * `extra` adds columns with SQL of their value over the row `v`.
 */
export function insertRows(
  table: string,
  columns: string,
  rows: readonly (readonly Value[])[],
  extra: Readonly<Record<string, string>> = {},
): string {
  const given = columns
    .split(' ')
    .map((name, i) => ({ name: `"${name}"`, values: rows.map((row) => row[i] ?? null) }))
    .filter(({ values }) => values.some((value) => value !== null)); // PostgreSQL takes a column of nulls for text
  const added = Object.entries(extra).map(([name, sql]) => ({ name: `"${name}"`, sql }));
  const names = given.map(({ name }) => name);
  const values = rows.map(
    (_, row) => `(${given.map((column) => literal(column.values[row] ?? null)).join(', ')})`,
  );
  return `INSERT INTO ledger.${table} (${[...names, ...added.map(({ name }) => name)].join(', ')})
    SELECT ${[...names.map((name) => `v.${name}`), ...added.map(({ sql }) => sql)].join(', ')}
    FROM (VALUES ${values.join(', ')}) v(${names.join(', ')})`;
}

/** INSERT of constant rows of a list with `lastmodifieddate`. */
export const insertList = (table: string, columns: string, rows: readonly (readonly Value[])[]): string =>
  insertRows(table, columns, rows, { lastmodifieddate: SET_UP_AT });

/** Writes `fullname` of a list whose rows have a parent, at most one level deep. */
export const fillFullName = (table: string): string =>
  `UPDATE ledger.${table} c SET fullname = COALESCE((SELECT p.name || ' : ' FROM ledger.${table} p WHERE p.id = c.parent), '') || c.name`;

/** The ids of all subsidiaries in which records are made, as multi-select columns have them. */
export const allSubsidiaries = (profile: ProfileName): string => (profile === 'oneworld' ? '1, 2, 3' : '1');

// PUT /hidden: tables, columns and rows that the role can't see.
import { z } from 'zod';
import { UNAVAILABLE_TABLES } from '../tables/all-tables.ts';
import type { Hidden, RoleVisibility } from '../tables/role-visibility.ts';
import { getIdColumn } from '../tables/table.ts';
import { type ErrorDetail, invalid } from './control-error.ts';
import { IdText } from './parse.ts';

const names = z.array(z.string());
export const HiddenBody = z.strictObject({
  tables: names.default([]),
  columns: z.record(z.string(), names).default({}),
  rows: z.record(z.string(), z.array(IdText)).default({}),
});

/**
 * Throws ControlError 422 for an unknown table or column, and for rows of a table without internal ids. Ids
 * need not exist yet.
 */
export function checkHidden(role: RoleVisibility, hidden: z.output<typeof HiddenBody>): Hidden {
  const problems: ErrorDetail[] = [];
  const check = (table: string, path: string): boolean => {
    const isKnown =
      role.known(table) !== undefined || (UNAVAILABLE_TABLES.has(table) && path.startsWith('tables'));
    if (!isKnown) problems.push({ path, message: `names ${table}, which is no table of the account` });
    return isKnown;
  };
  for (const [i, table] of hidden.tables.entries()) check(table, `tables[${i}]`);
  for (const [table, columns] of Object.entries(hidden.columns)) {
    if (!check(table, `columns.${table}`)) continue;
    const known = new Set(role.known(table)?.columns.map(({ name }) => name));
    for (const [i, column] of columns.entries()) {
      if (!known.has(column))
        problems.push({
          path: `columns.${table}[${i}]`,
          message: `is ${column}, which is no column of ${table}`,
        });
    }
  }
  for (const table of Object.keys(hidden.rows)) {
    if (!check(table, `rows.${table}`)) continue;
    if (!role.known(table)?.columns.some(({ name }) => name === getIdColumn(table))) {
      problems.push({
        path: `rows.${table}`,
        message: `can’t be hidden: the rows of ${table} have no internal ids`,
      });
    }
  }
  if (problems.length > 0) throw invalid(...problems);
  return hidden;
}

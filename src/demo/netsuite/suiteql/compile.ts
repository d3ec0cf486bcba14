// Turns a SuiteQL query into two statements for PostgreSQL: one page of its rows, and their number.
import type { RoleView } from '../tables/role-view.ts';
import { type Cursor, fail, peek, writeSql } from './cursor.ts';
import { readQuery } from './query.ts';
import { unsupported } from './suiteql-error.ts';
import { tokenize } from './tokens.ts';

export type CompiledQuery = {
  parameters: number;
  page(limit: number, offset: number): string;
  count(cap: number): string;
};

/** Throws SuiteqlError with NetSuite's sentence for whatever is wrong. */
export function compileQuery(query: string, role: RoleView, hasTypedStatus = false): CompiledQuery {
  const cursor: Cursor = { query, tokens: tokenize(query), at: 0, role, parameters: 0, depth: 0, hasTypedStatus };
  if (peek(cursor).name === 'with') throw unsupported();
  const read = readQuery(cursor, undefined);
  if (peek(cursor).kind !== 'end') fail(cursor);
  const [body, order, tail] = [writeSql(read.body), writeSql(read.order), writeSql(read.tail)];
  const whole = `${body} ${order} ${tail}`;
  return {
    parameters: cursor.parameters,
    page(limit, offset) {
      const window = `LIMIT ${limit} OFFSET ${offset}`;
      // Without an ordering NetSuite promises none: every request gets the rows in another order, so that callers find out early.
      if (order === '') return `SELECT * FROM (${whole}) "rows" ORDER BY random() ${window}`;
      return tail === '' ? `${body} ${order} ${window}` : `SELECT * FROM (${whole}) "rows" ${window}`;
    },
    // An ordering changes no number of rows and costs a sort, but leaving it out must not leave out a bound value.
    count: (cap) =>
      `SELECT count(*) FROM (SELECT 1 FROM (${tail === '' && !order.includes('$') ? body : whole}) "rows" LIMIT ${cap}) "counted"`,
  };
}

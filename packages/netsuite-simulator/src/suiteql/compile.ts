// Compiles a SuiteQL query to two PostgreSQL statements: one for a page of rows, one for their count.
import type { QueryDistortion } from '../answer-faults/distortion.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { type Parser, peek, renderSql, throwSyntaxError } from './parser.ts';
import { parseSelectQuery } from './query.ts';
import { unsupported } from './suiteql-error.ts';
import { tokenize } from './tokens.ts';

export type CompiledQuery = {
  parameters: number;
  page(limit: number, offset: number): string;
  count(cap: number): string;
};

/** `hasTypedStatus`: see Switches.statusFilter. */
export type CompileOptions = { hasTypedStatus?: boolean; distortion?: QueryDistortion | undefined };

/** Throws SuiteqlError in NetSuite's wording for an invalid query. */
export function compileQuery(
  query: string,
  role: RoleVisibility,
  options: CompileOptions = {},
): CompiledQuery {
  const { hasTypedStatus = false, distortion } = options;
  const tokens = tokenize(query);
  const parser: Parser = {
    query,
    tokens,
    at: 0,
    role,
    parameters: 0,
    depth: 0,
    hasTypedStatus,
    distortion,
    outermost: undefined,
  };
  if (peek(parser).name === 'with') throw unsupported();
  const read = parseSelectQuery(parser, undefined);
  if (peek(parser).kind !== 'end') throwSyntaxError(parser);
  const [body, order, tail] = [renderSql(read.body), renderSql(read.order), renderSql(read.tail)];
  const whole = `${body} ${order} ${tail}`;
  return {
    parameters: parser.parameters,
    page(limit, offset) {
      const window = `LIMIT ${limit} OFFSET ${offset}`;
      // NetSuite guarantees no order without ORDER BY. Shuffling the rows of every request makes callers
      // notice that early.
      if (order === '') return `SELECT * FROM (${whole}) "rows" ORDER BY random() ${window}`;
      return tail === '' ? `${body} ${order} ${window}` : `SELECT * FROM (${whole}) "rows" ${window}`;
    },
    // The count doesn't need ORDER BY, which costs a sort. It stays where it contains a parameter, which must
    // remain bound.
    count: (cap) =>
      `SELECT count(*) FROM (SELECT 1 FROM (${tail === '' && !order.includes('$') ? body : whole}) "rows" LIMIT ${cap}) "counted"`,
  };
}

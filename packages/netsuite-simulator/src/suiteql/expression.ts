// Parses an expression token by token and translates it to PostgreSQL: columns are checked, functions come
// from the allow list, Oracle's constructs are replaced.

import { parseColumnReference, selectDistortion } from './arguments.ts';
import { parseBuiltin, parseBuiltinResult } from './builtin.ts';
import { parseCall } from './call.ts';
import { CLAUSE_WORDS, DATETIME_WORDS, EXPRESSION_WORDS, UNSUPPORTED_WORDS } from './names.ts';
import {
  acceptSymbol,
  advance,
  expectSymbol,
  isSymbol,
  isWord,
  type Parser,
  peek,
  type SqlFragment,
  throwSyntaxError,
  withNesting,
} from './parser.ts';
import { parseSelectQuery } from './query.ts';
import { columnReferenceSql, distortedSql, filterSql, type Scope } from './scope.ts';
import { unsupported } from './suiteql-error.ts';
import type { Token } from './tokens.ts';

export type ExpressionOptions = {
  /** In ORDER BY: names of the select list's output columns are allowed too. */
  mayNameOutputs?: boolean;
  /** In a select list, where ROWNUM numbers the rows. */
  isSelected?: boolean;
  /** In WHERE: collects `ROWNUM <= n`, which limits the rows before any ordering. */
  rows?: { limit?: number; hasOr: boolean };
};

const MAX_LIST_VALUES = 1000;
const DATE_LITERALS = ['date', 'timestamp', 'interval'];

/**
 * Parses up to a comma, a closing parenthesis, a clause, or a name after a complete expression. Throws
 * SuiteqlError for invalid syntax.
 */
export function parseExpression(
  parser: Parser,
  scope: Scope,
  options: ExpressionOptions = {},
): SqlFragment[] {
  const pieces: SqlFragment[] = [];
  let finished = false; // after an operand, when an operator or the end must follow
  for (;;) {
    const token = peek(parser);
    if (token.kind === 'end' || isSymbol(token, ')') || isSymbol(token, ',')) break;
    if (token.kind === 'word' && UNSUPPORTED_WORDS.has(token.name)) throw unsupported();
    // Oracle's outer join, (+).
    if (isSymbol(token, '(') && isSymbol(peek(parser, 1), '+') && isSymbol(peek(parser, 2), ')'))
      throw unsupported();
    if (token.kind === 'word' && CLAUSE_WORDS.has(token.name)) break;
    if (token.kind === 'word' && EXPRESSION_WORDS.has(token.name)) {
      advance(parser);
      if (options.rows && token.name === 'or') options.rows.hasOr = true;
      pieces.push(token.name.toUpperCase());
      finished = token.name === 'null' || token.name === 'end';
    } else if (token.kind === 'symbol' && token.text !== '(') {
      pieces.push(parseOperator(parser, finished));
      finished = false;
    } else if (finished) {
      break;
    } else {
      pieces.push(parseOperand(parser, scope, options));
      finished = true;
    }
  }
  if (pieces.length === 0) throwSyntaxError(parser);
  return pieces;
}

/** Parses the condition of WHERE, HAVING or ON. */
export function parseSqlCondition(
  parser: Parser,
  scope: Scope,
  options: ExpressionOptions = {},
): SqlFragment[] {
  scope.isFilter = true;
  const condition = parseExpression(parser, scope, options);
  scope.isFilter = false;
  return condition;
}

/** Parses one or more expressions separated by commas. */
export function parseExpressionList(
  parser: Parser,
  scope: Scope,
  options: ExpressionOptions = {},
): SqlFragment[][] {
  const list = [parseExpression(parser, scope, options)];
  while (acceptSymbol(parser, ',')) list.push(parseExpression(parser, scope, options));
  return list;
}

export const withCommas = (list: readonly SqlFragment[]): SqlFragment[] =>
  list.flatMap((piece, index) => (index === 0 ? [piece] : [',', piece]));

function parseOperator(parser: Parser, finished: boolean): string {
  const token = advance(parser);
  const isSign = token.text === '-' || token.text === '+';
  if (token.text === '.' || (!finished && !isSign)) throwSyntaxError(parser, token);
  return token.text;
}

function parseOperand(parser: Parser, scope: Scope, options: ExpressionOptions): SqlFragment {
  const token = peek(parser);
  if (isSymbol(token, '(')) return parseGroup(parser, scope);
  advance(parser);
  if (token.kind === 'number') return token.text;
  if (token.kind === 'string') return stringSql(token.text);
  if (token.kind === 'placeholder') {
    parser.parameters += 1;
    return `$${parser.parameters}`;
  }
  if (token.kind === 'quoted') return parseColumn(parser, scope, token, options);
  const follows = peek(parser);
  if (token.name === 'builtin' && isSymbol(follows, '.')) return parseBuiltin(parser, scope, parseExpression);
  if (token.name === 'builtin_result' && isSymbol(follows, '.'))
    return parseBuiltinResult(parser, scope, parseExpression);
  if (token.name === 'rownum') return parseRownum(parser, options);
  if (follows.kind === 'string' && DATE_LITERALS.includes(token.name)) throw unsupported();
  if (isSymbol(follows, '(')) return parseCall(parser, scope, token);
  const moment = DATETIME_WORDS.get(token.name);
  return moment !== undefined && !isSymbol(follows, '.')
    ? moment
    : parseColumn(parser, scope, token, options);
}

/** Words that PostgreSQL would read as a number or a date, and Oracle doesn't. */
const FOREIGN_VALUE = /^'\s*[-+]?(nan|inf(inity)?|now|today|tomorrow|yesterday|epoch|allballs)\b/i;

/** The empty string is null to Oracle. */
const stringSql = (text: string): string =>
  text === "''" ? 'NULL' : FOREIGN_VALUE.test(text) ? `${text}::text` : text;

/** A subquery or expressions in parentheses. */
function parseGroup(parser: Parser, scope: Scope): SqlFragment {
  return withNesting(parser, () => {
    const before = parser.tokens[parser.at - 1];
    expectSymbol(parser, '(');
    const content = isWord(peek(parser), 'select')
      ? [[parseSelectQuery(parser, scope).sql]]
      : parseExpressionList(parser, scope);
    expectSymbol(parser, ')');
    if (before && isWord(before, 'in') && content.length > MAX_LIST_VALUES) throw unsupported();
    return ['(', ...withCommas(content), ')'];
  });
}

function parseColumn(parser: Parser, scope: Scope, first: Token, options: ExpressionOptions): SqlFragment {
  const { column, alias } = parseColumnReference(parser, first);
  const isTyped = scope.isFilter && parser.hasTypedStatus;
  const distortion = selectDistortion(parser, scope);
  return () => {
    const known = columnReferenceSql(scope, column, alias, options.mayNameOutputs === true);
    const sql = (isTyped ? filterSql(scope, column, alias) : undefined) ?? known;
    return distortedSql(distortion, scope, { column: column.name, alias: alias?.name, sql });
  };
}

/** Replaces `ROWNUM <= n` by TRUE and records n as a limit within the query. */
function parseRownum(parser: Parser, options: ExpressionOptions): SqlFragment {
  if (options.isSelected) return 'row_number() OVER ()';
  const before = parser.tokens[parser.at - 2];
  const [operator, number] = [advance(parser), advance(parser)];
  if (!options.rows || !before || !isWord(before, 'where', 'and') || !/^\d{1,9}$/.test(number.text))
    throw unsupported();
  const count = Number(number.text);
  const limit = { '<=': count, '<': count - 1, '=': count === 1 ? 1 : 0 }[operator.text];
  if (limit === undefined) throw unsupported();
  options.rows.limit = Math.min(options.rows.limit ?? limit, Math.max(limit, 0));
  return 'TRUE';
}

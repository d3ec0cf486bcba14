// Reads an expression token by token and writes it for PostgreSQL: columns checked, functions from the list, Oracle's ways turned.

import { readCall } from './call.ts';
import { type Cursor, expectSymbol, fail, isSymbol, isWord, nested, next, peek, type Sql, takeSymbol } from './cursor.ts';
import { CLAUSE_WORDS, EXPRESSION_WORDS, MOMENT_WORDS, REFUSED_WORDS } from './names.ts';
import { readQuery } from './query.ts';
import { columnSql, displaySql, filterSql, type Scope } from './scope.ts';
import { unsupported } from './suiteql-error.ts';
import type { Token } from './tokens.ts';

export type ExpressionOptions = {
  /** ORDER BY may name what the select list gives. */
  outputsToo?: boolean;
  /** Present in a select list, where ROWNUM numbers the rows. */
  isSelected?: boolean;
  /** Present in a WHERE: collects `ROWNUM <= n`, which cuts the rows off before any ordering. */
  rows?: { limit?: number; hasOr: boolean };
};

const MOST_LIST_VALUES = 1000;
const DATE_LITERALS = ['date', 'timestamp', 'interval'];

/** Reads up to a comma, a closing parenthesis, a clause or a name that follows a finished expression. */
export function readExpression(cursor: Cursor, scope: Scope, options: ExpressionOptions = {}): Sql[] {
  const pieces: Sql[] = [];
  let finished = false; // an operand has been read, so that an operator or the end must follow
  for (;;) {
    const token = peek(cursor);
    if (token.kind === 'end' || isSymbol(token, ')') || isSymbol(token, ',')) break;
    if (token.kind === 'word' && REFUSED_WORDS.has(token.name)) throw unsupported();
    if (isSymbol(token, '(') && isSymbol(peek(cursor, 1), '+') && isSymbol(peek(cursor, 2), ')')) throw unsupported(); // Oracle's outer join
    if (token.kind === 'word' && CLAUSE_WORDS.has(token.name)) break;
    if (token.kind === 'word' && EXPRESSION_WORDS.has(token.name)) {
      next(cursor);
      if (options.rows && token.name === 'or') options.rows.hasOr = true;
      pieces.push(token.name.toUpperCase());
      finished = token.name === 'null' || token.name === 'end';
    } else if (token.kind === 'symbol' && token.text !== '(') {
      pieces.push(readOperator(cursor, finished));
      finished = false;
    } else if (finished) {
      break;
    } else {
      pieces.push(readOperand(cursor, scope, options));
      finished = true;
    }
  }
  if (pieces.length === 0) fail(cursor);
  return pieces;
}

/** Reads a condition: of WHERE, HAVING or ON. */
export function readCondition(cursor: Cursor, scope: Scope, options: ExpressionOptions = {}): Sql[] {
  scope.isFilter = true;
  const condition = readExpression(cursor, scope, options);
  scope.isFilter = false;
  return condition;
}

/** One or more expressions with commas between. */
export function readList(cursor: Cursor, scope: Scope, options: ExpressionOptions = {}): Sql[][] {
  const list = [readExpression(cursor, scope, options)];
  while (takeSymbol(cursor, ',')) list.push(readExpression(cursor, scope, options));
  return list;
}

export const withCommas = (list: readonly Sql[]): Sql[] => list.flatMap((piece, index) => (index === 0 ? [piece] : [',', piece]));

function readOperator(cursor: Cursor, finished: boolean): string {
  const token = next(cursor);
  const isSign = token.text === '-' || token.text === '+';
  if (token.text === '.' || (!finished && !isSign)) fail(cursor, token);
  return token.text;
}

function readOperand(cursor: Cursor, scope: Scope, options: ExpressionOptions): Sql {
  const token = peek(cursor);
  if (isSymbol(token, '(')) return readGroup(cursor, scope);
  next(cursor);
  if (token.kind === 'string' || token.kind === 'number') return token.text;
  if (token.kind === 'placeholder') {
    cursor.parameters += 1;
    return `$${cursor.parameters}`;
  }
  if (token.kind === 'quoted') return readColumn(cursor, scope, token, options);
  const follows = peek(cursor);
  if (token.name === 'builtin' && isSymbol(follows, '.')) return readBuiltin(cursor, scope);
  if (token.name === 'rownum') return readRownum(cursor, options);
  if (follows.kind === 'string' && DATE_LITERALS.includes(token.name)) throw unsupported();
  if (isSymbol(follows, '(')) return readCall(cursor, scope, token);
  const moment = MOMENT_WORDS.get(token.name);
  return moment !== undefined && !isSymbol(follows, '.') ? moment : readColumn(cursor, scope, token, options);
}

/** A query or expressions in parentheses. */
function readGroup(cursor: Cursor, scope: Scope): Sql {
  return nested(cursor, () => {
    const before = cursor.tokens[cursor.at - 1];
    expectSymbol(cursor, '(');
    const content = isWord(peek(cursor), 'select') ? [[readQuery(cursor, scope).sql]] : readList(cursor, scope);
    expectSymbol(cursor, ')');
    if (before && isWord(before, 'in') && content.length > MOST_LIST_VALUES) throw unsupported();
    return ['(', ...withCommas(content), ')'];
  });
}

function readColumn(cursor: Cursor, scope: Scope, first: Token, options: ExpressionOptions): Sql {
  const { column, alias } = readReference(cursor, first);
  const isTyped = scope.isFilter && cursor.hasTypedStatus;
  return () => {
    const known = columnSql(scope, column, alias, options.outputsToo === true);
    return (isTyped ? filterSql(scope, column, alias) : undefined) ?? known;
  };
}

function readReference(cursor: Cursor, first: Token): { column: Token; alias: Token | undefined } {
  if (!takeSymbol(cursor, '.')) return { column: first, alias: undefined };
  const column = next(cursor);
  if (column.kind !== 'word' && column.kind !== 'quoted') fail(cursor, column);
  return { column, alias: first };
}

/** BUILTIN.DF(column). NetSuite has more BUILTIN functions; this account doesn't. */
function readBuiltin(cursor: Cursor, scope: Scope): Sql {
  expectSymbol(cursor, '.');
  if (next(cursor).name !== 'df') throw unsupported();
  expectSymbol(cursor, '(');
  const first = next(cursor);
  if (first.kind !== 'word' && first.kind !== 'quoted') throw unsupported();
  const { column, alias } = readReference(cursor, first);
  if (!takeSymbol(cursor, ')')) throw unsupported();
  return () => displaySql(scope, column, alias);
}

/** `ROWNUM <= n` becomes a limit inside the query; the condition itself is then true. */
function readRownum(cursor: Cursor, options: ExpressionOptions): Sql {
  if (options.isSelected) return 'row_number() OVER ()';
  const before = cursor.tokens[cursor.at - 2];
  const [operator, number] = [next(cursor), next(cursor)];
  if (!options.rows || !before || !isWord(before, 'where', 'and') || !/^\d{1,9}$/.test(number.text)) throw unsupported();
  const count = Number(number.text);
  const limit = { '<=': count, '<': count - 1, '=': count === 1 ? 1 : 0 }[operator.text];
  if (limit === undefined) throw unsupported();
  options.rows.limit = Math.min(options.rows.limit ?? limit, Math.max(limit, 0));
  return 'TRUE';
}

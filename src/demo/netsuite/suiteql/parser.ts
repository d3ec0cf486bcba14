// Where the translation stands in the query, and the pieces of SQL it writes. A piece may be a function: it is called when the whole
// query has been read, since a select list names columns of tables that come after it.
import type { RoleView } from '../tables/role-view.ts';
import { syntaxError, unsupported } from './suiteql-error.ts';
import type { Token } from './tokens.ts';

export type Sql = string | (() => string) | readonly Sql[];
export type Cursor = {
  query: string;
  tokens: readonly Token[];
  at: number;
  role: RoleView;
  parameters: number;
  depth: number;
  hasTypedStatus: boolean;
};

const DEEPEST = 60;

export function writeSql(sql: Sql): string {
  if (typeof sql === 'string') return sql;
  return typeof sql === 'function' ? sql() : sql.map(writeSql).join(' ');
}

export function peek(cursor: Cursor, ahead = 0): Token {
  const token = cursor.tokens[Math.min(cursor.at + ahead, cursor.tokens.length - 1)];
  if (!token) throw new RangeError('a query has at least its end');
  return token;
}

export function next(cursor: Cursor): Token {
  const token = peek(cursor);
  cursor.at += 1;
  return token;
}

export const isWord = (token: Token, ...names: string[]): boolean => token.kind === 'word' && names.includes(token.name);
export const isSymbol = (token: Token, text: string): boolean => token.kind === 'symbol' && token.text === text;

/** Takes the word if it comes next. */
export function takeWord(cursor: Cursor, ...names: string[]): Token | undefined {
  return isWord(peek(cursor), ...names) ? next(cursor) : undefined;
}

export function takeSymbol(cursor: Cursor, text: string): boolean {
  const found = isSymbol(peek(cursor), text);
  if (found) cursor.at += 1;
  return found;
}

export function expectWord(cursor: Cursor, ...names: string[]): Token {
  return takeWord(cursor, ...names) ?? fail(cursor);
}

export function expectSymbol(cursor: Cursor, text: string): void {
  if (!takeSymbol(cursor, text)) fail(cursor);
}

export function expectInteger(cursor: Cursor): string {
  const token = next(cursor);
  return token.kind === 'number' && /^\d{1,9}$/.test(token.text) ? token.text : fail(cursor, token);
}

export function fail(cursor: Cursor, token: Token = peek(cursor)): never {
  throw syntaxError(cursor.query, token);
}

/** Runs `work` one level deeper; a query nested beyond reason is refused before it exhausts the stack. */
export function nested<T>(cursor: Cursor, work: () => T): T {
  cursor.depth += 1;
  if (cursor.depth > DEEPEST) throw unsupported();
  const result = work();
  cursor.depth -= 1;
  return result;
}

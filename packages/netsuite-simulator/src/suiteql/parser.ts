// The state of the SuiteQL parser and the SQL fragments that it produces. A fragment may be a function: it is
// called once the whole query has been parsed, since a select list refers to tables that come after it.
import type { QueryDistortion } from '../answer-faults/distortion.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { syntaxError, unsupported } from './suiteql-error.ts';
import type { Token } from './tokens.ts';

export type SqlFragment = string | (() => string) | readonly SqlFragment[];
export type Parser = {
  query: string;
  tokens: readonly Token[];
  at: number;
  role: RoleVisibility;
  parameters: number;
  depth: number;
  hasTypedStatus: boolean;
  /** What a fault changes in the answer. */
  distortion: QueryDistortion | undefined;
  /** The scope of the outermost SELECT, once it is being parsed. */
  outermost: object | undefined;
};

const MAX_DEPTH = 60;

export function renderSql(sql: SqlFragment): string {
  if (typeof sql === 'string') return sql;
  return typeof sql === 'function' ? sql() : sql.map(renderSql).join(' ');
}

/** The token `ahead` of the current position, or the end token. Throws RangeError for an empty token list. */
export function peek(parser: Parser, ahead = 0): Token {
  const token = parser.tokens[Math.min(parser.at + ahead, parser.tokens.length - 1)];
  if (!token) throw new RangeError('the token list must end with an end token');
  return token;
}

export function advance(parser: Parser): Token {
  const token = peek(parser);
  parser.at += 1;
  return token;
}

export const isWord = (token: Token, ...names: string[]): boolean =>
  token.kind === 'word' && names.includes(token.name);
export const isSymbol = (token: Token, text: string): boolean =>
  token.kind === 'symbol' && token.text === text;

/** Consumes the next token if it is one of these words. */
export function acceptWord(parser: Parser, ...names: string[]): Token | undefined {
  return isWord(peek(parser), ...names) ? advance(parser) : undefined;
}

export function acceptSymbol(parser: Parser, text: string): boolean {
  const found = isSymbol(peek(parser), text);
  if (found) parser.at += 1;
  return found;
}

/** Consumes one of these words. Throws SuiteqlError if another token comes next. */
export function expectWord(parser: Parser, ...names: string[]): Token {
  return acceptWord(parser, ...names) ?? throwSyntaxError(parser);
}

/** Consumes the symbol. Throws SuiteqlError if another token comes next. */
export function expectSymbol(parser: Parser, text: string): void {
  if (!acceptSymbol(parser, text)) throwSyntaxError(parser);
}

/** Consumes a whole number. Throws SuiteqlError if another token comes next. */
export function expectInteger(parser: Parser): string {
  const token = advance(parser);
  return token.kind === 'number' && /^\d{1,9}$/.test(token.text)
    ? token.text
    : throwSyntaxError(parser, token);
}

/** Throws the SuiteqlError for a syntax error near `token`. */
export function throwSyntaxError(parser: Parser, token: Token = peek(parser)): never {
  throw syntaxError(parser.query, token);
}

/**
 * Runs `work` one nesting level deeper. Throws SuiteqlError beyond 60 levels, before the stack could
 * overflow.
 */
export function withNesting<T>(parser: Parser, work: () => T): T {
  parser.depth += 1;
  if (parser.depth > MAX_DEPTH) throw unsupported();
  const result = work();
  parser.depth -= 1;
  return result;
}

// Parses what built-in functions take: columns, keywords in quotes, and expressions, for which they are given
// the parser.
import {
  acceptSymbol,
  advance,
  expectSymbol,
  type Parser,
  type SqlFragment,
  throwSyntaxError,
} from './parser.ts';
import type { ColumnName, Scope } from './scope.ts';
import { unsupported } from './suiteql-error.ts';
import type { Token } from './tokens.ts';

/** Parses an expression. Throws SuiteqlError for invalid syntax. */
export type ParseExpression = (parser: Parser, scope: Scope) => SqlFragment[];

/** Faults change what the outermost SELECT returns, not its conditions. */
export const selectDistortion = (parser: Parser, scope: Scope) =>
  scope.isSelectList && parser.outermost === scope ? parser.distortion : undefined;

/**
 * Parses a column, of which the first name has been read. Throws SuiteqlError unless a name follows a point.
 */
export function parseColumnReference(parser: Parser, first: Token): ColumnName {
  if (!acceptSymbol(parser, '.')) return { column: first, alias: undefined };
  const column = advance(parser);
  if (column.kind !== 'word' && column.kind !== 'quoted') throwSyntaxError(parser, column);
  return { column, alias: first };
}

/** Parses a column. Throws SuiteqlError for anything else. */
export function parseColumnArgument(parser: Parser): ColumnName {
  const first = advance(parser);
  if (first.kind !== 'word' && first.kind !== 'quoted') throw unsupported();
  return parseColumnReference(parser, first);
}

/**
 * Parses a text such as 'DEFAULT', without its quotes and in upper case. Throws SuiteqlError for anything
 * else.
 */
export function parseKeyword(parser: Parser): string {
  const token = advance(parser);
  if (token.kind !== 'string') throw unsupported();
  return token.text.slice(1, -1).toUpperCase();
}

/** Parses keywords separated by commas. Throws SuiteqlError for anything else. */
export function parseKeywords(parser: Parser): string[] {
  const words = [parseKeyword(parser)];
  while (acceptSymbol(parser, ',')) words.push(parseKeyword(parser));
  return words;
}

/**
 * Parses a comma and an expression; `'DEFAULT'` and 0 are undefined. Throws SuiteqlError for anything else.
 */
export function parseOptional(
  parser: Parser,
  scope: Scope,
  parse: ParseExpression,
): SqlFragment[] | undefined {
  expectSymbol(parser, ',');
  const value = parse(parser, scope);
  return value.length === 1 && (value[0] === '0' || value[0] === "'DEFAULT'") ? undefined : value;
}

/** Consumes the parenthesis after the last argument. Throws SuiteqlError when another one follows. */
export function expectLast(parser: Parser): void {
  if (!acceptSymbol(parser, ')')) throw unsupported();
}

// Function calls: an allow list by name, and a few functions with their own grammar.

import { parseExpression, parseExpressionList, withCommas } from './expression.ts';
import { AGGREGATES, CAST_TYPES, EXTRACT_FIELDS, SUITEQL_FUNCTIONS } from './names.ts';
import {
  acceptSymbol,
  acceptWord,
  advance,
  expectSymbol,
  expectWord,
  isSymbol,
  type Parser,
  peek,
  type SqlFragment,
  throwSyntaxError,
  withNesting,
} from './parser.ts';
import { parseOrderBy } from './query.ts';
import type { Scope } from './scope.ts';
import { unsupported } from './suiteql-error.ts';
import type { Token } from './tokens.ts';

const SPECIAL_CALLS: ReadonlyMap<string, (parser: Parser, scope: Scope) => SqlFragment> = new Map([
  ['cast', parseCast],
  ['extract', parseExtract],
  ['decode', parseDecode],
  ['nvl2', parseNvl2],
  ['greatest', parseExtreme('GREATEST')],
  ['least', parseExtreme('LEAST')],
]);

/**
 * Parses the call of `name`, which has been read. Throws SuiteqlError for an unknown function or bad syntax.
 */
export function parseCall(parser: Parser, scope: Scope, name: Token): SqlFragment {
  return withNesting(parser, () => {
    expectSymbol(parser, '(');
    const own = SPECIAL_CALLS.get(name.name);
    if (own) return own(parser, scope);
    const target = SUITEQL_FUNCTIONS.get(name.name);
    if (target === undefined) throw unsupported();
    const call = [target, '(', parseArguments(parser, scope, name), ')'];
    const over = parseOver(parser, scope);
    if (over.length > 0 || !AGGREGATES.has(name.name)) return [...call, ...over];
    scope.hasAggregate = true;
    const offset =
      scope.isSelectList && parser.outermost === scope ? (parser.distortion?.countOffset ?? 0) : 0;
    return name.name === 'count' && offset !== 0 ? ['(', ...call, `+ (${offset}))`] : call;
  });
}

function parseArguments(parser: Parser, scope: Scope, name: Token): SqlFragment {
  if (acceptSymbol(parser, ')')) return '';
  if (name.name === 'count' && isSymbol(peek(parser), '*')) {
    advance(parser);
    expectSymbol(parser, ')');
    return '*';
  }
  const distinct = AGGREGATES.has(name.name) && acceptWord(parser, 'distinct') ? ['DISTINCT'] : [];
  const list = parseExpressionList(parser, scope);
  expectSymbol(parser, ')');
  return [...distinct, ...withCommas(list)];
}

function parseOver(parser: Parser, scope: Scope): SqlFragment[] {
  if (!acceptWord(parser, 'over')) return [];
  expectSymbol(parser, '(');
  const pieces: SqlFragment[] = ['OVER ('];
  if (acceptWord(parser, 'partition')) {
    expectWord(parser, 'by');
    pieces.push('PARTITION BY', ...withCommas(parseExpressionList(parser, scope)));
  }
  if (acceptWord(parser, 'order')) pieces.push(...parseOrderBy(parser, scope, false));
  expectSymbol(parser, ')');
  return [...pieces, ')'];
}

function parseCast(parser: Parser, scope: Scope): SqlFragment {
  const value = parseExpression(parser, scope);
  expectWord(parser, 'as');
  const type = CAST_TYPES.get(advance(parser).name);
  if (type === undefined) throw unsupported();
  if (acceptSymbol(parser, '(')) {
    // Length and scale don't change values here.
    while (!acceptSymbol(parser, ')')) if (advance(parser).kind === 'end') throwSyntaxError(parser);
  }
  expectSymbol(parser, ')');
  // TO_NUMBER refuses what PostgreSQL would read as a number and Oracle doesn't.
  return [
    'CAST(',
    ...(type.startsWith('numeric') ? ['suiteql.to_number(', ...value, ')'] : value),
    'AS',
    type,
    ')',
  ];
}

function parseExtract(parser: Parser, scope: Scope): SqlFragment {
  const field = advance(parser).name;
  if (!EXTRACT_FIELDS.has(field)) throw unsupported();
  expectWord(parser, 'from');
  const value = parseExpression(parser, scope);
  expectSymbol(parser, ')');
  return [`EXTRACT(${field} FROM`, ...value, ')'];
}

/** DECODE(value, match, result, …, otherwise). In Oracle's DECODE, null matches null. */
function parseDecode(parser: Parser, scope: Scope): SqlFragment {
  const [value, ...rest] = parseExpressionList(parser, scope);
  expectSymbol(parser, ')');
  if (!value || rest.length < 2) throw unsupported();
  const pieces: SqlFragment[] = ['CASE'];
  for (let i = 0; i + 1 < rest.length; i += 2) {
    pieces.push(
      'WHEN (',
      ...value,
      ') IS NOT DISTINCT FROM (',
      ...(rest[i] ?? []),
      ') THEN',
      ...(rest[i + 1] ?? []),
    );
  }
  const otherwise = rest.length % 2 === 1 ? rest.at(-1) : undefined;
  return [...pieces, ...(otherwise ? ['ELSE', ...otherwise] : []), 'END'];
}

/** GREATEST or LEAST of a list: null if one of its values is. */
function parseExtreme(name: string): (parser: Parser, scope: Scope) => SqlFragment {
  return (parser, scope) => {
    const list = parseExpressionList(parser, scope);
    expectSymbol(parser, ')');
    const nulls = list.flatMap((value, index) => [
      ...(index === 0 ? [] : ['OR']),
      '(',
      ...value,
      ') IS NULL',
    ]);
    return ['CASE WHEN', ...nulls, 'THEN NULL ELSE', name, '(', ...withCommas(list), ') END'];
  };
}

function parseNvl2(parser: Parser, scope: Scope): SqlFragment {
  const [value, present, missing, ...more] = parseExpressionList(parser, scope);
  expectSymbol(parser, ')');
  if (!value || !present || !missing || more.length > 0) throw unsupported();
  return ['CASE WHEN (', ...value, ') IS NOT NULL THEN', ...present, 'ELSE', ...missing, 'END'];
}

// Parses FROM: tables, derived tables and joins. Only here do table names get into SQL, and only known ones.

import { quoteSqlName } from '../tables/table.ts';
import { parseSqlCondition } from './expression.ts';
import { CLAUSE_WORDS, EXPRESSION_WORDS } from './names.ts';
import {
  acceptSymbol,
  acceptWord,
  advance,
  expectSymbol,
  expectWord,
  isWord,
  type Parser,
  peek,
  type SqlFragment,
  throwSyntaxError,
  withNesting,
} from './parser.ts';
import { parseAlias, parseSelectQuery } from './query.ts';
import { type Scope, tableSource } from './scope.ts';

export function parseFrom(parser: Parser, scope: Scope): SqlFragment[] {
  const pieces = parseJoins(parser, scope);
  while (acceptSymbol(parser, ',')) pieces.push(',', ...parseJoins(parser, scope));
  return pieces;
}

function parseJoins(parser: Parser, scope: Scope): SqlFragment[] {
  const pieces: SqlFragment[] = [...parseSource(parser, scope)];
  for (;;) {
    const join = parseJoinWords(parser);
    if (join === undefined) return pieces;
    pieces.push(join, ...parseSource(parser, scope));
    if (join === 'CROSS JOIN') continue;
    expectWord(parser, 'on');
    pieces.push('ON', ...parseSqlCondition(parser, scope));
  }
}

function parseJoinWords(parser: Parser): string | undefined {
  if (acceptWord(parser, 'join')) return 'JOIN';
  const kind = acceptWord(parser, 'inner', 'left', 'right', 'full', 'cross');
  if (!kind) return undefined;
  if (isWord(kind, 'left', 'right', 'full')) acceptWord(parser, 'outer');
  expectWord(parser, 'join');
  return `${kind.name.toUpperCase()} JOIN`;
}

function parseSource(parser: Parser, scope: Scope): SqlFragment[] {
  return withNesting(parser, () => {
    if (acceptSymbol(parser, '('))
      return isWord(peek(parser), 'select')
        ? parseDerivedTable(parser, scope)
        : parseJoinGroup(parser, scope);
    const token = advance(parser);
    if (
      (token.kind !== 'word' && token.kind !== 'quoted') ||
      CLAUSE_WORDS.has(token.name) ||
      EXPRESSION_WORDS.has(token.name)
    )
      throwSyntaxError(parser, token);
    const source = tableSource(parser.role, token.name, parseAlias(parser) ?? token.name);
    scope.sources.push(source);
    const { name } = source.table;
    const conditions = name === parser.distortion?.table ? parser.distortion.conditions : [];
    return [`${parser.role.rowsSql(name, conditions)} AS ${quoteSqlName(source.alias)}`];
  });
}

function parseDerivedTable(parser: Parser, scope: Scope): SqlFragment[] {
  const query = parseSelectQuery(parser, scope.parent);
  expectSymbol(parser, ')');
  const alias = parseAlias(parser) ?? `query ${scope.sources.length + 1}`;
  scope.sources.push({ alias, columns: () => query.outputs });
  return ['(', query.sql, `) AS ${quoteSqlName(alias)}`];
}

function parseJoinGroup(parser: Parser, scope: Scope): SqlFragment[] {
  const pieces = parseJoins(parser, scope);
  expectSymbol(parser, ')');
  return ['(', ...pieces, ')'];
}

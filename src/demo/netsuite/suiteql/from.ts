// Reads FROM: tables, queries in parentheses and joins. The only place where a table's name gets into SQL, and only a known one does.

import { quote } from '../tables/table.ts';
import { type Cursor, expectSymbol, expectWord, fail, isWord, nested, next, peek, type Sql, takeSymbol, takeWord } from './cursor.ts';
import { readCondition } from './expression.ts';
import { CLAUSE_WORDS, EXPRESSION_WORDS } from './names.ts';
import { readAlias, readQuery } from './query.ts';
import { type Scope, tableSource } from './scope.ts';

export function readFrom(cursor: Cursor, scope: Scope): Sql[] {
  const pieces = readJoins(cursor, scope);
  while (takeSymbol(cursor, ',')) pieces.push(',', ...readJoins(cursor, scope));
  return pieces;
}

function readJoins(cursor: Cursor, scope: Scope): Sql[] {
  const pieces: Sql[] = [...readSource(cursor, scope)];
  for (;;) {
    const join = readJoinWords(cursor);
    if (join === undefined) return pieces;
    pieces.push(join, ...readSource(cursor, scope));
    if (join === 'CROSS JOIN') continue;
    expectWord(cursor, 'on');
    pieces.push('ON', ...readCondition(cursor, scope));
  }
}

function readJoinWords(cursor: Cursor): string | undefined {
  if (takeWord(cursor, 'join')) return 'JOIN';
  const kind = takeWord(cursor, 'inner', 'left', 'right', 'full', 'cross');
  if (!kind) return undefined;
  if (isWord(kind, 'left', 'right', 'full')) takeWord(cursor, 'outer');
  expectWord(cursor, 'join');
  return `${kind.name.toUpperCase()} JOIN`;
}

function readSource(cursor: Cursor, scope: Scope): Sql[] {
  return nested(cursor, () => {
    if (takeSymbol(cursor, '(')) return isWord(peek(cursor), 'select') ? readDerived(cursor, scope) : readJoinGroup(cursor, scope);
    const token = next(cursor);
    if ((token.kind !== 'word' && token.kind !== 'quoted') || CLAUSE_WORDS.has(token.name) || EXPRESSION_WORDS.has(token.name))
      fail(cursor, token);
    const source = tableSource(cursor.role, token.name, readAlias(cursor) ?? token.name);
    scope.sources.push(source);
    return [`suiteql.${quote(source.table.name)} AS ${quote(source.alias)}`];
  });
}

function readDerived(cursor: Cursor, scope: Scope): Sql[] {
  const query = readQuery(cursor, scope.parent);
  expectSymbol(cursor, ')');
  const alias = readAlias(cursor) ?? `query ${scope.sources.length + 1}`;
  scope.sources.push({ alias, columns: () => query.outputs });
  return ['(', query.sql, `) AS ${quote(alias)}`];
}

function readJoinGroup(cursor: Cursor, scope: Scope): Sql[] {
  const pieces = readJoins(cursor, scope);
  expectSymbol(cursor, ')');
  return ['(', ...pieces, ')'];
}

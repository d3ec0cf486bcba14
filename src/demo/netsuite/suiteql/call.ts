// Function calls: those on the list by name, and the few whose grammar is their own.

import { type Cursor, expectSymbol, expectWord, fail, isSymbol, nested, next, peek, type Sql, takeSymbol, takeWord } from './cursor.ts';
import { readExpression, readList, withCommas } from './expression.ts';
import { AGGREGATES, CAST_TYPES, EXTRACT_FIELDS, FUNCTIONS } from './names.ts';
import { readOrder } from './query.ts';
import type { Scope } from './scope.ts';
import { unsupported } from './suiteql-error.ts';
import type { Token } from './tokens.ts';

const OWN_GRAMMAR: ReadonlyMap<string, (cursor: Cursor, scope: Scope) => Sql> = new Map([
  ['cast', readCast],
  ['extract', readExtract],
  ['decode', readDecode],
  ['nvl2', readNvl2],
]);

/** The name has been read, its parenthesis comes next. */
export function readCall(cursor: Cursor, scope: Scope, name: Token): Sql {
  return nested(cursor, () => {
    expectSymbol(cursor, '(');
    const own = OWN_GRAMMAR.get(name.name);
    if (own) return own(cursor, scope);
    const target = FUNCTIONS.get(name.name);
    if (target === undefined) throw unsupported();
    const call = [target, '(', readArguments(cursor, scope, name), ')'];
    const over = readOver(cursor, scope);
    if (AGGREGATES.has(name.name) && over.length === 0) scope.hasAggregate = true;
    return [...call, ...over];
  });
}

function readArguments(cursor: Cursor, scope: Scope, name: Token): Sql {
  if (takeSymbol(cursor, ')')) return '';
  if (name.name === 'count' && isSymbol(peek(cursor), '*')) {
    next(cursor);
    expectSymbol(cursor, ')');
    return '*';
  }
  const distinct = AGGREGATES.has(name.name) && takeWord(cursor, 'distinct') ? ['DISTINCT'] : [];
  const list = readList(cursor, scope);
  expectSymbol(cursor, ')');
  return [...distinct, ...withCommas(list)];
}

function readOver(cursor: Cursor, scope: Scope): Sql[] {
  if (!takeWord(cursor, 'over')) return [];
  expectSymbol(cursor, '(');
  const pieces: Sql[] = ['OVER ('];
  if (takeWord(cursor, 'partition')) {
    expectWord(cursor, 'by');
    pieces.push('PARTITION BY', ...withCommas(readList(cursor, scope)));
  }
  if (takeWord(cursor, 'order')) pieces.push(...readOrder(cursor, scope, false));
  expectSymbol(cursor, ')');
  return [...pieces, ')'];
}

function readCast(cursor: Cursor, scope: Scope): Sql {
  const value = readExpression(cursor, scope);
  expectWord(cursor, 'as');
  const type = CAST_TYPES.get(next(cursor).name);
  if (type === undefined) throw unsupported();
  if (takeSymbol(cursor, '(')) {
    while (!takeSymbol(cursor, ')')) if (next(cursor).kind === 'end') fail(cursor); // a length or a scale changes no value here
  }
  expectSymbol(cursor, ')');
  return ['CAST(', ...value, 'AS', type, ')'];
}

function readExtract(cursor: Cursor, scope: Scope): Sql {
  const field = next(cursor).name;
  if (!EXTRACT_FIELDS.has(field)) throw unsupported();
  expectWord(cursor, 'from');
  const value = readExpression(cursor, scope);
  expectSymbol(cursor, ')');
  return [`EXTRACT(${field} FROM`, ...value, ')'];
}

/** DECODE(value, match, result, …, otherwise): to Oracle, null matches null. */
function readDecode(cursor: Cursor, scope: Scope): Sql {
  const [value, ...rest] = readList(cursor, scope);
  expectSymbol(cursor, ')');
  if (!value || rest.length < 2) throw unsupported();
  const pieces: Sql[] = ['CASE'];
  for (let i = 0; i + 1 < rest.length; i += 2) {
    pieces.push('WHEN (', ...value, ') IS NOT DISTINCT FROM (', ...(rest[i] ?? []), ') THEN', ...(rest[i + 1] ?? []));
  }
  const otherwise = rest.length % 2 === 1 ? rest.at(-1) : undefined;
  return [...pieces, ...(otherwise ? ['ELSE', ...otherwise] : []), 'END'];
}

function readNvl2(cursor: Cursor, scope: Scope): Sql {
  const [value, present, missing, ...more] = readList(cursor, scope);
  expectSymbol(cursor, ')');
  if (!value || !present || !missing || more.length > 0) throw unsupported();
  return ['CASE WHEN (', ...value, ') IS NOT NULL THEN', ...present, 'ELSE', ...missing, 'END'];
}

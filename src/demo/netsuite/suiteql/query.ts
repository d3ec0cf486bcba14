// Reads a whole SELECT with its set operations, ordering and row limit.

import { quote } from '../tables/table.ts';
import {
  type Cursor,
  expectInteger,
  expectWord,
  fail,
  isSymbol,
  isWord,
  nested,
  next,
  peek,
  type Sql,
  takeSymbol,
  takeWord,
} from './cursor.ts';
import { readCondition, readExpression, readList, withCommas } from './expression.ts';
import { readFrom } from './from.ts';
import { CLAUSE_WORDS, EXPRESSION_WORDS, REFUSED_WORDS } from './names.ts';
import { makeScope, type Scope, starColumns } from './scope.ts';
import { unsupported } from './suiteql-error.ts';

/** `body` without its ordering, `order` and `tail` (row limit) apart; `sql` is all of it. */
export type Query = { sql: Sql; body: Sql; order: Sql[]; tail: Sql[]; outputs: ReadonlySet<string> };
/** `isCut`: its ROWNUM became a limit of its own, after which no ordering can follow. `top` counts after the ordering. */
type Select = { sql: Sql; scope: Scope; isCut: boolean; top: Sql[] };

const SET_OPERATIONS: Record<string, string> = { union: 'UNION', intersect: 'INTERSECT', minus: 'EXCEPT', except: 'EXCEPT' };

export function readQuery(cursor: Cursor, parent: Scope | undefined): Query {
  const first = readSelect(cursor, parent);
  const arms: Sql[] = ['(', first.sql, ...first.top, ')'];
  let isSet = false;
  for (let word = peek(cursor); word.kind === 'word' && SET_OPERATIONS[word.name]; word = peek(cursor)) {
    next(cursor);
    const all = takeWord(cursor, 'all') ? ['ALL'] : [];
    const arm = readSelect(cursor, parent);
    arms.push(SET_OPERATIONS[word.name] ?? '', ...all, '(', arm.sql, ...arm.top, ')');
    isSet = true;
  }
  // The order of a set can only go by the names that it gives.
  const orderScope = isSet ? { ...makeScope(undefined), outputs: first.scope.outputs } : first.scope;
  const order = takeWord(cursor, 'order') ? readOrder(cursor, orderScope, true) : [];
  if (first.isCut && !isSet && order.length > 0) throw unsupported();
  const tail = first.top.length > 0 && !isSet ? first.top : readTail(cursor);
  const body = isSet || first.isCut ? arms : first.sql;
  return { sql: [body, ...order, ...tail], body, order, tail, outputs: first.scope.outputs };
}

/** ORDER BY, of which the first word has been read. */
export function readOrder(cursor: Cursor, scope: Scope, outputsToo: boolean): Sql[] {
  expectWord(cursor, 'by');
  const keys: Sql[] = [];
  do {
    const key = readExpression(cursor, scope, { outputsToo });
    const direction = takeWord(cursor, 'asc', 'desc');
    const nulls = takeWord(cursor, 'nulls') ? ['NULLS', expectWord(cursor, 'first', 'last').name] : [];
    keys.push([...key, direction?.name ?? '', ...nulls]);
  } while (takeSymbol(cursor, ','));
  return ['ORDER BY', ...withCommas(keys)];
}

function readTail(cursor: Cursor): Sql[] {
  const pieces: Sql[] = [];
  if (takeWord(cursor, 'offset')) {
    pieces.push('OFFSET', expectInteger(cursor));
    takeWord(cursor, 'row', 'rows');
  }
  if (takeWord(cursor, 'fetch')) {
    expectWord(cursor, 'first', 'next');
    pieces.push('LIMIT', isWord(peek(cursor), 'row', 'rows') ? '1' : expectInteger(cursor));
    expectWord(cursor, 'row', 'rows');
    expectWord(cursor, 'only');
  }
  return pieces;
}

function readSelect(cursor: Cursor, parent: Scope | undefined): Select {
  return nested(cursor, () => {
    expectWord(cursor, 'select');
    const scope = makeScope(parent);
    const distinct = takeWord(cursor, 'distinct') ? ['DISTINCT'] : [];
    takeWord(cursor, 'all');
    const top = isWord(peek(cursor), 'top') && peek(cursor, 1).kind === 'number' ? ['LIMIT', readTop(cursor)] : [];
    const items = readItems(cursor, scope);
    expectWord(cursor, 'from');
    const from = readFrom(cursor, scope);
    for (const { names } of items) for (const name of names()) scope.outputs.add(name);
    const rows: { limit?: number; hasOr: boolean } = { hasOr: false };
    const where = takeWord(cursor, 'where') ? ['WHERE', ...readCondition(cursor, scope, { rows })] : [];
    if (rows.limit !== undefined && rows.hasOr) throw unsupported();
    const grouping = readGrouping(cursor, scope);
    const head = ['SELECT', ...distinct, ...withCommas(items.map((item) => item.sql))];
    const isPlain = grouping.length === 0 && distinct.length === 0 && !scope.hasAggregate;
    return { ...cutRows(head, from, where, grouping, rows.limit, scope, isPlain), scope, top };
  });
}

/** ROWNUM is counted before ordering and grouping: the rows of a single table are cut off in a query of their own. */
function cutRows(
  head: Sql,
  from: Sql[],
  where: Sql[],
  grouping: Sql[],
  limit: number | undefined,
  scope: Scope,
  isPlain: boolean,
): { sql: Sql; isCut: boolean } {
  if (limit === undefined) return { sql: [head, 'FROM', ...from, ...where, ...grouping], isCut: false };
  const [source, ...others] = scope.sources;
  if (source && others.length === 0) {
    return {
      sql: [head, 'FROM ( SELECT * FROM', ...from, ...where, `LIMIT ${limit} ) AS ${quote(source.alias)}`, ...grouping],
      isCut: false,
    };
  }
  if (!isPlain) throw unsupported();
  return { sql: [head, 'FROM', ...from, ...where, `LIMIT ${limit}`], isCut: true };
}

function readTop(cursor: Cursor): string {
  next(cursor);
  return expectInteger(cursor);
}

function readGrouping(cursor: Cursor, scope: Scope): Sql[] {
  const pieces: Sql[] = [];
  if (takeWord(cursor, 'group')) {
    expectWord(cursor, 'by');
    pieces.push('GROUP BY', ...withCommas(readList(cursor, scope)));
  }
  if (takeWord(cursor, 'having')) pieces.push('HAVING', ...readCondition(cursor, scope));
  return pieces;
}

type Item = { sql: Sql; names: () => readonly string[] };

function readItems(cursor: Cursor, scope: Scope): Item[] {
  let unnamed = 0;
  const readItem = (): Item => {
    const star = readStar(cursor, scope);
    if (star) return star;
    const start = cursor.at;
    const sql = readExpression(cursor, scope, { isSelected: true });
    const known = readAlias(cursor) ?? plainColumn(cursor, start);
    if (known === undefined) unnamed += 1;
    const name = known ?? `expr${unnamed}`;
    return { sql: [...sql, 'AS', quote(name)], names: () => [name] };
  };
  const items = [readItem()];
  while (takeSymbol(cursor, ',')) items.push(readItem());
  return items;
}

function readStar(cursor: Cursor, scope: Scope): Item | undefined {
  const [first, second, third] = [peek(cursor), peek(cursor, 1), peek(cursor, 2)];
  const isAliased = (first.kind === 'word' || first.kind === 'quoted') && isSymbol(second, '.') && isSymbol(third, '*');
  if (!isSymbol(first, '*') && !isAliased) return undefined;
  cursor.at += isAliased ? 3 : 1;
  const columns = () => starColumns(scope, isAliased ? first : undefined);
  return {
    sql: () =>
      columns()
        .map((column) => `${quote(column.alias)}.${quote(column.name)}`)
        .join(', '),
    names: () => columns().map((column) => column.name),
  };
}

/** The name after AS or straight after an expression or a table. */
export function readAlias(cursor: Cursor): string | undefined {
  const isExplicit = takeWord(cursor, 'as') !== undefined;
  const token = peek(cursor);
  const isName = token.kind === 'quoted' || (token.kind === 'word' && !CLAUSE_WORDS.has(token.name) && !EXPRESSION_WORDS.has(token.name));
  if (token.kind === 'word' && REFUSED_WORDS.has(token.name)) throw unsupported();
  if (isName) return next(cursor).name;
  return isExplicit ? fail(cursor) : undefined;
}

/** The column's own name, if the item from `start` is nothing but a column. */
function plainColumn(cursor: Cursor, start: number): string | undefined {
  const length = cursor.at - start;
  const last = cursor.tokens[cursor.at - 1];
  const isColumn = length === 1 || (length === 3 && isSymbol(peek(cursor, -2), '.'));
  return isColumn && last && (last.kind === 'word' || last.kind === 'quoted') && !isWord(last, 'null') ? last.name : undefined;
}

// Parses a whole SELECT with its set operations, ordering and row limit.

import { quoteSqlName } from '../tables/table.ts';
import { parseExpression, parseExpressionList, parseSqlCondition, withCommas } from './expression.ts';
import { parseFrom } from './from.ts';
import { CLAUSE_WORDS, EXPRESSION_WORDS, UNSUPPORTED_WORDS } from './names.ts';
import {
  acceptSymbol,
  acceptWord,
  advance,
  expectInteger,
  expectWord,
  isSymbol,
  isWord,
  type Parser,
  peek,
  type SqlFragment,
  throwSyntaxError,
  withNesting,
} from './parser.ts';
import { createScope, distortedSql, type Scope, starColumns } from './scope.ts';
import { unsupported } from './suiteql-error.ts';

/**
 * `sql` is the whole query: `body` is the query without ordering and limit, followed by `order` and `tail`
 * (row limit).
 */
export type ParsedQuery = {
  sql: SqlFragment;
  body: SqlFragment;
  order: SqlFragment[];
  tail: SqlFragment[];
  outputs: ReadonlySet<string>;
};
/**
 * `hasLimit`: its ROWNUM became a LIMIT, after which no ORDER BY can follow. `top` applies after the
 * ordering.
 */
type ParsedSelect = { sql: SqlFragment; scope: Scope; hasLimit: boolean; top: SqlFragment[] };

const SET_OPERATIONS: Record<string, string> = {
  union: 'UNION',
  intersect: 'INTERSECT',
  minus: 'EXCEPT',
  except: 'EXCEPT',
};

/**
 * Parses a query or subquery; `parent` is the scope around a correlated subquery. Throws SuiteqlError for
 * invalid or unsupported syntax.
 */
export function parseSelectQuery(parser: Parser, parent: Scope | undefined): ParsedQuery {
  const first = parseSelect(parser, parent);
  const arms: SqlFragment[] = ['(', first.sql, ...first.top, ')'];
  let isSet = false;
  for (let word = peek(parser); word.kind === 'word' && SET_OPERATIONS[word.name]; word = peek(parser)) {
    advance(parser);
    const all = acceptWord(parser, 'all') ? ['ALL'] : [];
    const arm = parseSelect(parser, parent);
    arms.push(SET_OPERATIONS[word.name] ?? '', ...all, '(', arm.sql, ...arm.top, ')');
    isSet = true;
  }
  // A set operation can only be ordered by its output columns.
  const orderScope = isSet ? { ...createScope(undefined), outputs: first.scope.outputs } : first.scope;
  const order = acceptWord(parser, 'order') ? parseOrderBy(parser, orderScope, true) : [];
  if (first.hasLimit && !isSet && order.length > 0) throw unsupported();
  const tail = first.top.length > 0 && !isSet ? first.top : parseRowLimit(parser);
  const body = isSet || first.hasLimit ? arms : first.sql;
  return { sql: [body, ...order, ...tail], body, order, tail, outputs: first.scope.outputs };
}

/** Parses ORDER BY, of which ORDER has been read. Throws SuiteqlError for invalid syntax. */
export function parseOrderBy(parser: Parser, scope: Scope, mayNameOutputs: boolean): SqlFragment[] {
  expectWord(parser, 'by');
  const keys: SqlFragment[] = [];
  do {
    const key = parseExpression(parser, scope, { mayNameOutputs });
    const direction = acceptWord(parser, 'asc', 'desc');
    const nulls = acceptWord(parser, 'nulls') ? ['NULLS', expectWord(parser, 'first', 'last').name] : [];
    keys.push([...key, direction?.name ?? '', ...nulls]);
  } while (acceptSymbol(parser, ','));
  return ['ORDER BY', ...withCommas(keys)];
}

function parseRowLimit(parser: Parser): SqlFragment[] {
  const pieces: SqlFragment[] = [];
  if (acceptWord(parser, 'offset')) {
    pieces.push('OFFSET', expectInteger(parser));
    acceptWord(parser, 'row', 'rows');
  }
  if (acceptWord(parser, 'fetch')) {
    expectWord(parser, 'first', 'next');
    pieces.push('LIMIT', isWord(peek(parser), 'row', 'rows') ? '1' : expectInteger(parser));
    expectWord(parser, 'row', 'rows');
    expectWord(parser, 'only');
  }
  return pieces;
}

function parseSelect(parser: Parser, parent: Scope | undefined): ParsedSelect {
  return withNesting(parser, () => {
    expectWord(parser, 'select');
    const scope = createScope(parent);
    parser.outermost ??= scope;
    const distinct = acceptWord(parser, 'distinct') ? ['DISTINCT'] : [];
    acceptWord(parser, 'all');
    const top =
      isWord(peek(parser), 'top') && peek(parser, 1).kind === 'number' ? ['LIMIT', parseTop(parser)] : [];
    scope.isSelectList = true;
    const items = parseSelectList(parser, scope);
    scope.isSelectList = false;
    expectWord(parser, 'from');
    const from = parseFrom(parser, scope);
    for (const { names } of items) for (const name of names()) scope.outputs.add(name);
    const rows: { limit?: number; hasOr: boolean } = { hasOr: false };
    const where = acceptWord(parser, 'where') ? ['WHERE', ...parseSqlCondition(parser, scope, { rows })] : [];
    if (rows.limit !== undefined && rows.hasOr) throw unsupported();
    const grouping = parseGrouping(parser, scope);
    const head = ['SELECT', ...distinct, ...withCommas(items.map((item) => item.sql))];
    const isPlain = grouping.length === 0 && distinct.length === 0 && !scope.hasAggregate;
    return { ...applyRownumLimit(head, from, where, grouping, rows.limit, scope, isPlain), scope, top };
  });
}

/** ROWNUM counts before ordering and grouping, so the rows of a single table are limited in a subquery. */
function applyRownumLimit(
  head: SqlFragment,
  from: SqlFragment[],
  where: SqlFragment[],
  grouping: SqlFragment[],
  limit: number | undefined,
  scope: Scope,
  isPlain: boolean,
): { sql: SqlFragment; hasLimit: boolean } {
  if (limit === undefined) return { sql: [head, 'FROM', ...from, ...where, ...grouping], hasLimit: false };
  const [source, ...others] = scope.sources;
  if (source && others.length === 0) {
    return {
      sql: [
        head,
        'FROM ( SELECT * FROM',
        ...from,
        ...where,
        `LIMIT ${limit} ) AS ${quoteSqlName(source.alias)}`,
        ...grouping,
      ],
      hasLimit: false,
    };
  }
  if (!isPlain) throw unsupported();
  return { sql: [head, 'FROM', ...from, ...where, `LIMIT ${limit}`], hasLimit: true };
}

function parseTop(parser: Parser): string {
  advance(parser);
  return expectInteger(parser);
}

function parseGrouping(parser: Parser, scope: Scope): SqlFragment[] {
  const pieces: SqlFragment[] = [];
  if (acceptWord(parser, 'group')) {
    expectWord(parser, 'by');
    pieces.push('GROUP BY', ...withCommas(parseExpressionList(parser, scope)));
  }
  if (acceptWord(parser, 'having')) pieces.push('HAVING', ...parseSqlCondition(parser, scope));
  return pieces;
}

type Item = { sql: SqlFragment; names: () => readonly string[] };

function parseSelectList(parser: Parser, scope: Scope): Item[] {
  let unnamed = 0;
  const readItem = (): Item => {
    const star = parseStar(parser, scope);
    if (star) return star;
    const start = parser.at;
    const sql = parseExpression(parser, scope, { isSelected: true });
    const known = parseAlias(parser) ?? plainColumn(parser, start);
    if (known === undefined) unnamed += 1;
    const name = known ?? `expr${unnamed}`;
    return { sql: [...sql, 'AS', quoteSqlName(name)], names: () => [name] };
  };
  const items = [readItem()];
  while (acceptSymbol(parser, ',')) items.push(readItem());
  return items;
}

function parseStar(parser: Parser, scope: Scope): Item | undefined {
  const [first, second, third] = [peek(parser), peek(parser, 1), peek(parser, 2)];
  const isAliased =
    (first.kind === 'word' || first.kind === 'quoted') && isSymbol(second, '.') && isSymbol(third, '*');
  if (!isSymbol(first, '*') && !isAliased) return undefined;
  parser.at += isAliased ? 3 : 1;
  const columns = () => starColumns(scope, isAliased ? first : undefined);
  const isOutermost = parser.outermost === scope;
  const columnSql = ({ alias, name }: { alias: string; name: string }): string => {
    const sql = `${quoteSqlName(alias)}.${quoteSqlName(name)}`;
    const shown = isOutermost ? distortedSql(parser.distortion, scope, { column: name, alias, sql }) : sql;
    return shown === sql ? sql : `${shown} AS ${quoteSqlName(name)}`;
  };
  return {
    sql: () => columns().map(columnSql).join(', '),
    names: () => columns().map((column) => column.name),
  };
}

/**
 * Parses the alias of an expression or a table, with or without AS; undefined if there is none. Throws
 * SuiteqlError for an unsupported keyword.
 */
export function parseAlias(parser: Parser): string | undefined {
  const isExplicit = acceptWord(parser, 'as') !== undefined;
  const token = peek(parser);
  const isName =
    token.kind === 'quoted' ||
    (token.kind === 'word' && !CLAUSE_WORDS.has(token.name) && !EXPRESSION_WORDS.has(token.name));
  if (token.kind === 'word' && UNSUPPORTED_WORDS.has(token.name)) throw unsupported();
  if (isName) return advance(parser).name;
  return isExplicit ? throwSyntaxError(parser) : undefined;
}

/** The column's name if the item from `start` is just a column. */
function plainColumn(parser: Parser, start: number): string | undefined {
  const length = parser.at - start;
  const last = parser.tokens[parser.at - 1];
  const isColumn = length === 1 || (length === 3 && isSymbol(peek(parser, -2), '.'));
  return isColumn && last && (last.kind === 'word' || last.kind === 'quoted') && !isWord(last, 'null')
    ? last.name
    : undefined;
}

// The functions BUILTIN.X and BUILTIN_RESULT.TYPE_X. ../../docs/wire.md has the source of each and what is
// inferred.
import {
  expectLast,
  type ParseExpression,
  parseColumnArgument,
  parseKeyword,
  parseKeywords,
  selectDistortion,
} from './arguments.ts';
import { parseConsolidate, parseCurrency, parseCurrencyConvert } from './currency.ts';
import { acceptSymbol, advance, expectSymbol, type Parser, type SqlFragment, withNesting } from './parser.ts';
import { periodsSql, rangeEdgeSql } from './ranges.ts';
import {
  columnReferenceSql,
  displaySql,
  distortedSql,
  filterSql,
  getSource,
  type Scope,
  tableSource,
} from './scope.ts';
import { unsupported } from './suiteql-error.ts';

/** Parses the arguments, after the opening parenthesis, and the closing one. */
type ParseBuiltin = (parser: Parser, scope: Scope, parse: ParseExpression) => SqlFragment;

const BUILTINS: ReadonlyMap<string, ParseBuiltin> = new Map([
  ['df', parseDisplay],
  ['cf', parseCriteria],
  ['consolidate', (...args: Parameters<ParseBuiltin>) => parseConsolidate(...args).amount],
  ['currency', parseCurrency],
  ['currency_convert', parseCurrencyConvert],
  ['hierarchy', parseHierarchy],
  ['mnfilter', parseMultiSelectFilter],
  ['period', parsePeriod],
  ['relative_ranges', parseRelativeRange],
]);

/**
 * Parses `.NAME(…)`, of which BUILTIN has been read. Throws SuiteqlError for a function that isn't supported.
 */
export function parseBuiltin(parser: Parser, scope: Scope, parse: ParseExpression): SqlFragment {
  expectSymbol(parser, '.');
  const parseArguments = BUILTINS.get(advance(parser).name);
  if (!parseArguments) throw unsupported();
  return withNesting(parser, () => {
    expectSymbol(parser, '(');
    return parseArguments(parser, scope, parse);
  });
}

/**
 * Parses `.TYPE_NAME(value)`, of which BUILTIN_RESULT has been read: the value itself. A currency value has
 * its currency in addition. Throws SuiteqlError for anything else.
 */
export function parseBuiltinResult(parser: Parser, scope: Scope, parse: ParseExpression): SqlFragment {
  expectSymbol(parser, '.');
  if (!advance(parser).name.startsWith('type_')) throw unsupported();
  return withNesting(parser, () => {
    expectSymbol(parser, '(');
    const value = parse(parser, scope);
    if (acceptSymbol(parser, ',')) parse(parser, scope);
    expectSymbol(parser, ')');
    return ['(', ...value, ')'];
  });
}

function parseDisplay(parser: Parser, scope: Scope): SqlFragment {
  const { column, alias } = parseColumnArgument(parser);
  expectLast(parser);
  const distortion = selectDistortion(parser, scope);
  return () => {
    const sql = displaySql(scope, column, alias);
    return distortedSql(distortion, scope, { column: column.name, alias: alias?.name, sql, type: 'text' });
  };
}

/** BUILTIN.CF(column): the form that conditions compare with, such as `CustInvc:A` for a status. */
function parseCriteria(parser: Parser, scope: Scope): SqlFragment {
  const { column, alias } = parseColumnArgument(parser);
  expectLast(parser);
  return () => {
    const plain = columnReferenceSql(scope, column, alias, false);
    return filterSql(scope, column, alias) ?? plain;
  };
}

/** The hierarchical table that a column refers to. */
const HIERARCHIES: Readonly<Record<string, string>> = {
  account: 'account',
  department: 'department',
  class: 'classification',
  location: 'location',
  subsidiary: 'subsidiary',
  item: 'item',
};

/** BUILTIN.HIERARCHY(column, 'DISPLAY_JOINED'): the record's name with those of its parents. */
function parseHierarchy(parser: Parser, scope: Scope): SqlFragment {
  const { column, alias } = parseColumnArgument(parser);
  expectSymbol(parser, ',');
  if (!parseKeyword(parser).startsWith('DISPLAY_JOINED')) throw unsupported();
  expectLast(parser);
  return () => {
    const value = columnReferenceSql(scope, column, alias, false);
    const own = getSource(scope, column, alias).table?.name;
    const target = ['id', 'parent'].includes(column.name) ? own : HIERARCHIES[column.name];
    if (target === undefined) throw unsupported();
    const { table } = tableSource(parser.role, target, 'hierarchy');
    if (!table.columns.some(({ name }) => name === 'fullname')) throw unsupported();
    return `(SELECT "h".fullname FROM (SELECT ${value} AS "of") "c" JOIN ${parser.role.rowsSql(target)} "h" ON "h".id = "c"."of")`;
  };
}

const MN_OPERATORS: ReadonlySet<string> = new Set([
  'MN_INCLUDE',
  'MN_INCLUDE_ALL',
  'MN_INCLUDE_EXACTLY',
  'MN_EXCLUDE',
  'MN_EXCLUDE_ALL',
  'MN_EXCLUDE_EXACTLY',
]);

/**
 * BUILTIN.MNFILTER(column, operator, 'DF' or '', 'TRUE' to ignore case, value, …) = 'T', in conditions only:
 * compares the entries of a multi-select column, as ids or with 'DF' as texts.
 */
function parseMultiSelectFilter(parser: Parser, scope: Scope, parse: ParseExpression): SqlFragment {
  if (!scope.isFilter) throw unsupported();
  const { column, alias } = parseColumnArgument(parser);
  expectSymbol(parser, ',');
  const operator = parseKeyword(parser);
  if (!MN_OPERATORS.has(operator)) throw unsupported();
  expectSymbol(parser, ',');
  const isDisplay = parseKeyword(parser) === 'DF';
  expectSymbol(parser, ',');
  const ignoresCase = parseKeyword(parser) === 'TRUE';
  const values: SqlFragment[][] = [];
  while (acceptSymbol(parser, ',')) values.push(parse(parser, scope));
  if (values.length === 0) throw unsupported();
  expectLast(parser);
  const texts = values.flatMap((value, i) => [i === 0 ? '(' : ', (', ...value, ')::text']);
  const entries = () =>
    isDisplay ? displaySql(scope, column, alias) : `${columnReferenceSql(scope, column, alias, false)}::text`;
  return [`suiteql.mn_filter(`, entries, `, '${operator}', ${ignoresCase}, ARRAY[`, ...texts, ']::text[])'];
}

/**
 * BUILTIN.PERIOD(code, 'START' or 'END', 'ALL' or 'NOT_LAST', 'BETWEEN'), within IN: the posting periods of a
 * range.
 */
function parsePeriod(parser: Parser, _scope: Scope): SqlFragment {
  const words = parseKeywords(parser);
  expectLast(parser);
  const { table } = tableSource(parser.role, 'accountingperiod', 'period');
  return periodsSql(words[0] ?? '', words.includes('ALL'), parser.role.rowsSql(table.name));
}

/** BUILTIN.RELATIVE_RANGES(code, 'START' or 'END', 'DATE', 'DATETIME' or 'DATETIME_AS_DATE'). */
function parseRelativeRange(parser: Parser, _scope: Scope): SqlFragment {
  const words = parseKeywords(parser);
  expectLast(parser);
  const [code = '', edge = '', type = 'DATE', ...more] = words;
  if (
    !['START', 'END'].includes(edge) ||
    !['DATE', 'DATETIME', 'DATETIME_AS_DATE'].includes(type) ||
    more.length > 0
  )
    throw unsupported();
  return rangeEdgeSql(code, edge === 'END', type === 'DATETIME');
}

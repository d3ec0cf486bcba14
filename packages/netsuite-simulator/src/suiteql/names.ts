// The keywords and functions that a query may use. Functions that aren't listed here can't be called, even if
// PostgreSQL has them.

/** Keywords within an expression; copied to the SQL unchanged. */
export const EXPRESSION_WORDS: ReadonlySet<string> = new Set([
  'and',
  'or',
  'not',
  'in',
  'between',
  'like',
  'escape',
  'is',
  'null',
  'case',
  'when',
  'then',
  'else',
  'end',
  'exists',
  'any',
  'some',
  'all',
]);

/** Keywords that end an expression. */
export const CLAUSE_WORDS: ReadonlySet<string> = new Set([
  'select',
  'from',
  'where',
  'group',
  'having',
  'order',
  'union',
  'intersect',
  'minus',
  'except',
  'fetch',
  'offset',
  'join',
  'inner',
  'left',
  'right',
  'full',
  'outer',
  'cross',
  'on',
  'as',
  'asc',
  'desc',
  'nulls',
  'by',
  'distinct',
  'partition',
  'over',
]);

/** Keywords of constructs that SuiteQL doesn't support. */
export const UNSUPPORTED_WORDS: ReadonlySet<string> = new Set([
  'with',
  'limit',
  'natural',
  'using',
  'connect',
  'lateral',
  'table',
  'values',
  'window',
  'into',
]);

export const AGGREGATES: ReadonlySet<string> = new Set([
  'count',
  'sum',
  'min',
  'max',
  'avg',
  'stddev',
  'variance',
]);

/** Oracle's date functions that are written without parentheses. */
export const DATETIME_WORDS: ReadonlyMap<string, string> = new Map([
  ['sysdate', 'suiteql.sysdate()'],
  ['current_date', 'suiteql.sysdate()'],
  ['systimestamp', 'suiteql.systimestamp()'],
  ['current_timestamp', 'suiteql.systimestamp()'],
]);

const inCatalog = (...names: string[]): [string, string][] =>
  names.map((name) => [name, `pg_catalog.${name}`]);
const inSuiteql = (...names: string[]): [string, string][] => names.map((name) => [name, `suiteql.${name}`]);

/** The function's name in SuiteQL → its name in PostgreSQL. */
export const SUITEQL_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ['nvl', 'COALESCE'],
  ['coalesce', 'COALESCE'],
  ['nullif', 'NULLIF'],
  ['trim', 'suiteql.btrim'],
  ...inCatalog(...AGGREGATES),
  ...inCatalog('upper', 'lower', 'initcap', 'length', 'abs', 'mod', 'floor', 'ceil', 'sign'),
  ...inCatalog('row_number', 'rank', 'dense_rank'),
  ...inSuiteql(
    'to_char',
    'to_date',
    'to_timestamp',
    'to_number',
    'sys_extract_utc',
    'trunc',
    'add_months',
    'last_day',
    'instr',
    'substr',
    'replace',
    'ltrim',
    'rtrim',
    'round',
    'power',
    'sqrt',
    'lpad',
    'rpad',
    'concat',
  ),
]);

/** Type names in CAST → PostgreSQL types. */
export const CAST_TYPES: ReadonlyMap<string, string> = new Map([
  ['number', 'numeric'],
  ['decimal', 'numeric'],
  ['numeric', 'numeric'],
  ['float', 'numeric'],
  ['integer', 'numeric(38, 0)'],
  ['int', 'numeric(38, 0)'],
  ['varchar', 'text'],
  ['varchar2', 'text'],
  ['char', 'text'],
  ['clob', 'text'],
  ['date', 'timestamp(0)'],
  ['timestamp', 'timestamp'],
]);

export const EXTRACT_FIELDS: ReadonlySet<string> = new Set([
  'year',
  'month',
  'day',
  'hour',
  'minute',
  'second',
]);

// Writes summaries as SQL: groups, aggregates and their order over the records that the filters of a list
// select. Rows are JSON text with exact digits, written by PostgreSQL. Identifiers come only from the
// compiled version; every value of a request is a parameter. Pure.
import { escapeLiteral } from 'pg';
import { elementType, isListType, isNumeric } from '../../../warehouse/columns.ts';
import type { CompiledGroup, ValueField } from '../../version/compile.ts';
import type { Period } from '../../version/schema-document.ts';
import { type MeasureFunction, maxGroups, type SummaryPlan, summaryShape } from '../plan/summary-plan.ts';
import { columnReference, planConditions, whereSql } from './conditions.ts';
import { boundedCount, pieceColumns, piecesFrom } from './large-sql.ts';
import {
  buildStateSource,
  createParameters,
  type Statement,
  stateColumns,
  type TableRef,
  tableSql,
} from './list-sql.ts';
import { valueJson } from './render-sql.ts';
import type { Bind } from './sql-part.ts';

/**
 * Equal numbers may be stored with different zeros at the end, and which of them comes first depends on the
 * order of a scan.
 */
const withoutZeros = ({ column }: ValueField, value: string): string =>
  column.type === 'number' ? `trim_scale(${value})` : value;

/**
 * Rounded to 6 decimals, halves away from zero: an average may have infinitely many digits, and money needs
 * no more. In whole millionths, because PostgreSQL's own `avg` and `/` keep about 16 digits, and rounding
 * their result would round twice.
 */
const averageSql = (value: string): string =>
  `trim_scale(div(abs(sum(${value})::numeric) * 2000000 + count(${value}), nullif(2 * count(${value}), 0)) * sign(sum(${value})::numeric) * 0.000001)`;

/** SQL of an aggregate over the rows `t`, as the value to sort by. */
function measureSql(name: MeasureFunction, field: ValueField): string {
  const value = columnReference(field.column);
  if (name === 'values') return `count(${value})`;
  if (name === 'count_distinct') return `count(distinct ${value})`;
  if (name === 'avg') return averageSql(value);
  return name === 'sum' ? `sum(${value})` : withoutZeros(field, `${name}(${value})`);
}

/** SQL of a computed value for JSON: a whole number for counts, otherwise a string with exact digits. */
const measureJson = (name: MeasureFunction, field: ValueField, value: string): string => {
  if (name === 'values' || name === 'count_distinct') return value;
  return isNumeric(field.column.type) ? `(${value})::text` : valueJson(value, field.column.type, true);
};

const periodFormats: Readonly<Record<Period, string>> = {
  day: 'YYYY-MM-DD',
  week: 'YYYY-MM-DD',
  month: 'YYYY-MM',
  quarter: 'YYYY-"Q"Q',
  year: 'YYYY',
};

/**
 * SQL of a group key over the rows `t`: the value, or the first day of its period in the zone of the version.
 * Of a list, each entry.
 */
function groupSql({ field, period }: CompiledGroup, at: number, utcOffsetMinutes: number): string {
  const value = columnReference(field.column);
  if (isListType(field.column.type)) return `e${at}.entry`;
  if (period === null) return withoutZeros(field, value);
  // Timestamps without a zone: the session's own zone plays no part.
  const local =
    field.column.type === 'time'
      ? `(${value} at time zone 'UTC' + interval '${Math.trunc(utcOffsetMinutes)} minutes')`
      : `${value}::timestamp`;
  return `date_trunc('${period}', ${local})::date`;
}

/** A record counts once in the group of each entry that it has, and in that of null when it has none. */
const entriesSql = (groups: readonly CompiledGroup[]): string =>
  groups
    .map(({ field: { column } }, at) =>
      isListType(column.type)
        ? ` left join lateral (select distinct u.entry from unnest(${columnReference(column)}) as u(entry)) as e${at} on true`
        : '',
    )
    .join('');

/** SQL of a group key for JSON. */
const groupJson = ({ field, period }: CompiledGroup, value: string): string =>
  period === null
    ? valueJson(value, elementType(field.column.type), field.asString)
    : `to_char(${value}, '${periodFormats[period]}')`;

/**
 * SQL of the text of a JSON object. Not `row_to_json`: names with a period may be longer than a column name.
 */
const objectSql = (entries: readonly (readonly [name: string, json: string])[]): string => {
  if (entries.length === 0) return `'{}'`;
  const parts = entries.map(
    ([name, json]) =>
      `${escapeLiteral(`${JSON.stringify(name)}:`)} || coalesce(to_json(${json})::text, 'null')`,
  );
  return `'{' || ${parts.join(` || ',' || `)} || '}'`;
};

/**
 * Selects a row for each group: the keys as `k0`…, the number of records as `n`, and the computed values as
 * `m0`….
 */
function groupedSql(
  table: TableRef,
  { groups, measures, utcOffsetMinutes }: SummaryPlan,
  conditions: readonly string[],
): string {
  const keys = groups.map((group, at) => groupSql(group, at, utcOffsetMinutes));
  const columns = [
    ...keys.map((sql, at) => `${sql} as k${at}`),
    'count(*) as n',
    ...measures.map(({ name, field }, at) => `${measureSql(name, field)} as m${at}`),
  ];
  const by = keys.length === 0 ? '' : ` group by ${keys.map((_sql, at) => at + 1).join(', ')}`;
  return `select ${columns.join(', ')} from ${tableSql(table)}${entriesSql(groups)}${whereSql(conditions)}${by}`;
}

/** The text of one row, from the columns of `groupedSql`. */
function rowSql({ groups, withCount, measures, isFlat }: SummaryPlan): string {
  const values = measures.map(
    ({ name, field }, at) =>
      [isFlat ? toFlatName(name) : field.name, measureJson(name, field, `g.m${at}`)] as const,
  );
  const byFunction = Map.groupBy(values, (_value, at) => measures[at]?.name ?? '');
  return objectSql([
    ...groups.map((group, at) => [isFlat ? 'value' : group.name, groupJson(group, `g.k${at}`)] as const),
    ...(withCount ? [['count', 'g.n'] as const] : []),
    ...(isFlat
      ? values
      : [...byFunction].map(([name, entries]) => [name, `(${objectSql(entries)})::json`] as const)),
  ]);
}

const toFlatName = (name: MeasureFunction): string => (name === 'avg' ? 'average' : name);

/** The order of the rows `g`: total, because the keys of two groups differ. */
function orderSql({ groups, measures, sort }: SummaryPlan): string {
  const keys = groups.map((_group, at) => `g.k${at} asc nulls last`);
  if (sort === null) return keys.join(', ');
  const { by, order } = sort;
  const column =
    by === 'count' ? 'n' : 'period' in by ? `k${groups.indexOf(by)}` : `m${measures.indexOf(by)}`;
  return [`g.${column} ${order} nulls last`, ...keys].join(', ');
}

const orderBy = (plan: SummaryPlan): string =>
  plan.groups.length === 0 ? '' : ` order by ${orderSql(plan)}`;

function buildSummary(
  kind: string,
  table: TableRef,
  plan: SummaryPlan,
  write: (sql: {
    readonly recordType: string;
    readonly groups: string;
    readonly rows: string;
    readonly bind: Bind;
  }) => string,
): Statement {
  const { endpoint } = plan.list;
  const conditions = planConditions(plan.list, table.schema);
  const shape = [conditions.map(({ key }) => key), plan.utcOffsetMinutes, plan.isFlat, ...summaryShape(plan)];
  return {
    key: [kind, table.schema, table.table, endpoint.key, ...shape].join('\n'),
    values: [endpoint.recordType, ...conditions.flatMap(({ values }) => values), plan.limit ?? maxGroups],
    write: () => {
      const { recordType, bind } = createParameters();
      const texts = conditions.map((part) => part.text(bind));
      const groups = groupedSql(table, plan, texts);
      const rows = `select ${rowSql(plan)} as row from g${orderBy(plan)} limit ${bind(plan.limit ?? maxGroups, 'bigint')}`;
      return write({ recordType, groups, rows, bind });
    },
  };
}

/**
 * The rows of a summary as one text, the number of all groups, and the state. Fails with `isTooLarge` when
 * the rows have more than `maxTextBytes`.
 */
export const summaryStatement = (table: TableRef, plan: SummaryPlan): Statement =>
  buildSummary(
    'summary',
    table,
    plan,
    ({ recordType, groups, rows }) => `with g as materialized (${groups})
      select ${stateColumns}, r.rows, r.found, (select count(*)::int from g) as total ${buildStateSource(table)} cross join lateral (
        select coalesce(string_agg(p.row, ','), '') as rows, ${boundedCount('p.row')} as found from (${rows}) as p) as r
      where s.record_type = ${recordType}`,
  );

/**
 * As `summaryStatement`, with the rows in pieces (`PieceRow`). Fails with `isTooLarge` when they have more
 * than `maxBytes`.
 */
export function largeSummaryStatement(table: TableRef, plan: SummaryPlan, maxBytes: number): Statement {
  return buildSummary(
    `large summary ${maxBytes}`,
    table,
    plan,
    ({ recordType, groups, rows }) => `with g as materialized (${groups}),
      body as materialized (select convert_to(string_agg(p.row, ','), 'UTF8') as bytes, ${boundedCount('p.row', maxBytes)} as found from (${rows}) as p),
      taken as materialized (select found, found as fitting from body)
      select ${stateColumns}, ${pieceColumns}, (select count(*)::int from g) as total ${buildStateSource(table)} cross join ${piecesFrom}
      where s.record_type = ${recordType}`,
  );
}

/** Every row in its order, one text each, with values written by `bind`. */
export function summaryRowsSql(table: TableRef, plan: SummaryPlan, bind: Bind): string {
  const conditions = planConditions(plan.list, table.schema).map((part) => part.text(bind));
  const limit = plan.limit === null ? '' : ` limit ${plan.limit}`;
  return `select ${rowSql(plan)} as row from (${groupedSql(table, plan, conditions)}) as g${orderBy(plan)}${limit}`;
}

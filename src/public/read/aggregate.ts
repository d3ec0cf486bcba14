// Counts and aggregates the records that a list would return, in one database statement: exact digits, nothing loaded into memory. Accepts
// only the filters of the version and computes only over fields that the version publishes.
import type { AppError } from '../../core/errors.ts';
import { didYouMean } from '../../core/nearest-name.ts';
import { responseTooLong } from '../../core/truncate-list.ts';
import type { OutputField, ReadableEndpoint } from '../version/compile.ts';
import { columnReference, planConditions, whereSql } from './conditions.ts';
import { maxTextBytes } from './large-sql.ts';
import { fieldMasked, type ListPlan, planList } from './plan.ts';
import type { Freshness, Reader, StateRow } from './reader.ts';
import { valueJson } from './render-sql.ts';
import { parameterError, parameterProblem, type QueryParameters } from './request.ts';
import { readRow } from './rows.ts';
import { createParameters, type Statement, stateColumns, stateOf, type TableRef, tableSql } from './sql.ts';
import { assertScopeFresh } from './stale-fields.ts';
import { withinTimeLimit } from './time-limit.ts';

export const aggregateOrders = ['count', 'sum', 'min', 'max', 'average', 'value'] as const;

export type AggregateOptions = {
  /** The field to compute over: a number for all aggregates, a date or time for min and max. Undefined: counts only. */
  readonly field?: string | undefined;
  /** One group per value of this field. */
  readonly groupBy?: string | undefined;
  /** Order of the groups: largest aggregate first; `value` sorts by the group value, ascending. */
  readonly orderBy: (typeof aggregateOrders)[number];
  /** Maximum number of groups. */
  readonly limit: number;
};

type ValueField = Extract<OutputField, { kind: 'value' }>;
type AggregatePlan = {
  readonly list: ListPlan;
  readonly field: ValueField | undefined;
  readonly groupBy: ValueField | undefined;
  readonly orderBy: AggregateOptions['orderBy'];
  readonly limit: number;
};

const fieldError = (path: string, code: string, message: string): AppError => parameterError([parameterProblem(path, code, message)]);

function findField({ fields, masked, name: resource }: ReadableEndpoint, path: string, name: string): ValueField {
  if (masked.has(name)) throw fieldMasked([path]);
  const found = fields.find((field) => field.name === name);
  if (found?.kind === 'value') return found;
  const known = fields.filter((field) => field.kind === 'value' && !masked.has(field.name)).map((field) => field.name);
  throw fieldError(
    path,
    'unknown_field',
    `The resource "${resource}" has no field "${name}" to aggregate.${didYouMean(name, known) || ` Its fields: ${known.join(', ')}.`}`,
  );
}

const isNumber = ({ column }: ValueField): boolean => column.type === 'number' || column.type === 'integer';
const isOrdered = (field: ValueField): boolean => isNumber(field) || field.column.type === 'date' || field.column.type === 'time';

/**
 * Pure. `query` holds filters only. Throws 400 for filters and fields that the endpoint does not have, and for fields that cannot be
 * aggregated, and 403 for filters and fields that the reader sees masked.
 */
export function planAggregate(
  endpoint: ReadableEndpoint,
  query: QueryParameters,
  { field: name, groupBy, orderBy, limit }: AggregateOptions,
): AggregatePlan {
  const field = name === undefined ? undefined : findField(endpoint, 'field', name);
  if (field !== undefined && !isOrdered(field))
    throw fieldError('field', 'field_misfits', `"${field.name}" cannot be aggregated: it is neither a number nor a date or time`);
  const isNumeric = field !== undefined && isNumber(field);
  if ((orderBy === 'sum' || orderBy === 'average') && !isNumeric)
    throw fieldError('orderBy', 'invalid_value', `"orderBy": "${orderBy}" requires a numeric "field"`);
  if ((orderBy === 'min' || orderBy === 'max') && field === undefined)
    throw fieldError('orderBy', 'invalid_value', `"orderBy": "${orderBy}" requires a "field"`);
  const group = groupBy === undefined ? undefined : findField(endpoint, 'groupBy', groupBy);
  return { list: planList(endpoint, query, { paged: false }), field, groupBy: group, orderBy, limit };
}

/** An average may have infinitely many digits; this many decimals are more than money needs. */
const averageDigits = 6;

/** Names and SQL of the aggregates over rows `t`: `by` is the raw value for ordering, `shown` the text for the result. */
function aggregateExpressions(field: ValueField | undefined): Readonly<Record<string, { readonly by: string; readonly shown: string }>> {
  const count = { by: 'count(*)', shown: 'count(*)' };
  if (field === undefined) return { count };
  const value = columnReference(field.column);
  const texts = (sql: string): string => (isNumber(field) ? `(${sql})::text` : valueJson(`(${sql})`, field.column.type, true));
  const aggregateSql = (sql: string) => ({ by: sql, shown: texts(sql) });
  const withRange = {
    count,
    values: { by: `count(${value})`, shown: `count(${value})` },
    min: aggregateSql(`min(${value})`),
    max: aggregateSql(`max(${value})`),
  };
  if (!isNumber(field)) return withRange;
  return { ...withRange, sum: aggregateSql(`sum(${value})`), average: aggregateSql(`trim_scale(round(avg(${value}), ${averageDigits}))`) };
}

const objectSql = (entries: readonly (readonly [string, string])[]): string =>
  `json_build_object(${entries.map(([name, sql]) => `'${name}', ${sql}`).join(', ')})`;

export function aggregateStatement(table: TableRef, plan: AggregatePlan): Statement {
  const { list, field, groupBy, orderBy, limit } = plan;
  const { endpoint } = list;
  const conditions = planConditions(list, table.schema);
  const aggregates = Object.entries(aggregateExpressions(field));
  const write = (): string => {
    const { recordType, bind } = createParameters();
    const source = `from ${tableSql(table)}${whereSql(conditions.map((part) => part.text(bind)))}`;
    const shown = aggregates.map(([name, { shown: sql }]) => [name, sql] as const);
    const state = `${stateOf(table)} where s.record_type = ${recordType}`;
    // Values of a group may be as large as a field: what no caller accepts does not leave PostgreSQL.
    const select = (
      result: string,
    ): string => `select ${stateColumns}, (select case when octet_length(a.text) <= ${maxTextBytes} then a.text end
      from (${result} offset 0) as a(text)) as result ${state}`;
    if (groupBy === undefined) return select(`select ${objectSql(shown)}::text ${source}`);
    const value = columnReference(groupBy.column);
    const by = orderBy === 'value' ? '' : `${aggregateExpressions(field)[orderBy]?.by ?? 'count(*)'} desc nulls last, `;
    const groups = `select ${objectSql([['value', valueJson(value, groupBy.column.type, groupBy.asString)], ...shown])} as g,
      row_number() over (order by ${by}${value} asc nulls last) as n ${source} group by ${value}`;
    return select(`select json_build_object('totalGroups', count(*), 'groups',
      coalesce(json_agg(r.g order by r.n) filter (where r.n <= ${bind(limit, 'bigint')}), '[]'))::text from (${groups}) as r`);
  };
  const shape = [conditions.map(({ key }) => key).join(), field?.name ?? '', groupBy?.name ?? '', orderBy];
  return {
    key: ['aggregate', table.schema, table.table, endpoint.key, ...shape].join('\n'),
    values: [endpoint.recordType, ...conditions.flatMap(({ values }) => values), ...(groupBy === undefined ? [] : [limit])],
    write,
  };
}

/**
 * Returns the aggregates as JSON text with the data state they were computed from: `count` (records); for a field also `values` (records
 * that have a value), `min` and `max`; for a number also `sum` and `average` (6 decimals). Values are text with exact digits, null when
 * there is no value. With `groupBy`: `{totalGroups, groups: [{value, …aggregates}]}`. Throws 400 and 403 for parameters as
 * `planAggregate` does, 400 for a result of more than `maxTextBytes`, and 503 when nothing is synced, a field of the row scope is stale, or
 * the read takes too long.
 */
export async function aggregate(
  reader: Reader,
  endpoint: ReadableEndpoint,
  query: QueryParameters,
  options: AggregateOptions,
): Promise<{ readonly result: string; readonly freshness: Freshness }> {
  const plan = planAggregate(endpoint, query, options);
  const { row, freshness } = await withinTimeLimit(reader, (limited) =>
    readRow<StateRow & { result: string | null }>(limited, endpoint.recordType, (table) => aggregateStatement(table, plan)),
  );
  assertScopeFresh(endpoint, freshness);
  if (row.result === null) throw responseTooLong('limit', 'request fewer groups, or omit `groupBy`');
  return { result: row.result.trim(), freshness };
}

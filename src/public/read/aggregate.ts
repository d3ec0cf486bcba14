// Counts and aggregates the records that a list would return, for the built-in agents: over any field that
// the version publishes, declared as an aggregate or not, with the SQL of summaries. Accepts only the filters
// of the version.
import type { AppError } from '../../core/errors.ts';
import { didYouMean } from '../../core/nearest-name.ts';
import { responseTooLong } from '../../core/truncate-list.ts';
import type { CompiledGroup, ReadableEndpoint, ValueField } from '../version/compile.ts';
import { type Period, periods } from '../version/schema-document.ts';
import { planConditions } from './conditions.ts';
import { assertOneCurrency } from './currencies.ts';
import { maxTextBytes } from './large-sql.ts';
import { fieldMasked, type ListPlan, planList } from './plan.ts';
import type { Freshness, Reader, StateRow } from './reader.ts';
import { parameterError, parameterProblem, type QueryParameters } from './request.ts';
import { readRow } from './rows.ts';
import { buildStateSource, createParameters, type Statement, stateColumns, type TableRef } from './sql.ts';
import { assertScopeFresh } from './stale-fields.ts';
import { groupedSql, groupJson, type MeasureFunction, measureJson, objectSql } from './summary-sql.ts';
import { withinTimeLimit } from './time-limit.ts';

export const aggregateOrders = ['count', 'sum', 'min', 'max', 'average', 'value'] as const;

export type AggregateOptions = {
  /**
   * The field to compute over: a number for all aggregates, a date or time for min and max. Undefined: counts
   * only.
   */
  readonly field?: string | undefined;
  /** One group per value of this field, or per period of `<date or time>.<period>`. */
  readonly groupBy?: string | undefined;
  /** Order of the groups: largest aggregate first; `value` sorts by the group value, ascending. */
  readonly orderBy: (typeof aggregateOrders)[number];
  /** Maximum number of groups. */
  readonly limit: number;
};

type AggregatePlan = {
  readonly list: ListPlan;
  readonly field: ValueField | undefined;
  readonly groupBy: CompiledGroup | undefined;
  readonly orderBy: AggregateOptions['orderBy'];
  readonly limit: number;
};

const fieldError = (path: string, code: string, message: string): AppError =>
  parameterError([parameterProblem(path, code, message)]);

function findField(
  { fields, masked, name: resource }: ReadableEndpoint,
  path: string,
  name: string,
): ValueField {
  if (masked.has(name)) throw fieldMasked([path]);
  const found = fields.find((field) => field.name === name);
  if (found?.kind === 'value') return found;
  const known = fields
    .filter((field) => field.kind === 'value' && !masked.has(field.name))
    .map((field) => field.name);
  throw fieldError(
    path,
    'unknown_field',
    `The resource "${resource}" has no field "${name}" to aggregate.${didYouMean(name, known) || ` Its fields: ${known.join(', ')}.`}`,
  );
}

const isNumber = ({ column }: ValueField): boolean => column.type === 'number' || column.type === 'integer';
const isOrdered = (field: ValueField): boolean =>
  isNumber(field) || field.column.type === 'date' || field.column.type === 'time';

/** The group key of a field, or of a period such as `date.month`. */
function findGroup(endpoint: ReadableEndpoint, name: string): CompiledGroup {
  const period = periods.find((known: Period) => name.endsWith(`.${known}`)) ?? null;
  const field = findField(endpoint, 'groupBy', period === null ? name : name.slice(0, -period.length - 1));
  if (period !== null && field.column.type !== 'date' && field.column.type !== 'time')
    throw fieldError(
      'groupBy',
      'field_misfits',
      `"${field.name}" has no periods: it is neither a date nor a time`,
    );
  return { name: 'value', field, period };
}

/** All functions of a number are computed together. */
function assertAggregateCurrency({ list, field, groupBy }: AggregatePlan): void {
  const { summary } = list.endpoint;
  if (summary === null || field === undefined || !isNumber(field)) return;
  const groups = groupBy === undefined ? [] : [groupBy];
  assertOneCurrency({ list, summary, groups, measures: [{ name: 'sum', field }] });
}

/**
 * Pure. `query` holds filters only. Throws 400 for filters and fields that the endpoint does not have, for
 * fields that cannot be aggregated, and for amounts of several currencies, and 403 for filters and fields
 * that the reader sees masked.
 */
export function planAggregate(
  endpoint: ReadableEndpoint,
  query: QueryParameters,
  { field: name, groupBy, orderBy, limit }: AggregateOptions,
): AggregatePlan {
  const field = name === undefined ? undefined : findField(endpoint, 'field', name);
  if (field !== undefined && !isOrdered(field))
    throw fieldError(
      'field',
      'field_misfits',
      `"${field.name}" cannot be aggregated: it is neither a number nor a date or time`,
    );
  const isNumeric = field !== undefined && isNumber(field);
  if ((orderBy === 'sum' || orderBy === 'average') && !isNumeric)
    throw fieldError('orderBy', 'invalid_value', `"orderBy": "${orderBy}" requires a numeric "field"`);
  if ((orderBy === 'min' || orderBy === 'max') && field === undefined)
    throw fieldError('orderBy', 'invalid_value', `"orderBy": "${orderBy}" requires a "field"`);
  const group = groupBy === undefined ? undefined : findGroup(endpoint, groupBy);
  const plan = { list: planList(endpoint, query, { paged: false }), field, groupBy: group, orderBy, limit };
  assertAggregateCurrency(plan);
  return plan;
}

type Output = { readonly as: string; readonly name: MeasureFunction };
const rangeOutputs: readonly Output[] = [
  { as: 'values', name: 'values' },
  { as: 'min', name: 'min' },
  { as: 'max', name: 'max' },
];
const numberOutputs: readonly Output[] = [
  ...rangeOutputs,
  { as: 'sum', name: 'sum' },
  { as: 'average', name: 'avg' },
];

/** Values of a group may be as large as a field: what no caller accepts does not leave PostgreSQL. */
const selectSql = (table: TableRef, grouped: string, result: string, recordType: string): string =>
  `with g as materialized (${grouped})
      select ${stateColumns}, (select case when octet_length(a.text) <= ${maxTextBytes} then a.text end
        from (${result} offset 0) as a(text)) as result ${buildStateSource(table)} where s.record_type = ${recordType}`;

const groupsSql = (rows: string): string =>
  `select '{"totalGroups":' || (select count(*) from g) || ',"groups":[' || coalesce(string_agg(r.row, ','), '') || ']}'
      from (${rows}) as r`;

export function aggregateStatement(table: TableRef, plan: AggregatePlan): Statement {
  const { list, field, groupBy, orderBy, limit } = plan;
  const { endpoint } = list;
  const conditions = planConditions(list, table.schema);
  const outputs = field === undefined ? [] : isNumber(field) ? numberOutputs : rangeOutputs;
  const measures = field === undefined ? [] : outputs.map(({ name }) => ({ name, field }));
  const groups = groupBy === undefined ? [] : [groupBy];
  const { utcOffsetMinutes = 0 } = endpoint.summary ?? {};
  const write = (): string => {
    const { recordType, bind } = createParameters();
    const texts = conditions.map((part) => part.text(bind));
    const grouped = groupedSql(table, { groups, measures, utcOffsetMinutes }, texts);
    const row = objectSql([
      ...groups.map((group) => [group.name, groupJson(group, 'g.k0')] as const),
      ['count', 'g.n'],
      ...measures.map(
        ({ name, field: of }, at) => [outputs[at]?.as ?? name, measureJson(name, of, `g.m${at}`)] as const,
      ),
    ]);
    if (groupBy === undefined) return selectSql(table, grouped, `select ${row} from g`, recordType);
    const at = outputs.findIndex(({ as }) => as === orderBy);
    const by = orderBy === 'value' ? '' : `${at === -1 ? 'g.n' : `g.m${at}`} desc nulls last, `;
    const rows = `select ${row} as row from g order by ${by}g.k0 asc nulls last limit ${bind(limit, 'bigint')}`;
    return selectSql(table, grouped, groupsSql(rows), recordType);
  };
  const grouping = [groupBy?.field.name ?? '', groupBy?.period ?? '', utcOffsetMinutes];
  const shape = [conditions.map(({ key }) => key).join(), field?.name ?? '', ...grouping, orderBy];
  return {
    key: ['aggregate', table.schema, table.table, endpoint.key, ...shape].join('\n'),
    values: [
      endpoint.recordType,
      ...conditions.flatMap(({ values }) => values),
      ...(groupBy === undefined ? [] : [limit]),
    ],
    write,
  };
}

/**
 * Returns the aggregates as JSON text with the data state they were computed from: `count` (records); for a
 * field also `values` (records that have a value), `min` and `max`; for a number also `sum` and `average` (6
 * decimals). Values are text with exact digits, null when there is no value. With `groupBy`: `{totalGroups,
 * groups: [{value, …aggregates}]}`. Throws 400 and 403 for parameters as `planAggregate` does, 400 for a
 * result of more than `maxTextBytes`, and 503 when nothing is synced, a field of the row scope is stale, or
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
    readRow<StateRow & { result: string | null }>(limited, endpoint.recordType, (table) =>
      aggregateStatement(table, plan),
    ),
  );
  assertScopeFresh(endpoint, freshness);
  if (row.result === null) throw responseTooLong('limit', 'request fewer groups, or omit `groupBy`');
  return { result: row.result.trim(), freshness };
}

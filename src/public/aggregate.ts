// Counts and sums what a list would show, in one statement of the database: exact digits, nothing read into memory. It takes the
// filters of the version and no others, and computes over fields that the version shows.
import type { AppError } from '../core/errors.ts';
import type { CompiledEndpoint, OutputField } from './compile.ts';
import { columnSql, conditionPart, whereSql } from './conditions.ts';
import { didYouMean } from './nearest.ts';
import { type ListPlan, planList } from './plan.ts';
import { type Freshness, type Reader, readRow, type StateRow } from './read.ts';
import { valueJson } from './render-sql.ts';
import { parameterProblem, type Query, refuseParameters } from './request.ts';
import { openParameters, type Place, type Statement, stateColumns, stateOf, tableSql } from './sql.ts';

export const aggregateOrders = ['count', 'sum', 'min', 'max', 'average', 'value'] as const;

export type AggregateQuestion = {
  /** The field to compute over: a number for all figures, a date or time for the smallest and largest. Undefined: only counts. */
  readonly field?: string | undefined;
  /** One row for each value of this field. */
  readonly groupBy?: string | undefined;
  /** Of the groups: the largest figure first, or by `value`, the smallest first. */
  readonly orderBy: (typeof aggregateOrders)[number];
  /** At most so many groups. */
  readonly limit: number;
};

type ValueField = Extract<OutputField, { kind: 'value' }>;
type AggregatePlan = {
  readonly list: ListPlan;
  readonly field: ValueField | undefined;
  readonly groupBy: ValueField | undefined;
  readonly orderBy: AggregateQuestion['orderBy'];
  readonly limit: number;
};

const refuse = (path: string, code: string, message: string): AppError => refuseParameters([parameterProblem(path, code, message)]);

function findField({ fields, name: resource }: CompiledEndpoint, path: string, name: string): ValueField {
  const found = fields.find((field) => field.name === name);
  if (found?.kind === 'value') return found;
  const known = fields.filter(({ kind }) => kind === 'value').map((field) => field.name);
  throw refuse(
    path,
    'unknown_field',
    `The resource "${resource}" has no field "${name}" to compute with.${didYouMean(name, known) || ` It has: ${known.join(', ')}.`}`,
  );
}

const isNumber = ({ column }: ValueField): boolean => column.type === 'number' || column.type === 'integer';
const isOrdered = (field: ValueField): boolean => isNumber(field) || field.column.type === 'date' || field.column.type === 'time';

/** Pure. `query` holds filters alone. Throws 400 for filters and fields that the endpoint doesn't have. */
export function planAggregate(
  endpoint: CompiledEndpoint,
  query: Query,
  { field: name, groupBy, orderBy, limit }: AggregateQuestion,
): AggregatePlan {
  const field = name === undefined ? undefined : findField(endpoint, 'field', name);
  if (field !== undefined && !isOrdered(field))
    throw refuse('field', 'field_misfits', `"${field.name}" is neither a number nor a date, so there is nothing to compute`);
  const isNumeric = field !== undefined && isNumber(field);
  if ((orderBy === 'sum' || orderBy === 'average') && !isNumeric)
    throw refuse('orderBy', 'invalid_value', `"${orderBy}" needs a number as field`);
  if ((orderBy === 'min' || orderBy === 'max') && field === undefined)
    throw refuse('orderBy', 'invalid_value', `"${orderBy}" needs a field`);
  const group = groupBy === undefined ? undefined : findField(endpoint, 'groupBy', groupBy);
  return { list: planList(endpoint, query, { paged: false }), field, groupBy: group, orderBy, limit };
}

/** An average has no exact end; so many digits behind the point are more than money needs. */
const averageDigits = 6;

/** Names and SQL of the figures over rows `t`; what orders groups comes as it is, what is shown as text. */
function figuresOf(field: ValueField | undefined): Readonly<Record<string, { readonly by: string; readonly shown: string }>> {
  const count = { by: 'count(*)', shown: 'count(*)' };
  if (field === undefined) return { count };
  const value = columnSql(field.column);
  const texts = (sql: string): string => (isNumber(field) ? `(${sql})::text` : valueJson(`(${sql})`, field.column.type, true));
  const figure = (sql: string) => ({ by: sql, shown: texts(sql) });
  const ends = {
    count,
    values: { by: `count(${value})`, shown: `count(${value})` },
    min: figure(`min(${value})`),
    max: figure(`max(${value})`),
  };
  if (!isNumber(field)) return ends;
  return { ...ends, sum: figure(`sum(${value})`), average: figure(`trim_scale(round(avg(${value}), ${averageDigits}))`) };
}

const objectSql = (entries: readonly (readonly [string, string])[]): string =>
  `json_build_object(${entries.map(([name, sql]) => `'${name}', ${sql}`).join(', ')})`;

export function aggregateStatement(place: Place, plan: AggregatePlan): Statement {
  const { list, field, groupBy, orderBy, limit } = plan;
  const { endpoint } = list;
  const conditions = list.conditions.map(conditionPart);
  const figures = Object.entries(figuresOf(field));
  const write = (): string => {
    const { recordType, bind } = openParameters();
    const source = `from ${tableSql(place)}${whereSql(conditions.map((part) => part.text(bind)))}`;
    const shown = figures.map(([name, { shown: sql }]) => [name, sql] as const);
    const state = `${stateOf(place)} where s.record_type = ${recordType}`;
    if (groupBy === undefined) return `select ${stateColumns}, (select ${objectSql(shown)}::text ${source}) as answer ${state}`;
    const value = columnSql(groupBy.column);
    const by = orderBy === 'value' ? '' : `${figuresOf(field)[orderBy]?.by ?? 'count(*)'} desc nulls last, `;
    const groups = `select ${objectSql([['value', valueJson(value, groupBy.column.type, groupBy.asString)], ...shown])} as g,
      row_number() over (order by ${by}${value} asc nulls last) as n ${source} group by ${value}`;
    return `select ${stateColumns}, (select json_build_object('totalGroups', count(*), 'groups',
      coalesce(json_agg(r.g order by r.n) filter (where r.n <= ${bind(limit, 'bigint')}), '[]'))::text from (${groups}) as r) as answer ${state}`;
  };
  const shape = [conditions.map(({ key }) => key).join(), field?.name ?? '', groupBy?.name ?? '', orderBy];
  return {
    key: ['aggregate', place.schema, place.table, endpoint.key, ...shape].join('\n'),
    values: [endpoint.recordType, ...conditions.flatMap(({ values }) => values), ...(groupBy === undefined ? [] : [limit])],
    write,
  };
}

/**
 * The figures as JSON text, and the state that they are of. Figures: `count` (records), and of a field `values` (records that have
 * one), `min`, `max`, and of a number `sum` and `average` (6 decimals), as text with exact digits, null when there is no value. With
 * `groupBy`: `{totalGroups, groups: [{value, …figures}]}`. Throws 400, and 503 when nothing is synced or the read takes too long.
 */
export async function aggregate(
  reader: Reader,
  endpoint: CompiledEndpoint,
  query: Query,
  question: AggregateQuestion,
): Promise<{ readonly answer: string; readonly freshness: Freshness }> {
  const plan = planAggregate(endpoint, query, question);
  const { row, freshness } = await readRow<StateRow & { answer: string }>(reader, endpoint.recordType, (place) =>
    aggregateStatement(place, plan),
  );
  return { answer: row.answer.trim(), freshness };
}

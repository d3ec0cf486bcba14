// Counts and sums what a list would show, in one statement of the database: exact digits, nothing read into memory. It takes the
// filters of the version and no others, and computes over fields that the version shows.
import { z } from 'zod';
import { AppError, type ErrorDetail } from '../core/errors.ts';
import type { CompiledEndpoint, OutputField } from './compile.ts';
import { columnSql, conditionPart, whereSql } from './conditions.ts';
import { didYouMean } from './nearest.ts';
import { type ListPlan, planList } from './plan.ts';
import { type Reader, readRow, type StateRow } from './read.ts';
import { valueJson } from './render-sql.ts';
import { openParameters, type Place, type Statement, stateColumns, stateOf, tableSql } from './sql.ts';

const orders = ['count', 'sum', 'min', 'max', 'average', 'value'] as const;
const scalar = z.union([z.string().max(1_000), z.number(), z.boolean()]);

export const AggregateInput = z.strictObject({
  resource: z.string().max(63).meta({ description: 'Name of a resource' }),
  field: z
    .string()
    .max(63)
    .optional()
    .meta({ description: 'The field to compute over: a number for all of them, a date or time for min and max. Absent: only counts' }),
  filters: z
    .record(z.string().max(100), z.union([scalar, z.array(scalar).min(1).max(100)]))
    .default({})
    .meta({ description: 'As for lists, such as {"status": "Open", "date_gte": "2026-01-01"}; joined by AND' }),
  groupBy: z.string().max(63).optional().meta({ description: 'A field: one row for each of its values' }),
  orderBy: z.enum(orders).default('count').meta({ description: 'Order of the groups: largest first; `value`: smallest first' }),
  limit: z.int().min(1).max(100).default(20).meta({ description: 'At most so many groups' }),
});
export type AggregateInput = z.infer<typeof AggregateInput>;

/**
 * For whoever offers it to a model. The answer is JSON: `{resource, filters, field, syncedAt, …figures}`, with `groupBy`
 * `{resource, filters, field, groupBy, syncedAt, totalGroups, groups: [{value, …figures}]}`. Figures: `count` (records), and of a
 * field `values` (records that have one), `min`, `max`, and of a number `sum` and `average` (6 decimals), as text with exact
 * digits, null when there is no value.
 */
export const aggregateTool = {
  name: 'aggregate',
  description:
    'Counts the records of a resource that match filters, and gives sum, average, min and max of a field, exactly. With groupBy the same for each value of a field.',
  inputSchema: z.toJSONSchema(AggregateInput, { io: 'input' }) as Readonly<Record<string, unknown>>,
} as const;

type ValueField = Extract<OutputField, { kind: 'value' }>;
type AggregatePlan = {
  readonly list: ListPlan;
  readonly field: ValueField | undefined;
  readonly groupBy: ValueField | undefined;
  readonly orderBy: AggregateInput['orderBy'];
  readonly limit: number;
};

const refusal = (details: readonly ErrorDetail[]): AppError =>
  new AppError('BAD_REQUEST', details[0]?.message ?? 'The request could not be read', { details });
const refuse = (path: string, code: string, message: string): AppError => refusal([{ path, code, message }]);

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

/** Pure. Throws 400 for filters and fields that the endpoint doesn't have. */
export function planAggregate(endpoint: CompiledEndpoint, input: AggregateInput): AggregatePlan {
  const { field: name, filters, groupBy, orderBy, limit } = input;
  const unknown = Object.keys(filters).filter((filter) => !endpoint.filters.has(filter));
  if (unknown.length > 0) {
    const known = [...endpoint.filters.keys()];
    throw refusal(
      unknown.slice(0, 20).map((filter) => ({
        path: `filters.${filter.slice(0, 80)}`,
        code: 'unknown_filter',
        message: `There is no filter "${filter.slice(0, 80)}" here.${didYouMean(filter, known) || ` There are: ${known.join(', ')}.`}`,
      })),
    );
  }
  const query = new Map(Object.entries(filters).map(([filter, value]) => [filter, [value].flat().map(String)]));
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

/** JSON text as told at `aggregateTool`. Throws 400, and 503 when nothing is synced or the read takes too long. */
export async function aggregate(reader: Reader, endpoint: CompiledEndpoint, input: AggregateInput): Promise<string> {
  const plan = planAggregate(endpoint, input);
  const { row, freshness } = await readRow<StateRow & { answer: string }>(reader, endpoint.recordType, (place) =>
    aggregateStatement(place, plan),
  );
  const { field = null, filters, groupBy } = input;
  const asked = { resource: endpoint.name, filters, field, ...(groupBy !== undefined && { groupBy }), syncedAt: freshness.syncedAt };
  // The database's text is put in as it is: parsed here, digits could be lost.
  return `${JSON.stringify(asked).slice(0, -1)},${row.answer.replace(/^\s*\{/, '')}`;
}

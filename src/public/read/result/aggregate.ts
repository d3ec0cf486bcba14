// Counts and aggregates the records that a list would return, for the built-in agents: over any field that
// the version publishes, declared as an aggregate or not, with the SQL of summaries. Accepts only the filters
// of the version.
import type { AppError } from '../../../core/errors.ts';
import { didYouMean } from '../../../core/text/nearest-name.ts';
import { responseTooLong } from '../../../core/text/truncate-list.ts';
import { isDated, isNumeric } from '../../../warehouse/columns.ts';
import type { CompiledGroup, ReadableEndpoint, ValueField } from '../../version/compile.ts';
import { type Period, periods } from '../../version/schema-document.ts';
import type { Freshness, Reader } from '../connection/reader.ts';
import { assertOneCurrency } from '../plan/currencies.ts';
import { fieldMasked, planList } from '../plan/plan.ts';
import { parameterError, parameterProblem, type QueryParameters } from '../plan/request.ts';
import {
  completeSummary,
  type Measure,
  type MeasureFunction,
  type SummaryPlan,
} from '../plan/summary-plan.ts';
import { wholeText } from './rows.ts';
import { readSmallSummary } from './summary.ts';

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

const fieldError = (path: string, code: string, message: string): AppError =>
  parameterError([parameterProblem(path, code, message)]);

function findField({ fields, masked, name: resource }: ReadableEndpoint, path: string, name: string) {
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

/** The group key of a field, or of a period such as `date.month`. */
function findGroup(endpoint: ReadableEndpoint, name: string): CompiledGroup {
  const period = periods.find((known: Period) => name.endsWith(`.${known}`)) ?? null;
  const field = findField(endpoint, 'groupBy', period === null ? name : name.slice(0, -period.length - 1));
  if (period !== null && !isDated(field.column.type))
    throw fieldError(
      'groupBy',
      'field_misfits',
      `"${field.name}" has no periods: it is neither a date nor a time`,
    );
  return { name, field, period };
}

const rangeFunctions: readonly MeasureFunction[] = ['values', 'min', 'max'];
const numberFunctions: readonly MeasureFunction[] = [...rangeFunctions, 'sum', 'avg'];

/** Everything that can be computed over the field. Throws 400 where the order needs more. */
function planMeasures(
  field: ValueField | undefined,
  orderBy: AggregateOptions['orderBy'],
): readonly Measure[] {
  const isNumber = isNumeric(field?.column.type);
  if ((orderBy === 'sum' || orderBy === 'average') && !isNumber)
    throw fieldError('orderBy', 'invalid_value', `"orderBy": "${orderBy}" requires a numeric "field"`);
  if ((orderBy === 'min' || orderBy === 'max') && field === undefined)
    throw fieldError('orderBy', 'invalid_value', `"orderBy": "${orderBy}" requires a "field"`);
  if (field === undefined) return [];
  return (isNumber ? numberFunctions : rangeFunctions).map((name) => ({ name, field }));
}

/**
 * Pure. `query` holds filters only. Throws 400 for filters and fields that the endpoint does not have, for
 * fields that cannot be aggregated, and for amounts of several currencies, and 403 for filters and fields
 * that the reader sees masked.
 */
function planAggregate(
  endpoint: ReadableEndpoint,
  query: QueryParameters,
  { field: name, groupBy, orderBy, limit }: AggregateOptions,
): SummaryPlan {
  const field = name === undefined ? undefined : findField(endpoint, 'field', name);
  if (field !== undefined && !isNumeric(field.column.type) && !isDated(field.column.type))
    throw fieldError(
      'field',
      'field_misfits',
      `"${field.name}" cannot be aggregated: it is neither a number nor a date or time`,
    );
  const measures = planMeasures(field, orderBy);
  const groups = groupBy === undefined ? [] : [findGroup(endpoint, groupBy)];
  const list = planList(endpoint, query, { paged: false });
  const { summary } = endpoint;
  // All functions of a number are computed together; a problem names the sum alone.
  const sums = measures.filter((measure) => measure.name === 'sum');
  if (summary !== null) assertOneCurrency(endpoint, list, summary, groups, sums);
  const wanted = orderBy === 'average' ? 'avg' : orderBy;
  const by = orderBy === 'count' ? orderBy : measures.find((measure) => measure.name === wanted);
  return completeSummary({
    list,
    utcOffsetMinutes: summary?.utcOffsetMinutes ?? 0,
    groups,
    measures,
    sort: by === undefined ? null : { by, order: 'desc' },
    limit: groupBy === undefined ? null : limit,
    isFlat: true,
  });
}

/**
 * Returns the aggregates as JSON text with the data state they were computed from: `count` (records); for a
 * field also `values` (records that have a value), `min` and `max`; for a number also `sum` and `average` (6
 * decimals). Values are text with exact digits, null when there is no value. With `groupBy`: `{totalGroups,
 * groups: [{value, …aggregates}]}`. Throws 400 and 403 for parameters as `planAggregate` does, 400 for rows
 * of more than `maxTextBytes`, and 503 when nothing is synced, a field of the row scope is stale, or the read
 * takes too long.
 */
export async function aggregate(
  reader: Reader,
  endpoint: ReadableEndpoint,
  query: QueryParameters,
  options: AggregateOptions,
): Promise<{ readonly result: string; readonly freshness: Freshness }> {
  const plan = planAggregate(endpoint, query, options);
  const read = await readSmallSummary(reader, plan);
  if (read === undefined) throw responseTooLong('limit', 'request fewer groups, or omit `groupBy`');
  const { total, freshness } = read;
  const rows = wholeText(read.rows);
  const isGrouped = plan.groups.length > 0;
  return { result: isGrouped ? `{"totalGroups":${total},"groups":[${rows}]}` : rows, freshness };
}

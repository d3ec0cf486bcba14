// Plans a summary: groups and measures over the records that a list would return. The names of a request
// become declared aggregates and group keys, and everything else is planned as the filters of a list; the
// agents' aggregates (aggregate.ts) and saved summaries (record-summary.ts) choose theirs by rules of their
// own and complete them here. Pure.
import { didYouMean } from '../../../core/text/nearest-name.ts';
import type { CompiledGroup, CompiledSummary, ReadableEndpoint, ValueField } from '../../version/compile.ts';
import { type AggregateFunction, aggregateFunctions } from '../../version/schema-document.ts';
import { assertOneCurrency } from './currencies.ts';
import { maskedParameters, parseSelection, selectionParameters } from './filters.ts';
import { collectProblems, maxSuggestions, type ReportProblem, reportUnknown, single } from './parameters.ts';
import { completePlan, fieldMasked, type ListPlan } from './plan.ts';
import { parameterError, parameterProblem, type QueryParameters } from './request.ts';

/** `values`: the number of records that have a value. */
export type MeasureFunction = AggregateFunction | 'values';
/** One computed value: a function over a field. */
export type Measure<Name extends MeasureFunction = MeasureFunction> = {
  readonly name: Name;
  readonly field: ValueField;
};

/**
 * Of the groups: by a key or a computed value. Ties, and groups without a sort, are in the order of the keys,
 * nulls last.
 */
export type SummarySort = { readonly by: 'count' | CompiledGroup | Measure; readonly order: 'asc' | 'desc' };

export type SummaryPlan = {
  /** Selects the records. */
  readonly list: ListPlan;
  /** The zone of days and months. */
  readonly utcOffsetMinutes: number;
  /** At most `maxGroupKeys`; none: one row for all records. */
  readonly groups: readonly CompiledGroup[];
  readonly withCount: boolean;
  readonly measures: readonly Measure[];
  readonly sort: SummarySort | null;
  /** Number of groups to return; null: all of them. */
  readonly limit: number | null;
  /** Whether rows have the key of the only group as `value`, and what is computed over the only field flat. */
  readonly isFlat: boolean;
  /** Equal for all requests with the same response from this endpoint. */
  readonly normalized: string;
};

/** The parameters of a summary besides filters, `q` and `or`. */
export const summaryParameters = [...aggregateFunctions, 'count', 'by', 'sort', 'limit'] as const;

/** Groups of one JSON response. */
export const maxGroups = 1_000;
export const maxGroupKeys = 2;
const maxMeasures = 20;

const shown = (name: string): string => name.slice(0, 80);
const describeAllowed = (known: readonly string[]): string =>
  known.length === 0 ? '' : ` Allowed: ${known.join(', ')}.`;

const noPages = 'A summary has no pages: use "limit", or NDJSON for every group.';
/** For parameters of lists. */
const hints: ReadonlyMap<string, string> = new Map([
  ['page', noPages],
  ['pageSize', noPages],
  ['order', 'Use a leading "-" in "sort" for descending.'],
  ['fields', 'Name what to compute, such as "sum", and groups with "by".'],
]);

/** The names that a parameter gives: repeated, separated by commas, or both. */
const namesIn = (query: QueryParameters, parameter: string): string[] => [
  ...new Set((query.get(parameter) ?? []).flatMap((text) => text.split(','))),
];

/**
 * The plan of a summary. Throws 403 for masked fields and their filters, and 400 with every problem:
 * parameters, aggregates and groups that the endpoint doesn't declare for this reader, and amounts of money
 * whose currency is neither a group key nor fixed by a filter.
 */
export function planSummary(endpoint: ReadableEndpoint, query: QueryParameters): SummaryPlan {
  const { summary } = endpoint;
  if (summary === null)
    throw parameterError([
      parameterProblem('resource', 'no_summary', `The resource "${endpoint.name}" declares no summary`),
    ]);
  assertUnmasked(endpoint, query);
  const { report, assertNone } = collectProblems();
  reportUnknown(
    query,
    new Set([...summaryParameters, ...selectionParameters(endpoint)]),
    endpoint.filters,
    report,
    hints,
  );
  const groups = parseGroups(summary, query, report);
  const measures = parseMeasures(summary, query, report);
  const withCount = parseWithCount(query, groups, measures, report);
  const sort = parseSort(query, { groups, measures, withCount }, report);
  const limit = parseLimit(summary, query, report);
  const selection = parseSelection(endpoint, query, report);
  assertNone();
  const list = completePlan({ endpoint, ...selection });
  assertOneCurrency(endpoint, list, summary, groups, measures);
  const { utcOffsetMinutes } = summary;
  return completeSummary({ list, utcOffsetMinutes, groups, withCount, measures, sort, limit });
}

type ChosenSummary = Pick<SummaryPlan, 'list' | 'utcOffsetMinutes' | 'groups' | 'measures'> &
  Partial<SummaryPlan>;

/** By default with the count, in the order of the groups, and every group. */
export function completeSummary(chosen: ChosenSummary): SummaryPlan {
  const plan = { withCount: true, sort: null, limit: null, isFlat: false, ...chosen };
  return { ...plan, normalized: normalize(plan) };
}

/** The sort with this name, such as `-sum.total`, and the names to choose from. */
export function findSort(
  text: string,
  { groups, measures, withCount }: Pick<SummaryPlan, 'groups' | 'measures' | 'withCount'>,
): { readonly found: SummarySort | undefined; readonly known: readonly string[] } {
  const order = text.startsWith('-') ? 'desc' : 'asc';
  const sorts = [...groups, ...(withCount ? ['count' as const] : []), ...measures].map(
    (by): SummarySort => ({ by, order }),
  );
  const known = sorts.map(sortName);
  return { found: sorts[known.indexOf(text.replace(/^-/, ''))], known };
}

/**
 * Every record by one group, with the count and what the endpoint declares: once without numbers of different
 * values, and once with those alone, which sort all values. Without the second where the endpoint declares
 * none; empty when it doesn't declare the group.
 */
export function planWholeSummaries(endpoint: ReadableEndpoint, groupName: string): SummaryPlan[] {
  const { summary } = endpoint;
  const group = summary?.groups.get(groupName);
  if (summary === null || group === undefined) return [];
  const all = [...summary.aggregates.values()].flatMap(({ field, functions }) =>
    functions.map((name): Measure => ({ name, field })),
  );
  const distinct = all.filter(({ name }) => name === 'count_distinct');
  const others = all.filter(({ name }) => name !== 'count_distinct');
  const list = completePlan({ endpoint, conditions: [] });
  return (distinct.length === 0 ? [others] : [others, distinct]).map((chosen) => {
    const measures = chosen.slice(0, maxMeasures);
    return completeSummary({
      list,
      utcOffsetMinutes: summary.utcOffsetMinutes,
      groups: [group],
      measures,
    });
  });
}

const measureName = ({ name, field }: Measure): string => `${name}.${field.name}`;

const sortName = ({ by }: SummarySort): string =>
  by === 'count' ? by : 'period' in by ? by.name : measureName(by);

/** Equal for plans that compute the same over their records. */
export const summaryShape = ({
  groups,
  measures,
  withCount,
  sort,
}: Pick<SummaryPlan, 'groups' | 'measures' | 'withCount' | 'sort'>) => [
  groups.map(({ name }) => name),
  measures.map(measureName),
  withCount,
  sort === null ? '' : `${sortName(sort)} ${sort.order}`,
];

const normalize = (plan: Omit<SummaryPlan, 'normalized'>): string =>
  JSON.stringify([plan.list.filterKey, ...summaryShape(plan), plan.limit]);

/** The field of `date.month`, or of a name without a period. */
const toField = (name: string): string => name.replace(/\.[^.]*$/, '');

function assertUnmasked(endpoint: ReadableEndpoint, query: QueryParameters): void {
  const { masked } = endpoint;
  const named = (name: string): readonly string[] => namesIn(query, name);
  const isMasked = (name: string): boolean => masked.has(name) || masked.has(toField(name));
  const sorted = (name: string): string[] => [name.replace(/^-/, ''), name.replace(/^-?[^.]*\./, '')];
  const refused = [
    ...maskedParameters(endpoint, query),
    ...aggregateFunctions.filter((name) => named(name).some((field) => masked.has(field))),
    ...(named('by').some(isMasked) ? ['by'] : []),
    ...(named('sort').flatMap(sorted).some(isMasked) ? ['sort'] : []),
  ];
  if (refused.length > 0) throw fieldMasked(refused);
}

function parseGroups(
  { groups }: CompiledSummary,
  query: QueryParameters,
  report: ReportProblem,
): readonly CompiledGroup[] {
  const names = namesIn(query, 'by');
  if (names.length > maxGroupKeys) {
    report('by', 'too_many_values', `"by" may name at most ${maxGroupKeys} groups`);
    return [];
  }
  const known = [...groups.keys()];
  return names.flatMap((name) => {
    const found = groups.get(name);
    if (found !== undefined) return [found];
    report(
      'by',
      'unknown_group',
      `"${shown(name)}" is not a group of this resource.${didYouMean(name, known) || describeAllowed(known)}`,
    );
    return [];
  });
}

function parseMeasures(
  { aggregates }: CompiledSummary,
  query: QueryParameters,
  report: ReportProblem,
): readonly Measure[] {
  const measures = aggregateFunctions.flatMap((name) => {
    const known = [...aggregates.values()]
      .filter(({ functions }) => functions.includes(name))
      .map(({ field }) => field.name);
    let suggestions = 0;
    return namesIn(query, name).flatMap((text): Measure[] => {
      const found = known.includes(text) ? aggregates.get(text) : undefined;
      if (found !== undefined) return [{ name, field: found.field }];
      suggestions += 1;
      const advice = suggestions > maxSuggestions ? '' : didYouMean(text, known) || describeAllowed(known);
      report(
        name,
        'unknown_aggregate',
        `"${name}" of "${shown(text)}" is not declared by this resource.${advice}`,
      );
      return [];
    });
  });
  if (measures.length <= maxMeasures) return measures;
  report('', 'too_many_values', `A summary may compute at most ${maxMeasures} values besides the count`);
  return [];
}

/** By default only a request that names nothing to compute is for the count. */
function parseWithCount(
  query: QueryParameters,
  groups: readonly CompiledGroup[],
  measures: readonly Measure[],
  report: ReportProblem,
): boolean {
  const text = single(query, 'count', report);
  const isNamed = aggregateFunctions.some((name) => query.has(name));
  if (text === undefined) return !isNamed;
  if (text !== 'true' && text !== 'false') report('count', 'invalid_value', '"count" must be true or false');
  else if (text === 'false' && measures.length + groups.length === 0 && !isNamed && !query.has('by'))
    report('count', 'invalid_value', 'With "count=false" the request must name an aggregate or a group');
  return text === 'true';
}

function parseSort(
  query: QueryParameters,
  chosen: Pick<SummaryPlan, 'groups' | 'measures' | 'withCount'>,
  report: ReportProblem,
): SummarySort | null {
  const text = single(query, 'sort', report);
  if (text === undefined) return null;
  const { found, known } = findSort(text, chosen);
  if (found !== undefined) return found;
  const message = `"sort" must be a group or an aggregate of this request, with a leading "-" for descending.`;
  const advice = didYouMean(text.replace(/^-/, ''), known) || describeAllowed(known);
  report('sort', 'unknown_sort', `${message}${advice}`);
  return null;
}

function parseLimit(
  { limitNeedsGroups }: CompiledSummary,
  query: QueryParameters,
  report: ReportProblem,
): number | null {
  const text = single(query, 'limit', report);
  if (text === undefined) return null;
  const limit = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(limit <= maxGroups))
    report('limit', 'out_of_range', `"limit" must be a whole number from 1 to ${maxGroups}`);
  else if (limitNeedsGroups && !query.has('by'))
    report('limit', 'invalid_value', '"limit" is a number of groups: it requires "by"');
  else return limit;
  return null;
}

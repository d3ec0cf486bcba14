// Plans a summary: the names of a request become declared aggregates and group keys, and everything else is
// planned as the filters of a list. Pure. Throws 400 with all problems at once.
import { didYouMean } from '../../core/nearest-name.ts';
import type { CompiledGroup, CompiledSummary, ReadableEndpoint, ValueField } from '../version/compile.ts';
import { type AggregateFunction, aggregateFunctions } from '../version/schema-document.ts';
import { assertOneCurrency } from './currencies.ts';
import { maskedParameters, parseSelection, type Selection, selectionParameters } from './filters.ts';
import { collectProblems, maxSuggestions, type ReportProblem, reportUnknown, single } from './parameters.ts';
import { completePlan, fieldMasked, type ListPlan } from './plan.ts';
import { parameterError, parameterProblem, type QueryParameters } from './request.ts';

/** One computed value: a function over a field. */
export type Measure = { readonly name: AggregateFunction; readonly field: ValueField };

/**
 * Of the groups: by a key or a computed value. Ties, and groups without a sort, are in the order of the keys,
 * nulls last.
 */
export type SummarySort = { readonly by: 'count' | CompiledGroup | Measure; readonly order: 'asc' | 'desc' };

export type SummaryPlan = {
  /** Selects the records. */
  readonly list: ListPlan;
  /** The declared summary of the endpoint. */
  readonly summary: CompiledSummary;
  /** At most `maxGroupKeys`; none: one row for all records. */
  readonly groups: readonly CompiledGroup[];
  readonly withCount: boolean;
  readonly measures: readonly Measure[];
  readonly sort: SummarySort | null;
  /** Number of groups to return; null: all of them. */
  readonly limit: number | null;
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
  const sort = parseSort(query, groups, measures, withCount, report);
  const limit = parseLimit(summary, query, report);
  const selection = parseSelection(endpoint, query, report);
  assertNone();
  const list = selectionPlan(endpoint, selection);
  const plan = { list, summary, groups, withCount, measures, sort, limit };
  assertOneCurrency(plan);
  return { ...plan, normalized: normalize(plan) };
}

/** Selects records within the row scope of the reader, in no order. */
export const selectionPlan = (endpoint: ReadableEndpoint, selection: Selection): ListPlan =>
  completePlan({
    endpoint,
    ...selection,
    sort: { ...endpoint.defaultSort, further: [] },
    fields: endpoint.fields,
    page: 1,
    pageSize: 1,
    linkQuery: '',
  });

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
  const list = selectionPlan(endpoint, { conditions: [], anyOf: [] });
  return (distinct.length === 0 ? [others] : [others, distinct]).map((chosen) => {
    const measures = chosen.slice(0, maxMeasures);
    const plan = { list, summary, groups: [group], withCount: true, measures, sort: null, limit: null };
    return { ...plan, normalized: normalize(plan) };
  });
}

export const measureName = ({ name, field }: Measure): string => `${name}.${field.name}`;

export const sortName = ({ by }: SummarySort): string =>
  by === 'count' ? by : 'period' in by ? by.name : measureName(by);

function normalize({
  list,
  groups,
  withCount,
  measures,
  sort,
  limit,
}: Omit<SummaryPlan, 'normalized'>): string {
  const order = sort === null ? '' : `${sortName(sort)} ${sort.order}`;
  return JSON.stringify([
    list.filterKey,
    groups.map(({ name }) => name),
    measures.map(measureName),
    withCount,
    order,
    limit,
  ]);
}

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
  groups: readonly CompiledGroup[],
  measures: readonly Measure[],
  withCount: boolean,
  report: ReportProblem,
): SummarySort | null {
  const text = single(query, 'sort', report);
  if (text === undefined) return null;
  const name = text.replace(/^-/, '');
  const order = text.startsWith('-') ? 'desc' : 'asc';
  const known = new Map<string, SummarySort['by']>([
    ...groups.map((group) => [group.name, group] as const),
    ...(withCount ? [['count', 'count'] as const] : []),
    ...measures.map((measure) => [measureName(measure), measure] as const),
  ]);
  const by = known.get(name);
  if (by !== undefined) return { by, order };
  const names = [...known.keys()];
  const message = `"sort" must be a group or an aggregate of this request, with a leading "-" for descending.`;
  report('sort', 'unknown_sort', `${message}${didYouMean(name, names) || describeAllowed(names)}`);
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

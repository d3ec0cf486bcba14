// Plans a read: parameter names become column objects of the compiled version, texts become typed values, and missing parameters get their
// defaults. Pure. Throws 400 with all problems at once.
import { AppError, type ErrorDetail } from '../../core/errors.ts';
import { didYouMean } from '../../core/nearest-name.ts';
import { defaultPageSize, notPagedMessage } from '../../db/page.ts';
import type { CompiledColumn, FilterParameter, OutputField, ReadableEndpoint } from '../version/compile.ts';
import { takesSeveral } from '../version/operators.ts';
import type { Operator } from '../version/schema-document.ts';
import { parseFilterValue, type Value } from '../version/values.ts';
import { parameterError, parameterProblem, type QueryParameters } from './request.ts';

export type FilterCondition = { readonly column: CompiledColumn; readonly operator: Operator; readonly values: readonly Value[] };

export type SortKey = { readonly column: CompiledColumn; readonly order: 'asc' | 'desc' };

/** Indexes and anchors know only the first key; further keys break its ties, and the id breaks theirs. */
export type Sort = SortKey & { readonly further: readonly SortKey[] };

/** Equal for equal orders. */
export const sortKey = ({ column, order, further }: Sort): string =>
  [{ column, order }, ...further].map((key) => `${key.column.column} ${key.order}`).join();

export type ListPlan = {
  readonly endpoint: ReadableEndpoint;
  /** Those of the reader's row scope first. */
  readonly conditions: readonly FilterCondition[];
  readonly sort: Sort;
  readonly fields: readonly OutputField[];
  readonly page: number;
  readonly pageSize: number;
  /** Equal for all requests that select the same records of the table; empty without filters. */
  readonly filterKey: string;
  /** Equal for all requests with the same response from this endpoint. */
  readonly normalized: string;
  /** All parameters but `page` as given, each followed by `&`, for the links to other pages. */
  readonly linkQuery: string;
};

export type RecordPlan = {
  readonly endpoint: ReadableEndpoint;
  readonly id: string;
  readonly fields: readonly OutputField[];
  readonly normalized: string;
};

type ReportProblem = (name: string, code: string, message: string) => void;

/** Keeps page × pageSize within the bigint of PostgreSQL; no table comes near it. */
const maxPage = 2_147_483_647;
const maxValues = 100;
const minContainsLength = 3;
const maxProblems = 20;
const maxSuggestions = 5;
export const listParameters: ReadonlySet<string> = new Set(['page', 'pageSize', 'sort', 'order', 'fields']);
const recordParameters: ReadonlySet<string> = new Set(['fields']);
const noFilters: ReadableEndpoint['filters'] = new Map();

/** 403: a field that the reader sees masked would reveal its values. `path` is the parameter that names it. */
export function fieldMasked(paths: readonly string[]): AppError {
  const details = paths.map((path) => {
    const message = `"${path}" uses a field whose values are masked for you: it cannot be filtered, sorted, grouped or aggregated by`;
    return parameterProblem(path, 'field_masked', message);
  });
  return new AppError('FORBIDDEN', details[0]?.message ?? '', { details });
}

function assertUnmasked({ masked, maskedFilters }: ReadableEndpoint, query: QueryParameters): void {
  const refused = [...query].filter(
    ([name, values]) => maskedFilters.has(name) || (name === 'sort' && values.some((field) => masked.has(field))),
  );
  if (refused.length > 0) throw fieldMasked(refused.map(([name]) => name));
}

/**
 * Throws 403 for filters and sorts by masked fields, and 400 with every problem. `paged` is false for exports of the whole list, which
 * accept no paging parameters.
 */
export function planList(endpoint: ReadableEndpoint, query: QueryParameters, { paged } = { paged: true }): ListPlan {
  assertUnmasked(endpoint, query);
  const { report, assertNone } = collectProblems();
  reportUnknown(query, listParameters, endpoint.filters, report);
  for (const name of ['page', 'pageSize']) if (!paged && query.has(name)) report(name, 'not_paged', notPagedMessage(name));
  const page = parseCount(query, 'page', 1, maxPage, report);
  const pageSize = parseCount(query, 'pageSize', Math.min(defaultPageSize, endpoint.maxPageSize), endpoint.maxPageSize, report);
  const sort = parseSort(endpoint, query, report);
  const fields = parseFields(endpoint, query, report);
  const conditions = [...query.keys()].sort().flatMap((name) => {
    const filter = endpoint.filters.get(name);
    return filter === undefined ? [] : [parseCondition(filter, query.get(name) ?? [], report)];
  });
  assertNone();
  return completePlan({ endpoint, conditions, sort, fields, page, pageSize, linkQuery: linkQueryOf(query) });
}

/** Adds the conditions of the reader's row scope to those of the request, and the fields that are derived from the others. */
export function completePlan(plan: Omit<ListPlan, 'filterKey' | 'normalized'>): ListPlan {
  const { endpoint, sort, fields, page, pageSize } = plan;
  const conditions = [...endpoint.scope, ...plan.conditions];
  const selected = conditions.map(({ column, operator, values }) => [column.column, operator, values]);
  // The same conditions select other records under a row scope, which excludes the withheld ones.
  const filterKey = conditions.length === 0 ? '' : JSON.stringify(endpoint.scope.length === 0 ? selected : ['scope', ...selected]);
  const normalized = JSON.stringify([filterKey, sortKey(sort), page, pageSize, namesOf(endpoint, fields)]);
  return { ...plan, conditions, filterKey, normalized };
}

const linkQueryOf = (query: QueryParameters): string =>
  [...query]
    .filter(([name]) => name !== 'page')
    .flatMap(([name, values]) => values.map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}&`))
    .join('');

/** `id` must already be valid for the endpoint. Throws 400 with every problem. */
export function planRecord(endpoint: ReadableEndpoint, id: string, query: QueryParameters): RecordPlan {
  const { report, assertNone } = collectProblems();
  reportUnknown(query, recordParameters, noFilters, report);
  const fields = parseFields(endpoint, query, report);
  assertNone();
  return { endpoint, id, fields, normalized: JSON.stringify([id, namesOf(endpoint, fields)]) };
}

/** Selected fields keep the order of the endpoint, so equal counts mean equal fields. */
const namesOf = (endpoint: ReadableEndpoint, fields: readonly OutputField[]): string | string[] =>
  fields.length === endpoint.fields.length ? '*' : fields.map(({ name }) => name);

function collectProblems(): { report: ReportProblem; assertNone: () => void } {
  const problems: ErrorDetail[] = [];
  return {
    report: (name, code, message) => {
      if (problems.length < maxProblems) problems.push(parameterProblem(name, code, message));
    },
    assertNone: () => {
      if (problems.length > 0) throw parameterError(problems);
    },
  };
}

function reportUnknown(
  query: QueryParameters,
  own: ReadonlySet<string>,
  filters: ReadableEndpoint['filters'],
  report: ReportProblem,
): void {
  const unknown = [...query.keys()].filter((name) => !own.has(name) && !filters.has(name)).slice(0, maxProblems);
  if (unknown.length === 0) return;
  const known = [...own, ...filters.keys()];
  for (const [index, name] of unknown.entries()) {
    const suggestion = index < maxSuggestions ? didYouMean(name, known) : '';
    report(name, 'unknown_parameter', `Unknown parameter "${name.slice(0, 80)}".${suggestion}`);
  }
}

/** The value of a parameter that may not be repeated; undefined when it is absent or was reported as a problem. */
function single(query: QueryParameters, name: string, report: ReportProblem): string | undefined {
  const values = query.get(name);
  if (values === undefined) return undefined;
  if (values.length > 1) report(name, 'repeated_parameter', `"${name}" may be given only once`);
  else if (values[0] === '') report(name, 'empty_value', `"${name}" must not be empty`);
  else return values[0];
  return undefined;
}

function parseCount(query: QueryParameters, name: string, fallback: number, max: number, report: ReportProblem): number {
  const text = single(query, name, report);
  if (text === undefined) return fallback;
  const count = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.NaN;
  if (count <= max) return count;
  report(name, 'out_of_range', `"${name}" must be a whole number from 1 to ${max}`);
  return fallback;
}

function parseSort(endpoint: ReadableEndpoint, query: QueryParameters, report: ReportProblem): ListPlan['sort'] {
  const name = single(query, 'sort', report);
  const order = single(query, 'order', report);
  const chosen = name === undefined ? undefined : endpoint.sorts.get(name);
  if (name !== undefined && chosen === undefined) {
    const known = [...endpoint.sorts.keys()];
    const allowed = known.length === 0 ? 'No field of this resource is sortable' : `"sort" must be one of: ${known.join(', ')}`;
    report('sort', 'unknown_sort', `${allowed}.${didYouMean(name, known)}`);
  }
  if (order !== undefined && order !== 'asc' && order !== 'desc') report('order', 'invalid_value', '"order" must be asc or desc');
  const direction = order === 'desc' || order === 'asc' ? order : undefined;
  if (chosen !== undefined) return { column: chosen, order: direction ?? 'asc', further: [] };
  return { column: endpoint.defaultSort.column, order: direction ?? endpoint.defaultSort.order, further: [] };
}

function parseFields(endpoint: ReadableEndpoint, query: QueryParameters, report: ReportProblem): readonly OutputField[] {
  const text = single(query, 'fields', report);
  if (text === undefined) return endpoint.fields;
  const wanted = new Set(text.split(','));
  const known = ['id', ...endpoint.fields.map(({ name }) => name)];
  const names = new Set(known);
  const unknown = [...wanted].filter((name) => !names.has(name)).slice(0, maxSuggestions);
  for (const name of unknown) report('fields', 'unknown_field', `Unknown field "${name.slice(0, 80)}".${didYouMean(name, known)}`);
  return endpoint.fields.filter(({ name }) => wanted.has(name));
}

/** Parses the values of one filter; problems go to `report`, and the condition then has no values. */
export function parseCondition(filter: FilterParameter, texts: readonly string[], report: ReportProblem): FilterCondition {
  const { name, column, operator } = filter;
  const condition = (values: readonly Value[]): FilterCondition => ({ column, operator, values });
  if (!takesSeveral(operator) && texts.length > 1) report(name, 'repeated_parameter', `"${name}" may be given only once`);
  else if (texts.length > maxValues) report(name, 'too_many_values', `"${name}" may be given at most ${maxValues} times`);
  else if (texts.includes('') && !(operator === 'eq' && column.type === 'text')) report(name, 'empty_value', `"${name}" must not be empty`);
  else if (operator === 'contains' && [...(texts[0] ?? '')].length < minContainsLength) {
    report(name, 'out_of_range', `"${name}" must have at least ${minContainsLength} characters`);
  } else {
    return condition(
      [...new Set(texts)].sort().flatMap((text) => {
        const read = parseFilterValue(operator === 'null' ? 'boolean' : column.type, text);
        if ('value' in read) return [read.value];
        report(name, read.code, `"${name}" ${read.message}`);
        return [];
      }),
    );
  }
  return condition([]);
}

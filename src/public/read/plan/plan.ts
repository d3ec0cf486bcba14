// Plans a read: parameter names become column objects of the compiled version, texts become typed values, and
// missing parameters get their defaults. Pure. Throws 400 with all problems at once.
import { AppError } from '../../../core/errors.ts';
import { didYouMean } from '../../../core/text/nearest-name.ts';
import { defaultPageSize, notPagedMessage } from '../../../db/page.ts';
import {
  type CompiledColumn,
  type CompiledSort,
  idColumn,
  type OutputField,
  type ReadableEndpoint,
  type ReadableSource,
} from '../../version/compile.ts';
import {
  type Expansion,
  expandParameter,
  expandsMasked,
  expansionsKey,
  noExpansions,
  parseExpand,
  unnamedParameters,
  withExpand,
} from './expand.ts';
import { maskedParameters, parseSelection, type Selection, selectionParameters } from './filters.ts';
import { checkFormat, checkRecordFormat, formatParameters } from './format.ts';
import {
  collectProblems,
  maxSuggestions,
  parseCount,
  type ReportProblem,
  reportUnknown,
  single,
} from './parameters.ts';
import { parameterProblem, type QueryParameters } from './request.ts';

export type SortKey = { readonly column: CompiledColumn; readonly order: 'asc' | 'desc' };

/** Indexes and anchors know only the first key; further keys break its ties, and the id breaks theirs. */
export type Sort = SortKey & { readonly further: readonly SortKey[] };

/** Equal for equal orders. */
export const sortKey = ({ column, order, further }: Sort): string =>
  [{ column, order }, ...further].map((key) => `${key.column.column} ${key.order}`).join();

/**
 * `conditions`: those of the reader's row scope first. `anyOf`: of each group, such as `q` or `or`, one
 * condition must match.
 */
export type ListPlan = Selection & {
  readonly endpoint: ReadableSource;
  readonly sort: Sort;
  readonly fields: readonly OutputField[];
  /** Related records that are embedded in each record; none without `expand`. */
  readonly expansions: readonly Expansion[];
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
  readonly endpoint: ReadableSource;
  readonly id: string;
  readonly fields: readonly OutputField[];
  readonly expansions: readonly Expansion[];
  readonly normalized: string;
};

/** Keeps page × pageSize within the bigint of PostgreSQL; no table comes near it. */
const maxPage = 2_147_483_647;
export const listParameters: ReadonlySet<string> = new Set(['page', 'pageSize', 'sort', 'order', 'fields']);
const recordParameters: ReadonlySet<string> = new Set(['fields']);
const documentParameters: ReadonlySet<string> = new Set(['fields', 'format']);
const notExportedMessage =
  '"expand" is not available for exports. Request pages of JSON, or export the related resource as well.';
const notSetMessage = '"expand" is not available for PDF. Request the related record as well.';
const noFilters: ReadableEndpoint['filters'] = new Map();

/**
 * 403: a field that the reader sees masked would reveal its values. `path` is the parameter that names it.
 */
export function fieldMasked(paths: readonly string[]): AppError {
  const details = paths.map((path) => {
    const message = `"${path}" uses a field whose values are masked for you: it cannot be filtered, sorted, grouped or aggregated by`;
    return parameterProblem(path, 'field_masked', message);
  });
  return new AppError('FORBIDDEN', details[0]?.message ?? '', { details });
}

/** Throws 403 for filters and sorts by fields that the reader sees masked. */
function assertListUnmasked(endpoint: ReadableEndpoint, query: QueryParameters): void {
  const { masked } = endpoint;
  const sorted = (query.get('sort') ?? []).flatMap((text) => [
    text,
    ...(endpoint.takesSortSets ? sortNames(text) : []),
  ]);
  const refused = [
    ...maskedParameters(endpoint, query),
    ...(sorted.some((name) => masked.has(name)) ? ['sort'] : []),
  ];
  if (refused.length > 0) throw fieldMasked(refused);
}

/** Throws 403 for relations by fields that the reader sees masked. */
function assertExpandable(endpoint: ReadableEndpoint, query: QueryParameters): void {
  if (expandsMasked(endpoint, query)) throw fieldMasked([expandParameter]);
}

/** The names in `date,-total`. */
const sortNames = (text: string): string[] => text.split(',').map((key) => key.replace(/^-/, ''));

/** Only for endpoints with a summary: others answer as they did before there were summaries. */
function listHints({ summary, name }: ReadableEndpoint): ReadonlyMap<string, string> | undefined {
  if (summary === null) return undefined;
  const computed = `It is a parameter of the summary, /${name}/summary.`;
  return new Map([
    ...['sum', 'avg', 'min', 'max', 'count_distinct', 'count', 'by'].map((one) => [one, computed] as const),
    ['limit', 'Use "pageSize".'],
  ]);
}

/**
 * Throws 403 for filters and sorts by masked fields, and 400 with every problem. `paged` is false for exports
 * of the whole list, which accept no paging parameters.
 */
export function planList(
  endpoint: ReadableEndpoint,
  query: QueryParameters,
  { paged } = { paged: true },
): ListPlan {
  assertListUnmasked(endpoint, query);
  assertExpandable(endpoint, query);
  const { report, assertNone } = collectProblems();
  const own = new Set([
    ...listParameters,
    ...(endpoint.takesFormat ? formatParameters : []),
    ...selectionParameters(endpoint),
  ]);
  reportUnknown(
    query,
    withExpand(own, endpoint),
    endpoint.filters,
    report,
    listHints(endpoint),
    unnamedParameters(endpoint),
  );
  for (const name of ['page', 'pageSize'])
    if (!paged && query.has(name)) report(name, 'not_paged', notPagedMessage(name));
  const page = parseCount(query, 'page', 1, maxPage, report);
  const pageSize = parseCount(
    query,
    'pageSize',
    Math.min(defaultPageSize, endpoint.maxPageSize),
    endpoint.maxPageSize,
    report,
  );
  checkFormat(endpoint, query, report);
  const sort = parseSort(endpoint, query, report);
  const fields = parseFields(endpoint, query, report);
  const expansions = parseExpand(endpoint, query, report);
  if (!paged && endpoint.relations.size > 0 && query.has(expandParameter))
    report(expandParameter, 'not_exported', notExportedMessage);
  const selection = parseSelection(endpoint, query, report);
  assertNone();
  return completePlan({
    endpoint,
    ...selection,
    sort,
    fields,
    expansions,
    page,
    pageSize,
    linkQuery: toLinkQuery(query),
  });
}

type ChosenPlan = Pick<ListPlan, 'endpoint' | 'conditions'> & Partial<ListPlan>;

/**
 * Adds the conditions of the reader's row scope to those of the request, and the fields that are derived from
 * the others. By default the first record with all fields, in the order of the endpoint.
 */
export function completePlan(chosen: ChosenPlan): ListPlan {
  const { endpoint } = chosen;
  const { column, order } = endpoint.defaultSort ?? { column: idColumn(endpoint.idType), order: 'asc' };
  const plan = {
    anyOf: [],
    sort: { column, order, further: [] },
    fields: endpoint.fields,
    expansions: noExpansions,
    page: 1,
    pageSize: 1,
    linkQuery: '',
    ...chosen,
    conditions: [...endpoint.scope, ...chosen.conditions],
  };
  const filterKey = toFilterKey(endpoint, plan);
  const shown = [toFieldNames(endpoint, plan.fields), ...expansionsKey(plan.expansions)];
  const normalized = JSON.stringify([filterKey, sortKey(plan.sort), plan.page, plan.pageSize, ...shown]);
  return { ...plan, filterKey, normalized };
}

/**
 * Equal for selections of the same records of a table; empty when that is all of them. `conditions` has those
 * of the row scope.
 */
export function toFilterKey({ scope }: ReadableSource, { conditions, anyOf }: Selection): string {
  const selected = conditions.map(toKeyParts);
  const groups = anyOf.length === 0 ? [] : [{ anyOf: anyOf.map((group) => group.map(toKeyParts)) }];
  if (selected.length + groups.length === 0) return '';
  // The same conditions select other records under a row scope, which excludes the withheld ones.
  return JSON.stringify([...(scope.length === 0 ? [] : ['scope']), ...selected, ...groups]);
}

/** Versions may differ in what a search in texts finds. */
function toKeyParts({
  column: { column, line, lowered },
  operator,
  values,
}: Selection['conditions'][number]): unknown[] {
  const isFolded = (operator === 'contains' || operator === 'starts_with') && lowered !== true;
  return [column, operator, values, ...(line === undefined ? [] : [line]), ...(isFolded ? ['folded'] : [])];
}

/** Whether a plan selects every record of the table. */
export const selectsAll = ({ conditions, anyOf }: Selection): boolean =>
  conditions.length + anyOf.length === 0;

const toLinkQuery = (query: QueryParameters): string =>
  [...query]
    .filter(([name]) => name !== 'page')
    .flatMap(([name, values]) =>
      values.map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}&`),
    )
    .join('');

/**
 * `id` must already be valid for the endpoint; `expands` is false where no related records are shown. Throws 403
 * for relations by masked fields, and 400 with every problem.
 */
export function planRecord(
  endpoint: ReadableEndpoint,
  id: string,
  query: QueryParameters,
  { expands } = { expands: true },
): RecordPlan {
  assertExpandable(endpoint, query);
  const { report, assertNone } = collectProblems();
  reportUnknown(
    query,
    withExpand(endpoint.document === null ? recordParameters : documentParameters, endpoint),
    noFilters,
    report,
    undefined,
    unnamedParameters(endpoint),
  );
  checkRecordFormat(endpoint, query, report);
  const fields = parseFields(endpoint, query, report);
  const expansions = parseExpand(endpoint, query, report);
  if (!expands && endpoint.relations.size > 0 && query.has(expandParameter))
    report(expandParameter, 'not_exported', notSetMessage);
  assertNone();
  return {
    endpoint,
    id,
    fields,
    expansions,
    normalized: JSON.stringify([id, toFieldNames(endpoint, fields), ...expansionsKey(expansions)]),
  };
}

/** Selected fields keep the order of the endpoint, so equal counts mean equal fields. */
const toFieldNames = (endpoint: ReadableSource, fields: readonly OutputField[]): string | string[] =>
  fields.length === endpoint.fields.length ? '*' : fields.map(({ name }) => name);

function parseSort(
  endpoint: ReadableEndpoint,
  query: QueryParameters,
  report: ReportProblem,
): ListPlan['sort'] {
  const name = single(query, 'sort', report);
  const order = single(query, 'order', report);
  const descends = endpoint.takesSortSets && name !== undefined && /^-[^,]*$/.test(name);
  const chosen = name === undefined ? undefined : endpoint.sorts.get(descends ? name.slice(1) : name);
  const set = name === undefined ? undefined : endpoint.sortSets.get(name);
  if (name !== undefined && chosen === undefined && set === undefined) {
    const known = [...endpoint.sorts.keys(), ...endpoint.sortSets.keys()];
    // The names of sort sets have commas.
    const list = known.join(endpoint.sortSets.size === 0 ? ', ' : ' · ');
    const allowed =
      known.length === 0 ? 'No field of this resource is sortable' : `"sort" must be one of: ${list}`;
    report('sort', 'unknown_sort', `${allowed}.${didYouMean(name, known)}`);
  }
  if (order !== undefined && order !== 'asc' && order !== 'desc')
    report('order', 'invalid_value', '"order" must be asc or desc');
  if (order !== undefined && (descends || set !== undefined))
    report(
      'order',
      'invalid_value',
      `"order" cannot be combined with "sort=${name}", which gives the direction of each key`,
    );
  if (set !== undefined) return sortOfSet(set, endpoint);
  const direction = order === 'desc' || order === 'asc' ? order : undefined;
  if (chosen !== undefined)
    return { column: chosen, order: direction ?? (descends ? 'desc' : 'asc'), further: [] };
  return { column: endpoint.defaultSort.column, order: direction ?? endpoint.defaultSort.order, further: [] };
}

const sortOfSet = ([first, ...further]: CompiledSort, { defaultSort }: ReadableEndpoint): Sort => ({
  ...(first === undefined ? defaultSort : { column: first.column, order: first.order }),
  further: further.map(({ column, order }) => ({ column, order })),
});

function parseFields(endpoint: ReadableEndpoint, query: QueryParameters, report: ReportProblem) {
  const text = single(query, 'fields', report);
  if (text === undefined) return endpoint.fields;
  const wanted = new Set(text.split(','));
  const known = ['id', ...endpoint.fields.map(({ name }) => name)];
  const names = new Set(known);
  const unknown = [...wanted].filter((name) => !names.has(name)).slice(0, maxSuggestions);
  for (const name of unknown)
    report('fields', 'unknown_field', `Unknown field "${name.slice(0, 80)}".${didYouMean(name, known)}`);
  return endpoint.fields.filter(({ name }) => wanted.has(name));
}

// Decides what a read will do: parameter names become column objects of the compiled version, texts become typed values, and
// everything left unsaid gets its default. Pure. Refuses with 400, all problems at once.
import type { ErrorDetail } from '../core/errors.ts';
import { notPaged } from '../db/page.ts';
import type { Column, CompiledEndpoint, FilterParameter, OutputField } from './compile.ts';
import { didYouMean } from './nearest.ts';
import { takesSeveral } from './operators.ts';
import { parameterProblem, type Query, refuseParameters } from './request.ts';
import type { Operator } from './schema-document.ts';
import { readValue, type Value } from './values.ts';

export type Condition = { readonly column: Column; readonly operator: Operator; readonly values: readonly Value[] };

export type SortKey = { readonly column: Column; readonly order: 'asc' | 'desc' };

/** The first key is what indexes and anchors know; further ones decide between its equals, and the id between theirs. */
export type Sort = SortKey & { readonly further: readonly SortKey[] };

/** The same text for the same order. */
export const sortKey = ({ column, order, further }: Sort): string =>
  [{ column, order }, ...further].map((key) => `${key.column.column} ${key.order}`).join();

export type ListPlan = {
  readonly endpoint: CompiledEndpoint;
  readonly conditions: readonly Condition[];
  readonly sort: Sort;
  readonly fields: readonly OutputField[];
  readonly page: number;
  readonly pageSize: number;
  /** The same text for every request that selects the same records of the table; empty without any filter. */
  readonly filterKey: string;
  /** The same text for every request with the same answer from this endpoint. */
  readonly normalized: string;
  /** All parameters but `page`, as they were given, each followed by `&`: for the links to other pages. */
  readonly linkQuery: string;
};

export type RecordPlan = {
  readonly endpoint: CompiledEndpoint;
  readonly id: string;
  readonly fields: readonly OutputField[];
  readonly normalized: string;
};

type Refuse = (name: string, code: string, message: string) => void;

const defaultPageSize = 25;
/** Keeps page × pageSize inside PostgreSQL's bigint; no table comes near it. */
const lastPage = 2_147_483_647;
const mostValues = 100;
const shortestContains = 3;
const mostProblems = 20;
const mostSuggestions = 5;
export const listParameters: ReadonlySet<string> = new Set(['page', 'pageSize', 'sort', 'order', 'fields']);
const recordParameters: ReadonlySet<string> = new Set(['fields']);
const noFilters: CompiledEndpoint['filters'] = new Map();

/** `paged` is false where the whole result is asked for: a page of it has no meaning there. */
export function planList(endpoint: CompiledEndpoint, query: Query, { paged } = { paged: true }): ListPlan {
  const { refuse, finish } = collectProblems();
  refuseUnknown(query, listParameters, endpoint.filters, refuse);
  for (const name of ['page', 'pageSize']) if (!paged && query.has(name)) refuse(name, 'not_paged', notPaged(name));
  const page = readCount(query, 'page', 1, lastPage, refuse);
  const pageSize = readCount(query, 'pageSize', Math.min(defaultPageSize, endpoint.maxPageSize), endpoint.maxPageSize, refuse);
  const sort = readSort(endpoint, query, refuse);
  const fields = readFields(endpoint, query, refuse);
  const conditions = [...query.keys()].sort().flatMap((name) => {
    const filter = endpoint.filters.get(name);
    return filter === undefined ? [] : [readCondition(filter, query.get(name) ?? [], refuse)];
  });
  finish();
  return finishPlan({ endpoint, conditions, sort, fields, page, pageSize, linkQuery: linkQueryOf(query) });
}

/** Adds what follows from the rest. */
export function finishPlan(plan: Omit<ListPlan, 'filterKey' | 'normalized'>): ListPlan {
  const { endpoint, conditions, sort, fields, page, pageSize } = plan;
  const filterKey =
    conditions.length === 0 ? '' : JSON.stringify(conditions.map(({ column, operator, values }) => [column.column, operator, values]));
  const normalized = JSON.stringify([filterKey, sortKey(sort), page, pageSize, namesOf(endpoint, fields)]);
  return { ...plan, filterKey, normalized };
}

const linkQueryOf = (query: Query): string =>
  [...query]
    .filter(([name]) => name !== 'page')
    .flatMap(([name, values]) => values.map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}&`))
    .join('');

/** `id` must already be legal for the endpoint. */
export function planRecord(endpoint: CompiledEndpoint, id: string, query: Query): RecordPlan {
  const { refuse, finish } = collectProblems();
  refuseUnknown(query, recordParameters, noFilters, refuse);
  const fields = readFields(endpoint, query, refuse);
  finish();
  return { endpoint, id, fields, normalized: JSON.stringify([id, namesOf(endpoint, fields)]) };
}

/** Chosen fields stand in the endpoint's order, so as many are the same ones. */
const namesOf = (endpoint: CompiledEndpoint, fields: readonly OutputField[]): string | string[] =>
  fields.length === endpoint.fields.length ? '*' : fields.map(({ name }) => name);

function collectProblems(): { refuse: Refuse; finish: () => void } {
  const problems: ErrorDetail[] = [];
  return {
    refuse: (name, code, message) => {
      if (problems.length < mostProblems) problems.push(parameterProblem(name, code, message));
    },
    finish: () => {
      if (problems.length > 0) throw refuseParameters(problems);
    },
  };
}

function refuseUnknown(query: Query, own: ReadonlySet<string>, filters: CompiledEndpoint['filters'], refuse: Refuse): void {
  const unknown = [...query.keys()].filter((name) => !own.has(name) && !filters.has(name)).slice(0, mostProblems);
  if (unknown.length === 0) return;
  const known = [...own, ...filters.keys()];
  for (const [index, name] of unknown.entries()) {
    const suggestion = index < mostSuggestions ? didYouMean(name, known) : '';
    refuse(name, 'unknown_parameter', `There is no parameter of this name here: "${name.slice(0, 80)}".${suggestion}`);
  }
}

/** The only value of a parameter that may not be repeated; undefined when it is absent or was refused. */
function single(query: Query, name: string, refuse: Refuse): string | undefined {
  const values = query.get(name);
  if (values === undefined) return undefined;
  if (values.length > 1) refuse(name, 'repeated_parameter', `"${name}" may be given only once`);
  else if (values[0] === '') refuse(name, 'empty_value', `"${name}" must not be empty`);
  else return values[0];
  return undefined;
}

function readCount(query: Query, name: string, otherwise: number, most: number, refuse: Refuse): number {
  const text = single(query, name, refuse);
  if (text === undefined) return otherwise;
  const count = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.NaN;
  if (count <= most) return count;
  refuse(name, 'out_of_range', `"${name}" must be a whole number from 1 to ${most}`);
  return otherwise;
}

function readSort(endpoint: CompiledEndpoint, query: Query, refuse: Refuse): ListPlan['sort'] {
  const name = single(query, 'sort', refuse);
  const order = single(query, 'order', refuse);
  const chosen = name === undefined ? undefined : endpoint.sorts.get(name);
  if (name !== undefined && chosen === undefined) {
    const known = [...endpoint.sorts.keys()];
    const allowed = known.length === 0 ? 'No field of this resource is sortable' : `"sort" must be one of: ${known.join(', ')}`;
    refuse('sort', 'unknown_sort', `${allowed}.${didYouMean(name, known)}`);
  }
  if (order !== undefined && order !== 'asc' && order !== 'desc') refuse('order', 'invalid_value', '"order" must be asc or desc');
  const direction = order === 'desc' || order === 'asc' ? order : undefined;
  if (chosen !== undefined) return { column: chosen, order: direction ?? 'asc', further: [] };
  return { column: endpoint.defaultSort.column, order: direction ?? endpoint.defaultSort.order, further: [] };
}

function readFields(endpoint: CompiledEndpoint, query: Query, refuse: Refuse): readonly OutputField[] {
  const text = single(query, 'fields', refuse);
  if (text === undefined) return endpoint.fields;
  const wanted = new Set(text.split(','));
  const known = ['id', ...endpoint.fields.map(({ name }) => name)];
  const names = new Set(known);
  const unknown = [...wanted].filter((name) => !names.has(name)).slice(0, mostSuggestions);
  for (const name of unknown)
    refuse('fields', 'unknown_field', `This resource has no field "${name.slice(0, 80)}".${didYouMean(name, known)}`);
  return endpoint.fields.filter(({ name }) => wanted.has(name));
}

export function readCondition(filter: FilterParameter, texts: readonly string[], refuse: Refuse): Condition {
  const { name, column, operator } = filter;
  const condition = (values: readonly Value[]): Condition => ({ column, operator, values });
  if (!takesSeveral(operator) && texts.length > 1) refuse(name, 'repeated_parameter', `"${name}" may be given only once`);
  else if (texts.length > mostValues) refuse(name, 'too_many_values', `"${name}" may be given at most ${mostValues} times`);
  else if (texts.includes('') && !(operator === 'eq' && column.type === 'text')) refuse(name, 'empty_value', `"${name}" must not be empty`);
  else if (operator === 'contains' && [...(texts[0] ?? '')].length < shortestContains) {
    refuse(name, 'out_of_range', `"${name}" must have at least ${shortestContains} characters`);
  } else {
    return condition(
      [...new Set(texts)].sort().flatMap((text) => {
        const read = readValue(operator === 'null' ? 'boolean' : column.type, text);
        if ('value' in read) return [read.value];
        refuse(name, read.code, `"${name}" ${read.message}`);
        return [];
      }),
    );
  }
  return condition([]);
}

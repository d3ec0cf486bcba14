// What the screen of records shows is in its address: filters, search, sort, page, columns and the opened
// record. A filter is `filter=<field>:<operator>:<value>`, as in the `or` parameter of the public interface.
import { listQuery } from '../../parts/list.tsx';
import type { Parameters } from '../../parts/read-records.tsx';
import { go, query } from '../../router.ts';
import type { Endpoint } from './endpoint.ts';

export type Filter = { readonly field: string; readonly operator: string; readonly value: string };

export const toText = ({ field, operator, value }: Filter): string => `${field}:${operator}:${value}`;

const filterShape = /^([^:]+):([^:]+):(.*)$/s;

function parseFilter(text: string): Filter[] {
  const [, field, operator, value] = filterShape.exec(text) ?? [];
  return field === undefined || operator === undefined || value === undefined
    ? []
    : [{ field, operator, value }];
}

const shapes = new Map(
  Object.entries({
    currency: /^/,
    filter: filterShape,
    of: /^/,
    order: /^(asc|desc)$/,
    page: /^[1-9]\d*$/,
    plot: /^/,
    q: /^/,
    sort: /^/,
    record: /^/,
  }),
);

/**
 * The parameters of the address that this list doesn't understand: without them it would show other records
 * than its link means.
 */
export const misunderstood = ({ fields }: Endpoint): string[] =>
  [...query.value]
    .filter(([name, value]) =>
      name === 'columns'
        ? value.split(',').some((column) => !fields.some((field) => field.name === column))
        : !shapes.get(name)?.test(value),
    )
    .map((pair) => pair.join('='));

export type State = ReturnType<typeof readAddress>;

export function readAddress({ defaultSort }: Endpoint) {
  const given = query.value;
  const sort = given.get('sort') ?? defaultSort?.field ?? '';
  const order = given.get('order') ?? (given.has('sort') ? 'asc' : defaultSort?.order);
  return {
    filters: given.getAll('filter').flatMap(parseFilter),
    q: given.get('q') ?? '',
    sort,
    order: order === 'desc' ? ('desc' as const) : ('asc' as const),
    page: listQuery().page,
    /** Null: those that are chosen when none are named. */
    columns: given.get('columns')?.split(',') ?? null,
    record: given.get('record'),
    /** What is plotted: a group key, the number that is added up, and its currency. Null: no plot. */
    plot: given.get('plot'),
    of: given.get('of') ?? '',
    currency: given.get('currency') ?? '',
  };
}

type Changes = Readonly<Record<string, string | readonly string[] | null>>;

/** Those that don't change which records are listed. */
const kept = ['page', 'record', 'plot', 'of', 'currency'];

/**
 * Changes parameters; null removes one. What changes the list starts again at its first page, without an
 * opened record.
 */
export function addressWith(changes: Changes): string {
  const next = new URL(location.href);
  const isSameList = Object.keys(changes).some((name) => kept.includes(name));
  const all = isSameList ? changes : { ...changes, page: null, record: null };
  for (const [name, value] of Object.entries(all)) {
    next.searchParams.delete(name);
    for (const one of [value ?? []].flat()) if (one !== '') next.searchParams.append(name, one);
  }
  return next.pathname + next.search;
}

export const show = (changes: Changes): void => go(addressWith(changes));

const isSame = (one: Pick<Filter, 'field' | 'operator'>, other: typeof one): boolean =>
  one.field === other.field && one.operator === other.operator;

/** With these filters in place of those of a condition and of those that they set again. */
export const withFilters = (
  filters: readonly Filter[],
  replaced: Pick<Filter, 'field' | 'operator'> | undefined,
  added: readonly Filter[],
): string[] => {
  const gone = replaced === undefined ? added : [...added, replaced];
  return [...filters.filter((one) => !gone.some((other) => isSame(one, other))), ...added].map(toText);
};

export type Condition = Filter & { readonly values: readonly string[] };

/** The filters by field and operator: several values of one condition mean any of them, or none of them. */
export const toConditions = (filters: readonly Filter[]): Condition[] =>
  filters
    .filter((filter, at) => filters.findIndex((one) => isSame(one, filter)) === at)
    .map((filter) => ({
      ...filter,
      values: filters.filter((one) => isSame(one, filter)).map(({ value }) => value),
    }));

/** Filters and search as parameters: those of lists and of summaries. */
export const toSelection = ({ filters, q }: Pick<State, 'filters' | 'q'>): Parameters => [
  ...filters.map(
    ({ field, operator, value }) => [operator === 'eq' ? field : `${field}_${operator}`, value] as const,
  ),
  ...(q === '' ? [] : [['q', q] as const]),
];

/** The same with the order, as parameters of the records operation and of the public list; without the page. */
export const toParameters = (state: State): Parameters => [
  ...toSelection(state),
  ...Object.entries({
    sort: state.sort,
    order: state.sort !== '' && state.order === 'desc' ? state.order : '',
  }).filter(([, value]) => value !== ''),
];

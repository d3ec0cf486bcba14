// Enumerates the reads that a version offers: each filter, and none, with each sort in both directions, the
// list under a row scope by each scopable field in the default order, and the summary of all records by each
// group. Pure.
import type { CompiledEndpoint } from '../version/compile.ts';

/**
 * `filter` is a parameter name, null for the list without filter; `scope` is the field of a row scope; `sort`
 * is null for the default order by id, and for summaries.
 */
export type Pair = {
  readonly resource: string;
  readonly filter: string | null;
  readonly scope?: string;
  /** The group key of a summary; absent for reads of records. */
  readonly group?: string;
  readonly sort: string | null;
  readonly order: 'asc' | 'desc';
};

type Endpoint = Pick<CompiledEndpoint, 'name' | 'fields' | 'filters' | 'sorts' | 'defaultSort' | 'scopable'> &
  Partial<Pick<CompiledEndpoint, 'summary' | 'search' | 'takesOr' | 'sortSets'>>;

/** Parameter names. `q` and `or` are measured like filters; `or` needs two of them besides that by id. */
const listFilters = ({ filters, search = [], takesOr = false }: Endpoint): string[] => [
  ...filters.keys(),
  ...(search.length > 0 ? ['q'] : []),
  ...(takesOr && filters.size > 2 ? ['or'] : []),
];

/** Those that test lines. */
function listLineFilters(endpoint: Endpoint): string[] {
  const own = [...endpoint.filters]
    .filter(([, { column }]) => column.line !== undefined)
    .map(([name]) => name);
  return own.length === 0 ? [] : listFilters(endpoint).filter((name) => name === 'or' || own.includes(name));
}

export const countPairs = (endpoints: readonly Endpoint[]): number =>
  endpoints.reduce(
    (sum, endpoint) =>
      sum +
      (listFilters(endpoint).length + 1) * listOrders(endpoint).length +
      listScopes(endpoint).length +
      (endpoint.summary?.groups.size ?? 0),
    0,
  );

/** The names of the fields that row scopes may name; `id` is a filter of every endpoint. */
const listScopes = ({ fields, scopable }: Endpoint): string[] =>
  [...scopable.keys()].flatMap(
    (source) => fields.find((field) => field.kind !== 'absent' && field.source === source)?.name ?? [],
  );

/**
 * Every pair of every endpoint. The most common reads come first: each order without a filter, each filter
 * and row scope in the default order, which together use every index, and each summary. `smallResources` get
 * nothing beyond that but their filters on lines in each order: few records may have many lines. For the
 * others filters and sorts then alternate, so that wherever the list is cut off, each was combined with about
 * equally many others. A generator, because there may be millions of pairs.
 */
export function* listPairs(
  endpoints: readonly Endpoint[],
  smallResources: ReadonlySet<string> = new Set(),
): Generator<Pair> {
  const tables = endpoints.map((endpoint) => ({
    resource: endpoint.name,
    filters: [null, ...listFilters(endpoint)],
    onLines: listLineFilters(endpoint),
    scopes: listScopes(endpoint),
    groups: [...(endpoint.summary?.groups.keys() ?? [])],
    orders: listOrders(endpoint),
  }));
  for (const { resource, filters, scopes, groups, orders } of tables) {
    for (const order of orders) yield { resource, filter: null, ...order };
    for (const order of orders.slice(0, 1)) {
      for (const filter of filters.slice(1)) yield { resource, filter, ...order };
      for (const scope of scopes) yield { resource, filter: null, scope, ...order };
    }
    for (const group of groups) yield { resource, filter: null, group, sort: null, order: 'asc' };
  }
  const many = tables.flatMap((table) => {
    if (!smallResources.has(table.resource)) return [table];
    return table.onLines.length === 0 ? [] : [{ ...table, filters: [null, ...table.onLines] }];
  });
  const rounds = Math.max(0, ...many.map(({ orders }) => orders.length));
  for (let round = 0; round < rounds; round += 1) {
    for (const { resource, filters, orders } of many) {
      if (round >= orders.length) continue;
      for (const [row, filter] of filters.entries()) {
        const column = (round + row) % orders.length;
        const order = orders[column];
        if (row > 0 && column > 0 && order !== undefined) yield { resource, filter, ...order };
      }
    }
  }
}

/** The default order first. A sort set has its directions in its name. */
function listOrders({ sorts, defaultSort, sortSets }: Endpoint): Pick<Pair, 'sort' | 'order'>[] {
  const own = [...sorts].find(([, { column }]) => column === defaultSort.column.column)?.[0] ?? null;
  const others = [...sorts.keys()].filter((name) => name !== own);
  const back = defaultSort.order === 'asc' ? 'desc' : 'asc';
  return [
    { sort: own, order: defaultSort.order },
    { sort: own, order: back },
    ...others.flatMap((sort) => [
      { sort, order: 'asc' as const },
      { sort, order: 'desc' as const },
    ]),
    ...[...(sortSets ?? [])].map(([sort, [first]]) => ({ sort, order: first?.order ?? ('asc' as const) })),
  ];
}

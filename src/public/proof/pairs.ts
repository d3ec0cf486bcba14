// Enumerates the reads that a version offers: each filter, and none, with each sort in both directions, and the list under a row scope by
// each scopable field in the default order. Pure.
import type { CompiledEndpoint } from '../version/compile.ts';

/**
 * `filter` is a parameter name, null for the list without filter; `scope` is the field of a row scope; `sort` is null for the default order
 * by id.
 */
export type Pair = {
  readonly resource: string;
  readonly filter: string | null;
  readonly scope?: string;
  readonly sort: string | null;
  readonly order: 'asc' | 'desc';
};

type Endpoint = Pick<CompiledEndpoint, 'name' | 'fields' | 'filters' | 'sorts' | 'defaultSort' | 'scopable'>;

export const countPairs = (endpoints: readonly Endpoint[]): number =>
  endpoints.reduce((sum, endpoint) => sum + (endpoint.filters.size + 1) * ordersOf(endpoint).length + scopesOf(endpoint).length, 0);

/** The names of the fields that row scopes may name; `id` is a filter of every endpoint. */
const scopesOf = ({ fields, scopable }: Endpoint): string[] =>
  [...scopable.keys()].flatMap((source) => fields.find((field) => field.kind !== 'absent' && field.source === source)?.name ?? []);

/**
 * Every pair of every endpoint. The most common reads come first: each order without a filter, and each filter and row scope in the default
 * order; together these use every index. `smallResources` get nothing beyond that. For the others filters and sorts then alternate, so that
 * wherever the list is cut off, each was combined with about equally many others. A generator, because there may be millions of pairs.
 */
export function* pairsOf(endpoints: readonly Endpoint[], smallResources: ReadonlySet<string> = new Set()): Generator<Pair> {
  const tables = endpoints.map((endpoint) => ({
    resource: endpoint.name,
    filters: [null, ...endpoint.filters.keys()],
    scopes: scopesOf(endpoint),
    orders: ordersOf(endpoint),
  }));
  for (const { resource, filters, scopes, orders } of tables) {
    for (const order of orders) yield { resource, filter: null, ...order };
    for (const order of orders.slice(0, 1)) {
      for (const filter of filters.slice(1)) yield { resource, filter, ...order };
      for (const scope of scopes) yield { resource, filter: null, scope, ...order };
    }
  }
  const many = tables.filter(({ resource }) => !smallResources.has(resource));
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

/** The default order first. */
function ordersOf({ sorts, defaultSort }: Endpoint): Pick<Pair, 'sort' | 'order'>[] {
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
  ];
}

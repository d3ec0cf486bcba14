// Which reads a version offers: each filter, and none, with each sort in both directions. Pure.
import type { CompiledEndpoint } from './compile.ts';

/** `filter` is a parameter's name, null for the list without one; `sort` null for the endpoint's own order by id. */
export type Pair = {
  readonly resource: string;
  readonly filter: string | null;
  readonly sort: string | null;
  readonly order: 'asc' | 'desc';
};

type Endpoint = Pick<CompiledEndpoint, 'name' | 'filters' | 'sorts' | 'defaultSort'>;

/** `first`: what any caller meets, each order without a filter and each filter in the default order. Together they try every index. */
export type RankedPair = Pair & { readonly first: boolean };

/**
 * Every pair of every endpoint, the first ones first. The others follow so that filters and sorts take turns: wherever the list is
 * cut off, each of them was tried with about as many others.
 */
export function pairsOf(endpoints: readonly Endpoint[]): RankedPair[] {
  const ranked = endpoints.flatMap((endpoint) => {
    const orders = ordersOf(endpoint);
    return [null, ...endpoint.filters.keys()].flatMap((filter, row) =>
      orders.map((order, column) => {
        const first = row === 0 || column === 0;
        return { pair: { resource: endpoint.name, filter, ...order, first }, rank: first ? 0 : 1 + ((row + column) % orders.length) };
      }),
    );
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({ pair }) => pair);
}

/** The default one first. */
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

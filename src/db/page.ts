// Reads one page of a query and the exact total number of rows, in the caller's transaction.
import type { Knex } from 'knex';

/** Of every list of both interfaces; of a public list with a lower maximum it is that maximum. */
export const defaultPageSize = 25;

/** The message for a paging parameter of an operation that doesn't page; its detail code is `not_paged`. */
export const notPagedMessage = (name: string): string =>
  `"${name}" is not supported here: the response is the whole result`;

/** The query must be ordered by something unique. A page beyond the end is empty, with the right total. */
export async function readPage<Row>(
  query: Knex.QueryBuilder,
  { page, pageSize }: { readonly page: number; readonly pageSize: number },
): Promise<{ rows: Row[]; total: number }> {
  const counted = await query.clone().clearSelect().clearOrder().count<{ count: string }[]>({ count: '*' });
  const rows = (await query
    .clone()
    .limit(pageSize)
    .offset((page - 1) * pageSize)) as Row[];
  return { rows, total: Number(counted[0]?.count ?? 0) };
}

/** For `orderBy`: by a time and, within the same time, by a unique id, both descending. */
export const newestFirst = (time: string, id: string) => [
  { column: time, order: 'desc' },
  { column: id, order: 'desc' },
];

/** How a caller wants a list sorted; `order` alone applies to the default sort. */
export type SortRequest<Field extends string> = {
  readonly sort?: Field | undefined;
  readonly order?: 'asc' | 'desc' | undefined;
};

/** The SQL by which a list can be sorted. */
type Sorting<Field extends string> = {
  readonly columns: Readonly<Record<Field, string>>;
  /** The time by which a list is sorted by default, newest first. Breaks ties, before the unique `id`. */
  readonly newest: NoInfer<Field>;
  readonly id: string;
  /** Fields whose column may be null. These come last in both directions. */
  readonly nullable?: readonly NoInfer<Field>[];
};

/** Orders the query by something unique, for `readPage`. A chosen sort ascends unless `order` differs. */
export function sortList<Field extends string>(
  query: Knex.QueryBuilder,
  { sort, order }: SortRequest<Field>,
  { columns, newest, id, nullable = [] }: Sorting<Field>,
): Knex.QueryBuilder {
  const direction = order ?? (sort === undefined ? 'desc' : 'asc');
  if (sort === undefined || sort === newest)
    return query.orderByRaw(`${columns[newest]} ${direction}, ${id} ${direction}`);
  const nulls = nullable.includes(sort) ? ' nulls last' : '';
  return query.orderByRaw(`${columns[sort]} ${direction}${nulls}, ${columns[newest]} desc, ${id} desc`);
}

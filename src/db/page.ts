// Reads one page of a query and the exact total number of rows, in the caller's transaction.
import type { Knex } from 'knex';

/** Of every list of both interfaces; of a public list with a lower maximum it is that maximum. */
export const defaultPageSize = 25;

/** The message for a paging parameter of an operation that returns the whole result; its detail code is `not_paged`. */
export const notPagedMessage = (name: string): string => `"${name}" is not supported here: the response is the whole result`;

type PageRequest = { readonly page: number; readonly pageSize: number };

/** The query must be ordered by something unique. A page beyond the end has no rows, but the correct total. */
export async function readPage<Row>(query: Knex.QueryBuilder, { page, pageSize }: PageRequest): Promise<{ rows: Row[]; total: number }> {
  const counted = await query.clone().clearSelect().clearOrder().count<{ count: string }[]>({ count: '*' });
  const rows = (await query
    .clone()
    .limit(pageSize)
    .offset((page - 1) * pageSize)) as Row[];
  return { rows, total: Number(counted[0]?.count ?? 0) };
}

// Reads one page of a query and the exact number of rows behind it, in the caller's transaction.
import type { Knex } from 'knex';

/** Of a parameter that asks for a page where the whole result is the answer; its code is `not_paged`. */
export const notPaged = (name: string): string => `"${name}" has no meaning here: the answer is the whole result`;

type PageRequest = { readonly page: number; readonly pageSize: number };

/** The query must be ordered by something unique. Rows beyond the end are an empty list with the true total. */
export async function readPage<Row>(query: Knex.QueryBuilder, { page, pageSize }: PageRequest): Promise<{ rows: Row[]; total: number }> {
  const counted = await query.clone().clearSelect().clearOrder().count<{ count: string }[]>({ count: '*' });
  const rows = (await query
    .clone()
    .limit(pageSize)
    .offset((page - 1) * pageSize)) as Row[];
  return { rows, total: Number(counted[0]?.count ?? 0) };
}

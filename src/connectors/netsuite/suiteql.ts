// Asks one SuiteQL question and reads its rows strictly. An answer that contradicts itself is an error: rows that went
// missing on the way would otherwise look like records that were deleted. Offset is always 0; pages go by key.
import { z } from 'zod';
import { inconsistent } from './errors.ts';
import type { NetsuiteHttp } from './http.ts';

/** Column values by name in lower case; empty columns are absent. */
export type Row = Readonly<Record<string, unknown>>;
export type Rows = { readonly rows: readonly Row[]; readonly hasMore: boolean };

/** The most rows that one answer may have, and the most values in one IN list. */
export const largestPage = 1_000;

export type Suiteql = {
  /** At most `limit` rows. Rejects with ErpError. */
  ask(query: string, limit: number, signal: AbortSignal): Promise<Rows>;
};

const answerShape = z.object({
  items: z.array(z.unknown()),
  hasMore: z.boolean(),
  count: z.int().optional(),
  offset: z.int().optional(),
  totalResults: z.int().optional(),
});

export function openSuiteql(http: NetsuiteHttp): Suiteql {
  return {
    async ask(query, limit, signal) {
      const headers = { 'content-type': 'application/json', prefer: 'transient' };
      const path = `query/v1/suiteql?limit=${limit}&offset=0`;
      return readAnswer(await http.send({ method: 'POST', path, headers, body: JSON.stringify({ q: query }), signal }), limit);
    },
  };
}

function readAnswer(answer: unknown, limit: number): Rows {
  const parsed = answerShape.safeParse(answer);
  if (!parsed.success) throw inconsistent(`The answer to a query has another shape: ${z.prettifyError(parsed.error).slice(0, 300)}`);
  const { items, hasMore, count, offset, totalResults = items.length } = parsed.data;
  if (count !== undefined && count !== items.length) throw inconsistent(`The answer counts ${count} rows and has ${items.length}`);
  if (offset !== undefined && offset !== 0) throw inconsistent(`The answer begins at row ${offset} instead of the first`);
  if (items.length > limit) throw inconsistent(`The answer has ${items.length} rows and ${limit} were asked for`);
  if (items.length === 0 && (hasMore || totalResults > 0)) throw inconsistent('The answer has no rows and says that there are some');
  return { rows: readRows(items), hasMore: hasMore || totalResults > items.length };
}

const isRow = (item: unknown): item is Row => typeof item === 'object' && item !== null && !Array.isArray(item);

/** Names come in lower case nearly always: then a row is used as it is, without a copy. */
function readRows(items: readonly unknown[]): Row[] {
  const lower = new Set<string>();
  const isLower = (name: string): boolean => {
    if (!lower.has(name) && name === name.toLowerCase()) lower.add(name);
    return lower.has(name);
  };
  return items.map((item) => {
    if (!isRow(item)) throw inconsistent('The answer has a row that is no object');
    for (const name in item) if (!isLower(name)) return withLowerNames(item);
    return item;
  });
}

const withLowerNames = (row: Row): Row => Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toLowerCase(), value]));

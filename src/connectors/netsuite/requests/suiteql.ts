// Runs a SuiteQL query and validates the response strictly. A response that contradicts itself is an error:
// lost rows would otherwise look like deleted records. The offset is always 0; pagination is by key.
import { z } from 'zod';
import { inconsistentResponse } from './errors.ts';
import type { NetsuiteHttp } from './http.ts';

/** Column values by name in lower case; empty columns are absent. */
export type SuiteqlRow = Readonly<Record<string, unknown>>;
/** `characters`: the length of the response. */
export type SuiteqlResult = {
  readonly rows: readonly SuiteqlRow[];
  readonly hasMore: boolean;
  readonly characters: number;
};

/** The maximum number of rows in one response, and of values in one IN list. */
export const maxRowsPerQuery = 1_000;

/** What was read of a list whose entries fields choose. */
export type KnownEntries = {
  /** By id; null for an entry that the list doesn't have. */
  readonly names: Map<string, string | null>;
  /** Display texts that the names, although just read, don't make up, such as those with full names. */
  readonly confirmed: Set<string>;
};

export type Suiteql = {
  /** At most `limit` rows. Rejects with `ErpError`, or with the signal's reason once that is aborted. */
  query(query: string, limit: number, signal: AbortSignal): Promise<SuiteqlResult>;
  /** By the table of the list: see entry-names.ts. */
  readonly entries: Map<string, KnownEntries>;
};

const SuiteqlResponse = z.object({
  items: z.array(z.unknown()),
  hasMore: z.boolean(),
  count: z.int().optional(),
  offset: z.int().optional(),
  totalResults: z.int().optional(),
});

export function createSuiteql(http: NetsuiteHttp): Suiteql {
  return {
    entries: new Map(),
    async query(query, limit, signal) {
      const headers = { 'content-type': 'application/json', prefer: 'transient' };
      const path = `query/v1/suiteql?limit=${limit}&offset=0`;
      const { json, characters } = await http.send({
        method: 'POST',
        path,
        headers,
        body: JSON.stringify({ q: query }),
        signal,
      });
      return { ...parseResult(json, limit), characters };
    },
  };
}

function parseResult(response: unknown, limit: number): Omit<SuiteqlResult, 'characters'> {
  const parsed = SuiteqlResponse.safeParse(response);
  if (!parsed.success)
    throw inconsistentResponse(
      `The response to a query has an unexpected shape: ${z.prettifyError(parsed.error).slice(0, 300)}`,
    );
  const { items, hasMore, count, offset, totalResults = items.length } = parsed.data;
  if (count !== undefined && count !== items.length)
    throw inconsistentResponse(`The response declares ${count} rows and has ${items.length}`);
  if (offset !== undefined && offset !== 0)
    throw inconsistentResponse(`The response starts at row ${offset} instead of the first`);
  if (items.length > limit)
    throw inconsistentResponse(`The response has ${items.length} rows, but at most ${limit} were requested`);
  if (items.length === 0 && (hasMore || totalResults > 0))
    throw inconsistentResponse('The response has no rows but declares that there are some');
  return { rows: readRows(items), hasMore: hasMore || totalResults > items.length };
}

const isRow = (item: unknown): item is SuiteqlRow =>
  typeof item === 'object' && item !== null && !Array.isArray(item);

/** Column names are nearly always in lower case: then a row is used as it is, without a copy. */
function readRows(items: readonly unknown[]): SuiteqlRow[] {
  const lower = new Set<string>();
  const isLower = (name: string): boolean => {
    if (!lower.has(name) && name === name.toLowerCase()) lower.add(name);
    return lower.has(name);
  };
  return items.map((item) => {
    if (!isRow(item)) throw inconsistentResponse('The response has a row that is not an object');
    for (const name in item) if (!isLower(name)) return withLowerNames(item);
    return item;
  });
}

const withLowerNames = (row: SuiteqlRow): SuiteqlRow =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toLowerCase(), value]));

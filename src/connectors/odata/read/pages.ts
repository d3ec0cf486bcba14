// Follows a service's own links from page to page, with the checks that make it end.
import type { DigitsJson } from '../../../core/text/exact-json.ts';
import type { OdataDefinition } from '../metadata/definition.ts';
import { erpError, inconsistentResponse } from '../requests/errors.ts';
import { isObject, type JsonObject, type OdataHttp } from '../requests/http.ts';
import { toId } from './keys.ts';

export type IdentifiedRow = { readonly id: string; readonly row: JsonObject };
export type RowPage = { readonly rows: readonly IdentifiedRow[]; readonly hasMore: boolean };

const maxEmptyPages = 20;
const repeats = (what: string) => erpError('answer', 'PAGE_REPEATS', what);

const toRows = (value: DigitsJson | undefined): JsonObject[] => {
  if (!Array.isArray(value) || !value.every(isObject))
    throw inconsistentResponse('The response has no list of entities');
  return value;
};

/**
 * The pages of a collection. Rejects with `ErpError`: as `getJson`, LINK_REFUSED for a link to another host,
 * PAGE_REPEATS for links that lead in a circle or to ever more empty pages.
 */
export async function* followPages(
  http: OdataHttp,
  firstUrl: string,
  signal: AbortSignal,
  maxPageSize?: number,
): AsyncGenerator<{ readonly rows: readonly JsonObject[]; readonly hasMore: boolean }, void> {
  const seen = new Set<string>();
  let emptyPages = 0;
  for (let url: string | null = firstUrl; url !== null; ) {
    if (seen.has(url)) throw repeats('The pages of the ERP lead back to an earlier one');
    seen.add(url);
    const body: JsonObject = await http.getJson(url, signal, maxPageSize);
    const rows = toRows(body['value']);
    const link: DigitsJson | undefined = body['@odata.nextLink'] ?? body['@nextLink'];
    url = typeof link === 'string' ? http.follow(link, url) : null;
    emptyPages = rows.length === 0 ? emptyPages + 1 : 0;
    if (emptyPages > maxEmptyPages) throw repeats(`More than ${maxEmptyPages} empty pages follow each other`);
    yield { rows, hasMore: url !== null };
  }
}

/** The rows with their ids. Throws `ErpError` ANSWER_INCONSISTENT for a row without one. */
export const identify = (key: OdataDefinition['key'], rows: readonly JsonObject[]): IdentifiedRow[] =>
  rows.map((row) => {
    const id = toId(key, row);
    if (id === undefined) throw inconsistentResponse('An entity has no key');
    return { id, row };
  });

/** All lines of a row, with those that the service leaves to further pages. Rejects as `followPages`. */
export async function readLines(
  http: OdataHttp,
  row: JsonObject,
  navigation: string,
  signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  const lines = [...toRows(row[navigation])];
  const link = row[`${navigation}@odata.nextLink`] ?? row[`${navigation}@nextLink`];
  if (typeof link !== 'string') return lines;
  const url = http.follow(link, http.address(''));
  for await (const page of followPages(http, url, signal)) lines.push(...page.rows);
  return lines;
}

/** Rejects as `followPages`, with PAGE_REPEATS for a page of rows that were all there before. */
async function* followRows(
  http: OdataHttp,
  url: string,
  key: OdataDefinition['key'],
  { limit, signal }: WalkPage,
): AsyncGenerator<IdentifiedRow, void> {
  const seen = new Set<string>();
  for await (const page of followPages(http, url, signal, limit)) {
    const rows = identify(key, page.rows);
    if (rows.length > 0 && rows.every(({ id }) => seen.has(id)))
      throw repeats(`The ERP returned the page that begins with ${rows[0]?.id} again`);
    for (const { id } of rows) seen.add(id);
    yield* rows;
  }
}

type WalkPage = { readonly afterId: string | null; readonly limit: number; readonly signal: AbortSignal };
/** A collection that is being read by the service's own links; `next` is the row behind the last page. */
type Walk = {
  readonly signal: AbortSignal;
  readonly rows: AsyncGenerator<IdentifiedRow, void>;
  next: IteratorResult<IdentifiedRow, void>;
};
const maxWalks = 8;

async function startWalk(rows: Walk['rows'], { afterId, signal }: WalkPage): Promise<Walk> {
  let next = await rows.next();
  for (let isFound = afterId === null; !isFound; next = await rows.next()) {
    if (next.done === true) throw inconsistentResponse(`The record ${afterId} is no longer listed`);
    isFound = next.value.id === afterId;
  }
  return { signal, rows, next };
}

/**
 * Reads collections whose service refuses to filter by key. A page that goes on where an earlier one ended
 * follows the service's link; any other one begins at the start and skips what is known. The function rejects
 * as `followRows`, and with `ErpError` ANSWER_INCONSISTENT where the last record is gone.
 */
export function createWalker(http: OdataHttp) {
  const walks = new Map<string, Walk>();
  return async (url: string, key: OdataDefinition['key'], page: WalkPage): Promise<RowPage> => {
    const name = JSON.stringify([url, page.afterId]);
    const known = walks.get(name);
    walks.delete(name);
    const isUsable = known?.signal === page.signal;
    const walk = isUsable ? known : await startWalk(followRows(http, url, key, page), page);
    const rows: IdentifiedRow[] = [];
    for (; walk.next.done !== true && rows.length < page.limit; walk.next = await walk.rows.next())
      rows.push(walk.next.value);
    if (walk.next.done === true) return { rows, hasMore: false };
    const [oldest] = walks.keys();
    if (oldest !== undefined && walks.size === maxWalks) walks.delete(oldest);
    walks.set(JSON.stringify([url, rows.at(-1)?.id ?? null]), walk);
    return { rows, hasMore: true };
  };
}

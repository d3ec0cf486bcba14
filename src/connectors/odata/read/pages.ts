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

/** A collection that is read by the service's own links, from where the last page ended. */
type Walk = {
  readonly signal: AbortSignal;
  readonly pages: ReturnType<typeof followPages>;
  readonly seenIds: Set<string>;
  readonly rest: IdentifiedRow[];
  lastId: string | null;
  isComplete: boolean;
};

const maxWalks = 8;

async function readMore(walk: Walk, key: OdataDefinition['key']): Promise<void> {
  const { done, value } = await walk.pages.next();
  walk.isComplete = done === true || !value.hasMore;
  if (done === true) return;
  const rows = identify(key, value.rows);
  if (rows.length > 0 && rows.every(({ id }) => walk.seenIds.has(id)))
    throw repeats(`The ERP returned the page that begins with ${rows[0]?.id} again`);
  for (const { id } of rows) walk.seenIds.add(id);
  walk.rest.push(...rows);
}

/**
 * Reads collections whose service refuses to filter by key. A page that goes on where the last one ended
 * follows the service's link; any other one begins at the start and skips what is known. The returned function
 * rejects as `followPages`, with ANSWER_INCONSISTENT where the last record is gone, and with PAGE_REPEATS for a
 * page of records that were all read before.
 */
export function createWalker(http: OdataHttp) {
  const walks = new Map<string, Walk>();
  const start = (url: string, signal: AbortSignal, limit: number): Walk => {
    const pages = followPages(http, url, signal, limit);
    return { signal, pages, seenIds: new Set(), rest: [], lastId: null, isComplete: false };
  };
  return async (
    url: string,
    key: OdataDefinition['key'],
    { afterId, limit, signal }: { afterId: string | null; limit: number; signal: AbortSignal },
  ): Promise<RowPage> => {
    const known = walks.get(url);
    walks.delete(url);
    const isNext = known !== undefined && known.lastId === afterId && known.signal === signal;
    const walk = isNext && afterId !== null ? known : start(url, signal, limit);
    while (walk.lastId !== afterId) {
      const index = walk.rest.findIndex(({ id }) => id === afterId);
      walk.rest.splice(0, index === -1 ? walk.rest.length : index + 1);
      if (index !== -1) walk.lastId = afterId;
      else if (walk.isComplete) throw inconsistentResponse(`The record ${afterId} is no longer listed`);
      else await readMore(walk, key);
    }
    while (walk.rest.length <= limit && !walk.isComplete) await readMore(walk, key);
    const rows = walk.rest.splice(0, limit);
    walk.lastId = rows.at(-1)?.id ?? null;
    const hasMore = walk.rest.length > 0;
    if (hasMore && walks.size < maxWalks) walks.set(url, walk);
    return { rows, hasMore };
  };
}

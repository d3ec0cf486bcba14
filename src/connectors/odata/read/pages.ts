// Follows a service's own links from page to page, with the checks that make it end.
import type { DigitsJson } from '../../../core/text/exact-json.ts';
import type { OdataDefinition } from '../metadata/definition.ts';
import { erpError, inconsistentResponse } from '../requests/errors.ts';
import { isObject, type JsonObject, type OdataHttp, trackChanges } from '../requests/http.ts';
import { toId } from './keys.ts';

/** `base`: the address to which links within the row are relative. */
export type IdentifiedRow = { readonly id: string; readonly row: JsonObject; readonly base: string };
export type RowPage = {
  readonly rows: readonly IdentifiedRow[];
  readonly hasMore: boolean;
  readonly isUnordered?: true;
  /** Of the last page of a read that tracks changes. */
  readonly deltaLink?: string | null;
};

const maxEmptyPages = 20;
const maxLines = 100_000;
/** From this many rows on, those of a walk are compared with the service's own count. */
const minCounted = 100;
const repeats = (what: string) => erpError('answer', 'PAGE_REPEATS', what);

const toRows = (value: DigitsJson | undefined): JsonObject[] => {
  if (!Array.isArray(value) || !value.every(isObject))
    throw inconsistentResponse('The response has no list of entities');
  return value;
};
/** An annotation of OData 4.0 or 4.01, of the object or of a property. */
export const noteOf = (row: JsonObject, name: string, property = ''): DigitsJson | undefined =>
  row[`${property}@odata.${name}`] ?? row[`${property}@${name}`];
export const toCount = (value: DigitsJson | undefined): number | null =>
  typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : null;

export type ServicePage = {
  readonly rows: readonly JsonObject[];
  readonly base: string;
  readonly nextLink: string | null;
  /** Only of a last page: the link to what changes from the first page on. */
  readonly deltaLink: string | null;
};

/**
 * The pages of a collection. Rejects with `ErpError`: as `getJson`, LINK_REFUSED for a link to another host,
 * PAGE_REPEATS for links that lead in a circle or to ever more empty pages.
 */
export async function* followPages(
  http: OdataHttp,
  firstUrl: string,
  signal: AbortSignal,
  preferences: readonly string[] = [],
): AsyncGenerator<ServicePage, void> {
  const ofLater = preferences.filter((one) => one !== trackChanges);
  const seen = new Set<string>();
  let emptyPages = 0;
  for (let url: string | null = firstUrl; url !== null; ) {
    if (seen.has(url)) throw repeats('The pages of the ERP lead back to an earlier one');
    seen.add(url);
    const body: JsonObject = await http.getJson(url, signal, url === firstUrl ? preferences : ofLater);
    const rows = toRows(body['value']);
    const context = noteOf(body, 'context');
    const base: string = (typeof context === 'string' ? URL.parse(context, url)?.href : undefined) ?? url;
    const linkOf = (name: string): string | null => {
      const link = noteOf(body, name);
      return typeof link === 'string' ? http.follow(link, base) : null;
    };
    url = linkOf('nextLink');
    emptyPages = rows.length === 0 ? emptyPages + 1 : 0;
    if (emptyPages > maxEmptyPages) throw repeats(`More than ${maxEmptyPages} empty pages follow each other`);
    yield { rows, base, nextLink: url, deltaLink: url === null ? linkOf('deltaLink') : null };
  }
}

/** The rows with their ids. Throws `ErpError` ANSWER_INCONSISTENT for a row without one. */
export const identify = (key: OdataDefinition['key'], { rows, base }: ServicePage): IdentifiedRow[] =>
  rows.map((row) => {
    const id = toId(key, row);
    if (id === undefined) throw inconsistentResponse('An entity has no key');
    return { id, row, base };
  });

/**
 * All lines of a row, with those that the service leaves to further pages, and their number by its own count
 * where it gives one. Rejects as `followPages`, with PAGE_REPEATS for more than 100,000.
 */
export async function readLines(
  http: OdataHttp,
  { row, base }: IdentifiedRow,
  navigation: string,
  signal: AbortSignal,
): Promise<{ readonly rows: readonly JsonObject[]; readonly counted: number | null }> {
  const rows = [...toRows(row[navigation])];
  const counted = toCount(noteOf(row, 'count', navigation));
  const link = noteOf(row, 'nextLink', navigation);
  if (typeof link !== 'string') return { rows, counted };
  for await (const page of followPages(http, http.follow(link, base), signal)) {
    rows.push(...page.rows);
    if (rows.length > maxLines) throw repeats(`A record has more than ${maxLines} lines`);
  }
  return { rows, counted };
}

type WalkPage = {
  readonly afterId: string | null;
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly tracksChanges?: boolean;
};
/** A collection that is being read by the service's own links. */
type Walk = {
  readonly signal: AbortSignal;
  readonly pages: AsyncGenerator<ServicePage, void>;
  /** Whether every page is used as it came; false for a walk that skipped some. */
  readonly isWhole: boolean;
  /** The rows behind the last page that was returned. */
  rows: IdentifiedRow[];
  total: number;
  /** The total at which the service is asked whether it has as many. */
  checkAt: number;
  deltaLink: string | null;
};
const maxWalks = 8;

type Collection = {
  readonly url: string;
  readonly key: OdataDefinition['key'];
  readonly count: () => Promise<number>;
};

/** Adds the next page; false behind the last one. Rejects with PAGE_REPEATS for far more rows than there are. */
async function extend(walk: Walk, { key, count }: Collection): Promise<boolean> {
  const { done, value } = await walk.pages.next();
  if (done === true) return false;
  walk.rows.push(...identify(key, value));
  walk.total += value.rows.length;
  walk.deltaLink = value.deltaLink;
  if (walk.total < walk.checkAt) return true;
  const counted = await count();
  if (walk.total > 2 * (counted + minCounted))
    throw repeats(`The ERP counts ${counted} records, and its pages have ${walk.total} and go on`);
  walk.checkAt = 2 * walk.total;
  return true;
}

/** Behind a record; null from the first one on. */
async function startWalk(walk: Walk, collection: Collection, afterId: string | null): Promise<Walk> {
  for (let index = -1; afterId !== null && index < 0; ) {
    walk.rows = [];
    if (!(await extend(walk, collection)))
      throw erpError('answer', 'CURSOR_GONE', `The record ${afterId} is no longer listed`);
    index = walk.rows.findIndex(({ id }) => id === afterId);
    walk.rows.splice(0, index + 1);
  }
  return walk;
}

/**
 * Reads collections by the service's own links, without a filter by key. A page that goes on where an earlier
 * one ended follows them; any other one begins at the start and skips what is known: what changed since those
 * were read isn't tracked then. The function rejects as `followPages`, with PAGE_REPEATS for pages that don't
 * end, and CURSOR_GONE where the last record is gone.
 */
export function createWalker(http: OdataHttp) {
  const walks = new Map<string, Walk>();
  return async (collection: Collection, page: WalkPage): Promise<RowPage> => {
    const { afterId, limit, signal, tracksChanges = false } = page;
    const nameOf = (lastId: string | null) => JSON.stringify([collection.url, tracksChanges, lastId]);
    const known = walks.get(nameOf(afterId));
    walks.delete(nameOf(afterId));
    const preferences = [`odata.maxpagesize=${limit}`, ...(tracksChanges ? [trackChanges] : [])];
    const pages = followPages(http, collection.url, signal, preferences);
    const state = { isWhole: afterId === null, rows: [], total: 0, checkAt: minCounted, deltaLink: null };
    const isOn = afterId !== null && known?.signal === signal;
    const walk = isOn ? known : await startWalk({ signal, pages, ...state }, collection, afterId);
    while (walk.rows.length <= limit && (await extend(walk, collection)));
    // A row that moved while the pages were read is there twice.
    const rows = [...new Map(walk.rows.splice(0, limit).map((row) => [row.id, row])).values()];
    if (walk.rows.length === 0)
      return { rows, hasMore: false, isUnordered: true, deltaLink: walk.isWhole ? walk.deltaLink : null };
    const [oldest] = walks.keys();
    if (oldest !== undefined && walks.size === maxWalks) walks.delete(oldest);
    walks.set(nameOf(rows.at(-1)?.id ?? null), walk);
    return { rows, hasMore: true, isUnordered: true };
  };
}

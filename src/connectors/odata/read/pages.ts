// Follows a service's own links from page to page, with the checks that make it end.
import type { DigitsJson } from '../../../core/text/exact-json.ts';
import type { OdataDefinition } from '../metadata/definition.ts';
import { erpError, inconsistentResponse } from '../requests/errors.ts';
import { isObject, type JsonObject, type OdataHttp, trackChanges } from '../requests/http.ts';
import { toId } from './keys.ts';

export type IdentifiedRow = { readonly id: string; readonly row: JsonObject };
export type RowPage = {
  readonly rows: readonly IdentifiedRow[];
  readonly hasMore: boolean;
  /** Of the last page of a read that tracks changes. */
  readonly deltaLink?: string | null;
};

const maxEmptyPages = 20;
const repeats = (what: string) => erpError('answer', 'PAGE_REPEATS', what);

const toRows = (value: DigitsJson | undefined): JsonObject[] => {
  if (!Array.isArray(value) || !value.every(isObject))
    throw inconsistentResponse('The response has no list of entities');
  return value;
};

export type ServicePage = {
  readonly rows: readonly JsonObject[];
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
    const from: string = url;
    const body: JsonObject = await http.getJson(url, signal, url === firstUrl ? preferences : ofLater);
    const rows = toRows(body['value']);
    const linkOf = (name: string): string | null => {
      const link = body[`@odata.${name}`] ?? body[`@${name}`];
      return typeof link === 'string' ? http.follow(link, from) : null;
    };
    url = linkOf('nextLink');
    emptyPages = rows.length === 0 ? emptyPages + 1 : 0;
    if (emptyPages > maxEmptyPages) throw repeats(`More than ${maxEmptyPages} empty pages follow each other`);
    yield { rows, nextLink: url, deltaLink: url === null ? linkOf('deltaLink') : null };
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
  /** The ids of the service's last page. */
  lastIds: ReadonlySet<string>;
  /** The rows behind the last page that was returned. */
  rows: IdentifiedRow[];
  deltaLink: string | null;
};
const maxWalks = 8;

/** Adds the next page; false behind the last one. Throws PAGE_REPEATS for the same rows again. */
async function extend(walk: Walk, key: OdataDefinition['key']): Promise<boolean> {
  const { done, value } = await walk.pages.next();
  if (done === true) return false;
  const rows = identify(key, value.rows);
  if (rows.length > 0 && rows.every(({ id }) => walk.lastIds.has(id)))
    throw repeats(`The ERP returned the page that begins with ${rows[0]?.id} again`);
  walk.lastIds = new Set(rows.map(({ id }) => id));
  walk.rows.push(...rows);
  walk.deltaLink = value.deltaLink;
  return true;
}

/** Behind a record; null from the first one on. */
async function startWalk(walk: Walk, key: OdataDefinition['key'], afterId: string | null): Promise<Walk> {
  for (let index = -1; afterId !== null && index < 0; ) {
    walk.rows = [];
    if (!(await extend(walk, key))) throw inconsistentResponse(`The record ${afterId} is no longer listed`);
    index = walk.rows.findIndex(({ id }) => id === afterId);
    if (index >= 0) walk.rows.splice(0, index + 1);
  }
  return walk;
}

/**
 * Reads collections by the service's own links, without a filter by key. A page that goes on where an earlier
 * one ended follows them; any other one begins at the start and skips what is known: what changed since those
 * were read isn't tracked then. The function rejects as `followPages`, with PAGE_REPEATS for the same page
 * again, and ANSWER_INCONSISTENT where the last record is gone.
 */
export function createWalker(http: OdataHttp) {
  const walks = new Map<string, Walk>();
  return async (url: string, key: OdataDefinition['key'], page: WalkPage): Promise<RowPage> => {
    const { afterId, limit, signal, tracksChanges = false } = page;
    const nameOf = (lastId: string | null) => JSON.stringify([url, tracksChanges, lastId]);
    const known = walks.get(nameOf(afterId));
    walks.delete(nameOf(afterId));
    const preferences = [`odata.maxpagesize=${limit}`, ...(tracksChanges ? [trackChanges] : [])];
    const pages = followPages(http, url, signal, preferences);
    const state = { isWhole: afterId === null, lastIds: new Set<string>(), rows: [], deltaLink: null };
    const isOn = afterId !== null && known?.signal === signal;
    const walk = isOn ? known : await startWalk({ signal, pages, ...state }, key, afterId);
    while (walk.rows.length <= limit && (await extend(walk, key)));
    const rows = walk.rows.splice(0, limit);
    if (walk.rows.length === 0)
      return { rows, hasMore: false, deltaLink: walk.isWhole ? walk.deltaLink : null };
    const [oldest] = walks.keys();
    if (oldest !== undefined && walks.size === maxWalks) walks.delete(oldest);
    walks.set(nameOf(rows.at(-1)?.id ?? null), walk);
    return { rows, hasMore: true };
  };
}

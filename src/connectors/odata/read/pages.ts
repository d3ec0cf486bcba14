// Follows a service's own links from page to page, with the checks that make it end.
import type { DigitsJson } from '../../../core/text/exact-json.ts';
import { httpError } from '../../http/errors.ts';
import type { OdataDefinition } from '../metadata/definition.ts';
import { inconsistentResponse } from '../requests/errors.ts';
import { isObject, type JsonObject, type OdataHttp, trackChanges } from '../requests/http.ts';
import { toId } from './keys.ts';

/** `base`: the address to which links within the row are relative. */
export type IdentifiedRow = { readonly id: string; readonly row: JsonObject; readonly base: string };
export type RowPage = {
  readonly rows: readonly IdentifiedRow[];
  readonly hasMore: boolean;
  readonly isUnordered?: true;
  readonly changeToken?: string | null;
};

const maxEmptyPages = 20;
const maxLines = 100_000;
const repeats = (what: string) => httpError('answer', 'PAGE_REPEATS', what);

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

/** As `followPages`, with the ids of the rows; rejects with ANSWER_INCONSISTENT for a row without one. */
export async function* followRows(key: OdataDefinition['key'], ...pages: Parameters<typeof followPages>) {
  for await (const page of followPages(...pages))
    yield { rows: identify(key, page), changeToken: page.deltaLink };
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

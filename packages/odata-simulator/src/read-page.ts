// One page of a list or of a delta. Links to what follows carry a token: the last row's place in the order, or the number
// of the last change that was read. So pages stay right while records change.
import { createHash } from 'node:crypto';
import { compare, type Value, type Values } from './edm.ts';
import { badRequest, ODataError } from './odata-error.ts';
import { parseQuery, type Query } from './query.ts';
import {
  compareKeys,
  findFirst,
  loadOrdered,
  type OrderedList,
  type Row,
  type Store,
  type Table,
  toKeys,
} from './store.ts';

export type Entry = { row: Row } | { removed: Values; reason: 'changed' | 'deleted' };
export type Page = {
  entries: Entry[];
  /** The query that the entries are written by; of a delta, that of its first request. */
  query: Query;
  isDelta: boolean;
  count?: number;
  /** The queries of the links to the next page and to later changes. */
  next?: string;
  delta?: string;
  /** A link to what follows the last row, even if nothing does; another one for each number. */
  resume?(number: number): string;
};
type Source = { store: Store; table: Table; pageSize: number };
type SkipToken = {
  of: string;
  after?: Value[];
  left?: number;
  count?: number;
  since?: number;
  number?: number;
};
type DeltaToken = { query: string; since: number };

const digest = (text: string): string => createHash('sha1').update(text).digest('base64url').slice(0, 10);
const writeToken = (token: SkipToken | DeltaToken): string =>
  Buffer.from(JSON.stringify(token)).toString('base64url');

function parseToken<T>(text: string): T {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    throw badRequest(`The token '${text}' is not valid.`);
  }
}

const matches = ({ filter }: Query, { values }: Row): boolean =>
  filter === undefined || filter.test(values) === true;

const toSkipLink = (query: Query, token: SkipToken): string =>
  `${query.text}${query.text === '' ? '' : '&'}$skiptoken=${writeToken(token)}`;
const toDeltaLink = (token: DeltaToken): string => `$deltatoken=${writeToken(token)}`;

function findStart(
  { store, table }: Source,
  list: OrderedList,
  query: Query,
  after: Value[] | undefined,
): number {
  const { order, filter } = query;
  if (after !== undefined) {
    const values = Object.fromEntries(order.map(({ property }, i) => [property, after[i] ?? null]));
    const keys = toKeys(store.profile, table.set, order, values);
    return findFirst(list, (own) => compareKeys(order, own, keys) <= 0);
  }
  const [first] = order;
  const bound = first && !first.isDescending ? filter?.lowerBound(first.property) : undefined;
  return bound === undefined ? 0 : findFirst(list, ([own = null]) => compare(own, bound) < 0);
}

/**
 * The rows that match: of a table, or of some of its rows, such as the lines of a header. `isTracking`: the last page links
 * to later changes, unless $top limits the list. Throws ODataError 400 for tokens of other queries.
 */
export function readPage(source: Source, query: Query, isTracking: boolean, within?: Row[]): Page {
  const { store, table } = source;
  const { order, text } = query;
  const token = query.skipToken === undefined ? undefined : parseToken<SkipToken>(query.skipToken);
  if (token && token.of !== digest(text)) throw badRequest('The $skiptoken belongs to another query.');
  const since = token ? token.since : isTracking && query.top === Infinity ? store.sequence() : undefined;
  const all = within
    ? { ...table, rows: new Map(within.map((row) => [row.key, row])), lists: new Map() }
    : table;
  const list = loadOrdered(store.profile, all, order);
  const count = query.hasCount
    ? (token?.count ?? list.rows.filter((row) => matches(query, row)).length)
    : undefined;
  const left = token?.left ?? query.top;
  const size = Math.min(source.pageSize, left);
  const rows: Row[] = [];
  let skip = token ? 0 : query.skip;
  let isMore = false;
  for (let at = findStart(source, list, query, token?.after); at < list.rows.length && !isMore; at += 1) {
    const row = list.rows[at];
    if (!row || !matches(query, row)) continue;
    if (rows.length === size) isMore = true;
    else if (skip > 0) skip -= 1;
    else rows.push(row);
  }
  const last = rows.at(-1);
  const after = last ? order.map(({ property }) => last.values[property] ?? null) : token?.after;
  const resume = (number?: number): string =>
    toSkipLink(query, {
      of: digest(text),
      ...(after && { after }),
      ...(left !== Infinity && { left: left - rows.length }),
      ...(count !== undefined && { count }),
      ...(since !== undefined && { since }),
      ...(number !== undefined && { number }),
    });
  return {
    entries: rows.map((row) => ({ row })),
    query,
    isDelta: false,
    resume,
    ...(count !== undefined && { count }),
    ...(isMore && left > size && { next: resume() }),
    ...(!isMore && since !== undefined && { delta: toDeltaLink({ query: text, since }) }),
  };
}

/** The entities of a list, whatever its order; without paging. */
export const countRows = ({ table }: Pick<Source, 'table'>, query: Query, within?: Row[]): number =>
  [...(within ?? table.rows.values())].filter((row) => matches(query, row)).length;

/**
 * What changed since a delta link. Throws ODataError: 400 for a link that was modified, 410 with the location of a full
 * read for one that expired.
 */
export function readDelta({ store, table, pageSize }: Source, given: Query, path: string): Page {
  if (given.text !== '' || given.skipToken !== undefined)
    throw badRequest('A delta link can’t be combined with other query options.');
  const token = parseToken<DeltaToken>(given.deltaToken ?? '');
  if (token.since < store.firstValidDelta())
    throw new ODataError(410, 'Gone', 'The delta link has expired. Read everything again.', {
      location: `${path}?${token.query}`,
    });
  const query = parseQuery(store.profile, table.set, token.query);
  const changed = (row: Row): number => Math.max(row.changedAt, query.expand ? row.linesChangedAt : 0);
  const entries: { at: number; entry: Entry }[] = [];
  for (const row of table.rows.values()) {
    if (changed(row) <= token.since) continue;
    const entry: Entry = matches(query, row) ? { row } : { removed: row.values, reason: 'changed' };
    entries.push({ at: changed(row), entry });
  }
  for (const { at, values } of table.removed.values())
    if (at > token.since) entries.push({ at, entry: { removed: values, reason: 'deleted' } });
  entries.sort((a, b) => a.at - b.at);
  const shown = entries.slice(0, pageSize);
  const page: Page = { entries: shown.map(({ entry }) => entry), query, isDelta: true };
  const link = (since: number): string => toDeltaLink({ query: token.query, since });
  if (entries.length > shown.length) page.next = link(shown.at(-1)?.at ?? token.since);
  else page.delta = link(store.sequence());
  return page;
}

// Reads records by key, by id and by modification time: `$filter`, `$orderby` and `$top`, never `$skip`.
import type { Connector, IdRange, PageRequest, RecordTypeMetadata } from '../../connector.ts';
import { httpError } from '../../http/errors.ts';
import { parseValue } from '../../http/json-value.ts';
import { createWalker } from '../../http/walk.ts';
import type { OdataSettings } from '../connection.ts';
import { getDefinition, linesField, type OdataDefinition } from '../metadata/definition.ts';
import { erpError, inconsistentResponse } from '../requests/errors.ts';
import { companyFilter, type JsonObject, type OdataHttp, trackChanges } from '../requests/http.ts';
import { beyond, equalTo, valueAt } from './keys.ts';
import {
  followPages,
  followRows,
  type IdentifiedRow,
  identify,
  noteOf,
  type RowPage,
  toCount,
} from './pages.ts';
import { allOf, changedFilter, keyPaths, type Plan, planRead, toOptions, toSelect } from './plan.ts';
import { toPage } from './rows.ts';

type Selection = Pick<PageRequest, 'afterId' | 'limit' | 'signal' | 'tracksChanges'> &
  Partial<Pick<PageRequest, 'changedSince'>>;
type Service = { readonly http: OdataHttp; readonly settings: OdataSettings };

const maxIds = 1_000;
/** A longer query string is refused by some servers. */
const maxFilterLength = 4_000;

/** The address of the records of the connection's company that pass the filters. */
function toAddress(
  { http, settings }: Service,
  { set, key }: OdataDefinition,
  filters: readonly string[],
  options: Readonly<Record<string, string>>,
): string {
  const filter = allOf([...companyFilter(settings, key), ...filters]);
  return http.address(encodeURIComponent(set), { ...options, ...filter });
}

/** The filter by an id. Throws for a text that is no key, which can't be in a filter. */
function byId(filter: string | undefined, id: string | null): string {
  if (filter !== undefined) return filter;
  throw inconsistentResponse(`${id?.slice(0, 200)} is not the key of a record`);
}

async function readByKey(service: Service, plan: Plan, selection: Selection, top: number): Promise<RowPage> {
  const { key } = plan.definition;
  const { afterId, changedSince = null, signal } = selection;
  const after = afterId === null ? [] : [byId(beyond(key, afterId, 'gt'), afterId)];
  const url = toAddress(service, plan.definition, [...changedFilter(plan, changedSince), ...after], {
    ...toOptions(plan),
    $orderby: keyPaths(key).join(','),
    $top: String(top),
  });
  for await (const page of followPages(service.http, url, signal)) {
    const isLast = page.nextLink === null;
    if (page.rows.length === 0 && !isLast) continue;
    const rows = identify(key, page).slice(0, top);
    if (rows.some(({ id }) => id === afterId))
      throw httpError('answer', 'PAGE_REPEATS', `The page after ${afterId} contains that record again`);
    return { rows, hasMore: rows.length > 0 && (!isLast || page.rows.length >= top) };
  }
  return { rows: [], hasMore: false };
}

/** Throws `ErpError` ANSWER_INCONSISTENT unless integer ids ascend: in another order records would be skipped. */
function assertAscending({ idType, keyOrder }: RecordTypeMetadata, rows: readonly IdentifiedRow[]): void {
  if (idType !== 'integer' || keyOrder === 'server' || !rows.every(({ id }) => /^-?\d+$/.test(id))) return;
  const early = rows.find(({ id }, index) => index > 0 && BigInt(id) < BigInt(rows[index - 1]?.id ?? id));
  if (early !== undefined) throw inconsistentResponse(`The id ${early.id} comes after a larger one`);
}

/** Filters that select these ids together, each of at most `maxFilterLength` characters and `maxParts` ids. */
function toIdFilters({ key }: OdataDefinition, ids: ReadonlySet<string>, maxParts: number): string[] {
  const filters: string[] = [];
  let parts = 0;
  for (const id of ids) {
    const one = equalTo(key, id);
    if (one === undefined) continue;
    const joined = `${filters.at(-1)} or ${one}`;
    const isFull = parts === 0 || parts >= maxParts || encodeURIComponent(joined).length >= maxFilterLength;
    parts = isFull ? 1 : parts + 1;
    if (isFull) filters.push(one);
    else filters.splice(-1, 1, joined);
  }
  return filters;
}

/** Throws a RangeError for more than 1,000 ids. */
async function readByIds(service: Service, plan: Plan, ids: readonly string[], signal: AbortSignal) {
  if (ids.length > maxIds) throw new RangeError(`at most ${maxIds} ids per call, got ${ids.length}`);
  const { definition } = plan;
  const wanted = new Set(ids);
  const found = new Map<string, IdentifiedRow>();
  // A service that refuses the filter for pages by a key of several properties refuses this one as well.
  const isJoinable = definition.key.length === 1 || definition.paging === 'key';
  const maxParts = isJoinable ? (service.settings.pageSize ?? maxIds) : 1;
  for (const filter of toIdFilters(definition, wanted, maxParts)) {
    const url = toAddress(service, definition, [filter], toOptions(plan));
    for await (const page of followPages(service.http, url, signal)) {
      const before = found.size;
      for (const row of identify(definition.key, page)) found.set(row.id, row);
      if (found.size > wanted.size)
        throw inconsistentResponse('The ERP returned records that were not requested');
      if (page.nextLink !== null && page.rows.length > 0 && found.size === before)
        throw httpError('answer', 'PAGE_REPEATS', 'The ERP returned the same records again');
    }
  }
  // A collation may find `b` when asked for `B`: another record, and no error.
  const rows = [...found.values()].filter(({ id }) => wanted.has(id));
  return toPage(service.http, plan, { rows, hasMore: false }, signal);
}

type ReadRows = (recordType: RecordTypeMetadata, plan: Plan, selection: Selection) => Promise<RowPage>;

function createRowReader(service: Service): ReadRows {
  const walk = createWalker<IdentifiedRow>();
  const { http, settings } = service;
  return async (recordType, plan, { afterId, signal, ...selection }) => {
    const limit = Math.max(1, Math.min(selection.limit, settings.pageSize ?? selection.limit));
    const { definition } = plan;
    const isTracked = selection.tracksChanges === true && definition.tracksChanges;
    if (definition.paging === 'key' && !isTracked) {
      const page = await readByKey(service, plan, { afterId, signal, ...selection }, limit);
      assertAscending(recordType, page.rows);
      return page;
    }
    const changed = changedFilter(plan, selection.changedSince ?? null);
    const url = toAddress(service, definition, changed, toOptions(plan));
    const preferences = [`odata.maxpagesize=${limit}`, ...(isTracked ? [trackChanges] : [])];
    const list = {
      name: `${isTracked} ${url}`,
      open: () => followRows(definition.key, http, url, signal, preferences),
      count: () => countRecords(service, definition, [], signal),
    };
    return { ...(await walk(list, { afterId, limit, signal })), isUnordered: true };
  };
}

/** Its methods reject as `Connector` says. */
export function createReads(
  http: OdataHttp,
  settings: OdataSettings,
): Pick<Connector, 'readPage' | 'readByIds' | 'scan' | 'listIds' | 'count' | 'countChanged'> {
  const service = { http, settings };
  const readRows = createRowReader(service);
  return {
    async readPage({ recordType, fields, ...selection }) {
      const plan = planRead(recordType, fields);
      return toPage(http, plan, await readRows(recordType, plan, selection), selection.signal);
    },
    readByIds: async ({ recordType, fields, ids, signal }) =>
      readByIds(service, planRead(recordType, fields), ids, signal),
    async scan({ recordType, fields, signal, ...selection }) {
      const plan = planRead(recordType, fields);
      if (fields.includes(linesField)) throw erpError('query', 'FIELD_NOT_SYNCABLE', 'A scan reads no lines');
      if (selection.ids !== undefined) return readByIds(service, plan, selection.ids, signal);
      return toPage(http, plan, await readRows(recordType, plan, { ...selection, signal }), signal);
    },
    async listIds({ recordType, ...selection }) {
      const plan = planRead(recordType, []);
      const { rows, hasMore } = await readRows(recordType, plan, selection);
      const path = (selection.changedSince ?? null) === null ? undefined : plan.modified?.path;
      const toTime = (row: JsonObject) =>
        path === undefined ? null : (parseValue(valueAt(row, path), 'time') ?? null);
      return { listed: rows.map(({ id, row }) => ({ id, modifiedAt: toTime(row) })), hasMore };
    },
    count: async (recordType, signal, range) =>
      countRecords(service, getDefinition(recordType), [], signal, range),
    async countChanged({ recordType, since, signal, range }) {
      const plan = planRead(recordType, []);
      const changed = changedFilter(plan, since);
      const records = await countRecords(service, plan.definition, changed, signal, range);
      return { records, withChangedLines: null };
    },
  };
}

async function countRecords(
  service: Service,
  definition: OdataDefinition,
  filters: readonly string[],
  signal: AbortSignal,
  { afterId, upTo }: IdRange = { afterId: null, upTo: null },
): Promise<number> {
  const { set, key, paging } = definition;
  // The next run may need no range.
  if (paging === 'nextLink' && (afterId !== null || upTo !== null))
    throw erpError('answer', 'QUERY_REFUSED', `${set} can't be counted by ranges of its key`);
  const behind = afterId === null ? [] : [byId(beyond(key, afterId, 'gt'), afterId)];
  const within = upTo === null ? [] : [byId(beyond(key, upTo, 'lt'), upTo), byId(equalTo(key, upTo), upTo)];
  const upToFilter = within.length === 0 ? [] : [within.map((one) => `(${one})`).join(' or ')];
  const options = { $count: 'true', $top: '1', $select: toSelect(keyPaths(key)) };
  const url = toAddress(service, definition, [...filters, ...behind, ...upToFilter], options);
  const count = toCount(noteOf(await service.http.getJson(url, signal), 'count'));
  if (count === null) throw inconsistentResponse('The response has no count of the records');
  return count;
}

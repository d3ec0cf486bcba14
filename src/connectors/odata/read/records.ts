// Reads records by key, by id and by modification time: `$filter`, `$orderby` and `$top`, never `$skip`.
import { type Connector, ErpError, type IdRange, type RecordTypeMetadata } from '../../connector.ts';
import { getDefinition, linesField, type OdataDefinition } from '../metadata/definition.ts';
import { erpError, inconsistentResponse } from '../requests/errors.ts';
import type { JsonObject, OdataHttp } from '../requests/http.ts';
import { beyond, equalTo, valueAt } from './keys.ts';
import { createWalker, followPages, type IdentifiedRow, identify, type RowPage } from './pages.ts';
import { allOf, changedFilter, keyPaths, type Plan, planRead, toOptions, toSelect } from './plan.ts';
import { toPage } from './rows.ts';
import { parseValue } from './values.ts';

type Selection = {
  readonly afterId: string | null;
  readonly changedSince?: Date | null;
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly tracksChanges?: boolean;
};

const maxIds = 1_000;
/** A longer query string is refused by some servers. */
const maxFilterLength = 4_000;

/** Databases may find `b` when asked for `B ` by their collation: another record, and no error. */
const fold = (id: string): string => id.normalize('NFKC').toLowerCase().trimEnd();
const pathOf = ({ set }: OdataDefinition): string => encodeURIComponent(set);
/** A text that is no key can't be in a filter. */
const refusedId = (id: string) => inconsistentResponse(`${id.slice(0, 200)} is not the key of a record`);

async function readByKey(http: OdataHttp, plan: Plan, selection: Selection, top: number): Promise<RowPage> {
  const { key } = plan.definition;
  const { afterId, changedSince = null, signal } = selection;
  const after = afterId === null ? [] : [beyond(key, afterId, 'gt') ?? null];
  if (after.includes(null)) throw refusedId(afterId ?? '');
  const url = http.address(pathOf(plan.definition), {
    ...toOptions(plan),
    ...allOf([...changedFilter(plan, changedSince), ...after.map(String)]),
    $orderby: keyPaths(key).join(','),
    $top: String(top),
  });
  for await (const page of followPages(http, url, signal)) {
    const isLast = page.nextLink === null;
    if (page.rows.length === 0 && !isLast) continue;
    const rows = identify(key, page).slice(0, top);
    if (rows.some(({ id }) => id === afterId))
      throw erpError('answer', 'PAGE_REPEATS', `The page after ${afterId} contains that record again`);
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

/** Filters of at most `maxFilterLength` characters that select these ids together. */
function toIdFilters(key: OdataDefinition['key'], ids: ReadonlySet<string>): string[] {
  const filters: string[] = [];
  for (const id of ids) {
    const one = equalTo(key, id);
    if (one === undefined) continue;
    const last = filters.at(-1);
    const joined = `${last} or ${one}`;
    if (last !== undefined && encodeURIComponent(joined).length < maxFilterLength)
      filters.splice(-1, 1, joined);
    else filters.push(one);
  }
  return filters;
}

/** Throws a RangeError for more than 1,000 ids. */
async function readByIds(http: OdataHttp, plan: Plan, ids: readonly string[], signal: AbortSignal) {
  if (ids.length > maxIds) throw new RangeError(`at most ${maxIds} ids per call, got ${ids.length}`);
  const { definition } = plan;
  const [wanted, folded] = [new Set(ids), new Set(ids.map(fold))];
  const found = new Map<string, IdentifiedRow>();
  for (const $filter of toIdFilters(definition.key, wanted)) {
    const url = http.address(pathOf(definition), { ...toOptions(plan), $filter });
    for await (const page of followPages(http, url, signal))
      for (const row of identify(definition.key, page)) found.set(row.id, row);
  }
  const other = [...found.keys()].find((id) => !folded.has(fold(id)));
  if (other !== undefined) throw inconsistentResponse(`The record ${other} was not requested`);
  const rows = [...found.values()].filter(({ id }) => wanted.has(id));
  return toPage(http, plan, { rows, hasMore: false }, signal);
}

type ReadRows = (recordType: RecordTypeMetadata, plan: Plan, selection: Selection) => Promise<RowPage>;

function createRowReader(http: OdataHttp, pageSize: number | null): ReadRows {
  const walk = createWalker(http);
  return async (recordType, plan, selection) => {
    const limit = Math.max(1, Math.min(selection.limit, pageSize ?? selection.limit));
    const { paging, key, ...definition } = plan.definition;
    const tracksChanges = selection.tracksChanges === true && definition.tracksChanges;
    if (paging === 'nextLink' || tracksChanges) {
      const filter = allOf(changedFilter(plan, selection.changedSince ?? null));
      const url = http.address(pathOf(plan.definition), { ...toOptions(plan), ...filter });
      const count = () => countRecords(http, plan.definition, [], selection.signal);
      return walk({ url, key, count }, { ...selection, limit, tracksChanges });
    }
    const page = await readByKey(http, plan, selection, limit);
    assertAscending(recordType, page.rows);
    return page;
  };
}

/** Its methods reject as `Connector` says. `pageSize`: at most as many records per request; null: any. */
export function createReads(
  http: OdataHttp,
  pageSize: number | null,
): Pick<Connector, 'readPage' | 'readByIds' | 'scan' | 'listIds' | 'count' | 'countChanged'> {
  const readRows = createRowReader(http, pageSize);
  return {
    async readPage({ recordType, fields, ...selection }) {
      const plan = planRead(recordType, fields);
      return toPage(http, plan, await readRows(recordType, plan, selection), selection.signal);
    },
    readByIds: async ({ recordType, fields, ids, signal }) =>
      readByIds(http, planRead(recordType, fields), ids, signal),
    async scan({ recordType, fields, signal, ...selection }) {
      const plan = planRead(recordType, fields);
      if (fields.includes(linesField)) throw erpError('query', 'FIELD_NOT_SYNCABLE', 'A scan reads no lines');
      if (selection.ids !== undefined) return readByIds(http, plan, selection.ids, signal);
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
    count: (recordType, signal, range) => countRecords(http, getDefinition(recordType), [], signal, range),
    async countChanged({ recordType, since, signal, range }) {
      const plan = planRead(recordType, []);
      const changed = changedFilter(plan, since);
      const records = await countRecords(http, plan.definition, changed, signal, range);
      return { records, withChangedLines: null };
    },
  };
}

async function countRecords(
  http: OdataHttp,
  definition: OdataDefinition,
  filters: readonly string[],
  signal: AbortSignal,
  { afterId, upTo }: IdRange = { afterId: null, upTo: null },
): Promise<number> {
  const { set, key, paging } = definition;
  if (paging === 'nextLink' && (afterId !== null || upTo !== null))
    throw erpError('query', 'QUERY_REFUSED', `${set} can't be counted by ranges of its key`);
  const behind = afterId === null ? [] : [beyond(key, afterId, 'gt')];
  const within = upTo === null ? [] : [beyond(key, upTo, 'lt'), equalTo(key, upTo)];
  if ([...behind, ...within].includes(undefined)) throw refusedId(`${afterId}–${upTo}`);
  const upToFilter = within.length === 0 ? [] : [within.map((one) => `(${one})`).join(' or ')];
  const filter = allOf([...filters, ...behind.map(String), ...upToFilter]);
  const inBody = { ...filter, $count: 'true', $top: '1', $select: toSelect(keyPaths(key)) };
  const readFromBody = async (error: unknown) => {
    const isRefused =
      error instanceof ErpError && (error.kind === 'query' || error.code === 'ENTITY_SET_UNKNOWN');
    if (!isRefused) throw error;
    return {
      text: String((await http.getJson(http.address(pathOf(definition), inBody), signal))['@odata.count']),
    };
  };
  const url = http.address(`${pathOf(definition)}/$count`, filter);
  const { text } = await http.getText(url, signal).catch(readFromBody);
  if (!/^\s*\d{1,15}\s*$/.test(text)) throw inconsistentResponse('The response to a count is not a number');
  return Number(text);
}

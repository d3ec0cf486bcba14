// Reads records by key, by id and by modification time: `$filter`, `$orderby` and `$top`, never `$skip`.
import { type Connector, ErpError, type FieldMetadata, type RecordTypeMetadata } from '../../connector.ts';
import type { RecordRejection, SourceLine, SourceRecord, SourceValue } from '../../source-records.ts';
import { getDefinition, idField, linesField, type OdataDefinition } from '../metadata/definition.ts';
import { erpError, inconsistentResponse } from '../requests/errors.ts';
import type { JsonObject, OdataHttp } from '../requests/http.ts';
import { beyond, equalTo, valueAt } from './keys.ts';
import { createWalker, followPages, type IdentifiedRow, identify, type RowPage, readLines } from './pages.ts';
import { memberLabel, parseValue } from './values.ts';

type Column = Pick<FieldMetadata, 'name' | 'type'> & { readonly path: string };
type Plan = {
  readonly definition: OdataDefinition;
  readonly columns: readonly Column[];
  readonly lines: readonly Column[] | null;
  readonly modified: Column | null;
};

const maxIds = 1_000;
/** A longer query string is refused by some servers. */
const maxFilterLength = 4_000;

const toColumns = (fields: readonly FieldMetadata[], renamed: OdataDefinition['renamed'] = {}): Column[] =>
  fields
    .filter(({ syncable }) => syncable)
    .map(({ name, type }) => ({
      name,
      type,
      path: Object.hasOwn(renamed, name) ? String(renamed[name]) : name.replaceAll('.', '/'),
    }));

/** Throws `ErpError` FIELD_NOT_SYNCABLE for a field that the record type doesn't offer, and as `getDefinition`. */
function planRead(recordType: RecordTypeMetadata, names: readonly string[]): Plan {
  const definition = getDefinition(recordType);
  const columns = toColumns(recordType.fields, definition.renamed);
  const missing = names.find((name) => name !== idField && !columns.some((column) => column.name === name));
  if (missing !== undefined)
    throw erpError('query', 'FIELD_NOT_SYNCABLE', `${recordType.name} has no syncable field ${missing}`);
  const modified = columns.find(({ name }) => name === recordType.modifiedField) ?? null;
  const lines = recordType.fields.find(({ name, type }) => type === 'lines' && names.includes(name));
  return {
    definition,
    modified,
    columns: columns.filter(
      (column) =>
        column.type !== 'lines' && (column === modified || [idField, ...names].includes(column.name)),
    ),
    lines: lines === undefined || definition.lines === null ? null : toColumns(lines.fields ?? []),
  };
}

const select = (paths: readonly string[]): string =>
  [...new Set(paths.map((path) => path.split('/')[0] ?? path))].join(',');
const keySelect = (key: OdataDefinition['key']): string[] => key.map(({ path }) => path);

/** Throws `ErpError` FIELD_NOT_SYNCABLE where there is no modification time. */
function changedFilter({ modified, definition }: Plan, since: Date | null): string[] {
  if (since === null) return [];
  if (modified === null)
    throw erpError('query', 'FIELD_NOT_SYNCABLE', `${definition.set} has no modification time`);
  return [`${modified.path} ge ${since.toISOString()}`];
}

const joinFilters = (filters: readonly string[]): { $filter?: string } =>
  filters.length === 0
    ? {}
    : { $filter: filters.length === 1 ? filters.join() : filters.map((one) => `(${one})`).join(' and ') };

function selectOptions({ definition, columns, lines }: Plan): Record<string, string> {
  const own = columns.filter(({ name }) => name !== idField).map(({ path }) => path);
  const ofRecord = { $select: select([...keySelect(definition.key), ...own]) };
  if (lines === null) return ofRecord;
  return { ...ofRecord, $expand: `${definition.lines}($select=${select(lines.map(({ path }) => path))})` };
}

type Selection = {
  readonly afterId: string | null;
  readonly changedSince?: Date | null;
  readonly limit: number;
  readonly signal: AbortSignal;
};

/** A value that no record can have can't be in a filter. */
const refusedId = (id: string) => inconsistentResponse(`${id.slice(0, 200)} is not the key of a record`);

async function readByKey(http: OdataHttp, plan: Plan, selection: Selection, top: number): Promise<RowPage> {
  const { definition } = plan;
  const { afterId, changedSince = null, signal } = selection;
  const after = afterId === null ? [] : [beyond(definition.key, afterId, 'gt')];
  if (after.includes(undefined)) throw refusedId(afterId ?? '');
  const url = http.address(encodeURIComponent(definition.set), {
    ...selectOptions(plan),
    ...joinFilters([...changedFilter(plan, changedSince), ...after.map(String)]),
    $orderby: keySelect(definition.key).join(','),
    $top: String(top),
  });
  for await (const page of followPages(http, url, signal)) {
    if (page.rows.length === 0 && page.hasMore) continue;
    const rows = identify(definition.key, page.rows).slice(0, top);
    if (rows.some(({ id }) => id === afterId))
      throw erpError('answer', 'PAGE_REPEATS', `The page after ${afterId} contains that record again`);
    return { rows, hasMore: rows.length > 0 && (page.hasMore || page.rows.length >= top) };
  }
  return { rows: [], hasMore: false };
}

/** Throws `ErpError` ANSWER_INCONSISTENT unless integer ids ascend: in another order records would be skipped. */
function assertAscending({ idType, keyOrder }: RecordTypeMetadata, rows: readonly IdentifiedRow[]): void {
  if (idType !== 'integer' || keyOrder === 'server' || !rows.every(({ id }) => /^-?\d{1,19}$/.test(id)))
    return;
  const early = rows.find(({ id }, index) => index > 0 && BigInt(id) < BigInt(rows[index - 1]?.id ?? id));
  if (early !== undefined) throw inconsistentResponse(`The id ${early.id} comes after a larger one`);
}

function parseColumns(row: JsonObject, columns: readonly Column[], id: string | null) {
  const values: Record<string, SourceValue> = {};
  const labels: Record<string, SourceValue> = {};
  let problem: string | null = null;
  for (const { name, path, type } of columns) {
    const raw = name === idField && id !== null ? id : valueAt(row, path);
    const value = parseValue(raw, type);
    if (value === undefined) problem ??= `${name} is not a valid ${type}`;
    else values[name] = value;
    if (type === 'list') labels[name] = memberLabel(value ?? null);
    else if (type === 'reference') labels[name] = null;
  }
  return { values, labels, problem };
}

/** With each label next to its value, or the first problem. */
function parseLine(row: JsonObject, columns: readonly Column[]): SourceLine | string {
  const { values, labels, problem } = parseColumns(row, columns, null);
  const named = Object.entries(labels).map(([name, label]) => [`${name}.name`, label]);
  return problem ?? { ...values, ...Object.fromEntries(named) };
}

async function toRecord(
  http: OdataHttp,
  plan: Plan,
  { id, row }: IdentifiedRow,
  signal: AbortSignal,
): Promise<SourceRecord | RecordRejection> {
  const { values, labels, problem } = parseColumns(row, plan.columns, id);
  const reject = (message: string): RecordRejection => ({ id, code: 'VALUE_UNREADABLE', message, values });
  if (problem !== null) return reject(problem);
  const modifiedAt = plan.modified === null ? null : (values[plan.modified.name] ?? null);
  if (plan.lines === null || plan.definition.lines === null)
    return { id, modifiedAt, values, labels, lines: null };
  const columns = plan.lines;
  const lines = (await readLines(http, row, plan.definition.lines, signal)).map((line) =>
    parseLine(line, columns),
  );
  const index = lines.findIndex((line) => typeof line === 'string');
  if (index !== -1) return reject(`line ${index + 1}: ${String(lines[index])}`);
  return { id, modifiedAt, values, labels, lines: lines.filter((line) => typeof line !== 'string') };
}

const isRecord = (one: SourceRecord | RecordRejection): one is SourceRecord => 'labels' in one;

/** Filters of at most `maxFilterLength` characters that select these ids together. */
function toIdFilters(key: OdataDefinition['key'], ids: readonly string[]): string[] {
  const filters: string[] = [];
  for (const id of new Set(ids)) {
    const one = equalTo(key, id);
    const last = filters.at(-1);
    if (one === undefined) continue;
    const part = key.length === 1 ? one : `(${one})`;
    if (last !== undefined && encodeURIComponent(last + part).length < maxFilterLength)
      filters[filters.length - 1] = `${last} or ${part}`;
    else filters.push(part);
  }
  return filters;
}

type Reads = Pick<Connector, 'readPage' | 'readByIds' | 'scan' | 'listIds' | 'count'>;

/** Its methods reject as `Connector` says. `pageSize`: at most as many records per request; null: any. */
export function createReads(http: OdataHttp, pageSize: number | null): Reads {
  const walk = createWalker(http);
  const readRows = async (recordType: RecordTypeMetadata, plan: Plan, selection: Selection) => {
    const limit = Math.max(1, Math.min(selection.limit, pageSize ?? selection.limit));
    const { set, key, paging } = plan.definition;
    if (paging === 'key') {
      const page = await readByKey(http, plan, selection, limit);
      assertAscending(recordType, page.rows);
      return page;
    }
    const filters = joinFilters(changedFilter(plan, selection.changedSince ?? null));
    const url = http.address(encodeURIComponent(set), { ...selectOptions(plan), ...filters });
    return walk(url, key, { ...selection, limit });
  };
  const toPage = async (plan: Plan, { rows, hasMore }: RowPage, signal: AbortSignal) => {
    const read: (SourceRecord | RecordRejection)[] = [];
    for (const row of rows) read.push(await toRecord(http, plan, row, signal));
    const rejected = read.filter((one): one is RecordRejection => !isRecord(one));
    return { records: read.filter(isRecord), rejected, lastId: rows.at(-1)?.id ?? null, hasMore };
  };
  const readByIds = async (plan: Plan, ids: readonly string[], signal: AbortSignal) => {
    if (ids.length > maxIds) throw new RangeError(`at most ${maxIds} ids per call, got ${ids.length}`);
    const wanted = new Set(ids);
    const rows: IdentifiedRow[] = [];
    for (const $filter of toIdFilters(plan.definition.key, ids)) {
      const url = http.address(encodeURIComponent(plan.definition.set), { ...selectOptions(plan), $filter });
      for await (const page of followPages(http, url, signal))
        rows.push(...identify(plan.definition.key, page.rows));
    }
    const other = rows.find(({ id }) => !wanted.has(id));
    if (other !== undefined) throw inconsistentResponse(`The record ${other.id} was not requested`);
    return toPage(plan, { rows, hasMore: false }, signal);
  };
  return {
    async readPage({ recordType, fields, signal, ...selection }) {
      const plan = planRead(recordType, fields);
      return toPage(plan, await readRows(recordType, plan, { ...selection, signal }), signal);
    },
    readByIds: async ({ recordType, fields, ids, signal }) =>
      readByIds(planRead(recordType, fields), ids, signal),
    async scan({ recordType, fields, signal, ...selection }) {
      const plan = planRead(recordType, fields);
      if (fields.includes(linesField)) throw erpError('query', 'FIELD_NOT_SYNCABLE', 'A scan reads no lines');
      if (selection.ids !== undefined) return readByIds(plan, selection.ids, signal);
      return toPage(plan, await readRows(recordType, plan, { ...selection, signal }), signal);
    },
    async listIds({ recordType, signal, ...selection }) {
      const plan = planRead(recordType, []);
      const { rows, hasMore } = await readRows(recordType, plan, { ...selection, signal });
      const toTime = (row: JsonObject) =>
        plan.modified === null || (selection.changedSince ?? null) === null
          ? null
          : (parseValue(valueAt(row, plan.modified.path), 'time') ?? null);
      return { listed: rows.map(({ id, row }) => ({ id, modifiedAt: toTime(row) })), hasMore };
    },
    count: (...request) => countRecords(http, ...request),
  };
}

async function countRecords(
  http: OdataHttp,
  ...[recordType, signal, { afterId, upTo } = { afterId: null, upTo: null }]: Parameters<Connector['count']>
): Promise<number> {
  const { set, key, paging } = getDefinition(recordType);
  const behind = afterId === null ? [] : [beyond(key, afterId, 'gt')];
  const within = upTo === null ? [] : [beyond(key, upTo, 'lt'), equalTo(key, upTo)];
  if ([...behind, ...within].includes(undefined)) throw refusedId(`${afterId}–${upTo}`);
  if (paging === 'nextLink' && (afterId !== null || upTo !== null))
    throw erpError('query', 'QUERY_REFUSED', `${set} can't be counted by ranges of its key`);
  const ranges = within.length === 0 ? [] : [within.map((one) => `(${one})`).join(' or ')];
  const filter = joinFilters([...behind.map(String), ...ranges]);
  const path = encodeURIComponent(set);
  const counted = { ...filter, $count: 'true', $top: '1', $select: select(keySelect(key)) };
  const readCount = async (error: unknown) => {
    const isRefused =
      error instanceof ErpError && (error.kind === 'query' || error.code === 'ENTITY_SET_UNKNOWN');
    if (!isRefused) throw error;
    return { text: String((await http.getJson(http.address(path, counted), signal))['@odata.count']) };
  };
  const { text } = await http.getText(http.address(`${path}/$count`, filter), signal).catch(readCount);
  if (!/^\s*\d{1,15}\s*$/.test(text)) throw inconsistentResponse('The response to a count is not a number');
  return Number(text);
}

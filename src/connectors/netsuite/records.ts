// Reads records: the page of headers, then all of their lines, combined only when both are complete. It decides which rows become records,
// which are rejected with a reason, and when a response as a whole can't be trusted.
//
// The exported functions reject with `ErpError`, or with the signal's reason once that is aborted.
import type { RecordPage, RecordRejection, ScannedRecord, ScanPage, SourceRecord } from '../connector.ts';
import { inconsistentResponse } from './errors.ts';
import { isolateBadRecords, isUnreadableResponse } from './isolate-bad-records.ts';
import { type LineSet, type LineSets, readLinesOfRecords } from './lines.ts';
import { modifiedColumn, type RecordSelection, recordsQuery } from './queries.ts';
import type { LinesPlan, ReadPlan } from './read-plan.ts';
import { assertIdOrder, parseColumns } from './rows.ts';
import { maxRowsPerQuery, type Suiteql, type SuiteqlRow } from './suiteql.ts';
import { isIdText } from './values.ts';

/** Rereads of a document edited during the read, before it is rejected. */
const maxRereads = 3;

/**
 * A page with this many lines ends early, with its last complete record: 1,000 invoices of a hundred lines each would make a page of a
 * hundred thousand lines.
 */
const maxLinesPerPage = 4_000;

/** The average number of lines per record on the last page, by record type: limits the headers to what the next page can hold. */
export type LinesPerRecord = Map<string, number>;

type Header = { readonly id: string; readonly record: ScannedRecord | RecordRejection };
type Headers = { readonly headers: readonly Header[]; readonly hasMore: boolean };

/** Reads headers without their lines, with a single query. */
export async function scanRecords(
  suiteql: Suiteql,
  plan: ReadPlan,
  selection: RecordSelection,
  limit: number,
  signal: AbortSignal,
): Promise<ScanPage> {
  return pageOf(await readHeaders(suiteql, plan, selection, limit, signal));
}

/** Reads records with their lines, if the plan has any. A page of given ids is never cut short. Updates `linesPerRecord`. */
export async function readRecords(
  suiteql: Suiteql,
  plan: ReadPlan,
  selection: RecordSelection,
  limit: number,
  linesPerRecord: LinesPerRecord,
  signal: AbortSignal,
): Promise<RecordPage> {
  const { lines } = plan;
  if (lines === null) {
    const page = await scanRecords(suiteql, plan, selection, limit, signal);
    return { ...page, records: page.records.map((record) => ({ ...record, lines: null })) };
  }
  const isByIds = selection.ids !== undefined;
  const maxHeaders = isByIds
    ? limit
    : Math.max(1, Math.min(limit, Math.ceil(maxLinesPerPage / Math.max(1, linesPerRecord.get(plan.definition.name) ?? 0))));
  const found = await readHeaders(suiteql, plan, selection, maxHeaders, signal);
  const readable = found.headers.flatMap(({ record }) => (isRejected(record) ? [] : [record]));
  const first = await readLinesIsolating(suiteql, { plan, lines }, idsOf(readable), isByIds ? null : maxLinesPerPage, signal);
  const next = readable[first.completeCount];
  const headers =
    next === undefined
      ? found.headers
      : found.headers.slice(
          0,
          found.headers.findIndex(({ record }) => record === next),
        );
  const { rejected, records, ...page } = pageOf({ headers, hasMore: found.hasMore || next !== undefined });
  linesPerRecord.set(plan.definition.name, countLines(first.sets) / Math.max(1, first.completeCount));
  const complete = await addLines(suiteql, { plan, lines }, records, first, signal);
  return { ...page, records: complete.records, rejected: [...rejected, ...complete.rejected] };
}

const idsOf = (records: readonly ScannedRecord[]): string[] => records.map(({ id }) => id);
const countLines = (sets: LineSets['sets']): number => [...sets.values()].reduce((sum, { lines }) => sum + lines.length, 0);

const isRejected = (record: Header['record']): record is RecordRejection => 'code' in record;

function pageOf({ headers, hasMore }: Headers): ScanPage {
  const lastId = headers.map(({ id }) => id).findLast(isIdText) ?? null;
  if (hasMore && lastId === null) throw inconsistentResponse('No row of the page has an id to continue from');
  const rejected = headers.flatMap(({ record }) => (isRejected(record) ? [record] : []));
  const records = headers.flatMap(({ record }) => (isRejected(record) ? [] : [record]));
  return { records, rejected, lastId, hasMore };
}

async function queryHeaders(
  suiteql: Suiteql,
  plan: ReadPlan,
  selection: RecordSelection,
  limit: number,
  signal: AbortSignal,
): Promise<Headers> {
  const { rows, hasMore } = await suiteql.query(recordsQuery(plan.definition, plan.columns, selection), limit, signal);
  assertIdOrder(rows, selection);
  const headers = rows.map((row) => readHeader(row, plan.columns));
  return { headers: headers.map((header, at) => rejectRepeated(header, headers[at - 1], headers[at + 1])), hasMore };
}

/** Rows are sorted by id, so those with the same id are neighbours. All of them are rejected: there is no way to know which is right. */
function rejectRepeated(header: Header, ...neighbours: readonly (Header | undefined)[]): Header {
  const { id } = header;
  if (id === '' || !neighbours.some((other) => other?.id === id)) return header;
  return { id, record: { id, code: 'DUPLICATE_ID', message: 'NetSuite returned more than one row with this id' } };
}

const idColumn = { name: 'id', type: 'integer' } as const;

/** Where one record makes the whole response unreadable, by its text or its size, only that record is rejected. */
async function readHeaders(
  suiteql: Suiteql,
  plan: ReadPlan,
  selection: RecordSelection,
  limit: number,
  signal: AbortSignal,
): Promise<Headers> {
  try {
    return await queryHeaders(suiteql, plan, selection, limit, signal);
  } catch (error) {
    if (!isUnreadableResponse(error)) throw error;
    const listed = await queryHeaders(suiteql, { ...plan, columns: [idColumn] }, selection, limit, signal);
    const ids = [...new Set(listed.headers.map(({ id }) => id).filter((id) => id !== ''))];
    const parts = await isolateBadRecords(
      ids,
      async (some) => (await queryHeaders(suiteql, plan, { ids: some }, maxRowsPerQuery, signal)).headers,
    );
    const withoutId = listed.headers.filter(({ id }) => id === '');
    const headers = parts.flatMap(({ found, id, reason }) => found ?? [{ id, record: { id, code: 'RECORD_UNREADABLE', message: reason } }]);
    return { headers: [...withoutId, ...headers], hasMore: listed.hasMore };
  }
}

/** The same for lines: a record whose lines make the response unreadable has a problem instead of lines. */
async function readLinesIsolating(...[suiteql, plans, ids, maxLines, signal]: Parameters<typeof readLinesOfRecords>): Promise<LineSets> {
  try {
    return await readLinesOfRecords(suiteql, plans, ids, maxLines, signal);
  } catch (error) {
    if (!isUnreadableResponse(error)) throw error;
    const parts = await isolateBadRecords(ids, async (some) => (await readLinesOfRecords(suiteql, plans, some, null, signal)).sets);
    const sets = parts.flatMap(({ found, id, reason }): [string, LineSet][] =>
      found === null ? [[id, { lines: [], problem: reason, parentModified: [] }]] : [...found],
    );
    return { sets: new Map(sets), completeCount: ids.length, spanning: new Set(ids) };
  }
}

function readHeader(row: SuiteqlRow, columns: ReadPlan['columns']): Header {
  const id = String(row['id']);
  if (typeof row['id'] !== 'string' || !isIdText(id))
    return { id: '', record: { id, code: 'ID_NOT_INTEGER', message: 'The id is not an integer' } };
  const read = parseColumns(row, columns);
  if ('problem' in read) return { id, record: { id, code: 'VALUE_UNREADABLE', message: read.problem } };
  return { id, record: { id, modifiedAt: read.values[modifiedColumn] ?? null, values: read.values, labels: read.labels } };
}

type Complete = { readonly records: readonly SourceRecord[]; readonly rejected: readonly RecordRejection[] };

/**
 * Headers and lines come from two queries. Each line carries its record's modification time as of its own query; where that differs from
 * the header's, the document was edited in between, so header and lines are read again. For a document without lines, or whose lines came
 * in several responses, the lines can't show an edit up to the last query, so its modification time is queried once more; a document that
 * was deleted in between is left out.
 */
async function addLines(
  suiteql: Suiteql,
  plans: { plan: ReadPlan; lines: LinesPlan },
  headers: readonly ScannedRecord[],
  firstLines: LineSets,
  signal: AbortSignal,
): Promise<Complete> {
  const records = new Map<string, SourceRecord>();
  const rejected: RecordRejection[] = [];
  let remaining = headers;
  let read = firstLines;
  for (let round = 0; ; round += 1) {
    const unconfirmed = remaining.filter(({ id }) => !read.sets.has(id) || read.spanning.has(id));
    const current = unconfirmed.length === 0 ? noneQueried : await queryModified(suiteql, plans.plan, idsOf(unconfirmed), signal);
    const edited: ScannedRecord[] = [];
    for (const header of remaining) {
      const set = read.sets.get(header.id);
      if (isEdited(header, set, current.get(header.id))) edited.push(header);
      else if (set?.problem != null) rejected.push({ id: header.id, code: 'LINE_UNREADABLE', message: set.problem });
      else records.set(header.id, { ...header, lines: set?.lines ?? [] });
    }
    if (edited.length === 0) break;
    if (round === maxRereads) {
      rejected.push(
        ...edited.map(({ id }) => ({ id, code: 'CHANGED_WHILE_READ', message: 'The record was changed each time it was read' })),
      );
      break;
    }
    const again = await scanRecords(suiteql, plans.plan, { ids: idsOf(edited) }, maxRowsPerQuery, signal);
    rejected.push(...again.rejected);
    remaining = again.records;
    read = await readLinesIsolating(suiteql, plans, idsOf(remaining), null, signal);
  }
  return { records: headers.flatMap(({ id }) => records.get(id) ?? []), rejected };
}

/** Modification times by record id. Null: the record was deleted, or can no longer be read. */
type Modified = ReadonlyMap<string, { readonly at: string | null } | null>;
const noneQueried: Modified = new Map();

async function queryModified(suiteql: Suiteql, plan: ReadPlan, ids: readonly string[], signal: AbortSignal): Promise<Modified> {
  const columns = plan.columns.filter(({ name }) => name === 'id' || name === modifiedColumn);
  const { records } = await scanRecords(suiteql, { ...plan, columns }, { ids }, maxRowsPerQuery, signal);
  return new Map([...ids.map((id) => [id, null] as const), ...records.map(({ id, modifiedAt }) => [id, { at: modifiedAt }] as const)]);
}

/** `current` is undefined where it was not queried. */
const isEdited = (header: ScannedRecord, set: LineSet | undefined, current: { readonly at: string | null } | null | undefined): boolean =>
  current === null ||
  (current !== undefined && current.at !== header.modifiedAt) ||
  (set?.parentModified.some((modified) => modified !== header.modifiedAt) ?? false);

// Reads records: the page of headers, then all of their lines, put together only when both are complete. It decides which
// rows become records, which are rejected with a reason, and when an answer as a whole can't be trusted.
import type { Page, RejectedRecord, ScannedRecord, ScanPage, SourceRecord } from '../connector.ts';
import { askApart, isSpoilt } from './ask-apart.ts';
import { inconsistent } from './errors.ts';
import { type LineSet, type LineSets, readLines } from './lines.ts';
import { modifiedColumn, recordsQuery, type Selection } from './queries.ts';
import type { LinesPlan, ReadPlan } from './read-plan.ts';
import { checkOrder, readColumns } from './rows.ts';
import { largestPage, type Row, type Suiteql } from './suiteql.ts';
import { isIdText } from './values.ts';

/** How often a document that is being edited while it is read is read again before it is rejected. */
const mostRereads = 3;

/**
 * From so many lines on a page ends early, with its last complete record: invoices of a hundred lines would make pages of a
 * hundred thousand.
 */
const mostLines = 4_000;

/** How many lines a record of each type had of late, so that no more headers are read than a page will hold. */
export type Pace = Map<string, number>;

type Header = { readonly id: string; readonly record: ScannedRecord | RejectedRecord };
type Headers = { readonly headers: readonly Header[]; readonly hasMore: boolean };

/** Without lines: one question. */
export async function scanRecords(
  suiteql: Suiteql,
  plan: ReadPlan,
  selection: Selection,
  limit: number,
  signal: AbortSignal,
): Promise<ScanPage> {
  return pageOf(await readHeaders(suiteql, plan, selection, limit, signal));
}

/** With lines, if the plan has any. A page of given ids is always whole. */
export async function readRecords(
  suiteql: Suiteql,
  plan: ReadPlan,
  selection: Selection,
  limit: number,
  pace: Pace,
  signal: AbortSignal,
): Promise<Page> {
  const { lines } = plan;
  if (lines === null) {
    const page = await scanRecords(suiteql, plan, selection, limit, signal);
    return { ...page, records: page.records.map((record) => ({ ...record, lines: null })) };
  }
  const isWhole = selection.ids !== undefined;
  const mostHeaders = isWhole
    ? limit
    : Math.max(1, Math.min(limit, Math.ceil(mostLines / Math.max(1, pace.get(plan.definition.name) ?? 0))));
  const found = await readHeaders(suiteql, plan, selection, mostHeaders, signal);
  const open = found.headers.flatMap(({ record }) => (isRejected(record) ? [] : [record]));
  const first = await readLinesApart(suiteql, { plan, lines }, idsOf(open), isWhole ? null : mostLines, signal);
  const next = open[first.done];
  const headers =
    next === undefined
      ? found.headers
      : found.headers.slice(
          0,
          found.headers.findIndex(({ record }) => record === next),
        );
  const { rejected, records, ...page } = pageOf({ headers, hasMore: found.hasMore || next !== undefined });
  pace.set(plan.definition.name, countLines(first.sets) / Math.max(1, first.done));
  const complete = await addLines(suiteql, { plan, lines }, records, first, signal);
  return { ...page, records: complete.records, rejected: [...rejected, ...complete.rejected] };
}

const idsOf = (records: readonly ScannedRecord[]): string[] => records.map(({ id }) => id);
const countLines = (sets: LineSets['sets']): number => [...sets.values()].reduce((sum, { lines }) => sum + lines.length, 0);

const isRejected = (record: Header['record']): record is RejectedRecord => 'code' in record;

function pageOf({ headers, hasMore }: Headers): ScanPage {
  const lastId = headers.map(({ id }) => id).findLast(isIdText) ?? null;
  if (hasMore && lastId === null) throw inconsistent('No row of the page has an id to go on from');
  const rejected = headers.flatMap(({ record }) => (isRejected(record) ? [record] : []));
  const records = headers.flatMap(({ record }) => (isRejected(record) ? [] : [record]));
  return { records, rejected, lastId, hasMore };
}

async function askHeaders(suiteql: Suiteql, plan: ReadPlan, selection: Selection, limit: number, signal: AbortSignal): Promise<Headers> {
  const { rows, hasMore } = await suiteql.ask(recordsQuery(plan.definition, plan.columns, selection), limit, signal);
  checkOrder(rows, selection);
  const headers = rows.map((row) => readHeader(row, plan.columns));
  return { headers: headers.map((header, at) => rejectRepeated(header, headers[at - 1], headers[at + 1])), hasMore };
}

/** Rows come by id, so those of one id are neighbours. Which of them is right, nobody can tell. */
function rejectRepeated(header: Header, ...neighbours: readonly (Header | undefined)[]): Header {
  const { id } = header;
  if (id === '' || !neighbours.some((other) => other?.id === id)) return header;
  return { id, record: { id, code: 'DUPLICATE_ID', message: 'NetSuite gave more than one row with this id' } };
}

const idColumn = { name: 'id', type: 'integer' } as const;

/** Where the text of one record spoils the whole answer, that record alone is rejected. */
async function readHeaders(suiteql: Suiteql, plan: ReadPlan, selection: Selection, limit: number, signal: AbortSignal): Promise<Headers> {
  try {
    return await askHeaders(suiteql, plan, selection, limit, signal);
  } catch (error) {
    if (!isSpoilt(error)) throw error;
    const listed = await askHeaders(suiteql, { ...plan, columns: [idColumn] }, selection, limit, signal);
    const ids = [...new Set(listed.headers.map(({ id }) => id).filter((id) => id !== ''))];
    const parts = await askApart(ids, async (some) => (await askHeaders(suiteql, plan, { ids: some }, largestPage, signal)).headers);
    const strange = listed.headers.filter(({ id }) => id === '');
    const headers = parts.flatMap(({ found, id, reason }) => found ?? [{ id, record: { id, code: 'RECORD_UNREADABLE', message: reason } }]);
    return { headers: [...strange, ...headers], hasMore: listed.hasMore };
  }
}

/** The same for lines: a record whose lines spoil the answer has a problem instead. */
async function readLinesApart(...[suiteql, plans, ids, mostLines, signal]: Parameters<typeof readLines>): Promise<LineSets> {
  try {
    return await readLines(suiteql, plans, ids, mostLines, signal);
  } catch (error) {
    if (!isSpoilt(error)) throw error;
    const parts = await askApart(ids, async (some) => (await readLines(suiteql, plans, some, null, signal)).sets);
    const sets = parts.flatMap(({ found, id, reason }): [string, LineSet][] =>
      found === null ? [[id, { lines: [], problem: reason, parentModified: [] }]] : [...found],
    );
    return { sets: new Map(sets), done: ids.length, cut: new Set(ids) };
  }
}

function readHeader(row: Row, columns: ReadPlan['columns']): Header {
  const id = String(row['id']);
  if (typeof row['id'] !== 'string' || !isIdText(id))
    return { id: '', record: { id, code: 'ID_NOT_INTEGER', message: 'The id is not an integer' } };
  const read = readColumns(row, columns);
  if ('problem' in read) return { id, record: { id, code: 'VALUE_UNREADABLE', message: read.problem } };
  return { id, record: { id, modifiedAt: read.values[modifiedColumn] ?? null, values: read.values, labels: read.labels } };
}

type Complete = { readonly records: readonly SourceRecord[]; readonly rejected: readonly RejectedRecord[] };

/**
 * Headers and lines come from two queries. Each line says when its record was last changed as of its own query; where that
 * differs from the header's, the document was edited in between and is read again, header and lines. Where no line says so for
 * the last query, the header is asked once more: of a document that was deleted in between nothing is taken.
 */
async function addLines(
  suiteql: Suiteql,
  plans: { plan: ReadPlan; lines: LinesPlan },
  headers: readonly ScannedRecord[],
  firstLines: LineSets,
  signal: AbortSignal,
): Promise<Complete> {
  const records = new Map<string, SourceRecord>();
  const rejected: RejectedRecord[] = [];
  let open = headers;
  let read = firstLines;
  for (let round = 0; ; round += 1) {
    const silent = open.filter(({ id }) => !read.sets.has(id) || read.cut.has(id));
    const now = silent.length === 0 ? nothingMore : await askModified(suiteql, plans.plan, idsOf(silent), signal);
    const edited: ScannedRecord[] = [];
    for (const header of open) {
      const set = read.sets.get(header.id);
      if (isEdited(header, set, now.get(header.id))) edited.push(header);
      else if (set?.problem != null) rejected.push({ id: header.id, code: 'LINE_UNREADABLE', message: set.problem });
      else records.set(header.id, { ...header, lines: set?.lines ?? [] });
    }
    if (edited.length === 0) break;
    if (round === mostRereads) {
      rejected.push(
        ...edited.map(({ id }) => ({ id, code: 'CHANGED_WHILE_READ', message: 'The record was changed each time it was read' })),
      );
      break;
    }
    const again = await scanRecords(suiteql, plans.plan, { ids: idsOf(edited) }, largestPage, signal);
    rejected.push(...again.rejected);
    open = again.records;
    read = await readLinesApart(suiteql, plans, idsOf(open), null, signal);
  }
  return { records: headers.flatMap(({ id }) => records.get(id) ?? []), rejected };
}

/** Null: the record is gone, or can't be read by now. */
type Modified = ReadonlyMap<string, { readonly at: string | null } | null>;
const nothingMore: Modified = new Map();

async function askModified(suiteql: Suiteql, plan: ReadPlan, ids: readonly string[], signal: AbortSignal): Promise<Modified> {
  const columns = plan.columns.filter(({ name }) => name === 'id' || name === modifiedColumn);
  const { records } = await scanRecords(suiteql, { ...plan, columns }, { ids }, largestPage, signal);
  return new Map([...ids.map((id) => [id, null] as const), ...records.map(({ id, modifiedAt }) => [id, { at: modifiedAt }] as const)]);
}

/** `now`: undefined where it was not asked for. */
const isEdited = (header: ScannedRecord, set: LineSet | undefined, now: { readonly at: string | null } | null | undefined): boolean =>
  now === null ||
  (now !== undefined && now.at !== header.modifiedAt) ||
  (set?.parentModified.some((modified) => modified !== header.modifiedAt) ?? false);

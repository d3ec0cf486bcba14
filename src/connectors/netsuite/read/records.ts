// Reads records: the page of headers, then all of their lines, combined only when both are complete. It
// decides which rows become records, which are rejected with a reason, and when a response as a whole can't
// be trusted.
//
// The exported functions reject with `ErpError`, or with the signal's reason once that is aborted.
import { mapInTurns } from '../../../core/work/turns.ts';
import type { RecordPage, ScanPage } from '../../connector.ts';
import type { RecordRejection, ScannedRecord, SourceRecord } from '../../source-records.ts';
import { inconsistentResponse } from '../requests/errors.ts';
import { maxRowsPerQuery, type Suiteql, type SuiteqlRow } from '../requests/suiteql.ts';
import { queriedColumns } from '../types/display-fields.ts';
import { type RecordSelection, recordsQuery } from '../types/queries.ts';
import type { LinesPlan, ReadPlan } from '../types/read-plan.ts';
import { addIds, keyProblem } from '../types/record-keys.ts';
import { isIdText } from '../types/values.ts';
import { addEntryNames } from './entry-names.ts';
import { isolateBadRecords, isUnreadableResponse } from './isolate-bad-records.ts';
import { type LineLimits, type LineSet, type LineSets, readLinesOfRecords } from './lines.ts';
import { assertIdOrder, createHeaderParser } from './rows.ts';

/** Rereads of a document edited during the read, before it is rejected. */
const maxRereads = 3;

/**
 * A page with this many lines ends early, with its last complete record: 1,000 invoices of a hundred lines
 * each would make a page of a hundred thousand lines.
 */
export const maxLinesPerPage = 4_000;
/** The lines of one record may be as long as this many pages; beyond that the record is rejected. */
const maxPagesOfOneRecord = 8;

type Header = { readonly id: string; readonly record: ScannedRecord | RecordRejection };
/** `characters`: the length of the responses. */
type Headers = {
  readonly headers: readonly Header[];
  readonly hasMore: boolean;
  readonly characters: number;
};

/** Averages per record of the last page: they limit the records of the next one to what it can hold. */
type RecordSize = { readonly lines: number; readonly characters: number };
type Reader = {
  readonly suiteql: Suiteql;
  /** A page whose responses have this many characters ends early. */
  readonly maxCharacters: number;
  /** By what is read (`sizeKey`). */
  readonly sizes: Map<string, RecordSize>;
};
type Read<T> = (plan: ReadPlan, selection: RecordSelection, limit: number, signal: AbortSignal) => Promise<T>;

/**
 * Reads pages, which may end early where records are large. `scanRecords` reads headers without lines, in one
 * query, and all of the ids that it is given. `readRecords` also reads the lines, if the plan has any. Given
 * ids must ascend; if the page ended early, `hasMore` is true and the ids after `lastId` were not read.
 */
export function createRecordReader(
  suiteql: Suiteql,
  maxCharacters: number,
): { scanRecords: Read<ScanPage>; readRecords: Read<RecordPage> } {
  const reader: Reader = { suiteql, maxCharacters, sizes: new Map() };
  return {
    scanRecords: async (plan, selection, limit, signal) =>
      selection.ids === undefined
        ? toScanPage(await readFittingHeaders(reader, plan, selection, limit, signal))
        : scanIds(suiteql, plan, selection.ids, signal),
    readRecords: (plan, selection, limit, signal) => readRecords(reader, plan, selection, limit, signal),
  };
}

const scanIds = async (suiteql: Suiteql, plan: ReadPlan, ids: readonly string[], signal: AbortSignal) =>
  toScanPage(await readHeaders(suiteql, plan, { ids }, maxRowsPerQuery, Number.POSITIVE_INFINITY, signal));

const sizeKey = ({ definition, columns, lines }: ReadPlan): string =>
  `${definition.name} ${lines === null} ${columns.map(({ name }) => name).join()}`;

/** Reads only as many as fit, where an earlier page showed how large the records are. */
async function readFittingHeaders(
  { suiteql, maxCharacters, sizes }: Reader,
  plan: ReadPlan,
  selection: RecordSelection,
  limit: number,
  signal: AbortSignal,
): Promise<Headers> {
  const { lines, characters } = sizes.get(sizeKey(plan)) ?? { lines: 0, characters: 0 };
  const fitting = Math.max(1, Math.floor(maxCharacters / Math.max(1, characters)));
  const { ids } = selection;
  if (ids !== undefined) {
    for (let start = 0; ; start += fitting) {
      const some = { ids: ids.slice(start, start + fitting) };
      const found = await readHeaders(suiteql, plan, some, limit, maxCharacters, signal);
      const hasMore = found.hasMore || start + fitting < ids.length;
      // A page that ends early ends with a record, behind which the next one starts.
      if (!hasMore || found.headers.length > 0) return { ...found, hasMore };
    }
  }
  const maxHeaders = Math.max(1, Math.min(limit, fitting, Math.ceil(maxLinesPerPage / Math.max(1, lines))));
  const found = await readHeaders(suiteql, plan, selection, maxHeaders, maxCharacters, signal);
  if (plan.lines === null)
    sizes.set(sizeKey(plan), { lines: 0, characters: found.characters / Math.max(1, found.headers.length) });
  return found;
}

async function readRecords(
  reader: Reader,
  ...[plan, selection, limit, signal]: Parameters<Read<RecordPage>>
): Promise<RecordPage> {
  const found = await readFittingHeaders(reader, plan, selection, limit, signal);
  if (plan.lines !== null)
    return addLinesToPage(reader, { plan, lines: plan.lines }, found, selection, signal);
  const page = toScanPage(found);
  return { ...page, records: page.records.map((record) => ({ ...record, lines: null })) };
}

async function addLinesToPage(
  { suiteql, maxCharacters, sizes }: Reader,
  plans: { plan: ReadPlan; lines: LinesPlan },
  found: Headers,
  { ids }: RecordSelection,
  signal: AbortSignal,
): Promise<RecordPage> {
  const readable = found.headers.flatMap(({ record }) => (isRejected(record) ? [] : [record]));
  const maxLines = ids === undefined ? maxLinesPerPage : Number.POSITIVE_INFINITY;
  const limits = { maxLines, maxCharacters, maxRecordCharacters: maxPagesOfOneRecord * maxCharacters };
  const first = await readLinesIsolating(suiteql, plans, listIds(readable), limits, signal);
  const next = readable[first.completeCount];
  const headers =
    next === undefined
      ? found.headers
      : found.headers.slice(
          0,
          found.headers.findIndex(({ record }) => record === next),
        );
  const { rejected, records, ...page } = toScanPage({
    headers,
    hasMore: found.hasMore || next !== undefined,
  });
  const read = Math.max(1, first.completeCount);
  const characters = found.characters / Math.max(1, found.headers.length) + first.characters / read;
  sizes.set(sizeKey(plans.plan), { lines: countLines(first.sets) / read, characters });
  const complete = await addLines(suiteql, plans, records, first, limits, signal);
  return { ...page, records: complete.records, rejected: [...rejected, ...complete.rejected] };
}

const listIds = (records: readonly ScannedRecord[]): string[] => records.map(({ id }) => id);
const countLines = (sets: LineSets['sets']): number =>
  [...sets.values()].reduce((sum, { lines }) => sum + lines.length, 0);

const isRejected = (record: Header['record']): record is RecordRejection => 'code' in record;

function toScanPage({ headers, hasMore }: Omit<Headers, 'characters'>): ScanPage {
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
  const columns = queriedColumns(plan.columns);
  const found = await suiteql.query(recordsQuery(plan.definition, columns, selection), limit, signal);
  const { rows, hasMore, characters } = addIds(plan.definition, found);
  assertIdOrder(rows, selection);
  const named = await addEntryNames(suiteql, columns, rows, signal);
  const parse = createHeaderParser(plan.columns);
  const headers = await mapInTurns(named, Math.ceil(valuesPerTurn / plan.columns.length), (row) =>
    readHeader(plan, row, parse),
  );
  return {
    headers: headers.map((header, at) => rejectRepeated(header, headers[at - 1], headers[at + 1])),
    hasMore,
    characters,
  };
}

/**
 * Rows are sorted by id, so those with the same id are neighbours. All of them are rejected: there is no way
 * to know which is right.
 */
function rejectRepeated(header: Header, ...neighbours: readonly (Header | undefined)[]): Header {
  const { id } = header;
  if (id === '' || !neighbours.some((other) => other?.id === id)) return header;
  return {
    id,
    record: { id, code: 'DUPLICATE_ID', message: 'NetSuite returned more than one row with this id' },
  };
}

/** The event loop gets a turn after this many values. */
const valuesPerTurn = 20_000;

const idColumn = { name: 'id', type: 'integer' } as const;

/**
 * Where one record makes the whole response unreadable, by its text or its size, only that record is
 * rejected. Where all of them together are too large, reads as many as `maxCharacters` leaves room for.
 */
async function readHeaders(
  suiteql: Suiteql,
  plan: ReadPlan,
  selection: RecordSelection,
  limit: number,
  maxCharacters: number,
  signal: AbortSignal,
): Promise<Headers> {
  try {
    return await queryHeaders(suiteql, plan, selection, limit, signal);
  } catch (error) {
    if (!isUnreadableResponse(error)) throw error;
    const listed = await queryHeaders(suiteql, { ...plan, columns: [idColumn] }, selection, limit, signal);
    const ids = [...new Set(listed.headers.map(({ id }) => id).filter((id) => id !== ''))];
    let characters = 0;
    const { parts, rest } = await isolateBadRecords(
      ids,
      (some) => queryHeaders(suiteql, plan, { ids: some }, maxRowsPerQuery, signal),
      (found) => {
        characters += found.characters;
        return characters >= maxCharacters;
      },
    );
    const end =
      rest.length === 0 ? listed.headers.length : listed.headers.findIndex(({ id }) => id === rest[0]);
    const withoutId = listed.headers.slice(0, end).filter(({ id }) => id === '');
    const headers = parts.flatMap(({ found, id, reason }): readonly Header[] =>
      found === null ? [{ id, record: { id, code: 'RECORD_UNREADABLE', message: reason } }] : found.headers,
    );
    return { headers: [...withoutId, ...headers], hasMore: listed.hasMore || rest.length > 0, characters };
  }
}

/** The same for lines: a record whose lines make the response unreadable has a problem instead of lines. */
async function readLinesIsolating(
  ...[suiteql, plans, ids, limits, signal]: Parameters<typeof readLinesOfRecords>
): Promise<LineSets> {
  try {
    return await readLinesOfRecords(suiteql, plans, ids, limits, signal);
  } catch (error) {
    if (!isUnreadableResponse(error)) throw error;
    let characters = 0;
    const { parts, rest } = await isolateBadRecords(
      ids,
      (some) => readLinesOfRecords(suiteql, plans, some, liftLimits(limits), signal),
      (found) => {
        characters += found.characters;
        return characters >= limits.maxCharacters;
      },
    );
    const sets = parts.flatMap(({ found, id, reason }): [string, LineSet][] =>
      found === null ? [[id, { lines: [], problem: reason, parentModified: [] }]] : [...found.sets],
    );
    return {
      sets: new Map(sets),
      completeCount: ids.length - rest.length,
      spanning: new Set(ids),
      characters,
    };
  }
}

/** Limits by which no read of several records ends early. */
const liftLimits = (limits: LineLimits): LineLimits => ({
  ...limits,
  maxLines: Number.POSITIVE_INFINITY,
  maxCharacters: Number.POSITIVE_INFINITY,
});

function readHeader(
  { definition, modifiedField }: ReadPlan,
  row: SuiteqlRow,
  parse: ReturnType<typeof createHeaderParser>,
): Header {
  const id = String(row['id']);
  if (typeof row['id'] !== 'string' || !isIdText(id))
    return { id: '', record: { id, code: 'ID_NOT_INTEGER', message: keyProblem(definition.key, row) } };
  const read = parse(row);
  if ('problem' in read)
    return { id, record: { id, code: 'VALUE_UNREADABLE', message: read.problem, values: read.values } };
  return {
    id,
    record: { id, modifiedAt: modifiedField === null ? null : (read.values[modifiedField] ?? null), ...read },
  };
}

type Complete = { readonly records: readonly SourceRecord[]; readonly rejected: readonly RecordRejection[] };

/**
 * Headers and lines come from two queries. Each line carries its record's modification time as of its own
 * query; where that differs from the header's, the document was edited in between, so header and lines are
 * read again. For a document without lines, or whose lines came in several responses, the lines can't show an
 * edit up to the last query, so its modification time is queried once more; deleted documents are left out.
 */
async function addLines(
  suiteql: Suiteql,
  plans: { plan: ReadPlan; lines: LinesPlan },
  headers: readonly ScannedRecord[],
  firstLines: LineSets,
  limits: LineLimits,
  signal: AbortSignal,
): Promise<Complete> {
  const records = new Map<string, SourceRecord>();
  const rejected: RecordRejection[] = [];
  let remaining = headers;
  let read = firstLines;
  for (let round = 0; ; round += 1) {
    const unconfirmed = remaining.filter(({ id }) => !read.sets.has(id) || read.spanning.has(id));
    const current =
      unconfirmed.length === 0
        ? noneQueried
        : await queryModified(suiteql, plans.plan, listIds(unconfirmed), signal);
    const edited: ScannedRecord[] = [];
    for (const header of remaining) {
      const set = read.sets.get(header.id);
      if (isEdited(header, set, current.get(header.id))) edited.push(header);
      else if (set?.problem != null)
        rejected.push({
          id: header.id,
          code: 'LINE_UNREADABLE',
          message: set.problem,
          values: header.values,
        });
      else records.set(header.id, { ...header, lines: set?.lines ?? [] });
    }
    if (edited.length === 0) break;
    if (round === maxRereads) {
      rejected.push(
        ...edited.map(({ id }) => ({
          id,
          code: 'CHANGED_WHILE_READ',
          message: 'The record was changed each time it was read',
        })),
      );
      break;
    }
    const again = await scanIds(suiteql, plans.plan, listIds(edited), signal);
    rejected.push(...again.rejected);
    remaining = again.records;
    read = await readLinesIsolating(suiteql, plans, listIds(remaining), liftLimits(limits), signal);
  }
  return { records: headers.flatMap(({ id }) => records.get(id) ?? []), rejected };
}

/** Modification times by record id. Null: the record was deleted, or can no longer be read. */
type Modified = ReadonlyMap<string, { readonly at: string | null } | null>;
const noneQueried: Modified = new Map();

async function queryModified(
  suiteql: Suiteql,
  plan: ReadPlan,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Modified> {
  const columns = plan.columns.filter(({ name }) => name === 'id' || name === plan.modifiedField);
  const { records } = await scanIds(suiteql, { ...plan, columns }, ids, signal);
  return new Map([
    ...ids.map((id) => [id, null] as const),
    ...records.map(({ id, modifiedAt }) => [id, { at: modifiedAt }] as const),
  ]);
}

/** `current` is undefined where it was not queried. */
const isEdited = (
  header: ScannedRecord,
  set: LineSet | undefined,
  current: { readonly at: string | null } | null | undefined,
): boolean =>
  current === null ||
  (current !== undefined && current.at !== header.modifiedAt) ||
  (set?.parentModified.some((modified) => modified !== header.modifiedAt) ?? false);

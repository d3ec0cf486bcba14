// Reads all lines of a page of records, in as many queries as necessary, and sorts them into line order. A
// record's lines are returned only when all of them were read. While NetSuite works on one query, the rows of
// the previous one are processed.
import type { ErpError } from '../../connector.ts';
import type { SourceLine } from '../../source-records.ts';
import { erpError, inconsistentResponse, rethrowHiddenLines } from '../requests/errors.ts';
import { maxRowsPerQuery, type Suiteql, type SuiteqlResult, type SuiteqlRow } from '../requests/suiteql.ts';
import { queriedColumns } from '../types/display-fields.ts';
import { type LineCursor, linesQuery, parentKey, parentModifiedKey } from '../types/queries.ts';
import type { LinesPlan, ReadPlan } from '../types/read-plan.ts';
import { compareIds, isIdText } from '../types/values.ts';
import { addEntryNames } from './entry-names.ts';
import { createLineParser } from './rows.ts';

export type LineSet = {
  readonly lines: readonly SourceLine[];
  /** The first problem with a line; null when all are readable. */
  readonly problem: string | null;
  /** The record's modification times in the queries for its lines: one, unless it changed in between. */
  readonly parentModified: readonly string[];
};
export type LineSets = {
  /** By record id; records without lines are absent. */
  readonly sets: ReadonlyMap<string, LineSet>;
  /** How many of the records, from the first on, are complete: all, unless a limit was reached. */
  readonly completeCount: number;
  /** Ids of the records whose lines came in more than one response. */
  readonly spanning: ReadonlySet<string>;
  /** The length of the responses. */
  readonly characters: number;
};
/** Once `maxLines` or `maxCharacters` were read, no further records are started. */
export type LineLimits = {
  readonly maxLines: number;
  readonly maxCharacters: number;
  readonly maxRecordCharacters: number;
};

/** How many lines a query should find: somewhat fewer than fit into one response. */
export const targetLinesPerQuery = 800;
export const firstChunkSize = 40;

/**
 * `ids` must ascend. The records are queried in chunks whose lines are likely to fit into one response, by
 * the average so far, because each further page of one query makes the ERP find all of its lines again.
 * Rejects with `ErpError`, also for lines that were not requested or are out of order, and with
 * `ANSWER_TOO_LARGE` where those of one record are larger than `maxRecordCharacters`, or when aborted.
 */
export async function readLinesOfRecords(
  suiteql: Suiteql,
  { plan, lines }: { plan: ReadPlan; lines: LinesPlan },
  ids: readonly string[],
  { maxLines, maxCharacters, maxRecordCharacters }: LineLimits,
  signal: AbortSignal,
): Promise<LineSets> {
  const kept = new Map<string, PartialLineSet>();
  const readLine = createLineParser(lines.columns);
  const columns = queriedColumns(lines.columns);
  let chunk: Chunk | null = { begin: 0, end: Math.min(firstChunkSize, ids.length), after: null };
  const spanning = new Set<string>();
  let count = 0;
  let characters = 0;
  let recordCharacters = 0;
  const query = (chunk: Chunk) => queryLines(suiteql, plan, { ...lines, columns }, ids, chunk, signal);
  let pending = ids.length === 0 ? null : query(chunk);
  let done = 0;
  while (pending !== null && chunk !== null) {
    const current: Chunk = chunk;
    const page = await pending;
    const { rows, last } = takeOrderedLines(page, current, ids, lines.definition);
    count += rows.length;
    characters += page.characters;
    if (last !== null) spanning.add(last.parent);
    const before = done;
    done = last === null ? current.end : ids.indexOf(last.parent, current.begin);
    recordCharacters = done === before ? recordCharacters + page.characters : page.characters;
    if (last !== null && recordCharacters > maxRecordCharacters)
      throw tooManyLines(last.parent, recordCharacters);
    const isEnough = done > 0 && (count >= maxLines || characters >= maxCharacters);
    chunk = last === null ? nextChunk(current.end, ids.length, count) : { ...current, after: last };
    pending = isEnough || chunk === null ? null : query(chunk);
    pending?.catch(() => undefined); // if this round throws first
    for (const row of await addEntryNames(suiteql, columns, rows, signal)) addLine(kept, row, readLine);
  }
  return {
    sets: new Map(ids.slice(0, done).flatMap((id) => finishLineSet(kept, id, lines))),
    completeCount: done,
    spanning,
    characters,
  };
}

function queryLines(
  suiteql: Suiteql,
  { definition, modifiedField }: ReadPlan,
  lines: Pick<LinesPlan, 'definition'> & { readonly columns: ReturnType<typeof queriedColumns> },
  ids: readonly string[],
  { begin, end, after }: Chunk,
  signal: AbortSignal,
): Promise<SuiteqlResult> {
  const remaining = ids.slice(begin, end);
  const parents = after === null ? remaining : remaining.filter((id) => compareIds(id, after.parent) >= 0);
  const part = { parents, after, withModified: modifiedField !== null };
  const query = linesQuery(definition, lines.definition, lines.columns, part);
  return suiteql.query(query, maxRowsPerQuery, signal).catch(rethrowHiddenLines);
}

const tooManyLines = (parent: string, characters: number): ErpError =>
  erpError(
    'answer',
    'ANSWER_TOO_LARGE',
    `The lines of the record ${parent} are too large: more than ${characters} characters`,
  );

/** The records from index `begin` to before `end`, from the line behind `after` on. */
type Chunk = { readonly begin: number; readonly end: number; readonly after: LineCursor | null };

function nextChunk(begin: number, total: number, lineCount: number): Chunk | null {
  if (begin >= total) return null;
  const size = Math.max(
    1,
    Math.min(maxRowsPerQuery, Math.floor((targetLinesPerQuery * begin) / Math.max(1, lineCount))),
  );
  return { begin, end: Math.min(begin + size, total), after: null };
}

/**
 * The rows to keep of a response, and the last one's cursor if more follow. Throws `ErpError` unless each row
 * was requested and comes behind the one before it.
 */
function takeOrderedLines(
  page: SuiteqlResult,
  { begin, end, after }: Chunk,
  ids: readonly string[],
  lines: LinesPlan['definition'],
) {
  const cursors: LineCursor[] = [];
  let position = begin;
  let previous = after;
  for (const row of page.rows) {
    const cursor = parseLineCursor(row, lines.key);
    if (previous?.parent !== cursor.parent) {
      const found = ids.indexOf(cursor.parent, position);
      if (found === -1 || found >= end)
        throw inconsistentResponse(
          `A line belongs to the record ${cursor.parent}, which was not requested or is out of order`,
        );
      position = found;
    } else {
      const step = compareIds(cursor.key, previous.key);
      if (step < 0 || (step === 0 && (lines.keyIsUnique || previous === after)))
        throw inconsistentResponse(
          `The line ${cursor.parent}/${cursor.key} comes after ${previous.parent}/${previous.key}`,
        );
    }
    previous = cursor;
    cursors.push(cursor);
  }
  if (!page.hasMore) return { rows: page.rows, last: null };
  const length = lines.keyIsUnique
    ? cursors.length
    : cursors.findLastIndex((cursor) => !isSame(cursor, previous)) + 1;
  const last = cursors[length - 1];
  if (last === undefined)
    throw inconsistentResponse(
      `More than ${maxRowsPerQuery} lines of a record share one key, so they cannot be paginated`,
    );
  return { rows: page.rows.slice(0, length), last };
}

const isSame = (one: LineCursor, other: LineCursor | null): boolean =>
  one.parent === other?.parent && one.key === other.key;

function parseLineCursor(row: SuiteqlRow, keyColumn: string): LineCursor {
  const parent = row[parentKey];
  const key = row[keyColumn];
  if (typeof parent !== 'string' || !isIdText(parent) || typeof key !== 'string' || !isIdText(key))
    throw inconsistentResponse('A line has no id or no record id');
  return { parent, key };
}

type PartialLineSet = {
  readonly lines: SourceLine[];
  problem: string | null;
  readonly parentModified: string[];
};

function addLine(
  sets: Map<string, PartialLineSet>,
  row: SuiteqlRow,
  readLine: ReturnType<typeof createLineParser>,
): void {
  const parent = String(row[parentKey]);
  const set = sets.get(parent) ?? { lines: [], problem: null, parentModified: [] };
  sets.set(parent, set);
  const line = readLine(row);
  if (typeof line === 'string') set.problem ??= `line ${String(row['id'] ?? set.lines.length + 1)}: ${line}`;
  else set.lines.push(line);
  const modified = row[parentModifiedKey];
  if (typeof modified === 'string' && !set.parentModified.includes(modified))
    set.parentModified.push(modified);
}

function finishLineSet(
  sets: ReadonlyMap<string, PartialLineSet>,
  id: string,
  { definition }: LinesPlan,
): [string, LineSet][] {
  const set = sets.get(id);
  if (set === undefined) return [];
  return [
    [
      id,
      {
        ...set,
        lines: set.lines.toSorted(
          definition.keyIsUnique ? byLineNumber(definition.key) : byContent(definition.key),
        ),
      },
    ],
  ];
}

/** By line number; lines without one come last, by key. */
const byLineNumber = (key: string) => {
  const position = (line: SourceLine) => Number(line['linesequencenumber'] ?? Number.MAX_SAFE_INTEGER);
  return (one: SourceLine, other: SourceLine): number =>
    position(one) - position(other) || Number(one[key]) - Number(other[key]);
};

/** The same order for the same lines, whatever order they came in. */
const byContent =
  (key: string) =>
  (one: SourceLine, other: SourceLine): number =>
    compareIds(one[key] ?? '0', other[key] ?? '0') || (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);

// Reads all lines of a page of records, in as many queries as it takes, and puts them in line order. A record's lines are given
// back only when the last of them is there. While NetSuite works on one answer, the one before is put together.
import type { SourceLine } from '../connector.ts';
import { inconsistent } from './errors.ts';
import { type LineCursor, linesQuery, parentKey, parentModifiedKey } from './queries.ts';
import type { LinesPlan, ReadPlan } from './read-plan.ts';
import { lineReader } from './rows.ts';
import { largestPage, type Row, type Rows, type Suiteql } from './suiteql.ts';
import { compareIds, isIdText } from './values.ts';

export type LineSet = {
  readonly lines: readonly SourceLine[];
  /** The first thing wrong with a line; null when all are readable. */
  readonly problem: string | null;
  /** When the record was last changed, as its lines' queries saw it: one value unless it changed between two of them. */
  readonly parentModified: readonly string[];
};
export type LineSets = {
  /** By record; records without lines are absent. */
  readonly sets: ReadonlyMap<string, LineSet>;
  /** How many of the records, from the first on, are complete: all, unless `mostLines` were reached. */
  readonly done: number;
  /** Those whose lines went over the end of an answer. */
  readonly cut: ReadonlySet<string>;
};

/** How many lines a question should find: a little less than fit into one answer. */
const wantedLines = 800;
const firstChunk = 40;

/**
 * `ids` ascend. The records are asked for in chunks whose lines are likely to fit into one answer, by the average so far: each
 * further answer to one question costs the ERP another look at all of its lines. From `mostLines` on no more records are begun.
 */
export async function readLines(
  suiteql: Suiteql,
  { plan, lines }: { plan: ReadPlan; lines: LinesPlan },
  ids: readonly string[],
  mostLines: number | null,
  signal: AbortSignal,
): Promise<LineSets> {
  const { definition, hasModified } = plan;
  const kept = new Map<string, OpenSet>();
  const readLine = lineReader(lines.columns);
  let chunk: Chunk | null = { begin: 0, end: Math.min(firstChunk, ids.length), after: null };
  const cut = new Set<string>();
  let count = 0;
  const ask = ({ begin, end, after }: Chunk): Promise<Rows> => {
    const open = ids.slice(begin, end);
    const parents = after === null ? open : open.filter((id) => compareIds(id, after.parent) >= 0);
    return suiteql.ask(
      linesQuery(definition, lines.definition, lines.columns, { parents, after, withModified: hasModified }),
      largestPage,
      signal,
    );
  };
  let answer = ids.length === 0 ? null : ask(chunk);
  let done = 0;
  while (answer !== null && chunk !== null) {
    const current: Chunk = chunk;
    const page: Rows = await answer;
    const { rows, last } = checkLines(page, current, ids, lines.definition);
    count += rows.length;
    if (last !== null) cut.add(last.parent);
    done = last === null ? current.end : ids.indexOf(last.parent, current.begin);
    const isEnough = mostLines !== null && count >= mostLines && done > 0;
    chunk = last === null ? nextChunk(current.end, ids.length, count) : { ...current, after: last };
    answer = isEnough || chunk === null ? null : ask(chunk);
    answer?.catch(() => undefined); // heard where the loop begins anew; should this round fail first, it must not go unheard
    for (const row of rows) addLine(kept, row, readLine);
  }
  return { sets: new Map(ids.slice(0, done).flatMap((id) => setOf(kept, id, lines))), done, cut };
}

/** The records from `begin` to before `end`, behind a line of one of them. */
type Chunk = { readonly begin: number; readonly end: number; readonly after: LineCursor | null };

function nextChunk(begin: number, total: number, lineCount: number): Chunk | null {
  if (begin >= total) return null;
  const size = Math.max(1, Math.min(largestPage, Math.floor((wantedLines * begin) / Math.max(1, lineCount))));
  return { begin, end: Math.min(begin + size, total), after: null };
}

/** The rows, once it is sure that each was asked for and lies behind the one before; `last` when there are more behind it. */
function checkLines(page: Rows, { begin, end, after }: Chunk, ids: readonly string[], lines: LinesPlan['definition']) {
  const cursors: LineCursor[] = [];
  let position = begin;
  let previous = after;
  for (const row of page.rows) {
    const cursor = cursorOf(row, lines.key);
    if (previous?.parent !== cursor.parent) {
      const found = ids.indexOf(cursor.parent, position);
      if (found === -1 || found >= end) throw inconsistent(`A line belongs to ${cursor.parent}, which was not asked for or comes too late`);
      position = found;
    } else {
      const step = compareIds(cursor.key, previous.key);
      if (step < 0 || (step === 0 && (lines.keyIsUnique || previous === after)))
        throw inconsistent(`The line ${cursor.parent}/${cursor.key} comes after ${previous.parent}/${previous.key}`);
    }
    previous = cursor;
    cursors.push(cursor);
  }
  if (!page.hasMore) return { rows: page.rows, last: null };
  const length = lines.keyIsUnique ? cursors.length : cursors.findLastIndex((cursor) => !isSame(cursor, previous)) + 1;
  const last = cursors[length - 1];
  if (last === undefined) throw inconsistent(`More than ${largestPage} lines can not be told apart`);
  return { rows: page.rows.slice(0, length), last };
}

const isSame = (one: LineCursor, other: LineCursor | null): boolean => one.parent === other?.parent && one.key === other.key;

function cursorOf(row: Row, keyColumn: string): LineCursor {
  const parent = row[parentKey];
  const key = row[keyColumn];
  if (typeof parent !== 'string' || !isIdText(parent) || typeof key !== 'string' || !isIdText(key))
    throw inconsistent('A line has no id, or none of its record');
  return { parent, key };
}

type OpenSet = { readonly lines: SourceLine[]; problem: string | null; readonly parentModified: string[] };

function addLine(sets: Map<string, OpenSet>, row: Row, readLine: ReturnType<typeof lineReader>): void {
  const parent = String(row[parentKey]);
  const set = sets.get(parent) ?? { lines: [], problem: null, parentModified: [] };
  sets.set(parent, set);
  const line = readLine(row);
  if (typeof line === 'string') set.problem ??= `line ${String(row['id'] ?? set.lines.length + 1)}: ${line}`;
  else set.lines.push(line);
  const modified = row[parentModifiedKey];
  if (typeof modified === 'string' && !set.parentModified.includes(modified)) set.parentModified.push(modified);
}

function setOf(sets: ReadonlyMap<string, OpenSet>, id: string, { definition }: LinesPlan): [string, LineSet][] {
  const set = sets.get(id);
  if (set === undefined) return [];
  return [[id, { ...set, lines: set.lines.toSorted(definition.keyIsUnique ? byLineNumber : byContent(definition.key)) }]];
}

/** By line number; lines without one come last, by id. */
function byLineNumber(one: SourceLine, other: SourceLine): number {
  const position = (line: SourceLine): number => Number(line['linesequencenumber'] ?? Number.MAX_SAFE_INTEGER);
  return position(one) - position(other) || Number(one['id']) - Number(other['id']);
}

/** Always the same order for the same lines, whatever order they came in. */
const byContent =
  (key: string) =>
  (one: SourceLine, other: SourceLine): number =>
    compareIds(one[key] ?? '0', other[key] ?? '0') || (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);

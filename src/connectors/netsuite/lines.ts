// Reads all lines of a page of records, in as many queries as it takes, and puts them in line order. Nothing is given back
// before the last line is there.
import type { SourceLine, SourceValue } from '../connector.ts';
import { inconsistent } from './errors.ts';
import { type Column, type LineCursor, linesQuery, parentKey, parentModifiedKey } from './queries.ts';
import type { ReadPlan } from './read-plan.ts';
import { readColumns } from './rows.ts';
import { largestPage, type Row, type Suiteql } from './suiteql.ts';
import { isIdText } from './values.ts';

export type LineSet = {
  readonly lines: readonly SourceLine[];
  /** The first thing wrong with a line; null when all are readable. */
  readonly problem: string | null;
  /** When the record was last changed, as its lines' queries saw it: one value unless it changed between two of them. */
  readonly parentModified: readonly (string | null)[];
};

/** How many lines a question should find: a little less than fit into one answer. */
const wantedLines = 800;
const firstChunk = 40;

/**
 * Records without lines are absent from the answer. The records are asked for in chunks whose lines are likely to fit into
 * one answer, by the average so far: each further answer to one question costs the ERP another look at all of its lines.
 */
export async function readLines(
  suiteql: Suiteql,
  plan: ReadPlan,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, LineSet>> {
  const sets = new Map<string, LineSet>();
  let lineCount = 0;
  let chunk = firstChunk;
  for (let done = 0; done < ids.length; ) {
    const asked = ids.slice(done, done + chunk);
    done += asked.length;
    const rowsByParent = await readChunk(suiteql, plan, asked, signal);
    for (const [id, rows] of rowsByParent) {
      lineCount += rows.length;
      sets.set(id, assemble(rows, plan.lines ?? []));
    }
    chunk = Math.max(1, Math.min(largestPage, Math.floor((wantedLines * done) / Math.max(1, lineCount))));
  }
  return sets;
}

/** All lines of these records, by record, in as many answers as it takes. */
async function readChunk(
  suiteql: Suiteql,
  { definition, lines, hasModified }: ReadPlan,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Row[]>> {
  const rowsByParent = new Map<string, Row[]>();
  if (definition.lines === null || lines === null) return rowsByParent;
  const parents = new Set(ids);
  let after: LineCursor | null = null;
  for (let hasMore = true; hasMore; ) {
    const query = linesQuery(definition, definition.lines, lines, { parents: [...parents], after, withModified: hasModified });
    const page = await suiteql.ask(query, largestPage, signal);
    for (const row of page.rows) {
      const next: LineCursor = advance(after, row, parents);
      if (after !== null && next.parent !== after.parent) parents.delete(after.parent); // complete, as lines come record by record
      const rows = rowsByParent.get(next.parent) ?? [];
      rows.push(row);
      rowsByParent.set(next.parent, rows);
      after = next;
    }
    hasMore = page.hasMore;
  }
  return rowsByParent;
}

/** The cursor on this row, once it is sure that the row is one that was asked for and lies behind the one before. */
function advance(before: LineCursor | null, row: Row, parents: ReadonlySet<string>): LineCursor {
  const parent = row.get(parentKey);
  const id = row.get('id');
  if (typeof parent !== 'string' || !isIdText(parent) || typeof id !== 'string' || !isIdText(id))
    throw inconsistent('A line has no id, or none of its record');
  if (!parents.has(parent)) throw inconsistent(`A line belongs to ${parent}, which was not asked for`);
  if (before !== null) {
    const step = BigInt(parent) - BigInt(before.parent);
    if (step < 0n || (step === 0n && BigInt(id) <= BigInt(before.id)))
      throw inconsistent(`The line ${parent}/${id} comes after ${before.parent}/${before.id}`);
  }
  return { parent, id };
}

function assemble(rows: readonly Row[], columns: readonly Column[]): LineSet {
  const lines: SourceLine[] = [];
  let problem: string | null = null;
  for (const row of rows) {
    const read = readColumns(row, columns);
    if ('problem' in read) problem ??= `line ${String(row.get('id'))}: ${read.problem}`;
    else lines.push(withLabels(read.values, read.labels, columns));
  }
  const parentModified = new Set(rows.map((row) => row.get(parentModifiedKey)).filter((value) => typeof value === 'string'));
  return { lines: lines.toSorted(byLineOrder), problem, parentModified: [...parentModified] };
}

/** A reference's label stands right behind it, as `<field>.name`. */
function withLabels(
  values: Readonly<Record<string, SourceValue>>,
  labels: Readonly<Record<string, SourceValue>>,
  columns: readonly Column[],
): SourceLine {
  const line: Record<string, SourceValue> = {};
  for (const { name } of columns) {
    line[name] = values[name] ?? null;
    if (name in labels) line[`${name}.name`] = labels[name] ?? null;
  }
  return line;
}

/** By line number; lines without one come last, by id. */
function byLineOrder(one: SourceLine, other: SourceLine): number {
  const position = (line: SourceLine): number => Number(line['linesequencenumber'] ?? Number.MAX_SAFE_INTEGER);
  return position(one) - position(other) || Number(one['id']) - Number(other['id']);
}

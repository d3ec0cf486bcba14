// From the rows of an answer to values, strictly: order and presence of ids are rules of the answer, everything else is the
// business of a single row. Lines come by the hundred thousand, so they are made in one pass and in one shape.
import { hasLabel, type SourceLine, type SourceValue } from '../connector.ts';
import { inconsistent } from './errors.ts';
import { type Column, labelKey, type Selection } from './queries.ts';
import type { Row } from './suiteql.ts';
import { compareIds, isIdText, parseValue, problemOf } from './values.ts';

/** Ids must be there, ascend, lie after the cursor and be among those asked for. One that is given twice is its own problem. */
export function checkOrder(rows: readonly Row[], { afterId = null, ids }: Selection): void {
  const asked = ids === undefined ? null : new Set(ids);
  let previous = afterId;
  for (const row of rows) {
    const id = row['id'];
    if (id === undefined || id === null || id === '') throw inconsistent('A row has no id');
    if (typeof id !== 'string' || !isIdText(id)) continue; // rejected by whoever reads the row
    const step = previous === null ? 1 : compareIds(id, previous);
    if (step < 0 || (step === 0 && previous === afterId)) throw inconsistent(`The id ${id} comes after ${previous}`);
    if (asked?.has(id) === false) throw inconsistent(`The id ${id} was not asked for`);
    previous = id;
  }
}

type ReadColumns = { readonly values: Record<string, SourceValue>; readonly labels: Record<string, SourceValue> };

/** The row's values and labels by column, or the first thing wrong with them. */
export function readColumns(row: Row, columns: readonly Column[]): ReadColumns | { readonly problem: string } {
  const values: Record<string, SourceValue> = {};
  const labels: Record<string, SourceValue> = {};
  for (const column of columns) {
    const { name, type } = column;
    const value = parseValue(row[name], type);
    if (value === undefined) return { problem: `${name} ${problemOf(row[name], type)}` };
    values[name] = value;
    if (!hasLabel(column)) continue;
    const raw = row[labelKey(name)];
    const label = parseValue(raw, 'text');
    if (label === undefined) return { problem: `the label of ${name} ${problemOf(raw, 'text')}` };
    labels[name] = label;
  }
  return { values, labels };
}

type Cell = { readonly from: string; readonly to: string; readonly type: Column['type']; readonly words: string };

const cellsOf = (column: Column): Cell[] => {
  const { name, type } = column;
  const value = { from: name, to: name, type, words: name };
  return hasLabel(column) ? [value, { from: labelKey(name), to: `${name}.name`, type: 'text', words: `the label of ${name}` }] : [value];
};

/** Gives a row's line, in the order of the columns and with each label right behind its value, or what is wrong with it in words. */
export function lineReader(columns: readonly Column[]): (row: Row) => SourceLine | string {
  const cells = columns.flatMap(cellsOf);
  const empty: SourceLine = Object.fromEntries(cells.map(({ to }) => [to, null]));
  return (row) => {
    const line: Record<string, SourceValue> = { ...empty };
    for (const { from, to, type, words } of cells) {
      const raw = row[from];
      if (raw === undefined) continue;
      const value = parseValue(raw, type);
      if (value === undefined) return `${words} ${problemOf(raw, type)}`;
      line[to] = value;
    }
    return line;
  };
}

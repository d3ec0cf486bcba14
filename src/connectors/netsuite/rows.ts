// Converts the rows of a response to values, strictly. Ids that are missing or out of order discredit the whole response; any other problem
// concerns a single row. Lines come by the hundred thousand, so they are built in one pass and with one object shape.
import { hasLabel, type SourceLine, type SourceValue } from '../connector.ts';
import { inconsistentResponse } from './errors.ts';
import { labelKey, type RecordSelection, type SuiteqlColumn } from './queries.ts';
import type { SuiteqlRow } from './suiteql.ts';
import { compareIds, describeValueProblem, isIdText, parseValue } from './values.ts';

/**
 * Throws `ErpError` of kind `answer` unless every row has an id, ids ascend from behind the cursor, and each was requested. Ids that occur
 * twice or aren't integers pass: the rows are rejected one by one.
 */
export function assertIdOrder(rows: readonly SuiteqlRow[], { afterId = null, ids }: RecordSelection): void {
  const requested = ids === undefined ? null : new Set(ids);
  let previous = afterId;
  for (const row of rows) {
    const id = row['id'];
    if (id === undefined || id === null || id === '') throw inconsistentResponse('A row has no id');
    if (typeof id !== 'string' || !isIdText(id)) continue; // rejected when the row is parsed
    const step = previous === null ? 1 : compareIds(id, previous);
    if (step < 0 || (step === 0 && previous === afterId)) throw inconsistentResponse(`The id ${id} comes after ${previous}`);
    if (requested?.has(id) === false) throw inconsistentResponse(`The id ${id} was not requested`);
    previous = id;
  }
}

type ParsedColumns = { readonly values: Record<string, SourceValue>; readonly labels: Record<string, SourceValue> };

/** The row's values and labels by column, or the first problem with them. */
export function parseColumns(row: SuiteqlRow, columns: readonly SuiteqlColumn[]): ParsedColumns | { readonly problem: string } {
  const values: Record<string, SourceValue> = {};
  const labels: Record<string, SourceValue> = {};
  for (const column of columns) {
    const { name, type } = column;
    const value = parseValue(row[name], type);
    if (value === undefined) return { problem: `${name} ${describeValueProblem(row[name], type)}` };
    values[name] = value;
    if (!hasLabel(column)) continue;
    const raw = row[labelKey(name)];
    const label = parseValue(raw, 'text');
    if (label === undefined) return { problem: `the label of ${name} ${describeValueProblem(raw, 'text')}` };
    labels[name] = label;
  }
  return { values, labels };
}

type Cell = { readonly from: string; readonly to: string; readonly type: SuiteqlColumn['type']; readonly title: string };

const cellsOf = (column: SuiteqlColumn): Cell[] => {
  const { name, type } = column;
  const value = { from: name, to: name, type, title: name };
  return hasLabel(column) ? [value, { from: labelKey(name), to: `${name}.name`, type: 'text', title: `the label of ${name}` }] : [value];
};

/**
 * Creates a function from a row to its line, whose keys are in the order of the columns, with each label right behind its value. The
 * function returns a text with the first problem where a value can't be parsed.
 */
export function createLineParser(columns: readonly SuiteqlColumn[]): (row: SuiteqlRow) => SourceLine | string {
  const cells = columns.flatMap(cellsOf);
  const empty: SourceLine = Object.fromEntries(cells.map(({ to }) => [to, null]));
  return (row) => {
    const line: Record<string, SourceValue> = { ...empty };
    for (const { from, to, type, title } of cells) {
      const raw = row[from];
      if (raw === undefined) continue;
      const value = parseValue(raw, type);
      if (value === undefined) return `${title} ${describeValueProblem(raw, type)}`;
      line[to] = value;
    }
    return line;
  };
}

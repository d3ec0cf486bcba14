// Converts the rows of a response to values, strictly. Ids that are missing or out of order discredit the
// whole response; any other problem concerns a single row. Lines come by the hundred thousand, so they are
// built in one pass and with one object shape.
import { hasLabel } from '../../connector.ts';
import {
  idsKey,
  namesKey,
  type SourceLine,
  type SourceRecord,
  type SourceValue,
} from '../../source-records.ts';
import { inconsistentResponse } from '../requests/errors.ts';
import type { SuiteqlRow } from '../requests/suiteql.ts';
import type { ReadColumn } from '../types/display-fields.ts';
import {
  entryNamesKey,
  labelKey,
  type RecordSelection,
  type SuiteqlColumn,
  valueKey,
} from '../types/queries.ts';
import { chosenIds, compareIds, describeValueProblem, isIdText, parseValue } from '../types/values.ts';

/**
 * Throws `ErpError` of kind `answer` unless every row has an id, ids ascend from behind the cursor, and each
 * was requested. Ids that occur twice or aren't integers pass: the rows are rejected one by one.
 */
export function assertIdOrder(rows: readonly SuiteqlRow[], { afterId = null, ids }: RecordSelection): void {
  const requested = ids === undefined ? null : new Set(ids);
  let previous = afterId;
  for (const row of rows) {
    const id = row['id'];
    if (id === undefined || id === null || id === '') throw inconsistentResponse('A row has no id');
    if (typeof id !== 'string' || !isIdText(id)) continue; // rejected when the row is parsed
    const step = previous === null ? 1 : compareIds(id, previous);
    if (step < 0 || (step === 0 && previous === afterId))
      throw inconsistentResponse(`The id ${id} comes after ${previous}`);
    if (requested?.has(id) === false) throw inconsistentResponse(`The id ${id} was not requested`);
    previous = id;
  }
}

type ParsedColumns = Pick<SourceRecord, 'values' | 'labels' | 'lists'>;

/**
 * Creates a function from a row to its values and labels by column, or to the first problem with them and the
 * values that can be read.
 */
export function createHeaderParser(
  columns: readonly ReadColumn[],
): (row: SuiteqlRow) => ParsedColumns | (Pick<ParsedColumns, 'values'> & { readonly problem: string }) {
  const cells = columns.flatMap((column) =>
    toCells(column).map((cell) => ({ ...cell, column: column.name })),
  );
  const hasLists = cells.some(({ part }) => part === 'list');
  return (row) => {
    const values: Record<string, SourceValue> = {};
    const labels: Record<string, SourceValue> = {};
    const lists: Record<string, SourceValue> = {};
    let problem: string | undefined;
    for (const cell of cells) {
      const value = parseCell(row[cell.from], cell);
      if (value === undefined) problem ??= describeCellProblem(row[cell.from], cell);
      else if (cell.part === 'label') labels[cell.column] = value;
      else if (cell.part === 'list') lists[cell.to] = value;
      else values[cell.column] = value;
    }
    return problem === undefined ? { values, labels, ...(hasLists && { lists }) } : { problem, values };
  };
}

type Cell = {
  readonly from: string;
  readonly to: string;
  readonly type: SuiteqlColumn['type'];
  readonly title: string;
  readonly part: 'value' | 'label' | 'list';
  readonly derive: ((text: string) => SourceValue) | undefined;
};

const valueCell = ({ name, type }: SuiteqlColumn): Cell => ({
  from: valueKey(name),
  to: name,
  type,
  title: name,
  part: 'value',
  derive: undefined,
});
const labelCell = ({ name }: SuiteqlColumn): Cell => ({
  from: labelKey(name),
  to: `${name}.name`,
  type: 'text',
  title: `the label of ${name}`,
  part: 'label',
  derive: undefined,
});
/** Ids are integers in JSON, as NetSuite writes them. */
const entryCells = ({ name }: SuiteqlColumn): Cell[] => [
  {
    ...valueCell({ name, type: 'multiselect' }),
    to: idsKey(name),
    part: 'list',
    derive: (text) => `[${chosenIds(text)?.join() ?? ''}]`,
  },
  { ...valueCell({ name, type: 'text' }), from: entryNamesKey(name), to: namesKey(name), part: 'list' },
];

function toCells(column: ReadColumn): Cell[] {
  const { name, derived } = column;
  const entries = column.type === 'multiselect' ? entryCells(column) : [];
  if (derived === undefined)
    return hasLabel(column) ? [valueCell(column), labelCell(column), ...entries] : [valueCell(column)];
  const source = derived.part === 'label' ? labelCell(derived.source) : valueCell(derived.source);
  return [{ ...source, to: name, part: 'value', derive: derived.derive }];
}

/** Undefined for what isn't a value of the cell's type. */
function parseCell(raw: unknown, { type, derive }: Cell): SourceValue | undefined {
  const value = parseValue(raw, type);
  return typeof value === 'string' && derive !== undefined ? derive(value) : value;
}

const describeCellProblem = (raw: unknown, { title, type }: Cell): string =>
  `${title} ${describeValueProblem(raw, type)}`;

/**
 * Creates a function from a row to its line, whose keys are in the order of the columns, with each label
 * right behind its value. The function returns a text with the first problem where a value can't be parsed.
 */
export function createLineParser(columns: readonly ReadColumn[]): (row: SuiteqlRow) => SourceLine | string {
  const cells = columns.flatMap(toCells);
  const empty: SourceLine = Object.fromEntries(cells.map(({ to }) => [to, null]));
  return (row) => {
    const line: Record<string, SourceValue> = { ...empty };
    for (const cell of cells) {
      const raw = row[cell.from];
      if (raw === undefined) continue;
      const value = parseCell(raw, cell);
      if (value === undefined) return describeCellProblem(raw, cell);
      line[cell.to] = value;
    }
    return line;
  };
}

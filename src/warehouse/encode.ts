// Turns a record of the ERP into the cells of its row, exactly: no value passes through a binary float. Also draws the hash of
// its content, by which an unchanged record is recognized and left alone.
import { hash as digest } from 'node:crypto';
import type { SourceLine, SourceRecord, SourceValue } from '../connectors/connector.ts';
import type { ColumnType, LineField, RecordColumn } from './columns.ts';

export type EncodedRecord = { readonly id: string; readonly hash: Buffer; readonly cells: readonly (string | null)[] };

/** Digits as they are: JSON allows a number any length, but no zeros in front. */
function jsonValue(value: string, type: LineField['type']): string {
  if (type === 'integer') return BigInt(value).toString();
  return type === 'number' || type === 'boolean' ? value : JSON.stringify(value);
}

function lineCell(line: SourceLine, fields: readonly LineField[]): string {
  const members: string[] = [];
  for (const { name, type } of fields) {
    const value = line[name] ?? null;
    if (value === null) continue;
    members.push(`${JSON.stringify(name)}:${jsonValue(value, type)}`);
  }
  return `{${members.join()}}`;
}

const linesCell = (lines: readonly SourceLine[], fields: readonly LineField[]): string =>
  `[${lines.map((line) => lineCell(line, fields)).join()}]`;

function cellOf(record: SourceRecord, column: RecordColumn): SourceValue {
  if (column.part === 'lines') return record.lines === null ? null : linesCell(record.lines, column.lineFields ?? []);
  const value = (column.part === 'label' ? record.labels[column.field] : record.values[column.field]) ?? null;
  return column.state === 'replaced' ? convertible(value, column.type) : value;
}

const isDay = (text: string): boolean => {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
};
const forms: Readonly<Record<ColumnType, (text: string) => boolean>> = {
  text: () => true,
  number: (text) => /^-?\d{1,40}(\.\d{1,40})?$/.test(text),
  integer: (text) => /^-?\d{1,18}$/.test(text),
  boolean: (text) => text === 'true' || text === 'false',
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && text > '0001' && isDay(text),
  time: (text) => /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/.test(text) && text > '0001' && isDay(text.slice(0, 10)),
  lines: () => false,
};
/** A column of a former type takes what can be told in that type without loss, and nothing else. */
const convertible = (value: SourceValue, type: ColumnType): SourceValue => (value !== null && forms[type](value) ? value : null);

/** Which cells make the content, in the order of their columns' names; a replaced column repeats what the one in its place says. */
type Content = { readonly index: number; readonly pair: [name: string, cell: string] };
const contentOf = (columns: readonly RecordColumn[]): readonly Content[] =>
  columns
    .flatMap(({ column, state }, index): Content[] => (state === 'replaced' ? [] : [{ index, pair: [column, ''] }]))
    .sort(({ pair: [a] }, { pair: [b] }) => (a < b ? -1 : 1));
/** A run hands over the same columns with each of its records; the pairs are filled anew for each, and leave nothing to collect. */
const contents = new WeakMap<readonly RecordColumn[], readonly Content[]>();
function contentCells(columns: readonly RecordColumn[]): readonly Content[] {
  const known = contents.get(columns);
  if (known !== undefined) return known;
  const made = contentOf(columns);
  contents.set(columns, made);
  return made;
}

/** Empty cells are left out of the hash, so that a new column rewrites only the records that fill it. */
export function encodeRecord(record: SourceRecord, columns: readonly RecordColumn[]): EncodedRecord {
  const cells = columns.map((column) => cellOf(record, column));
  const content: Content['pair'][] = [];
  for (const { index, pair } of contentCells(columns)) {
    const cell = cells[index] ?? null;
    if (cell === null) continue;
    pair[1] = cell;
    content.push(pair);
  }
  return { id: record.id, hash: digest('sha256', JSON.stringify(content), 'buffer').subarray(0, 16), cells };
}

const special: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

const isSpecial = /[\\\t\n\r]/;

/** One cell in the text format of COPY. */
export const copyCell = (cell: string | null): string =>
  cell === null ? '\\N' : isSpecial.test(cell) ? cell.replaceAll(/[\\\t\n\r]/g, (found) => special[found] ?? found) : cell;

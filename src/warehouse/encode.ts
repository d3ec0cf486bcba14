// Turns a record of the ERP into the cells of its row, exactly: no value passes through a binary float. Also draws the hash of
// its content, by which an unchanged record is recognized and left alone.
import { hash as digest } from 'node:crypto';
import type { SourceLine, SourceRecord, SourceValue } from '../connectors/connector.ts';
import type { ColumnType, LineField, RecordColumn } from './columns.ts';

export type EncodedRecord = { readonly id: string; readonly hash: Buffer; readonly cells: readonly (string | null)[] };

/** A field may be called `constructor`: what every object has by that name is no value of it. */
const textOf = (value: unknown): SourceValue => (typeof value === 'string' ? value : null);

/** Digits as they are: JSON allows a number any length, but no zeros in front. */
function jsonValue(value: string, type: LineField['type']): string {
  if (type === 'integer') return BigInt(value).toString();
  return type === 'number' || type === 'boolean' ? value : JSON.stringify(value);
}

function lineCell(line: SourceLine, fields: readonly LineField[]): string {
  const members: string[] = [];
  for (const { name, type } of fields) {
    const value = textOf(line[name]);
    if (value === null) continue;
    members.push(`${JSON.stringify(name)}:${jsonValue(value, type)}`);
  }
  return `{${members.join()}}`;
}

const linesCell = (lines: readonly SourceLine[], fields: readonly LineField[]): string =>
  `[${lines.map((line) => lineCell(line, fields)).join()}]`;

function cellOf(record: SourceRecord, column: RecordColumn): SourceValue {
  if (column.part === 'lines') return record.lines === null ? null : linesCell(record.lines, column.lineFields ?? []);
  const value = textOf((column.part === 'label' ? record.labels : record.values)[column.field]);
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

/** PostgreSQL would take some of what these refuse: `NaN`, `now`, `1e400`, and half of a character as another one. */
const sound: Readonly<Record<Exclude<ColumnType, 'lines'>, (text: string) => boolean>> = {
  text: (text) => text.isWellFormed() && !text.includes('\0'),
  number: (text) => /^-?\d{1,400}(?:\.\d{1,400})?$/.test(text),
  integer: forms.integer,
  boolean: forms.boolean,
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text),
  time: (text) => /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(text),
};
const problems: Readonly<Record<Exclude<ColumnType, 'lines'>, string>> = {
  text: 'holds a character that can not be stored',
  number: 'is not a number in plain digits',
  integer: 'is not an integer of at most 18 digits',
  boolean: 'is neither true nor false',
  date: 'is not a date',
  time: 'is not a time in UTC',
};

function problemOf(value: unknown, type: Exclude<ColumnType, 'lines'>): string | null {
  if (value === null || value === undefined || typeof value === 'function') return null;
  if (typeof value !== 'string') return `is of type ${typeof value} instead of a text`;
  return sound[type](value) ? null : problems[type];
}

function lineProblem(lines: readonly SourceLine[], fields: readonly LineField[]): string | null {
  for (const [index, line] of lines.entries())
    for (const { name, type } of fields) {
      const problem = problemOf(line[name], type);
      if (problem !== null) return `line ${index + 1}: ${name} ${problem}`;
    }
  return null;
}

/** The first value that is not what its field's type says, in words; null when all are. A connector should have found it. */
export function findUnsound({ values, labels, lines }: SourceRecord, columns: readonly RecordColumn[]): string | null {
  for (const { field, part, type, state, lineFields } of columns) {
    const value = part === 'label' ? labels[field] : values[field];
    // By far the most cells end here: this is asked of every value that is ever read.
    if (state === 'replaced' || (type !== 'lines' && typeof value === 'string' && sound[type](value))) continue;
    const problem = type === 'lines' ? lineProblem(lines ?? [], lineFields ?? []) : problemOf(value, type);
    if (problem !== null) return `${part === 'label' ? 'the label of ' : ''}${field} ${problem}`;
  }
  return null;
}

const integerId = /^(?:0|-?[1-9]\d{0,17})$/;
const longestId = 200;
/** In the one way of writing it, so that equal ids are equal texts. */
export const isSoundId = (id: unknown, idType: 'integer' | 'text'): boolean =>
  typeof id === 'string' &&
  (idType === 'integer' ? integerId.test(id) : id !== '' && id.length <= longestId && id.isWellFormed() && !id.includes('\0'));

/** Any text in a form that can be stored and shown, for ids and reasons of what is rejected. */
export const tellable = (text: unknown, most: number): string => String(text).slice(0, most).toWellFormed().replaceAll('\0', '\ufffd');

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

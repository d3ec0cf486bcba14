// Turns a record of the ERP into its row in the text format of COPY, exactly: no value passes through a binary float. Also draws
// the hash of its content, by which an unchanged record is recognized and left alone. By far the most records hold nothing that
// needs a second look: they are joined, and one pattern over the whole row says so; all others go cell by cell.
import { hash as digest } from 'node:crypto';
import type { SourceLine, SourceRecord, SourceValue } from '../connectors/connector.ts';
import type { ColumnType, LineField, RecordColumn } from './columns.ts';
import { type CellType, dayForm, findUnsound, numberForm, timeForm } from './soundness.ts';

/** `hash`: 32 hex digits. `row`: the cells of `rowColumns` as COPY takes them, with `emptyCell` for those without a value. */
export type EncodedRecord = { readonly id: string; readonly hash: string; readonly row: string };

/** No sound text holds it as it is, so that it can't be taken for a value, as `\N` could. */
const empty = '\u0001';
/** The same as an SQL literal, for COPY. */
export const emptyCell = "e'\\x01'";

type Slot = RecordColumn & { readonly lineParts: readonly LinePart[] };
type LinePart = LineField & { readonly head: string };
type Layout = {
  /** What makes the content, by column name; behind it the columns of a former type, which repeat some of it. */
  readonly slots: readonly Slot[];
  readonly contentCount: number;
  /** Of a row in which every cell is sound, and none needs an escape. */
  readonly plain: RegExp;
  /** Filled anew for each record, so that nothing is left to collect. */
  readonly cells: string[];
  /** The names of the columns that are filled, by which ones are not. */
  readonly names: Map<string, string>;
};

const plainText = '[^\\\\\\u0000-\\u001f\\ud800-\\udfff]*';
const plainForms: Readonly<Record<ColumnType, string>> = {
  text: plainText,
  number: numberForm,
  integer: '-?\\d{1,18}',
  boolean: 'true|false',
  date: dayForm,
  time: timeForm,
  lines: plainText,
};

function layOut(columns: readonly RecordColumn[]): Layout {
  const content = columns.filter(({ state }) => state !== 'replaced').sort((a, b) => (a.column < b.column ? -1 : 1));
  const slots = [...content, ...columns.filter(({ state }) => state === 'replaced')].map((column) => ({
    ...column,
    lineParts: (column.lineFields ?? []).map((field) => ({ ...field, head: `${JSON.stringify(field.name)}:` })),
  }));
  const cells = slots.map(({ type, state }) => (state === 'replaced' ? plainText : plainForms[type]));
  const plain = new RegExp(`^${cells.map((form) => `(?:${form}|${empty})`).join('\\t')}$`);
  return { slots, contentCount: content.length, plain, cells: slots.map(() => ''), names: new Map() };
}
/** A run hands over the same columns with each of its records. */
const layouts = new WeakMap<readonly RecordColumn[], Layout>();
function layoutOf(columns: readonly RecordColumn[]): Layout {
  const known = layouts.get(columns);
  if (known !== undefined) return known;
  const made = layOut(columns);
  layouts.set(columns, made);
  return made;
}

/** The names of the columns whose cells make up a row, in their order. */
export const rowColumns = (columns: readonly RecordColumn[]): string[] => layoutOf(columns).slots.map(({ column }) => column);

const patternsKept = 1_000;
function filledNames({ slots, contentCount, names }: Layout, empties: string): string {
  const known = names.get(empties);
  if (known !== undefined) return known;
  const filled = slots.slice(0, contentCount).filter((_, index) => !empties.includes(String.fromCharCode(index)));
  const made = `${filled.map(({ column }) => column).join()}\n`;
  if (names.size === patternsKept) names.clear();
  names.set(empties, made);
  return made;
}

/**
 * Of the filled cells behind the names of their columns, so that a new column rewrites only the records that fill it. Whoever changes
 * this rewrites every record at its next reading. `empties` has the character of each empty cell's index.
 */
function hashOf(layout: Layout, content: string, empties: string): string {
  const filled = empties === '' ? content : `${content}\t`.replaceAll(`${empty}\t`, '').slice(0, -1);
  return digest('sha256', filledNames(layout, empties) + filled, 'hex').slice(0, 32);
}

const isPlainText = /^[^"\\\u0000-\u001f\ud800-\udfff]*$/;
const isNumber = new RegExp(`^${numberForm}$`);
const isShortInteger = /^(?:0|-?[1-9]\d{0,17})$/;
const isDay = new RegExp(`^${dayForm}$`);
const isTime = new RegExp(`^${timeForm}$`);

/** A line's value as JSON; null when it needs a second look. */
function plainMember(value: string, type: CellType): string | null {
  if (type === 'number') return isNumber.test(value) ? value : null;
  if (type === 'integer') return isShortInteger.test(value) ? value : null;
  if (type === 'boolean') return value === 'true' || value === 'false' ? value : null;
  const form = type === 'date' ? isDay : type === 'time' ? isTime : isPlainText;
  return form.test(value) ? `"${value}"` : null;
}

function plainLines(lines: readonly SourceLine[], parts: readonly LinePart[]): string | null {
  let text = '';
  for (const line of lines) {
    let members = '';
    for (const { name, type, head } of parts) {
      const value: unknown = line[name];
      if (value === null || value === undefined || typeof value === 'function') continue;
      const member = typeof value === 'string' ? plainMember(value, type) : null;
      if (member === null) return null;
      members += members === '' ? head + member : `,${head}${member}`;
    }
    text += text === '' ? `{${members}}` : `,{${members}}`;
  }
  return `[${text}]`;
}

/** Undefined: needs a second look. */
function plainCell({ values, labels, lines }: SourceRecord, { part, field, lineParts }: Slot): string | undefined {
  if (part === 'lines') return lines === null ? empty : (plainLines(lines, lineParts) ?? undefined);
  const value: unknown = part === 'label' ? labels[field] : values[field];
  if (typeof value === 'string') return value === empty ? undefined : value;
  return value === null || value === undefined || typeof value === 'function' ? empty : undefined;
}

/** Null when a value needs a second look. */
function encodePlain(record: SourceRecord, layout: Layout): EncodedRecord | null {
  const { slots, contentCount, cells, plain } = layout;
  if (contentCount < slots.length) return null;
  let empties = '';
  for (const [index, slot] of slots.entries()) {
    const cell = plainCell(record, slot);
    if (cell === undefined) return null;
    if (cell === empty) empties += String.fromCharCode(index);
    cells[index] = cell;
  }
  const row = cells.join('\t');
  return plain.test(row) ? { id: record.id, hash: hashOf(layout, row, empties), row } : null;
}

/** A field may be called `constructor`: what every object has by that name is no value of it. */
const textOf = (value: unknown): SourceValue => (typeof value === 'string' ? value : null);

/** Digits as they are: JSON allows a number any length, but no zeros in front. */
function jsonValue(value: string, type: LineField['type']): string {
  if (type === 'integer') return BigInt(value).toString();
  return type === 'number' || type === 'boolean' ? value : JSON.stringify(value);
}

function lineCell(line: SourceLine, fields: readonly LineField[]): string {
  const members = fields.flatMap(({ name, type }) => {
    const value = textOf(line[name]);
    return value === null ? [] : `${JSON.stringify(name)}:${jsonValue(value, type)}`;
  });
  return `{${members.join()}}`;
}

function cellOf(record: SourceRecord, column: RecordColumn): SourceValue {
  if (column.part === 'lines')
    return record.lines === null ? null : `[${record.lines.map((line) => lineCell(line, column.lineFields ?? [])).join()}]`;
  const value = textOf((column.part === 'label' ? record.labels : record.values)[column.field]);
  return column.state === 'replaced' ? convertible(value, column.type) : value;
}

const isCalendarDay = (text: string): boolean => {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
};
const forms: Readonly<Record<ColumnType, (text: string) => boolean>> = {
  text: () => true,
  number: (text) => /^-?\d{1,40}(\.\d{1,40})?$/.test(text),
  integer: (text) => /^-?\d{1,18}$/.test(text),
  boolean: (text) => text === 'true' || text === 'false',
  date: (text) => isDay.test(text) && text > '0001' && isCalendarDay(text),
  time: (text) => /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/.test(text) && text > '0001' && isCalendarDay(text.slice(0, 10)),
  lines: () => false,
};
/** A column of a former type takes what can be told in that type without loss, and nothing else. */
const convertible = (value: SourceValue, type: ColumnType): SourceValue => (value !== null && forms[type](value) ? value : null);

const special: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', [empty]: '\\001' };

/** One cell in the text format of COPY. */
export const copyCell = (cell: string | null): string =>
  cell === null ? empty : cell.replaceAll(/[\\\t\n\r\u0001]/g, (found) => special[found] ?? found);

function encodeCells(record: SourceRecord, layout: Layout): EncodedRecord {
  const { slots, contentCount } = layout;
  const cells = slots.map((slot) => copyCell(cellOf(record, slot)));
  const content = cells.slice(0, contentCount);
  const empties = content.map((cell, index) => (cell === empty ? String.fromCharCode(index) : '')).join('');
  return { id: record.id, hash: hashOf(layout, content.join('\t'), empties), row: cells.join('\t') };
}

/** The record's row, or in words why it can't have one. */
export function encodeRecord(record: SourceRecord, columns: readonly RecordColumn[]): EncodedRecord | string {
  const layout = layoutOf(columns);
  return encodePlain(record, layout) ?? findUnsound(record, columns) ?? encodeCells(record, layout);
}

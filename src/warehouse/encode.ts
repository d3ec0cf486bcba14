// Encodes a record of the ERP as its row in the text format of COPY, exactly: no value passes through a
// binary float. Also computes the hash of its content, by which an unchanged record is recognized and
// skipped. The fast path covers most records: the cells are joined, and one pattern over the whole row shows
// that none needs escaping or rejecting; all other records are encoded cell by cell.
import { createHash, hash as digest } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { SourceLine, SourceRecord, SourceValue } from '../connectors/source-records.ts';
import { dayPattern, isDay, isTime, timePattern } from '../core/text/calendar.ts';
import {
  type ColumnType,
  isListType,
  type LineField,
  type ListType,
  type RecordColumn,
  sourceValue,
} from './columns.ts';
import { findOversize, maxCharactersToSkip, type RejectionReason, type SizeLimits } from './size-limits.ts';
import {
  type CellType,
  findInvalidValue,
  isValidValue,
  numberPattern,
  readTexts,
} from './validate-values.ts';

/** `hash`: 32 hex digits. `row`: the cells of `rowColumns` for COPY, `emptyCell` for those without value. */
export type EncodedRecord = { readonly id: string; readonly hash: string; readonly row: string };

/** The null marker. It is escaped in values, so it can't be mistaken for one, as `\N` could. */
const empty = '\u0001';
/** The same as an SQL literal, for COPY. */
export const emptyCell = "e'\\x01'";

type Slot = RecordColumn & { readonly lineParts: readonly LinePart[] };
type LinePart = LineField & { readonly head: string };
type Layout = {
  /** The columns of the content, sorted by name, then those of a former type, which repeat some of it. */
  readonly slots: readonly Slot[];
  readonly contentCount: number;
  /** Matches a row in which every cell is valid and none needs escaping. */
  readonly plain: RegExp;
  /** Reused for every record, so that there is no garbage to collect. */
  readonly cells: string[];
  /** The joined names of the non-empty columns, by the set of empty ones (see `hashContent`). */
  readonly names: Map<string, string>;
};

const plainText = '[^\\\\\\u0000-\\u001f\\ud800-\\udfff]*';
const plainPatterns: Readonly<Record<ColumnType, string>> = {
  text: plainText,
  number: numberPattern,
  integer: '-?\\d{1,18}',
  boolean: 'true|false',
  date: dayPattern,
  time: timePattern,
  integers: '\\{(?:-?\\d{1,18}(?:,-?\\d{1,18})*)?\\}',
  texts: plainText,
  lines: plainText,
};

function createLayout(columns: readonly RecordColumn[]): Layout {
  const content = columns
    .filter(({ state }) => state !== 'replaced')
    .sort((a, b) => (a.column < b.column ? -1 : 1));
  const slots = [...content, ...columns.filter(({ state }) => state === 'replaced')].map((column) => ({
    ...column,
    lineParts: (column.lineFields ?? []).map((field) => ({
      ...field,
      head: `${JSON.stringify(field.name)}:`,
    })),
  }));
  const cells = slots.map(({ type, state }) => (state === 'replaced' ? plainText : plainPatterns[type]));
  const plain = new RegExp(`^${cells.map((form) => `(?:${form}|${empty})`).join('\\t')}$`);
  return { slots, contentCount: content.length, plain, cells: slots.map(() => ''), names: new Map() };
}
/** Cached, because a run passes the same columns array with each of its records. */
const layouts = new WeakMap<readonly RecordColumn[], Layout>();
function loadLayout(columns: readonly RecordColumn[]): Layout {
  const known = layouts.get(columns);
  if (known !== undefined) return known;
  const layout = createLayout(columns);
  layouts.set(columns, layout);
  return layout;
}

/** The names of the columns whose cells make up a row, in their order. */
export const rowColumns = (columns: readonly RecordColumn[]): string[] =>
  loadLayout(columns).slots.map(({ column }) => column);

/** The names of the columns that are empty in an encoded row. */
export function emptyColumns({ row }: EncodedRecord, columns: readonly RecordColumn[]): ReadonlySet<string> {
  const cells = row.split('\t');
  return new Set(rowColumns(columns).filter((_column, index) => cells[index] === empty));
}

/** The values of an encoded row by field name, without those that are escaped in it. */
export function plainValues(
  { row }: EncodedRecord,
  columns: readonly RecordColumn[],
): Record<string, SourceValue> {
  const cells = row.split('\t');
  const plain = loadLayout(columns).slots.flatMap(({ field, part, state }, index) => {
    const cell = cells[index];
    return part !== 'value' || state === 'replaced' || cell === undefined || cell.includes('\\')
      ? []
      : [[field, cell === empty ? null : cell] as const];
  });
  return Object.fromEntries(plain);
}

/** The values of the columns `names` by column, as they would be stored, without unreadable ones. */
export function columnValues(
  values: SourceRecord['values'],
  columns: readonly RecordColumn[],
  names: ReadonlySet<string>,
): Record<string, SourceValue> {
  const readable = columns.flatMap(({ column, field, part, type, state }) => {
    if (part !== 'value' || !names.has(column) || !Object.hasOwn(values, field)) return [];
    const value = values[field] ?? null;
    if (state === 'replaced') return [[column, convertible(value, type)] as const];
    return isValidValue(value, type) ? [[column, value] as const] : [];
  });
  return Object.fromEntries(readable);
}

const maxCachedNames = 1_000;
function filledNames({ slots, contentCount, names }: Layout, empties: string): string {
  const known = names.get(empties);
  if (known !== undefined) return known;
  const filled = slots
    .slice(0, contentCount)
    .filter((_, index) => !empties.includes(String.fromCharCode(index)));
  const joined = `${filled.map(({ column }) => column).join()}\n`;
  if (names.size === maxCachedNames) names.clear();
  names.set(empties, joined);
  return joined;
}

/**
 * Hashes the column names of the non-empty cells, then those cells, so that a new column changes only the
 * hashes of records that fill it. Changing this function rewrites every record when it is next read.
 * `empties` has one character per empty cell: its index.
 */
function hashContent(layout: Layout, content: string, empties: string): string {
  const filled = empties === '' ? content : `${content}\t`.replaceAll(`${empty}\t`, '').slice(0, -1);
  return digest('sha256', filledNames(layout, empties) + filled, 'hex').slice(0, 32);
}

const isPlainText = /^[^"\\\u0000-\u001f\ud800-\udfff]*$/;
const isNumber = new RegExp(`^${numberPattern}$`);
const isShortInteger = /^(?:0|-?[1-9]\d{0,17})$/;

/** A JSON array as PostgreSQL's text of an array; null for anything else. */
function listLiteral(json: string, type: ListType): string | null {
  if (type === 'integers') return `{${json.slice(1, -1)}}`;
  const texts = readTexts(json)?.map((text) =>
    text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`,
  );
  return texts === undefined ? null : `{${texts.join()}}`;
}

/** A line's value as JSON; null when it needs the slow path. */
function plainMember(value: string, type: CellType): string | null {
  if (type === 'number') return isNumber.test(value) ? value : null;
  if (type === 'integer') return isShortInteger.test(value) ? value : null;
  if (type === 'boolean') return value === 'true' || value === 'false' ? value : null;
  if (isListType(type)) return null;
  const isPlain = type === 'date' ? isDay(value) : type === 'time' ? isTime(value) : isPlainText.test(value);
  return isPlain ? `"${value}"` : null;
}

function plainLines(lines: readonly SourceLine[], parts: readonly LinePart[], maxLength: number) {
  let text = '';
  for (const line of lines) {
    if (text.length > maxLength) return null;
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

/** Undefined when the value needs the slow path. */
function plainCell(record: SourceRecord, slot: Slot, maxLength: number): string | undefined {
  const { lines } = record;
  if (slot.part === 'lines')
    return lines === null ? empty : (plainLines(lines, slot.lineParts, maxLength) ?? undefined);
  const value: unknown = sourceValue(record, slot);
  if (typeof value === 'string')
    return value === empty
      ? undefined
      : isListType(slot.type)
        ? (listLiteral(value, slot.type) ?? undefined)
        : value;
  return value === null || value === undefined || typeof value === 'function' ? empty : undefined;
}

/** The fast path; null when a value needs the slow path, or the row is longer than `maxLength`. */
function encodePlain(record: SourceRecord, layout: Layout, maxLength: number): EncodedRecord | null {
  const { slots, contentCount, cells, plain } = layout;
  if (contentCount < slots.length) return null;
  let empties = '';
  let length = 0;
  for (const [index, slot] of slots.entries()) {
    const cell = plainCell(record, slot, maxLength);
    if (cell === undefined) return null;
    length += cell.length;
    if (cell === empty) empties += String.fromCharCode(index);
    cells[index] = cell;
  }
  if (length > maxLength) return null;
  const row = cells.join('\t');
  return plain.test(row) ? { id: record.id, hash: hashContent(layout, row, empties), row } : null;
}

/** Ignores inherited members: a field may be named `constructor`. */
const toText = (value: unknown): SourceValue => (typeof value === 'string' ? value : null);

/** Keeps the digits as they are: JSON allows numbers of any length, but no leading zeros. */
function jsonValue(value: string, type: LineField['type']): string {
  if (type === 'integer') return BigInt(value).toString();
  return type === 'number' || type === 'boolean' || isListType(type) ? value : JSON.stringify(value);
}

function lineCell(line: SourceLine, fields: readonly LineField[]): string {
  const members = fields.flatMap(({ name, type }) => {
    const value = toText(line[name]);
    return value === null ? [] : `${JSON.stringify(name)}:${jsonValue(value, type)}`;
  });
  return `{${members.join()}}`;
}

function encodeCell(record: SourceRecord, column: RecordColumn): SourceValue {
  if (column.part === 'lines')
    return record.lines === null
      ? null
      : `[${record.lines.map((line) => lineCell(line, column.lineFields ?? [])).join()}]`;
  const value = toText(sourceValue(record, column));
  if (value !== null && isListType(column.type)) return listLiteral(value, column.type);
  return column.state === 'replaced' ? convertible(value, column.type) : value;
}

const fitsType: Readonly<Record<ColumnType, (text: string) => boolean>> = {
  text: () => true,
  number: (text) => /^-?\d{1,40}(\.\d{1,40})?$/.test(text),
  integer: (text) => /^-?\d{1,18}$/.test(text),
  boolean: (text) => text === 'true' || text === 'false',
  date: isDay,
  time: isTime,
  integers: () => false,
  texts: () => false,
  lines: () => false,
};
/** A column of a former type stores values that it can represent without loss, and null otherwise. */
const convertible = (value: SourceValue, type: ColumnType): SourceValue =>
  value !== null && fitsType[type](value) ? value : null;

const escapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  [empty]: '\\001',
};

/** One cell in the text format of COPY. */
export const copyCell = (cell: string | null): string =>
  cell === null ? empty : cell.replaceAll(/[\\\t\n\r\u0001]/g, (found) => escapes[found] ?? found);

function joinCells({ id }: SourceRecord, layout: Layout, cells: readonly string[]): EncodedRecord {
  const content = cells.slice(0, layout.contentCount);
  const empties = content.map((cell, index) => (cell === empty ? String.fromCharCode(index) : '')).join('');
  const joined = content.join('\t');
  return {
    id,
    hash: hashContent(layout, joined, empties),
    row: content.length === cells.length ? joined : cells.join('\t'),
  };
}

/** The event loop gets a turn after this many characters of a record, whose values take long to escape. */
const charactersPerTurn = 131_072;

/** The end of a piece that starts at `start` and doesn't end within a character. */
function pieceEnd(text: string, start: number): number {
  const end = start + charactersPerTurn;
  return (text.codePointAt(end - 1) ?? 0) > 0xffff ? end + 1 : end;
}

/** As `joinCells` of the escaped values, piece by piece. */
async function encodeLongCells(
  { id }: SourceRecord,
  layout: Layout,
  values: readonly SourceValue[],
): Promise<EncodedRecord> {
  const { contentCount } = layout;
  const empties = values
    .slice(0, contentCount)
    .map((value, index) => (value === null ? String.fromCharCode(index) : ''));
  const hash = createHash('sha256').update(filledNames(layout, empties.join('')));
  let row = '';
  let separator = '';
  for (const [index, value] of values.entries()) {
    if (index > 0) row += '\t';
    if (value === null) {
      row += empty;
      continue;
    }
    const isContent = index < contentCount;
    if (isContent) hash.update(separator);
    if (isContent) separator = '\t';
    for (let start = 0; start < value.length; ) {
      if (start > 0) await yieldToEventLoop();
      const end = pieceEnd(value, start);
      const piece = copyCell(value.slice(start, end));
      row += piece;
      if (isContent) hash.update(piece);
      start = end;
    }
  }
  return { id, hash: hash.digest('hex').slice(0, 32), row };
}

function encodeCells(record: SourceRecord, layout: Layout): EncodedRecord | Promise<EncodedRecord> {
  const values = layout.slots.map((slot) => encodeCell(record, slot));
  const length = values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
  return length > charactersPerTurn
    ? encodeLongCells(record, layout, values)
    : joinCells(record, layout, values.map(copyCell));
}

/**
 * The record's row, or why it can't be stored: the first value that is not valid, or what of it is too large.
 * A promise only for the row of a long record, for which the event loop gets turns.
 */
export function encodeRecord(
  record: SourceRecord,
  columns: readonly RecordColumn[],
  limits: SizeLimits,
): EncodedRecord | RejectionReason | Promise<EncodedRecord> {
  const layout = loadLayout(columns);
  const plain = encodePlain(record, layout, maxCharactersToSkip(limits));
  if (plain !== null) return plain;
  const oversize = findOversize(record, columns, limits);
  if (oversize !== null) return oversize;
  const problem = findInvalidValue(record, columns);
  return problem === null ? encodeCells(record, layout) : { code: 'VALUE_UNREADABLE', message: problem };
}

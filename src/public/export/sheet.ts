// Writes records as the XML of a worksheet from the text of COPY. Numbers are cells that Excel calculates with
// as long as it holds all their digits; dates and times are its own; everything else is text.
import {
  type ByteCursor,
  byte,
  type CellColumn,
  type CellKind,
  copyPlain,
  copyTime,
  createRowWriter,
  put,
  type RowWriter,
  unescaped,
  type WriteCell,
} from './copy-rows.ts';

/** Rows of a worksheet, its header included, and characters of a cell. */
export const maxSheetRows = 1_048_576;
export const maxCellCharacters = 32_767;
/** Excel keeps numbers in binary floats: with more digits it would round them. */
const maxDigits = 15;

/** The number formats of the cells, by their position in `styles`. */
const style = { date: 1, time: 2, head: 3 } as const;

const escapes = new Map<number, Buffer>([
  [0x26, Buffer.from('&amp;')],
  [0x3c, Buffer.from('&lt;')],
  [0x3e, Buffer.from('&gt;')],
  // A carriage return would become a line feed.
  ...[...Array(0x20).keys()]
    .filter((code) => code !== 0x09 && code !== 0x0a)
    .map((code): [number, Buffer] => [
      code,
      Buffer.from(`_x${code.toString(16).toUpperCase().padStart(4, '0')}_`),
    ]),
]);
const isPlain = Uint8Array.from({ length: 256 }, (_, code) =>
  escapes.has(code) || code === 0x5f || code === byte.backslash || code === byte.tab || code === byte.lineFeed
    ? 0
    : 1,
);
const underscore = 0x5f;
const escapedUnderscore = Buffer.from('_x005F_');
const isHexDigit = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);

/** Whether the input has `_x`, four hexadecimal digits and `_` here, which Excel reads as one character. */
const looksEscaped = (input: Uint8Array, at: number): boolean =>
  input[at + 1] === 0x78 &&
  [2, 3, 4, 5].every((offset) => isHexDigit(input[at + offset] as number)) &&
  input[at + 6] === underscore;

/** UTF-16 units that begin with this byte of UTF-8. */
const unitsOf = (code: number): number =>
  code < 0x80 || (code >= 0xc0 && code < 0xf0) ? 1 : code < 0xc0 ? 0 : 2;

/** Longer texts are cut off: a cell can't hold them. */
function writeText(cursor: ByteCursor, input: Uint8Array, output: Uint8Array): void {
  let { at, to } = cursor;
  let left = maxCellCharacters;
  for (;;) {
    const from = at;
    let code = input[at] as number;
    if (code === byte.tab || code === byte.lineFeed) break;
    const isEscape = code === byte.backslash;
    if (isEscape) {
      at += 1;
      code = unescaped[input[at] as number] as number;
    }
    at += 1;
    left -= unitsOf(code);
    if (left < 0) continue;
    if (isPlain[code] === 1 || code === byte.tab || code === byte.lineFeed || code === byte.backslash)
      output[to++] = code;
    else if (code === underscore && !looksEscaped(input, from)) output[to++] = code;
    else to = put(escapes.get(code) ?? escapedUnderscore, output, to);
  }
  cursor.at = at;
  cursor.to = to;
}

const textBefore = Buffer.from(' t="inlineStr"><is><t xml:space="preserve">');
const textAfter = Buffer.from('</t></is>');
function writeTextCell(cursor: ByteCursor, input: Uint8Array, output: Uint8Array): void {
  cursor.to = put(textBefore, output, cursor.to);
  writeText(cursor, input, output);
  cursor.to = put(textAfter, output, cursor.to);
}

const valueBefore = Buffer.from('><v>');
const valueAfter = Buffer.from('</v>');

/** Whether the cell is a number of which Excel holds every digit. */
function isExact(input: Uint8Array, from: number): boolean {
  let digits = 0;
  let zeros = 0;
  let at = from;
  let seesFraction = false;
  for (let code = input[at] as number; code > byte.lineFeed; code = input[at] as number) {
    if (code === 0x2e) seesFraction = true;
    else if (code >= 0x30 && code <= 0x39) {
      // Neither leading zeros nor those that end the fraction count.
      if (code !== 0x30 || digits > 0) digits += 1;
      zeros = code === 0x30 && seesFraction ? zeros + 1 : 0;
    } else if (code !== 0x2d || at > from) return false;
    at += 1;
  }
  return digits - Math.min(zeros, digits) <= maxDigits;
}

function writeNumberCell(cursor: ByteCursor, input: Uint8Array, output: Uint8Array): void {
  if (!isExact(input, cursor.at)) {
    writeTextCell(cursor, input, output);
    return;
  }
  cursor.to = put(valueBefore, output, cursor.to);
  copyPlain(cursor, input, output);
  cursor.to = put(valueAfter, output, cursor.to);
}

const flags = { true: Buffer.from(' t="b"><v>1</v>'), false: Buffer.from(' t="b"><v>0</v>') } as const;
function writeBooleanCell(cursor: ByteCursor, input: Uint8Array, output: Uint8Array): void {
  cursor.to = put(input[cursor.at] === 0x74 ? flags.true : flags.false, output, cursor.to);
  while ((input[cursor.at] as number) > byte.lineFeed) cursor.at += 1;
}

const dayMs = 86_400_000;
/** Day 0 of Excel's calendar from day 61 on: before, it counts a February 29 of 1900. */
const epochMs = Date.UTC(1899, 11, 30);
const firstRightDay = 61;
const instant = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d(?:\.\d{1,3})?)\d*(?:\+00|Z))?$/;

/** Days since the epoch, to the millisecond; undefined for what Excel can't show. */
function toSerial(text: string): string | undefined {
  const [, date, time = '00:00:00'] = instant.exec(text) ?? [];
  if (date === undefined) return undefined;
  const days = (Date.parse(`${date}T${time}Z`) - epochMs) / dayMs;
  if (days < firstRightDay) return undefined;
  return Number.isInteger(days) ? String(days) : days.toFixed(10);
}

/** Others are texts in the form of the list. */
const writeInstantCell =
  (format: number, copyText: WriteCell): WriteCell =>
  (cursor, input, output) => {
    let end = cursor.at;
    while ((input[end] as number) > byte.lineFeed) end += 1;
    const serial = toSerial(Buffer.from(input.subarray(cursor.at, end)).toString());
    if (serial === undefined) {
      cursor.to = put(textBefore, output, cursor.to);
      copyText(cursor, input, output);
      cursor.to = put(textAfter, output, cursor.to);
      return;
    }
    cursor.to = put(Buffer.from(` s="${format}"><v>${serial}</v>`), output, cursor.to);
    cursor.at = end;
  };

const writers: Readonly<Record<CellKind, WriteCell>> = {
  text: writeTextCell,
  number: writeNumberCell,
  digits: writeTextCell,
  boolean: writeBooleanCell,
  date: writeInstantCell(style.date, copyPlain),
  time: writeInstantCell(style.time, copyTime),
  json: writeTextCell,
};

const widths: Partial<Readonly<Record<CellKind, number>>> = { date: 12, time: 20, text: 24, json: 24 };

/** Text of XML, without the control characters that it can't hold. */
const escapeXml = (text: string): string =>
  [...text].map((letter) => escapes.get(letter.charCodeAt(0))?.toString() ?? letter).join('');

/** The letters of a column: A, B, … Z, AA, … */
function columnLetters(index: number): string {
  const last = String.fromCharCode(0x41 + (index % 26));
  return index < 26 ? last : columnLetters(Math.floor(index / 26) - 1) + last;
}

const headCell = ({ name }: CellColumn, index: number): string =>
  `<c r="${columnLetters(index)}1" s="${style.head}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(name)}</t></is></c>`;

const sheetHead = (columns: readonly CellColumn[]): string =>
  `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>${columns
    .map(
      ({ kind }, index) =>
        `<col min="${index + 1}" max="${index + 1}" width="${widths[kind] ?? 14}" customWidth="1"/>`,
    )
    .join('')}</cols><sheetData><row r="1">${columns.map(headCell).join('')}</row>`;
export const sheetEnd = '</sheetData></worksheet>';

/** The longest reference, and what surrounds a text. */
const maxAddedBytes = 80;

/** Writes the worksheet but for `sheetEnd`; its first row holds the names of the columns. */
export function createSheetWriter(columns: readonly CellColumn[]): RowWriter {
  let row = 1;
  let number = Buffer.alloc(0);
  /** Readers need the reference of each cell, such as `B7`. */
  const withReference =
    (before: Buffer, write: WriteCell): WriteCell =>
    (cursor, input, output) => {
      cursor.to = put(number, output, put(before, output, cursor.to));
      output[cursor.to++] = byte.quote;
      write(cursor, input, output);
    };
  return createRowWriter({
    head: sheetHead(columns),
    cells: columns.map(({ kind }, index) => ({
      whenNull: '',
      before: '',
      write: withReference(Buffer.from(`<c r="${columnLetters(index)}`), writers[kind]),
      after: '</c>',
    })),
    end: '</row>',
    maxAddedBytes,
    begin: () => {
      row += 1;
      number = Buffer.from(String(row));
      return Buffer.from(`<row r="${row}">`);
    },
  });
}

export const styles = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;

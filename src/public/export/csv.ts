// Writes records as CSV (RFC 4180) from the text of COPY. Null is an empty field, empty text is `""`.
import {
  byteOrderMark,
  type CsvOptions,
  csvLine,
  csvLineEnd,
  formulaStart,
} from '../../core/text/csv-cell.ts';
import {
  type ByteCursor,
  byte,
  type CellColumn,
  type CellKind,
  copyBoolean,
  copyPlain,
  copyTime,
  createRowWriter,
  type RowWriter,
  unescaped,
  type WriteCell,
} from './copy-rows.ts';

const comma = 0x2c;
const carriageReturn = 0x0d;
const apostrophe = 0x27;
/** First bytes, from DEL on, of invisible characters and of the full-width signs. */
const invisibleStarts = new Set([0x7f, 0xc2, 0xd8, 0xdb, 0xdc, 0xe0, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3]);
const plainStarts = new Set(Buffer.from('=+-@'));

/** Bytes that are the same in an unquoted field as in the text of COPY. */
const plain = Uint8Array.from({ length: 256 }, (_, code) =>
  code === comma ||
  code === byte.quote ||
  code === byte.backslash ||
  code === byte.tab ||
  code === byte.lineFeed
    ? 0
    : 1,
);

const meantAt = (input: Uint8Array, at: number): number =>
  (input[at] === byte.backslash ? unescaped[input[at + 1] as number] : input[at]) as number;

/** The text of a cell, decoded only when its first byte does not decide whether it is a formula. */
function textAt(input: Uint8Array, from: number): string {
  const meant: number[] = [];
  for (let at = from; input[at] !== byte.tab && input[at] !== byte.lineFeed; at += 1) {
    const isEscaped = input[at] === byte.backslash;
    if (isEscaped) at += 1;
    const code = input[at] as number;
    meant.push(isEscaped ? (unescaped[code] as number) : code);
  }
  return Buffer.from(meant).toString();
}

function isFormulaAt(input: Uint8Array, at: number): boolean {
  const first = input[at] as number;
  if (first > 0x20 && first !== byte.backslash && !invisibleStarts.has(first)) return plainStarts.has(first);
  return formulaStart.test(textAt(input, at));
}

/**
 * Writes the cell unquoted, and starts over in quotes when a character needs them. `needsApostrophe` decides
 * which texts get an apostrophe.
 */
const textWriter =
  (needsApostrophe: (input: Uint8Array, at: number) => boolean): WriteCell =>
  (cursor, input, output) => {
    let { at, to } = cursor;
    const isGuarded = needsApostrophe(input, at);
    if (isGuarded) output[to++] = apostrophe;
    for (;;) {
      let code = input[at] as number;
      while (plain[code] === 1) {
        output[to++] = code;
        at += 1;
        code = input[at] as number;
      }
      if (code === byte.tab || code === byte.lineFeed) break;
      const meant = meantAt(input, at);
      if (code !== byte.backslash || meant === byte.lineFeed || meant === carriageReturn)
        return writeQuoted(cursor, input, output, isGuarded);
      output[to++] = meant;
      at += 2;
    }
    if (at === cursor.at) return writeQuoted(cursor, input, output, isGuarded);
    cursor.at = at;
    cursor.to = to;
  };

function writeQuoted(cursor: ByteCursor, input: Uint8Array, output: Uint8Array, isGuarded: boolean): void {
  let { at, to } = cursor;
  output[to++] = byte.quote;
  if (isGuarded) output[to++] = apostrophe;
  for (
    let code = input[at] as number;
    code !== byte.tab && code !== byte.lineFeed;
    code = input[at] as number
  ) {
    if (code === byte.backslash) {
      at += 1;
      code = unescaped[input[at] as number] as number;
    } else if (code === byte.quote) output[to++] = byte.quote;
    output[to++] = code;
    at += 1;
  }
  output[to++] = byte.quote;
  cursor.at = at;
  cursor.to = to;
}

const writePlainText = textWriter(() => false);
const writers: Readonly<Record<CellKind, WriteCell>> = {
  text: writePlainText,
  number: copyPlain,
  digits: copyPlain,
  boolean: copyBoolean,
  date: copyPlain,
  time: copyTime,
  json: writePlainText,
};
const guardedText = textWriter(isFormulaAt);

/** The first line holds the column names; `withMark`: after a byte order mark. */
export function createCsvWriter(
  columns: readonly CellColumn[],
  options: CsvOptions & { readonly withMark?: boolean } = {},
): RowWriter {
  return createRowWriter({
    head:
      (options.withMark === true ? byteOrderMark : '') +
      csvLine(
        columns.map(({ name }) => name),
        options,
      ),
    cells: columns.map(({ kind }, index) => ({
      whenNull: index === 0 ? '' : ',',
      before: index === 0 ? '' : ',',
      write: options.guardFormulas === true && kind === 'text' ? guardedText : writers[kind],
      after: '',
    })),
    end: csvLineEnd,
  });
}

// Writes records as JSON lines from the text of COPY: byte for byte what a list returns for the same record.
import { largestExact } from '../read/sql/render-sql.ts';
import {
  type ByteCursor,
  byte,
  type CellColumn,
  type CellKind,
  copyBoolean,
  copyPlain,
  copyTime,
  createRowWriter,
  put,
  type RowWriter,
  unescaped,
  type WriteCell,
} from './copy-rows.ts';

const hexDigits = Buffer.from('0123456789abcdef');

const largest = Buffer.from(largestExact);

/** Bytes that are the same in a JSON string as in the text of COPY. */
const plain = Uint8Array.from({ length: 256 }, (_, code) =>
  code < 0x20 || code === byte.quote || code === byte.backslash ? 0 : 1,
);
const sameEscape = new Set(Buffer.from('bfnrt\\'));

function writeText(cursor: ByteCursor, input: Uint8Array, output: Uint8Array): void {
  let { at, to } = cursor;
  for (;;) {
    let code = input[at] as number;
    while (plain[code] === 1) {
      output[to++] = code;
      at += 1;
      code = input[at] as number;
    }
    if (code === byte.tab || code === byte.lineFeed) break;
    if (code === byte.quote) to = putEscaped(byte.quote, output, to);
    else if (code !== byte.backslash) to = putCode(code, output, to);
    else {
      at += 1;
      const letter = input[at] as number;
      to = sameEscape.has(letter)
        ? putEscaped(letter, output, to)
        : putCode(unescaped[letter] as number, output, to);
    }
    at += 1;
  }
  cursor.at = at;
  cursor.to = to;
}

function putEscaped(letter: number, output: Uint8Array, to: number): number {
  output[to] = byte.backslash;
  output[to + 1] = letter;
  return to + 2;
}

const codeBegin = Buffer.from('\\u00');
function putCode(code: number, output: Uint8Array, to: number): number {
  const next = put(codeBegin, output, to);
  output[next] = hexDigits[code >> 4] as number;
  output[next + 1] = hexDigits[code & 15] as number;
  return next + 2;
}

/** JSON text contains no control characters, so the only COPY escape in it is the doubled backslash. */
function writeJson(cursor: ByteCursor, input: Uint8Array, output: Uint8Array): void {
  let { at, to } = cursor;
  for (let code = input[at] as number; code > byte.lineFeed; code = input[at] as number) {
    if (code === byte.backslash) at += 1;
    output[to++] = code;
    at += 1;
  }
  cursor.at = at;
  cursor.to = to;
}

function writeNumber(cursor: ByteCursor, input: Uint8Array, output: Uint8Array): void {
  const from = cursor.to;
  copyPlain(cursor, input, output);
  const { to } = cursor;
  if ((output[to - 1] as number) <= 0x39 && !isLarge(output, from, to)) return;
  output.copyWithin(from + 1, from, to);
  output[from] = byte.quote;
  output[to + 1] = byte.quote;
  cursor.to = to + 2;
}

/** Whether the digits from `from` to `to` are a whole number beyond 2^53. */
function isLarge(digits: Uint8Array, from: number, to: number): boolean {
  if (to - from < largest.length) return false;
  const first = digits[from] === 0x2d ? from + 1 : from;
  let end = first;
  while (end < to && digits[end] !== 0x2e) end += 1;
  if (end - first < largest.length) return false;
  for (let at = end + 1; at < to; at += 1) if (digits[at] !== 0x30) return false;
  return end - first > largest.length || Buffer.compare(digits.subarray(first, end), largest) > 0;
}

const kinds: Readonly<Record<CellKind, { readonly write: WriteCell; readonly around: string }>> = {
  text: { write: writeText, around: '"' },
  number: { write: writeNumber, around: '' },
  digits: { write: copyPlain, around: '"' },
  boolean: { write: copyBoolean, around: '' },
  date: { write: copyPlain, around: '"' },
  time: { write: copyTime, around: '"' },
  json: { write: writeJson, around: '' },
};

export const createJsonLinesWriter = (columns: readonly CellColumn[]): RowWriter =>
  createRowWriter({
    head: '',
    cells: columns.map(({ name, kind }, index) => {
      const key = `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`;
      const { write, around } = kinds[kind];
      return { whenNull: `${key}null`, before: key + around, write, after: around };
    }),
    end: '}\n',
  });

/** For rows that are one column of JSON text. */
export const createJsonTextWriter = (): RowWriter =>
  createRowWriter({
    head: '',
    cells: [{ whenNull: '', before: '', write: writeJson, after: '' }],
    end: '\n',
  });

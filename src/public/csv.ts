// Records as CSV by RFC 4180, out of the text of COPY. Null is an empty field, empty text is `""`.
import {
  byte,
  type CellColumn,
  type CellKind,
  type Cursor,
  copyBoolean,
  copyPlain,
  copyTime,
  openRowWriter,
  type RowWriter,
  unescaped,
  type WriteCell,
} from './copy-rows.ts';

export type CsvOptions = {
  /** Puts an apostrophe before texts that a spreadsheet would take for a formula; numbers, times and dates stay as they are. */
  readonly guardFormulas?: boolean;
};

const comma = 0x2c;
const carriageReturn = 0x0d;
const apostrophe = 0x27;
const lineEnd = '\r\n';
const needsQuotes = /[",\r\n]/;
const formulaStarts = new Set(Buffer.from('=+-@\t\r'));

/** What stands in an unquoted field as in COPY's text. */
const plain = Uint8Array.from({ length: 256 }, (_, code) =>
  code === comma || code === byte.quote || code === byte.backslash || code === byte.tab || code === byte.lineFeed ? 0 : 1,
);

const meantAt = (input: Uint8Array, at: number): number =>
  (input[at] === byte.backslash ? unescaped[input[at + 1] as number] : input[at]) as number;

/** Unquoted, and once more in quotes when something in it needs them; `lead` says what is put before it. */
const textWriter =
  (lead: (first: number) => boolean): WriteCell =>
  (cursor, input, output) => {
    let { at, to } = cursor;
    // A bare tab ends an empty cell; one that the cell begins with is escaped.
    const led = input[at] !== byte.tab && lead(meantAt(input, at));
    if (led) output[to++] = apostrophe;
    for (;;) {
      let code = input[at] as number;
      while (plain[code] === 1) {
        output[to++] = code;
        at += 1;
        code = input[at] as number;
      }
      if (code === byte.tab || code === byte.lineFeed) break;
      const meant = meantAt(input, at);
      if (code !== byte.backslash || meant === byte.lineFeed || meant === carriageReturn) return writeQuoted(cursor, input, output, led);
      output[to++] = meant;
      at += 2;
    }
    if (at === cursor.at) return writeQuoted(cursor, input, output, led);
    cursor.at = at;
    cursor.to = to;
  };

function writeQuoted(cursor: Cursor, input: Uint8Array, output: Uint8Array, led: boolean): void {
  let { at, to } = cursor;
  output[to++] = byte.quote;
  if (led) output[to++] = apostrophe;
  for (let code = input[at] as number; code !== byte.tab && code !== byte.lineFeed; code = input[at] as number) {
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

const isFormula = (first: number): boolean => formulaStarts.has(first);
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
const guardedText = textWriter(isFormula);

function nameCell(name: string, guarded: boolean): string {
  const text = guarded && isFormula(name.charCodeAt(0)) ? `'${name}` : name;
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The first line has the columns' names. */
export function openCsv(columns: readonly CellColumn[], { guardFormulas = false }: CsvOptions = {}): RowWriter {
  return openRowWriter({
    head: columns.map(({ name }) => nameCell(name, guardFormulas)).join() + lineEnd,
    cells: columns.map(({ kind }, index) => ({
      whenNull: index === 0 ? '' : ',',
      before: index === 0 ? '' : ',',
      write: guardFormulas && kind === 'text' ? guardedText : writers[kind],
      after: '',
    })),
    end: lineEnd,
  });
}

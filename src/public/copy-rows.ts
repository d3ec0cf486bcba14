// Turns the text of PostgreSQL's COPY into another form, byte by byte: no cell ever becomes a string, as a million records have many.
// In that text a tab ends a cell, a line feed ends a row, `\N` is null, and within a cell backslash, tab, line feed and their like
// are escaped. Bytes beyond ASCII pass as they are.

/** What a cell holds, and so how it is written. `digits` are told as text whatever their size, `json` is JSON text. */
export type CellKind = 'text' | 'number' | 'digits' | 'boolean' | 'date' | 'time' | 'json';
export type CellColumn = { readonly name: string; readonly kind: CellKind };

/** The next bytes of the input and of the output. A cell's writer leaves `at` on what ends the cell. */
export type Cursor = { at: number; to: number };
/** Writes one cell that is not null; at most six bytes for each of the input, and `mostAdded`. */
export type WriteCell = (cursor: Cursor, input: Uint8Array, output: Uint8Array) => void;

type Cell<Text> = {
  /** Stands instead of a null, with all that stands around it. */
  readonly whenNull: Text;
  readonly before: Text;
  readonly write: WriteCell;
  readonly after: Text;
};
export type RowForm = {
  /** Stands before the first row, also when there is none. */
  readonly head: string;
  readonly cells: readonly Cell<string>[];
  readonly end: string;
};

export type RowWriter = {
  readonly head: Buffer;
  /**
   * Takes the next piece, cut anywhere, keeps nothing of it, and gives out what is finished, in pieces of some 64 KiB. Those are one
   * place in memory: each must be done with before the next is asked for.
   */
  write(piece: Uint8Array): Generator<Buffer, void, undefined>;
};

export const byte = { tab: 0x09, lineFeed: 0x0a, backslash: 0x5c, quote: 0x22, null: 0x4e } as const;

const mostAdded = 8;
const mostPerByte = 6;
const pieceBytes = 1 << 16;
/** Fewer bytes are copied faster one by one. */
const worthACall = 7;

/** What a letter after a backslash stands for; any other stands for itself. */
export const unescaped: Uint8Array = Uint8Array.from({ length: 256 }, (_, code) => code);
for (const [letter, code] of Object.entries({ b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 })) unescaped[letter.charCodeAt(0)] = code;

/** Copies what can hold no escape: digits, dates. */
export function copyPlain(cursor: Cursor, input: Uint8Array, output: Uint8Array): void {
  let { at, to } = cursor;
  for (let code = input[at] as number; code > byte.lineFeed; code = input[at] as number) {
    output[to++] = code;
    at += 1;
  }
  cursor.at = at;
  cursor.to = to;
}

/** `2026-01-31 10:00:00.5+00` as `2026-01-31T10:00:00.5Z`. */
export function copyTime(cursor: Cursor, input: Uint8Array, output: Uint8Array): void {
  let { at, to } = cursor;
  for (let code = input[at] as number; code > byte.lineFeed; code = input[at] as number) {
    if (code === 0x2b) {
      at += 3;
      continue;
    }
    output[to++] = code === 0x20 ? 0x54 : code;
    at += 1;
  }
  output[to++] = 0x5a;
  cursor.at = at;
  cursor.to = to;
}

const words = { true: Buffer.from('true'), false: Buffer.from('false') } as const;

/** `t` or `f`. */
export function copyBoolean(cursor: Cursor, input: Uint8Array, output: Uint8Array): void {
  cursor.to = put(input[cursor.at] === 0x74 ? words.true : words.false, output, cursor.to);
  cursor.at += 1;
}

/** Returns where the output goes on. */
export function put(bytes: Uint8Array, output: Uint8Array, to: number): number {
  if (bytes.length >= worthACall) output.set(bytes, to);
  else for (let index = 0; index < bytes.length; index += 1) output[to + index] = bytes[index] as number;
  return to + bytes.length;
}

type Row = { readonly cells: readonly Cell<Uint8Array>[]; readonly end: Uint8Array };

function writeRow({ cells, end }: Row, cursor: Cursor, input: Uint8Array, output: Uint8Array): void {
  for (const { whenNull, before, write, after } of cells) {
    if (input[cursor.at] === byte.backslash && input[cursor.at + 1] === byte.null) {
      cursor.to = put(whenNull, output, cursor.to);
      cursor.at += 3;
      continue;
    }
    cursor.to = put(before, output, cursor.to);
    write(cursor, input, output);
    cursor.to = put(after, output, cursor.to);
    cursor.at += 1;
  }
  cursor.to = put(end, output, cursor.to);
}

export function openRowWriter({ head, cells, end }: RowForm): RowWriter {
  const row: Row = {
    cells: cells.map(({ whenNull, before, write, after }) => ({
      whenNull: Buffer.from(whenNull),
      before: Buffer.from(before),
      write,
      after: Buffer.from(after),
    })),
    end: Buffer.from(end),
  };
  const perRow =
    row.end.length + row.cells.reduce((sum, cell) => sum + cell.whenNull.length + cell.before.length + cell.after.length + mostAdded, 0);
  /** Of a row whose end has not come yet. */
  let begun: Uint8Array[] = [];
  // New memory for each piece would cost more than all the rest: it is the garbage collector's work.
  let output = Buffer.allocUnsafeSlow(2 * pieceBytes);

  function* writeWhole(input: Uint8Array): Generator<Buffer, void, undefined> {
    const cursor = { at: 0, to: 0 };
    while (cursor.at < input.length) {
      const needed = (input.indexOf(byte.lineFeed, cursor.at) - cursor.at) * mostPerByte + perRow;
      if (cursor.to > pieceBytes || needed > output.length - cursor.to) {
        if (cursor.to > 0) yield output.subarray(0, cursor.to);
        if (needed > output.length) output = Buffer.allocUnsafeSlow(needed);
        cursor.to = 0;
      }
      writeRow(row, cursor, input, output);
    }
    if (cursor.to > 0) yield output.subarray(0, cursor.to);
  }
  return {
    head: Buffer.from(head),
    *write(piece) {
      const last = piece.lastIndexOf(byte.lineFeed) + 1;
      if (last === 0) return void begun.push(Buffer.from(piece));
      const whole = piece.subarray(0, last);
      const input = begun.length === 0 ? whole : Buffer.concat([...begun, whole]);
      begun = last < piece.length ? [Buffer.from(piece.subarray(last))] : [];
      yield* writeWhole(input);
    },
  };
}

// Converts the text format of PostgreSQL's COPY into another form, byte by byte: no cell ever becomes a
// string, because a million records have many. In that text a tab ends a cell, a line feed ends a row, `\N`
// is null, and within a cell the backslash, tab, line feed and similar characters are escaped. Bytes beyond
// ASCII pass unchanged.

/**
 * What a cell holds, which decides how it is written. `digits` are written as text whatever their size;
 * `json` is JSON text.
 */
export type CellKind = 'text' | 'number' | 'digits' | 'boolean' | 'date' | 'time' | 'json';
export type CellColumn = { readonly name: string; readonly kind: CellKind };

/** Positions of the next input and output byte. A cell writer leaves `at` on the byte that ends the cell. */
export type ByteCursor = { at: number; to: number };
/** Writes one non-null cell: at most seven bytes per input byte, plus those of the form. */
export type WriteCell = (cursor: ByteCursor, input: Uint8Array, output: Uint8Array) => void;

type Cell<Text> = {
  /** Written in place of a null, including its surroundings. */
  readonly whenNull: Text;
  readonly before: Text;
  readonly write: WriteCell;
  readonly after: Text;
};
export type RowForm = {
  /** Written before the first row, even when there are no rows. */
  readonly head: string;
  readonly cells: readonly Cell<string>[];
  readonly end: string;
  /** What precedes the cells of the next row, at most 40 bytes. */
  readonly begin?: () => Uint8Array;
  /** What a cell's `write` adds at most to seven bytes per input byte; 8 by default. */
  readonly maxAddedBytes?: number;
};

export type RowWriter = {
  readonly head: Buffer;
  /**
   * Takes the next chunk, cut anywhere, and yields the complete rows in chunks of about 64 KiB. Keeps no
   * reference to its input. Yielded chunks share one buffer: consume each before the next.
   */
  write(chunk: Uint8Array): Generator<Buffer, void, undefined>;
};

export const byte = { tab: 0x09, lineFeed: 0x0a, backslash: 0x5c, quote: 0x22, null: 0x4e } as const;

const maxBeginBytes = 40;
const maxOutputPerByte = 7;
const chunkBytes = 1 << 16;
/** Shorter runs are copied faster byte by byte. */
const minBytesForSet = 7;

/** The byte meant by a letter after a backslash; any other letter means itself. */
export const unescaped: Uint8Array = Uint8Array.from({ length: 256 }, (_, code) => code);
for (const [letter, code] of Object.entries({ b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 }))
  unescaped[letter.charCodeAt(0)] = code;

/** Copies values that contain no escapes: digits, dates. */
export function copyPlain(cursor: ByteCursor, input: Uint8Array, output: Uint8Array): void {
  let { at, to } = cursor;
  for (let code = input[at] as number; code > byte.lineFeed; code = input[at] as number) {
    output[to++] = code;
    at += 1;
  }
  cursor.at = at;
  cursor.to = to;
}

/** `2026-01-31 10:00:00.5+00` as `2026-01-31T10:00:00.5Z`. */
export function copyTime(cursor: ByteCursor, input: Uint8Array, output: Uint8Array): void {
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
export function copyBoolean(cursor: ByteCursor, input: Uint8Array, output: Uint8Array): void {
  cursor.to = put(input[cursor.at] === 0x74 ? words.true : words.false, output, cursor.to);
  cursor.at += 1;
}

/** Copies bytes; returns the next output position. */
export function put(bytes: Uint8Array, output: Uint8Array, to: number): number {
  if (bytes.length >= minBytesForSet) output.set(bytes, to);
  else for (let index = 0; index < bytes.length; index += 1) output[to + index] = bytes[index] as number;
  return to + bytes.length;
}

type Row = {
  readonly cells: readonly Cell<Uint8Array>[];
  readonly end: Uint8Array;
  readonly begin: (() => Uint8Array) | undefined;
};

function writeRow({ cells, end, begin }: Row, cursor: ByteCursor, input: Uint8Array, output: Uint8Array) {
  if (begin !== undefined) cursor.to = put(begin(), output, cursor.to);
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

export function createRowWriter({ head, cells, end, begin, maxAddedBytes = 8 }: RowForm): RowWriter {
  const row: Row = {
    cells: cells.map(({ whenNull, before, write, after }) => ({
      whenNull: Buffer.from(whenNull),
      before: Buffer.from(before),
      write,
      after: Buffer.from(after),
    })),
    end: Buffer.from(end),
    begin,
  };
  const perRow =
    row.end.length +
    maxBeginBytes +
    row.cells.reduce(
      (sum, cell) => sum + cell.whenNull.length + cell.before.length + cell.after.length + maxAddedBytes,
      0,
    );
  /** Beginning of a row whose end has not arrived yet. */
  let partialRow: Uint8Array[] = [];
  // Reused: a new buffer per chunk would cost the garbage collector more than all other work here.
  let output = Buffer.allocUnsafeSlow(2 * chunkBytes);

  function* writeWhole(input: Uint8Array): Generator<Buffer, void, undefined> {
    const cursor = { at: 0, to: 0 };
    while (cursor.at < input.length) {
      const needed = (input.indexOf(byte.lineFeed, cursor.at) - cursor.at) * maxOutputPerByte + perRow;
      if (cursor.to > chunkBytes || needed > output.length - cursor.to) {
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
    *write(chunk) {
      const last = chunk.lastIndexOf(byte.lineFeed) + 1;
      if (last === 0) return void partialRow.push(Buffer.from(chunk));
      const whole = chunk.subarray(0, last);
      const input = partialRow.length === 0 ? whole : Buffer.concat([...partialRow, whole]);
      partialRow = last < chunk.length ? [Buffer.from(chunk.subarray(last))] : [];
      yield* writeWhole(input);
    },
  };
}

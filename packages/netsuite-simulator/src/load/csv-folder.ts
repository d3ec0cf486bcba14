// The format of a data folder: four gzipped CSV files with a header row; an empty value is null. Streams a
// file, validates every value and converts it to PostgreSQL's COPY text format. Memory use doesn't grow with
// the file.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { CsvError, parse } from 'csv-parse';

type ValueKind = 'integer' | 'decimal' | 'text' | 'flag' | 'date' | 'time';
export type FileColumn = { name: string; kind: ValueKind; nullable: boolean };
export type DataFile = {
  file: string;
  table: string;
  key: string;
  columns: readonly FileColumn[];
  references: readonly { column: string; to: DataFile }[];
};

/** The folder is malformed. The message names the file and, where possible, the line. */
export class DataFolderError extends Error {}

const parseColumns = (text: string): FileColumn[] =>
  text
    .trim()
    .split(/\s+/)
    .map((word) => {
      const [name = '', kind = ''] = word.replace('?', '').split(':');
      return { name, kind: kind as ValueKind, nullable: word.endsWith('?') };
    });

const customers: DataFile = {
  file: 'customer.csv.gz',
  table: 'customer',
  key: 'id',
  references: [],
  columns: parseColumns(
    'id:integer entityid:text isperson:flag isinactive:flag currency:integer defaultcountry:text? datecreated:time lastmodifieddate:time',
  ),
};
const items: DataFile = {
  file: 'item.csv.gz',
  table: 'item',
  key: 'id',
  references: [],
  columns: parseColumns(
    'id:integer itemid:text displayname:text? itemtype:text isinactive:flag createddate:time lastmodifieddate:time',
  ),
};
const transactions: DataFile = {
  file: 'transaction.csv.gz',
  table: 'transaction',
  key: 'id',
  references: [{ column: 'entity', to: customers }],
  columns:
    parseColumns(`id:integer tranid:text type:text trandate:date entity:integer? currency:integer exchangerate:decimal posting:flag
    foreigntotal:decimal createddate:time lastmodifieddate:time`),
};
const lines: DataFile = {
  file: 'transactionline.csv.gz',
  table: 'transactionline',
  key: 'uniquekey',
  references: [
    { column: 'transaction', to: transactions },
    { column: 'item', to: items },
  ],
  columns:
    parseColumns(`uniquekey:integer id:integer transaction:integer linesequencenumber:integer item:integer? memo:text? quantity:decimal?
    rate:decimal? netamount:decimal? mainline:flag taxline:flag linelastmodifieddate:time`),
};
/** In the order of loading: referenced files first. */
export const DATA_FILES: readonly DataFile[] = [customers, items, transactions, lines];

const PATTERN: Record<Exclude<ValueKind, 'text'>, { form: RegExp; name: string }> = {
  integer: { form: /^-?\d{1,18}$/, name: 'a whole number' },
  decimal: { form: /^-?\d{1,18}(\.\d{1,12})?$/, name: 'a decimal number' },
  flag: { form: /^[TF]$/, name: 'T or F' },
  date: { form: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, name: 'a date (YYYY-MM-DD)' },
  time: {
    form: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/,
    name: 'a time (YYYY-MM-DD HH:MM:SS)',
  },
};
const BATCH_CHARACTERS = 64 * 1024;

/**
 * SHA-256 over the files' names and bytes, as hex: equal checksums mean equal data. Rejects with
 * DataFolderError when a file can't be read.
 */
export async function checksumFolder(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const { file } of DATA_FILES) {
    hash.update(`${file}\n`);
    try {
      for await (const chunk of createReadStream(path.join(folder, file))) hash.update(chunk as Buffer);
    } catch (error) {
      throw new DataFolderError(`${path.join(folder, file)} can't be read: ${describeError(error)}`, {
        cause: error,
      });
    }
  }
  return hash.digest('hex');
}

/**
 * Streams one file into `target` as COPY text; calls `onProgress` with the compressed bytes read so far and
 * in total. Rejects with DataFolderError for a malformed file, naming the line.
 */
export async function copyFile(
  folder: string,
  data: DataFile,
  target: NodeJS.WritableStream,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const location = path.join(folder, data.file);
  const total = (await stat(location)).size;
  let done = 0;
  const source = createReadStream(location);
  source.on('data', (chunk) => {
    done += chunk.length;
    onProgress(done, total);
  });
  const rows = parse({ on_record: copyLines(data) });
  try {
    await pipeline(source, createGunzip(), rows, inBatches, target);
  } catch (error) {
    throw folderError(error, data.file);
  }
}

async function* inBatches(rows: AsyncIterable<[string]>): AsyncGenerator<string> {
  let batch = '';
  for await (const [row] of rows) {
    batch += row;
    if (batch.length < BATCH_CHARACTERS) continue;
    yield batch;
    batch = '';
  }
  if (batch) yield batch;
}

/** Turns a CSV row into a row of one value: its line of COPY text. */
function copyLines(data: DataFile): (record: string[], at: { lines: number }) => [string] | null {
  const header = data.columns.map((column) => column.name).join(',');
  let headerSeen = false;
  return (record, at) => {
    if (!headerSeen) {
      headerSeen = true;
      if (record.join(',') !== header)
        throw new DataFolderError(`${data.file} line 1: the header must be ${header}`);
      return null;
    }
    let line = '';
    for (let i = 0; i < data.columns.length; i += 1) {
      const column = data.columns[i];
      const value = record[i] ?? '';
      if (column) line += (i === 0 ? '' : '\t') + copyValue(column, value, data.file, at.lines);
    }
    return [`${line}\n`];
  };
}

function copyValue(column: FileColumn, value: string, file: string, line: number): string {
  if (value === '') {
    if (column.nullable) return '\\N';
    throw new DataFolderError(`${file} line ${line}: ${column.name} is empty`);
  }
  if (column.kind === 'text') {
    if (value.includes('\0'))
      throw new DataFolderError(
        `${file} line ${line}: ${column.name} contains a NUL character, which PostgreSQL can't store`,
      );
    return /[\\\t\n\r]/.test(value)
      ? value.replace(/[\\\t\n\r]/g, (c) => ({ '\\': '\\\\', '\t': '\\t', '\n': '\\n' })[c] ?? '\\r')
      : value;
  }
  const { form, name } = PATTERN[column.kind];
  if (!form.test(value))
    throw new DataFolderError(`${file} line ${line}: ${column.name} is not ${name}: ${value.slice(0, 60)}`);
  return value;
}

/**
 * The line of the last row with this value in this column; 0 if there is none. Reads the file again: only for
 * error messages.
 */
export async function findLine(
  folder: string,
  data: DataFile,
  column: string,
  value: string,
): Promise<number> {
  const index = data.columns.findIndex((known) => known.name === column);
  let line = 0;
  const rows = parse({
    on_record: (record: string[], at) => {
      if (record[index] === value) line = at.lines;
      return null;
    },
  });
  await pipeline(createReadStream(path.join(folder, data.file)), createGunzip(), rows.resume());
  return line;
}

function folderError(error: unknown, file: string): unknown {
  if (error instanceof DataFolderError) return error;
  if (error instanceof CsvError)
    return new DataFolderError(`${file} line ${String(error['lines'] ?? '?')}: ${error.message}`, {
      cause: error,
    });
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code.startsWith('Z_'))
    return new DataFolderError(`${file} is not a complete gzip file: ${describeError(error)}`, {
      cause: error,
    });
  // PostgreSQL rejected a well-formed value, such as 30 February. It names the row without counting the
  // header.
  if (code.startsWith('22') && error instanceof Error && 'where' in error) {
    const row = /line (\d+)/.exec(String(error.where))?.[1];
    return new DataFolderError(`${file} line ${row ? Number(row) + 1 : '?'}: ${error.message}`, {
      cause: error,
    });
  }
  return error;
}

const describeError = (error: unknown): string => (error instanceof Error ? error.message : String(error));

// How large a field and a record may be. Everything that is stored can be served, and what is served costs
// all callers memory and time, so a larger record is rejected when it is read. Sizes are bytes of UTF-8;
// lines count as their JSON, with the names of their fields. Pure.
import type { RecordRejection, SourceLine, SourceRecord } from '../connectors/source-records.ts';
import { type RecordColumn, sourceValue } from './columns.ts';
import { partTitle } from './validate-values.ts';

export type SizeLimits = { readonly maxFieldBytes: number; readonly maxRecordBytes: number };
/** Why a record can't be stored, without its id. */
export type RejectionReason = Pick<RecordRejection, 'code' | 'message'>;

const maxBytesPerCharacter = 3;
/** A record of at most this many characters, counted as a string counts them, is within the limits. */
export const maxCharactersToSkip = ({ maxFieldBytes, maxRecordBytes }: SizeLimits): number =>
  Math.floor(Math.min(maxFieldBytes, maxRecordBytes) / maxBytesPerCharacter);

const countBytes = (value: unknown): number => (typeof value === 'string' ? Buffer.byteLength(value) : 0);

const fieldTooLarge = (name: string, bytes: number, { maxFieldBytes }: SizeLimits): RejectionReason => ({
  code: 'FIELD_TOO_LARGE',
  message: `${name} has ${bytes} bytes; a field may have ${maxFieldBytes}. Shorten it in the ERP, leave it out of the sync, or raise MAX_FIELD_BYTES.`,
});

type Measured = { readonly bytes: number; readonly problem: RejectionReason | null };

/** Stops at the first field that is too large, and beyond the largest record. */
function measureLines(
  lines: readonly SourceLine[],
  { field, lineFields }: RecordColumn,
  limits: SizeLimits,
): Measured {
  const fields = lineFields ?? [];
  let bytes = 2;
  for (const [index, line] of lines.entries()) {
    for (const { name } of fields) {
      const value = line[name];
      if (typeof value !== 'string') continue;
      const ownBytes = countBytes(value);
      if (ownBytes > limits.maxFieldBytes)
        return { bytes, problem: fieldTooLarge(`${field} line ${index + 1}: ${name}`, ownBytes, limits) };
      bytes += countBytes(name) + ownBytes + '"":"",'.length;
    }
    bytes += '{},'.length;
    if (bytes > limits.maxRecordBytes) break;
  }
  return { bytes, problem: null };
}

/** The first field that is too large, or that the record is as a whole; null when it is within the limits. */
export function findOversize(
  record: SourceRecord,
  columns: readonly RecordColumn[],
  limits: SizeLimits,
): RejectionReason | null {
  const sizes: { readonly name: string; readonly bytes: number }[] = [];
  for (const column of columns) {
    const { part, state } = column;
    if (state === 'replaced') continue;
    const name = partTitle(column);
    if (part === 'lines') {
      const measured = measureLines(record.lines ?? [], column, limits);
      if (measured.problem !== null) return measured.problem;
      sizes.push({ name, bytes: measured.bytes });
      continue;
    }
    const bytes = countBytes(sourceValue(record, column));
    if (bytes > limits.maxFieldBytes) return fieldTooLarge(name, bytes, limits);
    sizes.push({ name, bytes });
  }
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= limits.maxRecordBytes) return null;
  const largest = sizes.reduce((first, other) => (other.bytes > first.bytes ? other : first));
  return {
    code: 'RECORD_TOO_LARGE',
    message: `The record has at least ${total} bytes, of which ${largest.name} has ${largest.bytes}; a record may have ${limits.maxRecordBytes}. Shorten it in the ERP, leave fields out of the sync, or raise MAX_RECORD_BYTES.`,
  };
}

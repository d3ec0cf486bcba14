// Validates what the ERP returned: ids, and each value by the type of its field. Describes what is wrong with
// an invalid value. Pure.
import type { SourceLine, SourceRecord, SourceValue } from '../connectors/source-records.ts';
import { isDay, isTime } from '../core/text/calendar.ts';
import { type ColumnType, type LineField, type RecordColumn, sourceValue } from './columns.ts';

export type CellType = Exclude<ColumnType, 'lines'>;

/**
 * Stricter than PostgreSQL, which would also accept `NaN`, `now` and `1e400`, and would replace a lone
 * surrogate by another character.
 */
export const numberPattern = '-?\\d{1,400}(?:\\.\\d{1,400})?';
const matchesWhole = (pattern: string) => {
  const regExp = new RegExp(`^${pattern}$`);
  return (text: string): boolean => regExp.test(text);
};
const validators: Readonly<Record<CellType, (text: string) => boolean>> = {
  text: (text) => text.isWellFormed() && !text.includes('\0'),
  number: matchesWhole(numberPattern),
  integer: matchesWhole('-?\\d{1,18}'),
  boolean: (text) => text === 'true' || text === 'false',
  date: isDay,
  time: isTime,
  integers: matchesWhole('\\[(?:-?\\d{1,18}(?:,-?\\d{1,18})*)?\\]'),
  texts: (text) => readTexts(text)?.every((each) => each === null || validators.text(each)) ?? false,
};
const problems: Readonly<Record<CellType, string>> = {
  text: 'contains a character that cannot be stored',
  number: 'is not a number in plain digits',
  integer: 'is not an integer of at most 18 digits',
  boolean: 'is neither true nor false',
  date: 'is not a date of the years 0001 to 9999',
  time: 'is not a time in UTC of the years 0001 to 9999',
  integers: 'is not a JSON array of integers of at most 18 digits',
  texts: 'is not a JSON array of texts that can be stored',
};

/** The texts and nulls of a JSON array; undefined for anything else. */
export function readTexts(json: string): (string | null)[] | undefined {
  try {
    const read: unknown = JSON.parse(json);
    const isText = (each: unknown): each is string | null => typeof each === 'string' || each === null;
    return Array.isArray(read) && read.every(isText) ? read : undefined;
  } catch {
    return undefined;
  }
}

function findProblem(value: unknown, type: CellType): string | null {
  if (value === null || value === undefined || typeof value === 'function') return null;
  if (typeof value !== 'string') return `is of type ${typeof value} instead of text`;
  return validators[type](value) ? null : problems[type];
}

/** Whether a column of this type stores the value as it is. */
export const isValidValue = (value: SourceValue, type: ColumnType): boolean =>
  type !== 'lines' && findProblem(value, type) === null;

function lineProblem(lines: readonly SourceLine[], fields: readonly LineField[]): string | null {
  for (const [index, line] of lines.entries())
    for (const { name, type } of fields) {
      const problem = findProblem(line[name], type);
      if (problem !== null) return `line ${index + 1}: ${name} ${problem}`;
    }
  return null;
}

const titles: Partial<Record<RecordColumn['part'], string>> = {
  label: 'the label of ',
  ids: 'the entries of ',
  names: 'the names of the entries of ',
};
/** What people call the column in a message. */
export const partTitle = ({ part, field }: Pick<RecordColumn, 'part' | 'field'>): string =>
  `${titles[part] ?? ''}${field}`;

/**
 * Describes the first value that does not match its field's type; null when all match. A connector should
 * have rejected it already.
 */
export function findInvalidValue(record: SourceRecord, columns: readonly RecordColumn[]): string | null {
  for (const column of columns) {
    const { type, state, lineFields } = column;
    if (state === 'replaced') continue;
    const problem =
      type === 'lines'
        ? lineProblem(record.lines ?? [], lineFields ?? [])
        : findProblem(sourceValue(record, column), type);
    if (problem !== null) return `${partTitle(column)} ${problem}`;
  }
  return null;
}

const integerId = /^(?:0|-?[1-9]\d{0,17})$/;
export const maxIdLength = 200;
/** Only the canonical notation of an id is valid, so that equal ids are equal texts. */
export const isValidId = (id: unknown, idType: 'integer' | 'text'): boolean =>
  typeof id === 'string' &&
  (idType === 'integer'
    ? integerId.test(id)
    : id !== '' && id.length <= maxIdLength && id.isWellFormed() && !id.includes('\0'));

/** A storable form of any value, at most `maxLength` characters, for ids and reasons of rejections. */
export const toStorableText = (text: unknown, maxLength: number): string =>
  String(text).slice(0, maxLength).toWellFormed().replaceAll('\0', '\ufffd');

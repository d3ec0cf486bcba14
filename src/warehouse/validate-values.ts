// Validates what the ERP returned: ids, and each value by the type of its field. Describes what is wrong with an invalid value. Pure.
import type { SourceLine, SourceRecord, SourceValue } from '../connectors/connector.ts';
import { isDay, isTime } from '../core/calendar.ts';
import type { ColumnType, LineField, RecordColumn } from './columns.ts';

export type CellType = Exclude<ColumnType, 'lines'>;

/** Stricter than PostgreSQL, which would also accept `NaN`, `now` and `1e400`, and would replace a lone surrogate by another character. */
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
};
const problems: Readonly<Record<CellType, string>> = {
  text: 'contains a character that cannot be stored',
  number: 'is not a number in plain digits',
  integer: 'is not an integer of at most 18 digits',
  boolean: 'is neither true nor false',
  date: 'is not a date of the years 0001 to 9999',
  time: 'is not a time in UTC of the years 0001 to 9999',
};

function problemOf(value: unknown, type: CellType): string | null {
  if (value === null || value === undefined || typeof value === 'function') return null;
  if (typeof value !== 'string') return `is of type ${typeof value} instead of text`;
  return validators[type](value) ? null : problems[type];
}

/** Whether a column of this type stores the value as it is. */
export const isValidValue = (value: SourceValue, type: ColumnType): boolean => type !== 'lines' && problemOf(value, type) === null;

function lineProblem(lines: readonly SourceLine[], fields: readonly LineField[]): string | null {
  for (const [index, line] of lines.entries())
    for (const { name, type } of fields) {
      const problem = problemOf(line[name], type);
      if (problem !== null) return `line ${index + 1}: ${name} ${problem}`;
    }
  return null;
}

/** Describes the first value that does not match its field's type; null when all match. A connector should have rejected it already. */
export function findInvalidValue({ values, labels, lines }: SourceRecord, columns: readonly RecordColumn[]): string | null {
  for (const { field, part, type, state, lineFields } of columns) {
    if (state === 'replaced') continue;
    const value = part === 'label' ? labels[field] : values[field];
    const problem = type === 'lines' ? lineProblem(lines ?? [], lineFields ?? []) : problemOf(value, type);
    if (problem !== null) return `${part === 'label' ? 'the label of ' : ''}${field} ${problem}`;
  }
  return null;
}

const integerId = /^(?:0|-?[1-9]\d{0,17})$/;
export const maxIdLength = 200;
/** Only the canonical notation of an id is valid, so that equal ids are equal texts. */
export const isValidId = (id: unknown, idType: 'integer' | 'text'): boolean =>
  typeof id === 'string' &&
  (idType === 'integer' ? integerId.test(id) : id !== '' && id.length <= maxIdLength && id.isWellFormed() && !id.includes('\0'));

/** A storable form of any value, at most `maxLength` characters, for the ids and reasons of rejected records. */
export const toStorableText = (text: unknown, maxLength: number): string =>
  String(text).slice(0, maxLength).toWellFormed().replaceAll('\0', '\ufffd');

// Whether what came is what it claims to be: ids, and each value by the type of its field. Says in words what is wrong. Pure.
import type { SourceLine, SourceRecord } from '../connectors/connector.ts';
import type { ColumnType, LineField, RecordColumn } from './columns.ts';

export type CellType = Exclude<ColumnType, 'lines'>;

/** PostgreSQL would take some of what these refuse: `NaN`, `now`, `1e400`, and half of a character as another one. */
export const numberForm = '-?\\d{1,400}(?:\\.\\d{1,400})?';
export const dayForm = '\\d{4}-\\d{2}-\\d{2}';
export const timeForm = `${dayForm}T\\d{2}:\\d{2}:\\d{2}Z`;
const whole = (form: string) => {
  const pattern = new RegExp(`^${form}$`);
  return (text: string): boolean => pattern.test(text);
};
const sound: Readonly<Record<CellType, (text: string) => boolean>> = {
  text: (text) => text.isWellFormed() && !text.includes('\0'),
  number: whole(numberForm),
  integer: whole('-?\\d{1,18}'),
  boolean: (text) => text === 'true' || text === 'false',
  date: whole(dayForm),
  time: whole(timeForm),
};
const problems: Readonly<Record<CellType, string>> = {
  text: 'holds a character that can not be stored',
  number: 'is not a number in plain digits',
  integer: 'is not an integer of at most 18 digits',
  boolean: 'is neither true nor false',
  date: 'is not a date',
  time: 'is not a time in UTC',
};

function problemOf(value: unknown, type: CellType): string | null {
  if (value === null || value === undefined || typeof value === 'function') return null;
  if (typeof value !== 'string') return `is of type ${typeof value} instead of a text`;
  return sound[type](value) ? null : problems[type];
}

function lineProblem(lines: readonly SourceLine[], fields: readonly LineField[]): string | null {
  for (const [index, line] of lines.entries())
    for (const { name, type } of fields) {
      const problem = problemOf(line[name], type);
      if (problem !== null) return `line ${index + 1}: ${name} ${problem}`;
    }
  return null;
}

/** The first value that is not what its field's type says, in words; null when all are. A connector should have found it. */
export function findUnsound({ values, labels, lines }: SourceRecord, columns: readonly RecordColumn[]): string | null {
  for (const { field, part, type, state, lineFields } of columns) {
    if (state === 'replaced') continue;
    const value = part === 'label' ? labels[field] : values[field];
    const problem = type === 'lines' ? lineProblem(lines ?? [], lineFields ?? []) : problemOf(value, type);
    if (problem !== null) return `${part === 'label' ? 'the label of ' : ''}${field} ${problem}`;
  }
  return null;
}

const integerId = /^(?:0|-?[1-9]\d{0,17})$/;
const longestId = 200;
/** In the one way of writing it, so that equal ids are equal texts. */
export const isSoundId = (id: unknown, idType: 'integer' | 'text'): boolean =>
  typeof id === 'string' &&
  (idType === 'integer' ? integerId.test(id) : id !== '' && id.length <= longestId && id.isWellFormed() && !id.includes('\0'));

/** Any text in a form that can be stored and shown, for ids and reasons of what is rejected. */
export const tellable = (text: unknown, most: number): string => String(text).slice(0, most).toWellFormed().replaceAll('\0', '\ufffd');

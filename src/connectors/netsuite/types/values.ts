// Converts NetSuite's text values to ours, one at a time. It decides what is a valid value of a type;
// anything else is reported as a problem and never coerced. Numbers stay text: a float would lose cents.
import { isDay, isTime } from '../../../core/text/calendar.ts';
import { plainDecimal } from '../../../core/text/plain-decimal.ts';
import type { FieldType } from '../../connector.ts';
import type { SourceValue } from '../../source-records.ts';

const integer = /^-?\d{1,18}$/;

const id = /^(?:0|-?[1-9]\d{0,17})$/;

/** Whether it is an internal id in canonical form: equal ids are equal texts. System rows: negative ids. */
export const isIdText = (text: string): boolean => id.test(text);

const maxExactDigits = 15; // a number holds integers of up to 15 digits exactly

/**
 * Negative, zero or positive when the first id is smaller than, equal to or larger than the second. Both must
 * pass `isIdText`.
 */
export function compareIds(one: string, other: string): number {
  if (one.length <= maxExactDigits && other.length <= maxExactDigits) return Number(one) - Number(other);
  const [a, b] = [BigInt(one), BigInt(other)];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The ids in the text of a multiple select, in its order; undefined for another text. */
export function chosenIds(text: string): string[] | undefined {
  const ids = text.split(/, */);
  return ids.every(isIdText) ? ids : undefined;
}

/**
 * Undefined for what isn't a value of this type: `describeValueProblem` says why. NetSuite leaves empty
 * columns out of a row; to Oracle an empty text is the same as null, and so it is here.
 */
export function parseValue(raw: unknown, type: FieldType): SourceValue | undefined {
  if (raw === undefined || raw === null || raw === '') return null;
  return typeof raw === 'string' ? parsers[type](raw) : undefined;
}

/** Completes a sentence that starts with the field's name, such as "is not a number". */
export const describeValueProblem = (raw: unknown, type: FieldType): string =>
  typeof raw === 'string' ? problems[type] : `is a JSON ${typeof raw} instead of a string`;

const parseText = (raw: string) => (raw.includes('\0') || !raw.isWellFormed() ? undefined : raw);
const ifValid = (raw: string, isValid: boolean): string | undefined => (isValid ? raw : undefined);

const parsers: Readonly<Record<FieldType, (raw: string) => string | undefined>> = {
  text: parseText,
  reference: parseText,
  list: parseText,
  multiselect: (raw) => ifValid(raw, chosenIds(raw) !== undefined),
  integer: (raw) => ifValid(raw, integer.test(raw)),
  number: plainDecimal,
  boolean: (raw) => (raw === 'T' ? 'true' : raw === 'F' ? 'false' : undefined),
  date: (raw) => ifValid(raw, isDay(raw)),
  time: (raw) => ifValid(raw, isTime(raw)),
  lines: () => undefined,
};

const unstorable = 'contains a character that cannot be stored';
const problems: Readonly<Record<FieldType, string>> = {
  text: unstorable,
  reference: unstorable,
  list: unstorable,
  multiselect: 'is not a list of ids',
  integer: 'is not an integer',
  number: 'is not a number',
  boolean: 'is neither T nor F',
  date: 'is not a date of the years 0001 to 9999',
  time: 'is not a time in UTC of the years 0001 to 9999',
  lines: 'is not a value',
};

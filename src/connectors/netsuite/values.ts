// From NetSuite's texts to ours, one value at a time. It decides what counts as a value of a type; what does not is told
// as a problem and never bent into shape. Numbers stay text: a float would lose cents.
import type { FieldType, SourceValue } from '../connector.ts';

export type ParsedValue = { readonly value: SourceValue } | { readonly problem: string };

const decimal = /^(-?)(\d*)(?:\.(\d*))?(?:E([+-]?\d{1,3}))?$/i;
const integer = /^-?\d{1,18}$/;
const dateText = /^\d{4}-\d{2}-\d{2}$/;
const timeText = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
const largestExponent = 60;

const id = /^(?:0|-?[1-9]\d{0,17})$/;

/** An internal id in the one way of writing it, so that equal ids are equal texts. System rows have negative ones. */
export const isIdText = (text: string): boolean => id.test(text);

/** NetSuite leaves empty columns out of a row; an empty text is the same to Oracle, and so it is here. */
export function parseValue(raw: unknown, type: FieldType): ParsedValue {
  if (raw === undefined || raw === null || raw === '') return { value: null };
  if (typeof raw !== 'string') return { problem: `is a JSON ${typeof raw} instead of a text` };
  return parsers[type](raw);
}

const orProblem = (value: SourceValue, words: string): ParsedValue => (value === null ? { problem: words } : { value });

const parseText = (raw: string): ParsedValue =>
  orProblem(raw.includes('\0') || !raw.isWellFormed() ? null : raw, 'holds a character that can not be stored');

const parsers: Readonly<Record<FieldType, (raw: string) => ParsedValue>> = {
  text: parseText,
  reference: parseText,
  list: parseText,
  integer: (raw) => orProblem(integer.test(raw) ? raw : null, 'is not an integer'),
  number: (raw) => orProblem(decimalText(raw), 'is not a number'),
  boolean: (raw) => orProblem(raw === 'T' ? 'true' : raw === 'F' ? 'false' : null, 'is neither T nor F'),
  date: (raw) => orProblem(dateText.test(raw) && isInstant(`${raw}T00:00:00Z`) ? raw : null, 'is not a date'),
  time: (raw) => orProblem(timeText.test(raw) && isInstant(raw) ? raw : null, 'is not a time in UTC'),
  lines: () => ({ problem: 'is not a value' }),
};

/** Refuses 31 February, which Date.parse takes for 3 March. */
function isInstant(text: string): boolean {
  const instant = new Date(text);
  return !Number.isNaN(instant.getTime()) && instant.toISOString() === text.replace('Z', '.000Z');
}

/** `.5` → `0.5`, `1.0E-4` → `0.00010`, exactly and without a float; null for what is no number. */
function decimalText(raw: string): string | null {
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = decimal.exec(raw) ?? [];
  const exponent = Number(exponentText);
  if (whole === '' && fraction === '') return null;
  if (Math.abs(exponent) > largestExponent || raw.length > 100) return null;
  const point = whole.length + exponent;
  const digits = `${'0'.repeat(Math.max(0, -point))}${whole}${fraction}`.padEnd(point, '0');
  const split = Math.max(0, point);
  const left = digits.slice(0, split).replace(/^0+(?=\d)/, '');
  const right = digits.slice(split);
  return `${sign}${left === '' ? '0' : left}${right === '' ? '' : `.${right}`}`;
}

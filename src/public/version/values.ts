// Parses the text of a filter value by the type of its column. PostgreSQL accepts all that passes here.
import { isDay } from '../../core/text/calendar.ts';
import type { ValueType } from './operators.ts';

/**
 * Exact text for PostgreSQL. A timestamp is a span from its first to its last microsecond; a date given for a
 * timestamp field spans the whole UTC day.
 */
export type Value = string | Span;
export type Span = { readonly from: string; readonly to: string };

export type ParsedValue =
  | { readonly value: Value }
  | { readonly code: 'invalid_value' | 'out_of_range'; readonly message: string };

/** RFC 3339, in capitals and with at most six digits of a second: others are cut off, never rounded. */
const timeForm =
  /^(\d{4}-\d{2}-\d{2})(T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?)\d*(Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/;
const maxDigits = 100;
const maxTimeLength = 60;
export const minInteger = -(2n ** 63n);
const maxInteger = 2n ** 63n - 1n;

const invalid = (message: string): ParsedValue => ({ code: 'invalid_value', message });
const outOfRange = (message: string): ParsedValue => ({ code: 'out_of_range', message });

const readers: Readonly<Record<ValueType, (text: string) => ParsedValue>> = {
  text: (text) => ({ value: text }),
  boolean: (text) =>
    text === 'true' || text === 'false' ? { value: text } : invalid('must be true or false'),
  date: (text) => (isDay(text) ? { value: text } : invalid('must be a valid date such as 2026-01-31')),
  time: parseTime,
  integer: parseInteger,
  integers: parseInteger,
  texts: (text) => ({ value: text }),
  number: (text) => {
    const digits = plainDigits(text);
    // The form to use; published versions word it so.
    if (digits === undefined) return invalid('must be a number such as 12.50, without exponent');
    return digits.length <= maxDigits
      ? { value: digits }
      : outOfRange(`must have at most ${maxDigits} digits`);
  },
};

const numberForm = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

/**
 * A number without exponent, as which JSON may have it; undefined for anything else. With far too many digits
 * where the exponent is large.
 */
function plainDigits(text: string): string | undefined {
  const [, sign, whole = '', fraction = '', exponent] = numberForm.exec(text) ?? [];
  if (sign === undefined) return undefined;
  if (exponent === undefined) return text;
  const power = Math.min(Math.max(Number(exponent), -maxDigits), maxDigits);
  const digits = `${'0'.repeat(Math.max(0, -power))}${whole}${fraction}${'0'.repeat(Math.max(0, power))}`;
  const point = Math.max(0, -power) + whole.length + power;
  const plain = `${digits.slice(0, point).replace(/^0+(?=\d)/, '')}.${digits.slice(point)}`.replace(
    /\.?0*$/,
    '',
  );
  return `${sign}${plain === '' ? '0' : plain}`;
}

function parseTime(text: string): ParsedValue {
  if (isDay(text)) return { value: { from: `${text}T00:00:00Z`, to: `${text}T23:59:59.999999Z` } };
  const [, day = '', time = '', zone = ''] =
    text.length <= maxTimeLength ? (timeForm.exec(text.toUpperCase()) ?? []) : [];
  const at = `${day}${time}${zone}`;
  if (isDay(day)) return { value: { from: at, to: at } };
  return invalid(
    'must be a valid date such as 2026-01-31 or a time such as 2026-01-31T10:00:00Z (encode a plus sign as %2B)',
  );
}

function parseInteger(text: string): ParsedValue {
  const plain = plainDigits(text) ?? '';
  if (!/^-?\d+$/.test(plain)) return invalid('must be a whole number');
  const digits = plain.length <= maxDigits ? BigInt(plain) : maxInteger + 1n;
  return digits >= minInteger && digits <= maxInteger
    ? { value: digits.toString() }
    : outOfRange(`must be between ${minInteger} and ${maxInteger}`);
}

/** Of a list, the value of one entry. Never throws: an invalid text returns the code and message. */
export const parseFilterValue = (type: ValueType, text: string): ParsedValue => readers[type](text);

/** Whether a record with this id type can have this id, in exactly this spelling. */
export function isRecordId(idType: 'integer' | 'text', text: string): boolean {
  if (idType === 'text')
    return text !== '' && text !== 'changes' && text !== '\ufffd' && !text.includes('\0');
  const read = parseInteger(text);
  return 'value' in read && read.value === text;
}

// Exact arithmetic over values as records show them, for the aggregates that the service computes.
import { type FieldKind, sumDecimals } from './model.ts';

export const isNumeric = (kind: FieldKind): boolean => kind === 'integer' || kind === 'number';
/** A value as `parseExact` reads it, without the mark of numbers. */
export const toText = (value: unknown): string => String(value).replace(/^#/, '');
/** Digits with the same number of decimals, whatever the number of decimals of the text. */
export const scaled = (text: string): bigint => BigInt(sumDecimals([text, '0.0000000000']).replace('.', ''));

/** Texts by their bytes, which are ASCII here. */
export const byValue = (kind: FieldKind) => (a: string, b: string) => {
  const [left, right] = isNumeric(kind)
    ? [scaled(a), scaled(b)]
    : kind === 'time'
      ? [Date.parse(a), Date.parse(b)]
      : [a, b];
  return left < right ? -1 : left > right ? 1 : 0;
};

/** Rounded half up to six decimals, without trailing zeros. */
export function computeAverage(texts: readonly string[]): string {
  const total = scaled(sumDecimals(texts));
  const millionths = (total * 2n + 10_000n * BigInt(texts.length)) / (20_000n * BigInt(texts.length));
  const digits = String(millionths).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '');
}

/** Some numbers have several spellings, such as those of different scales. */
export const respelled = (value: unknown): unknown =>
  typeof value === 'string' && /^#?-?\d+\.\d+$/.test(value) ? value.replace(/\.?0+$/, '') : value;

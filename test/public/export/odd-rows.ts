// Records with values that a writer of another form could misread.
import fc from 'fast-check';
import type { InvoiceRow } from '../fixture.ts';

// Texts that CSV, COPY or JSON might misinterpret, ties, and nulls.
export const texts = [
  ...['a', 'B', '', 'a,b', '"', 'x""y', 'l1\nl2', 'l1\r\nl2', '\r', '\n', '\\', '\\n', '\\.', '\t'],
  ...['\u0001\u0002', ' ', 'é😀', 'NULL'],
];
/**
 * What a byte-wise writer could misread: escapes of COPY and JSON, control characters, separators beyond
 * ASCII.
 */
const pieces = [
  ...['\\N', 'N', '\\', '"', ',', '\t', '\n', '\r', '\b', '\f', '\v', '\u0001', '\u001f', '\u007f'],
  ...['\u2028', '\ufeff', 'é', '😀', "'", '=1', 'x'],
];
const nasty = fc
  .sample(fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 9 }), 29)
  .map((parts) => `~${parts.join('')}`);
export const largest = '9007199254740992';
const numbers = [
  ...['0.00', '1.500', `-${largest}`, `${largest}.5`, '9007199254740993.000', '-9007199254740993'],
  ...[`${'9'.repeat(60)}.10`, `0.${'0'.repeat(40)}1`, 'NaN'],
];
const integers = [largest, '-9007199254740993', '9223372036854775807', '-9223372036854775808', '0'];
const days = ['10000-01-01', '0044-03-15 BC', 'infinity', '0001-01-01'];
const fractions = ['10000-01-01T00:00:00.5Z', '1900-01-01T00:00:00.000001Z'];
const times = [...fractions, '0044-03-15 01:02:03 BC', '-infinity'];
const pick = <T>(list: readonly T[], seed: number): T | null =>
  list[seed % (list.length + Math.ceil(list.length / 2))] ?? null;
const odd: InvoiceRow[] = nasty.map((text, index) => ({
  id: 100 + index,
  tranid: text,
  status: pick(['open', 'paid'], index),
  total: pick(numbers, index),
  seq: pick(integers, index),
  trandate: pick(days, index),
  lastmodified: pick(times, index),
  entityName: nasty[nasty.length - 1 - index] ?? null,
  lines: JSON.stringify([{ item: text, quantity: index / 2 }, { 'item.name': text }]),
}));
const usual: InvoiceRow[] = Array.from({ length: 61 }, (_, index) => ({
  id: index + 1,
  tranid: pick(texts, index * 7),
  status: pick(['open', 'paid'], index),
  total: pick(['1.50', '-0.10', '12345678901234567890', '1.0000000000000000001'], index * 5),
  seq: pick(['1', '9007199254740993'], index * 3),
  paid: pick([true, false], index),
  trandate: pick(['2026-01-31', '2026-02-01'], index),
  lastmodified: pick(['2026-01-31T23:59:59.999999Z', '2026-02-01T00:00:00Z'], index),
  entityName: pick(texts, index * 5),
  lines: pick(['[]', '[{"item":"a\\"b,c\\n","quantity":12345678901234567890.50}]'], index),
}));
export const rows = [...usual, ...odd];

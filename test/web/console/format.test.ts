// Values at the edge between two units: what is rounded up to a unit is shown in it.
import { expect, it } from 'vitest';
import { formatAmount, formatBytes, formatDuration } from '../../../web/console/src/format.ts';

it.each([
  [0, '0.0 s'],
  [9_940, '9.9 s'],
  [9_960, '10 s'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [3_569_000, '59 min'],
  [3_599_000, '1 h 0 min'],
  [3_900_000, '1 h 5 min'],
])('%i ms are %s', (ms, shown) => {
  expect(formatDuration(ms)).toBe(shown);
});

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.0 kB'],
  [999_940, '999.9 kB'],
  [999_960, '1.0 MB'],
  [2_400_000, '2.4 MB'],
  [999_999_999, '1.0 GB'],
  [2e15, '2000.0 TB'],
])('%i bytes are %s', (bytes, shown) => {
  expect(formatBytes(bytes)).toBe(shown);
});

it.each([
  ['1234.5', undefined, '1,234.5'],
  ['-12345678901234567890.1200', undefined, '-12,345,678,901,234,567,890.1200'],
  ['1250', 'JPY', '1,250\u00a0JPY'],
  [0.5, 'GBP', '0.50\u00a0GBP'],
])('the amount %s %s is %s', (amount, currency, shown) => {
  expect(formatAmount(amount, currency)).toBe(shown);
});

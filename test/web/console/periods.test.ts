import { describe, expect, it } from 'vitest';
import { daysOf, fillPeriods, type Period } from '../../../web/console/src/screens/data/periods.ts';

describe('the periods of a plot', () => {
  it.each<[Period, string[], string[]]>([
    ['day', ['2024-02-28', '2024-03-01'], ['2024-02-28', '2024-02-29', '2024-03-01']],
    ['week', ['2025-12-22', '2026-01-05'], ['2025-12-22', '2025-12-29', '2026-01-05']],
    ['month', ['2025-11', '2026-01'], ['2025-11', '2025-12', '2026-01']],
    ['quarter', ['2025-Q3', '2026-Q1'], ['2025-Q3', '2025-Q4', '2026-Q1']],
    ['year', ['2024', '2026'], ['2024', '2025', '2026']],
    ['day', ['1900-01-01', '2026-01-01'], ['1900-01-01', '2026-01-01']],
    ['month', [], []],
  ])('have the empty ones between them, unless they are too many: %s %j', (period, keys, filled) =>
    expect(fillPeriods(keys, period)).toEqual(filled),
  );

  it.each<[Period, string, string, string]>([
    ['day', '2026-03-02', '2026-03-02', '2026-03-02'],
    ['week', '2026-03-02', '2026-03-02', '2026-03-08'],
    ['month', '2024-02', '2024-02-01', '2024-02-29'],
    ['quarter', '2026-Q4', '2026-10-01', '2026-12-31'],
    ['year', '2026', '2026-01-01', '2026-12-31'],
  ])('%s %s is from %s to %s', (period, key, first, last) =>
    expect(daysOf(key, period)).toEqual([first, last]),
  );
});

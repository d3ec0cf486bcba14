// Suggestions, compared with the distance as its definition computes it.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { nearestName } from '../../src/core/text/nearest-name.ts';

/** Levenshtein distance by its definition. */
function editsBetween(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  if (a[0] === b[0]) return editsBetween(a.slice(1), b.slice(1));
  return (
    1 +
    Math.min(editsBetween(a.slice(1), b), editsBetween(a, b.slice(1)), editsBetween(a.slice(1), b.slice(1)))
  );
}

it('ignores case, and is never far away', () => {
  const known = ['status', 'date_after', 'total'];
  expect(
    ['statsu', 'STATUS', 'date_afer', 'tota', 'x', 'totalling', 'a'.repeat(10_000)].map((name) =>
      nearestName(name, known),
    ),
  ).toEqual(['status', 'status', 'date_after', 'total', undefined, undefined, undefined]);
});

it('is the first of the nearest names, at most three edits and half of the name away', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', 'İ'), maxLength: 6 });
  fc.assert(
    fc.property(name, fc.array(name, { maxLength: 5 }), (wanted, known) => {
      const distances = known.map((one) => editsBetween(wanted.toLowerCase(), one.toLowerCase()));
      const allowed = Math.min(3, Math.floor(wanted.length / 2));
      const near = known.filter(
        (one, index) => (distances[index] ?? 9) <= allowed && Math.abs(one.length - wanted.length) <= allowed,
      );
      const nearest = Math.min(...near.map((one) => distances[known.indexOf(one)] ?? 9));
      expect(nearestName(wanted, known)).toBe(near.find((one) => distances[known.indexOf(one)] === nearest));
    }),
    { numRuns: 2_000 },
  );
});

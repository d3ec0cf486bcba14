// Every mutant of the mutation check, by name.
import { absenceMutants } from './absence.ts';
import { changeMutants } from './changes.ts';
import { columnMutants } from './columns.ts';
import { lineMutants } from './lines.ts';
import type { Mutant } from './mutant.ts';
import { publishingMutants } from './publishing.ts';
import { readingMutants } from './reading.ts';

export const mutants: readonly Mutant[] = [
  ...readingMutants,
  ...changeMutants,
  ...lineMutants,
  ...absenceMutants,
  ...columnMutants,
  ...publishingMutants,
];

/** Throws a RangeError when there is none. */
export function findMutant(name: string): Mutant {
  const found = mutants.find((mutant) => mutant.name === name);
  if (found === undefined) throw new RangeError(`there is no mutant ${name}`);
  return found;
}

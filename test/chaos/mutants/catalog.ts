// Every mutant of the mutation check, by name.
import { absenceMutants } from './absence.ts';
import { changeMutants } from './changes.ts';
import { columnMutants } from './columns.ts';
import { absenceHistories } from './histories/absence.ts';
import { changeHistories } from './histories/changes.ts';
import { columnHistories } from './histories/columns.ts';
import { lineHistories } from './histories/lines.ts';
import { publishingHistories } from './histories/publishing.ts';
import { readingHistories } from './histories/reading.ts';
import { webhookHistories } from './histories/webhooks.ts';
import type { Histories } from './history.ts';
import { lineMutants } from './lines.ts';
import type { Mutant } from './mutant.ts';
import { publishingMutants } from './publishing.ts';
import { readingMutants } from './reading.ts';
import { webhookMutants } from './webhooks.ts';

export const histories: Histories = {
  ...readingHistories,
  ...changeHistories,
  ...lineHistories,
  ...absenceHistories,
  ...columnHistories,
  ...publishingHistories,
  ...webhookHistories,
};

const all: readonly Mutant[] = [
  ...readingMutants,
  ...changeMutants,
  ...lineMutants,
  ...absenceMutants,
  ...columnMutants,
  ...publishingMutants,
  ...webhookMutants,
];
export const mutants: readonly Mutant[] = all.map((mutant) => {
  const history = histories[mutant.name];
  return history === undefined ? mutant : { ...mutant, history };
});

/** Changes nothing: a plan that is red with it is red with every mutant, and says nothing of any. */
export const controlMutant: Mutant = {
  name: 'control',
  without: 'nothing',
  file: 'src/sync/prove/run-proof.ts',
  replaces: 'compareWithErp',
  instead: '(original) => original',
  concerns: [],
};

/** Throws a RangeError when there is none. */
export function findMutant(name: string): Mutant {
  const found = [controlMutant, ...mutants].find((mutant) => mutant.name === name);
  if (found === undefined) throw new RangeError(`there is no mutant ${name}`);
  return found;
}

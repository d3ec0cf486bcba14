// Which record types are chosen for syncing. Survives a reload of the tab.
import { effect, signal } from '@preact/signals';
import { keep, readKept } from '../../kept.ts';

const keptName = 'chosen record types';
export const chosen = signal<ReadonlySet<string>>(new Set());
// Again once it is known whose they are.
effect(() => {
  chosen.value = new Set(readKept<string[]>(keptName));
});

/** The set with these names, or without them. */
export function withNames(
  before: Iterable<string>,
  names: Iterable<string>,
  isIn: boolean,
): ReadonlySet<string> {
  const next = new Set(before);
  for (const name of names) isIn ? next.add(name) : next.delete(name);
  return next;
}

/** The id is read whether it is chosen or not. */
export const withId = (fields: Iterable<string>): ReadonlySet<string> => new Set(['id', ...fields]);

export function choose(names: Iterable<string>, isChosen: boolean): void {
  chosen.value = withNames(chosen.value, names, isChosen);
  keep(keptName, [...chosen.value]);
}

// Which record types are chosen for syncing. Survives a reload of the tab.
import { effect, signal } from '@preact/signals';
import { keep, readKept } from '../../kept.ts';
import { withNames } from '../../names.ts';

const keptName = 'chosen record types';
export const chosen = signal<ReadonlySet<string>>(new Set());
// Again once it is known whose they are.
effect(() => {
  chosen.value = new Set(readKept<string[]>(keptName));
});

export function choose(names: Iterable<string>, isChosen: boolean): void {
  chosen.value = withNames(chosen.value, names, isChosen);
  keep(keptName, [...chosen.value]);
}

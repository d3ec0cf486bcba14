// What a person typed or learned and the service doesn't keep: it survives a reload, and ends with the tab
// unless it is in localStorage.
import { useState } from 'preact/hooks';
import { organizationId, sessionState } from './session.ts';

/** Of this person in this organization. */
const toKey = (name: string): string =>
  `console ${sessionState.value?.session?.user.id} ${organizationId()} ${name}`;

type StorageName = 'sessionStorage' | 'localStorage';

/** Undefined where nothing is kept, or the browser keeps nothing. */
export function readKept<T>(name: string, storage: StorageName = 'sessionStorage'): T | undefined {
  try {
    return JSON.parse(globalThis[storage].getItem(toKey(name)) ?? '') as T;
  } catch {
    return undefined;
  }
}

/** `undefined` forgets it. */
export function keep(name: string, value: unknown, storage: StorageName = 'sessionStorage'): void {
  try {
    if (value === undefined) globalThis[storage].removeItem(toKey(name));
    else globalThis[storage].setItem(toKey(name), JSON.stringify(value));
  } catch {
    // A full or forbidden storage costs a reload its memory, nothing else.
  }
}

/** State that survives a reload until `keep(name, undefined)`. Never for secrets. */
export function useKept<T>(name: string, initial: T): readonly [value: T, set: (value: T) => void] {
  const [value, setValue] = useState<T>(() => readKept<T>(name) ?? initial);
  const set = (next: T): void => {
    keep(name, next);
    setValue(next);
  };
  return [value, set];
}

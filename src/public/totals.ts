// Exact totals, remembered per epoch, generation and filter: data doesn't change within a generation, so neither does a count.
// Of several requests for the same new total one counts and the others wait for it.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

export type Claim =
  | { readonly kind: 'known'; readonly total: number }
  /** Resolves when the counting is over, whatever it found; rejects with its error. */
  | { readonly kind: 'awaited'; readonly done: Promise<void> }
  /** The caller counts, and must call one of the two. */
  | { readonly kind: 'mine'; finish(): void; fail(error: unknown): void };

export type Totals = {
  known(key: string): number | undefined;
  claim(key: string): Claim;
  put(key: string, total: number): void;
};

/** Filters may be long; keys are hashed, so that the number of entries bounds the memory. */
export const totalKey = (place: readonly string[], filterKey: string): string =>
  createHash('sha256')
    .update(JSON.stringify([place, filterKey]))
    .digest('base64url');

export function openTotals(max: number): Totals {
  const totals = new LRUCache<string, number>({ max });
  const counting = new Map<string, Promise<void>>();
  return {
    known: (key) => totals.get(key),
    claim(key) {
      const total = totals.get(key);
      if (total !== undefined) return { kind: 'known', total };
      const done = counting.get(key);
      if (done !== undefined) return { kind: 'awaited', done };
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      promise.catch(() => undefined);
      counting.set(key, promise);
      const over = () => counting.delete(key);
      return {
        kind: 'mine',
        finish: () => {
          over();
          resolve();
        },
        fail: (error) => {
          over();
          reject(error);
        },
      };
    },
    put: (key, total) => {
      totals.set(key, total);
    },
  };
}

// Exact totals, remembered per epoch, generation and filter: data doesn't change within a generation, so neither does a count.
// Of several requests for the same new total one counts and the others wait for it.
import { openByteCache } from './byte-cache.ts';

export type Claim =
  | { readonly kind: 'known'; readonly total: number }
  /** Resolves when the counting is over, whatever it found; rejects with its error. */
  | { readonly kind: 'awaited'; readonly done: Promise<void> }
  /** The caller counts, and must call one of the two. */
  | { readonly kind: 'mine'; finish(): void; fail(error: unknown): void };

export type Totals = {
  claim(key: string): Claim;
  put(key: string, total: number): void;
};

/** `filterKey` is empty or JSON, and what stands before it holds no line break but for a record type's name. */
export const totalKey = (place: readonly string[], filterKey: string): string => `${place.join('\n')}\n${filterKey}`;

const numberBytes = 16;

export function openTotals(maxBytes: number): Totals {
  const totals = openByteCache<number>(maxBytes, () => numberBytes);
  const counting = new Map<string, Promise<void>>();
  return {
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

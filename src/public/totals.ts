// Exact totals, remembered per epoch, generation and filter: data doesn't change within a generation, so neither does a count.
// Of several requests for the same new total one counts and the others wait for it.
import { openTally, type Tally } from '../core/tally.ts';
import { openByteCache } from './byte-cache.ts';

/** A total and the data and filter that it is of: what was counted may be newer than what was asked for. */
export type Counted = { readonly key: string; readonly total: number };

export type Claim =
  | { readonly kind: 'known'; readonly total: number }
  /** Resolves with what somebody else counts just now; rejects with the error of that. */
  | { readonly kind: 'awaited'; readonly counted: Promise<Counted> }
  /** The caller counts, and must call one of the two. */
  | { readonly kind: 'mine'; found(counted: Counted): void; fail(error: unknown): void };

export type Totals = {
  known(key: string): number | undefined;
  claim(key: string): Claim;
  put(counted: Counted): void;
};

/** `filterKey` is empty or JSON, and what stands before it holds no line break but for a record type's name. */
export const totalKey = (place: readonly string[], filterKey: string): string => `${place.join('\n')}\n${filterKey}`;

const numberBytes = 16;

export function openTotals(maxBytes: number, tally: Tally = openTally()): Totals {
  const totals = openByteCache<number>(maxBytes, () => numberBytes);
  const counting = new Map<string, Promise<Counted>>();
  const put = ({ key, total }: Counted): void => totals.set(key, total);
  /** What somebody counts just now is found too. */
  const known = (key: string, isCounted = false): number | undefined => {
    const total = totals.get(key);
    if (total === undefined && !isCounted) tally.misses += 1;
    else tally.hits += 1;
    return total;
  };
  return {
    put,
    known,
    claim(key) {
      const under = counting.get(key);
      const total = known(key, under !== undefined);
      if (total !== undefined) return { kind: 'known', total };
      if (under !== undefined) return { kind: 'awaited', counted: under };
      const { promise, resolve, reject } = Promise.withResolvers<Counted>();
      promise.catch(() => undefined);
      counting.set(key, promise);
      return {
        kind: 'mine',
        found: (counted) => {
          counting.delete(key);
          put(counted);
          resolve(counted);
        },
        fail: (error) => {
          counting.delete(key);
          reject(error);
        },
      };
    },
  };
}

// Caches exact totals by epoch, generation and filter: data does not change within a generation, so a count does not either. When several
// requests need the same new total, one counts and the others wait for it.
import { createHitCounter, type HitCounter } from '../core/hit-counter.ts';
import { createByteCache } from './byte-cache.ts';

/** A total and the key of the data and filter it was counted for, which may be newer than what was requested. */
export type Counted = { readonly key: string; readonly total: number };

export type TotalClaim =
  | { readonly kind: 'known'; readonly total: number }
  /** Another request is counting: resolves with its result or rejects with its error. */
  | { readonly kind: 'awaited'; readonly counted: Promise<Counted> }
  /** The caller must count, and must call one of the two functions. */
  | { readonly kind: 'mine'; found(counted: Counted): void; fail(error: unknown): void };

export type TotalCache = {
  find(key: string): number | undefined;
  claim(key: string): TotalClaim;
  put(counted: Counted): void;
};

/** `filterKey` is empty or JSON; of the parts before it only a record type name may contain a line break. */
export const totalKey = (scope: readonly string[], filterKey: string): string => `${scope.join('\n')}\n${filterKey}`;

const numberBytes = 16;

/** Bounded by `maxBytes`; counts in progress are shared in any case. */
export function createTotalCache(maxBytes: number, counter: HitCounter = createHitCounter()): TotalCache {
  const totals = createByteCache<number>(maxBytes, () => numberBytes);
  const counting = new Map<string, Promise<Counted>>();
  const put = ({ key, total }: Counted): void => totals.set(key, total);
  /** A count in progress counts as a hit. */
  const known = (key: string, isCounted = false): number | undefined => {
    const total = totals.get(key);
    if (total === undefined && !isCounted) counter.misses += 1;
    else counter.hits += 1;
    return total;
  };
  return {
    put,
    find: known,
    claim(key) {
      const pending = counting.get(key);
      const total = known(key, pending !== undefined);
      if (total !== undefined) return { kind: 'known', total };
      if (pending !== undefined) return { kind: 'awaited', counted: pending };
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

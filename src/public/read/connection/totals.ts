// Caches exact totals by epoch, generation and filter: data does not change within a generation, so a count
// does not either. When several requests need the same new total, one counts and the others wait for it.
import { createCache } from '../../../core/work/cache.ts';
import type { HitCounter } from '../../../core/work/hit-counter.ts';

/**
 * A total and the key of the data and filter it was counted for, which may be newer than what was requested.
 */
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
export const totalKey = (scope: readonly string[], filterKey: string): string =>
  `${scope.join('\n')}\n${filterKey}`;

const numberBytes = 16;

/** Bounded by `maxBytes`; counts in progress are shared in any case. */
export function createTotalCache(maxBytes: number, counter?: HitCounter): TotalCache {
  const totals = createCache<Counted>({
    maxBytes,
    countBytes: () => numberBytes,
    toKey: ({ key }) => key,
    counter,
  });
  return {
    put: (counted) => totals.put(counted.key, counted),
    find: (key) => totals.find(key)?.total,
    claim(key) {
      const known = totals.findFresh(key);
      if (known !== undefined) return { kind: 'known', total: known.total };
      const { promise, resolve, reject } = Promise.withResolvers<Counted>();
      const counted = totals.load(key, () => promise);
      return counted === promise
        ? { kind: 'mine', found: resolve, fail: reject }
        : { kind: 'awaited', counted };
    },
  };
}

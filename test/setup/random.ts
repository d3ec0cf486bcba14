// Random choices that are the same in each run.

export type Random = { below(limit: number): number; pick<T>(list: readonly T[]): T };

/** The same numbers for the same seed. */
export function createRandom(seed: number): Random {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  return { below, pick };
}

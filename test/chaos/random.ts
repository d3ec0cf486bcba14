// One random generator per seed: the same seed decides the same things in the same order.

export type Random = {
  /** 0 ≤ x < 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** `count` distinct items, in their order; all of them when there are fewer. */
  sample<T>(items: readonly T[], count: number): T[];
};

/** mulberry32: 32 bits of state are plenty for a plan of a few hundred decisions. */
export function createRandom(seed: number): Random {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  const random: Random = {
    next,
    between,
    chance: (probability) => next() < probability,
    pick<T>(items: readonly T[]): T {
      if (items.length === 0) throw new RangeError('nothing to pick from');
      return items[between(0, items.length - 1)] as T; // which may be undefined itself
    },
    sample(items, count) {
      const left = new Set(items.keys());
      const chosen = new Set<number>();
      while (chosen.size < count && left.size > 0) {
        const index = random.pick([...left]);
        left.delete(index);
        chosen.add(index);
      }
      return items.filter((_item, index) => chosen.has(index));
    },
  };
  return random;
}

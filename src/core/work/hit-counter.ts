// Hits and misses of a cache: the cache increments them, the metrics read them.

export type HitCounter = { hits: number; misses: number };

export const createHitCounter = (): HitCounter => ({ hits: 0, misses: 0 });

// How often something was found where it was looked for: two numbers that whoever looks adds to, and whoever measures reads.

export type Tally = { hits: number; misses: number };

export const openTally = (): Tally => ({ hits: 0, misses: 0 });

// The only reader of the system clock in this package. Everything else takes a Clock, so that tests can stop
// time or jump.

export type Clock = { now(): Date };

export const systemClock: Clock = { now: () => new Date() };

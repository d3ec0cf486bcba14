// The only reader of the system clock. Everything else takes a Clock, so that tests can stop time or jump.

export type Clock = {
  now(): Date;
  /** Milliseconds that never go backwards; for measuring durations, never for dates. */
  monotonicMs(): number;
};

export const systemClock: Clock = { now: () => new Date(), monotonicMs: () => performance.now() };

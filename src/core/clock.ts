// The only reader of the system clock. Everything else takes a Clock, so that tests can stand still or jump.

export type Clock = {
  now(): Date;
  /** Milliseconds that only ever grow; for measuring, never for dates. */
  monotonicMs(): number;
};

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};

// The account's clock as callers see it: business time, which the control interface can step away from the
// books.

export type AccountClock = {
  now(): Date;
  /** How far it is from business time. */
  skewSeconds(): number;
  step(seconds: number): void;
  /** Continues from this time. */
  set(at: Date): void;
  reset(): void;
};

export function createAccountClock(businessTime: () => Date): AccountClock {
  let skewMs = 0;
  return {
    now: () => new Date(businessTime().getTime() + skewMs),
    skewSeconds: () => skewMs / 1000,
    step: (seconds) => {
      skewMs += seconds * 1000;
    },
    set: (at) => {
      skewMs = at.getTime() - businessTime().getTime();
    },
    reset: () => {
      skewMs = 0;
    },
  };
}

// The clock by which certificates, assertions, tokens and signatures are valid: wall time, unless a test moves it.
import type { Clock } from '../../../core/clock.ts';

export type AuthenticationClock = Clock & {
  /** Runs on from there; null goes back to wall time. */
  set(at: Date | null): void;
};

export function makeAuthenticationClock(clock: Clock): AuthenticationClock {
  let offsetMs = 0;
  return {
    now: () => new Date(clock.now().getTime() + offsetMs),
    monotonicMs: () => clock.monotonicMs(),
    set(at) {
      offsetMs = at === null ? 0 : at.getTime() - clock.now().getTime();
    },
  };
}

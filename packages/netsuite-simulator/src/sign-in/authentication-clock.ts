// The clock by which certificates, assertions, tokens and signatures are checked: wall time, unless a test
// moves it.
import type { Clock } from '../clock.ts';

export type AuthenticationClock = Clock & {
  /** Continues from this time; null returns to wall time. */
  set(at: Date | null): void;
};

export function createAuthenticationClock(clock: Clock): AuthenticationClock {
  let offsetMs = 0;
  return {
    now: () => new Date(clock.now().getTime() + offsetMs),
    set(at) {
      offsetMs = at === null ? 0 : at.getTime() - clock.now().getTime();
    },
  };
}

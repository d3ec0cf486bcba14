// Ends the windows of all rate limits: in the database, and in processes that remember who has exceeded one.
import { type Clock, systemClock } from '../../src/core/clock.ts';
import type { Ctx } from '../../src/core/ctx.ts';

/** Longer than any window that a test opens. */
const passedAtOnceMs = 7_200_000;

/** `clock` is for the ctx of the application; `forget` moves it on. */
export function createLimitClock({ now, monotonicMs }: Clock = systemClock) {
  let passedMs = 0;
  return {
    clock: { now, monotonicMs: () => monotonicMs() + passedMs },
    async forget({ db }: Pick<Ctx, 'db'>): Promise<void> {
      passedMs += passedAtOnceMs;
      await db.control.raw('delete from rate_limits');
    },
  };
}

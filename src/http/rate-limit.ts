// The store of the rate limits: windows of 60 s in PostgreSQL, so that all processes agree.
import type { ClientRateLimitInfo, Store } from 'express-rate-limit';
import { systemClock } from '../core/clock.ts';
import type { Ctx } from '../core/ctx.ts';
import { AppError, type ErrorDetail } from '../core/errors.ts';
import { countHits } from '../db/rate-limits.ts';

export function databaseStore(ctx: Pick<Ctx, 'db'>): Store {
  return {
    localKeys: false,
    // The library uses this machine's clock, so the end of the window is converted to it.
    increment: async (key): Promise<ClientRateLimitInfo> => {
      const { hits, secondsLeft } = await countHits(ctx, key);
      return { totalHits: hits, resetTime: new Date(systemClock.now().getTime() + secondsLeft * 1000) };
    },
    decrement: async (key) => {
      await ctx.db.control.raw('update rate_limits set hits = greatest(hits - 1, 0) where key = ?', [key]);
    },
    resetKey: async (key) => {
      await ctx.db.control.raw('delete from rate_limits where key = ?', [key]);
    },
  };
}

/** 429 with Retry-After in whole seconds, rounded up. */
export function rateLimitExceeded(secondsLeft: number, details: readonly ErrorDetail[] = []): AppError {
  const seconds = Math.max(1, Math.ceil(secondsLeft));
  return new AppError('RATE_LIMIT_EXCEEDED', `Too many requests; try again in ${seconds} s`, {
    headers: { 'Retry-After': String(seconds) },
    details,
  });
}

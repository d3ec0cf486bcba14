// Counts requests in fixed windows of 60 s by the database's clock, started by the first request: in
// PostgreSQL, so that all processes agree.
import type { ClientRateLimitInfo, Store } from 'express-rate-limit';
import { systemClock } from '../core/clock.ts';
import type { Ctx } from '../core/ctx.ts';
import { AppError, type ErrorDetail } from '../core/errors.ts';

export const windowSeconds = 60;

type Window = { hits: number; seconds_left: number };

/**
 * Counts hits in the key's window. Resolves to their total and how long the window still lasts. Rejects with
 * the database's error while it is unavailable.
 */
export async function countHits(
  ctx: Pick<Ctx, 'db'>,
  key: string,
  count = 1,
): Promise<{ hits: number; secondsLeft: number }> {
  const { rows } = await ctx.db.control.raw<{ rows: Window[] }>(
    `insert into rate_limits as existing (key, hits, resets_at) values (?, ?, clock_timestamp() + make_interval(secs => ?))
     on conflict (key) do update set
       hits = case when existing.resets_at <= clock_timestamp() then excluded.hits else existing.hits + excluded.hits end,
       resets_at = case when existing.resets_at <= clock_timestamp() then excluded.resets_at else existing.resets_at end
     returning hits, extract(epoch from resets_at - clock_timestamp())::float8 as seconds_left`,
    [key, count, windowSeconds],
  );
  const row = rows[0];
  if (row === undefined) throw new Error('the rate limit query returned no row');
  return { hits: row.hits, secondsLeft: row.seconds_left };
}

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

// The request budget of the management interface: a fixed window of 60 s by the database's clock, opened by the first request,
// counted in PostgreSQL so that several processes agree.
import type { Request, RequestHandler, Response } from 'express';
import { type ClientRateLimitInfo, rateLimit, type Store } from 'express-rate-limit';
import { systemClock } from '../core/clock.ts';
import type { Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';

export const windowSeconds = 60;
const failuresPerMinute = 20;

type Window = { hits: number; seconds_left: number };

/** Counts hits in the key's window; says how many there are and how long the window still lasts. */
async function hit(ctx: Pick<Ctx, 'db'>, key: string, count = 1): Promise<{ hits: number; secondsLeft: number }> {
  const { rows } = await ctx.db.control.raw<{ rows: Window[] }>(
    `insert into rate_limits as held (key, hits, resets_at) values (?, ?, clock_timestamp() + make_interval(secs => ?))
     on conflict (key) do update set
       hits = case when held.resets_at <= clock_timestamp() then excluded.hits else held.hits + excluded.hits end,
       resets_at = case when held.resets_at <= clock_timestamp() then excluded.resets_at else held.resets_at end
     returning hits, extract(epoch from resets_at - clock_timestamp())::float8 as seconds_left`,
    [key, count, windowSeconds],
  );
  const row = rows[0];
  if (row === undefined) throw new Error('the rate limit was not counted');
  return { hits: row.hits, secondsLeft: row.seconds_left };
}

/** The library measures with this machine's clock, so it gets the end of the window in that clock's time. */
function databaseStore(ctx: Pick<Ctx, 'db'>): Store {
  return {
    localKeys: false,
    increment: async (key): Promise<ClientRateLimitInfo> => {
      const { hits, secondsLeft } = await hit(ctx, key);
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

const exceeded = (retryAfterSeconds: number): AppError =>
  new AppError('RATE_LIMIT_EXCEEDED', `Too many requests; try again in ${retryAfterSeconds} s`, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });

/** Limits by the credential, or by the user of a token or session, which `keyOf` names. */
export function requestBudget(ctx: Ctx, keyOf: (req: Request, res: Response) => string): RequestHandler {
  return rateLimit({
    windowMs: windowSeconds * 1000,
    limit: ctx.settings.rateLimitPerMinute,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    store: databaseStore(ctx),
    keyGenerator: keyOf,
    validate: false,
    handler: (_req, res, next) => {
      next(exceeded(Number(res.getHeader('Retry-After') ?? windowSeconds)));
    },
  });
}

/** Takes as many more requests from the budget that a request has opened. Throws 429. */
export async function spendMore(ctx: Ctx, key: string, count: number): Promise<void> {
  const { hits, secondsLeft } = await hit(ctx, key, count);
  if (hits > ctx.settings.rateLimitPerMinute) throw exceeded(Math.max(1, Math.ceil(secondsLeft)));
}

/** A failed authentication: 401 for the first few of a minute from one address, 429 after. */
export async function countFailure(ctx: Pick<Ctx, 'db'>, network: string, refusal: AppError): Promise<AppError> {
  const { hits, secondsLeft } = await hit(ctx, `failed-authentication:${network}`);
  if (hits <= failuresPerMinute) return refusal;
  return exceeded(Math.max(1, Math.ceil(secondsLeft)));
}

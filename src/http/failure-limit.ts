// The limit of failed authentications: 20 a minute for each network, counted in PostgreSQL for all processes.
// A process remembers the networks that exceeded it until their minute ends; further failures from there get
// 429 without a statement to PostgreSQL. It never refuses a valid credential, because failures are counted
// only after a credential has turned out to be invalid.
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import type { Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { countHits } from '../db/rate-limits.ts';
import { callerNetwork } from './caller-address.ts';
import { rateLimitExceeded } from './rate-limit.ts';

const maxFailuresPerMinute = 20;
/** With more, the one added first is forgotten; its next failure is counted in PostgreSQL again. */
const maxRemembered = 10_000;

export type FailureLimit = {
  /** Counts a failed authentication: resolves to `refusal` 20 times a minute and network, then to a 429. */
  count(req: Request, refusal: AppError): Promise<AppError>;
  /** For `catch`: counts a refusal of a credential, and rejects with it or with 429. */
  countRefusal(req: Request): (error: unknown) => Promise<never>;
  /**
   * Counts an unknown cookie or link token, which may be a guess. Rejects with 429 once its network has made
   * too many; until then the caller may hold an old one and gets an ordinary response.
   */
  countGuess(req: Request): Promise<void>;
};

/** One per process. `count` and `countGuess` reject with the database's error while it is unavailable. */
export function createFailureLimit(ctx: Pick<Ctx, 'db' | 'clock'>): FailureLimit {
  const exceeded = new LRUCache<string, true>({
    max: maxRemembered,
    ttlResolution: 0,
    perf: { now: () => ctx.clock.monotonicMs() },
  });

  async function count(req: Request, refusal: AppError): Promise<AppError> {
    const network = callerNetwork(req);
    const rememberedMs = exceeded.getRemainingTTL(network);
    if (rememberedMs > 0) return rateLimitExceeded(rememberedMs / 1_000);
    const { hits, secondsLeft } = await countHits(ctx, `failed-authentication:${network}`);
    if (hits <= maxFailuresPerMinute) return refusal;
    exceeded.set(network, true, { ttl: secondsLeft * 1_000 });
    return rateLimitExceeded(secondsLeft);
  }
  return {
    count,
    countRefusal: (req) => async (error) => {
      throw error instanceof AppError && error.status < 500 ? await count(req, error) : error;
    },
    async countGuess(req) {
      const counted = await count(req, new AppError('UNAUTHORIZED', 'Not known'));
      if (counted.status === 429) throw counted;
    },
  };
}

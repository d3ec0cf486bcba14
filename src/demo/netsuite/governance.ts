// How many calls the account serves at once, all integrations together, and how long each takes. A call over the limit is refused at
// once, as NetSuite does: the caller has to wait and try again.
import type { RequestHandler } from 'express';
import type { Switches } from './switches.ts';
import { Refusal } from './wire.ts';

export type Governance = {
  handler: RequestHandler;
  setLimit(limit: number): void;
  setLatency(latencyMs: number): void;
  /** What governanceLimits tells. */
  limits(): object;
};

/** A developer account's allowance, none of it given to one integration. */
const USUAL_LIMIT = 5;

export function makeGovernance(switches: Switches, usual: { concurrencyLimit?: number; latencyMs?: number }): Governance {
  let limit = checkLimit(usual.concurrencyLimit ?? USUAL_LIMIT);
  let latencyMs = usual.latencyMs ?? 0;
  let underWay = 0;
  return {
    async handler(_request, response, next) {
      if (underWay >= limit) throw tooMany(switches.retryAfterSeconds);
      underWay += 1;
      response.once('close', () => {
        underWay -= 1;
      });
      if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs));
      next();
    },
    setLimit: (wanted) => {
      limit = checkLimit(wanted);
    },
    setLatency: (wantedMs) => {
      latencyMs = wantedMs;
    },
    limits: () => ({ accountConcurrencyLimit: limit, accountUnallocatedConcurrencyLimit: limit, integrationLimitType: 'accountLimit' }),
  };
}

function checkLimit(limit: number): number {
  if (!Number.isInteger(limit) || limit < 1) throw new RangeError('An account serves at least one call at a time.');
  return limit;
}

/** Live ones bear the title of a 400 and a code of their own on top. */
function tooMany(retryAfterSeconds: number | null): Refusal {
  const detail = { detail: 'Concurrent request limit exceeded. Request blocked.', 'o:errorCode': 'CONCURRENCY_LIMIT_EXCEEDED' };
  const headers: Record<string, string> = retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) };
  return new Refusal(429, detail, { headers, code: 'USER_ERROR' });
}

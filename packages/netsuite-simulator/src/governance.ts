// The account's concurrency limit over all integrations, and the latency of each call. A call over the limit is refused immediately with
// 429, as NetSuite does; the caller must retry later.
import type { RequestHandler } from 'express';
import type { Switches } from './switches.ts';
import { RestError } from './wire.ts';

export type Governance = {
  handler: RequestHandler;
  /** Throws RangeError unless it is a whole number of at least 1. */
  setLimit(limit: number): void;
  setLatency(latencyMs: number): void;
  /** How many places of the limit other integrations hold. */
  setLoad(concurrency: number): void;
  load(): number;
  limit(): number;
  /** Body of GET governanceLimits. */
  limits(): object;
};

/** A developer account's limit, none of it allocated to an integration. */
const DEFAULT_LIMIT = 5;

/** Throws RangeError for a concurrency limit that isn't a whole number of at least 1. */
export function createGovernance(switches: Switches, initial: { concurrencyLimit?: number; latencyMs?: number }): Governance {
  let limit = assertLimit(initial.concurrencyLimit ?? DEFAULT_LIMIT);
  let latencyMs = initial.latencyMs ?? 0;
  let [inFlight, others] = [0, 0];
  return {
    async handler(_request, response, next) {
      if (inFlight + others >= limit) throw tooManyRequests(switches.retryAfterSeconds);
      inFlight += 1;
      response.once('close', () => {
        inFlight -= 1;
      });
      if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs));
      next();
    },
    setLimit: (wanted) => {
      limit = assertLimit(wanted);
    },
    setLatency: (wantedMs) => {
      latencyMs = wantedMs;
    },
    setLoad: (concurrency) => {
      others = concurrency;
    },
    load: () => others,
    limit: () => limit,
    limits: () => ({ accountConcurrencyLimit: limit, accountUnallocatedConcurrencyLimit: limit, integrationLimitType: 'accountLimit' }),
  };
}

function assertLimit(limit: number): number {
  if (!Number.isInteger(limit) || limit < 1)
    throw new RangeError(`The concurrency limit must be a whole number of at least 1, not ${limit}.`);
  return limit;
}

/** Real accounts give this 429 the title of a 400 and an additional code at the top level. */
export function tooManyRequests(retryAfterSeconds: number | null): RestError {
  const detail = { detail: 'Concurrent request limit exceeded. Request blocked.', 'o:errorCode': 'CONCURRENCY_LIMIT_EXCEEDED' };
  const headers: Record<string, string> = retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) };
  return new RestError(429, detail, { headers, code: 'USER_ERROR' });
}

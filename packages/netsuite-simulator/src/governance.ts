// The account's concurrency limit over all integrations, and the latency of each call. A call over the limit
// is refused immediately with 429, as NetSuite does; the caller must retry later. An integration to which a
// part of the limit is allocated uses that part alone; all others share what is not allocated.
import type { RequestHandler } from 'express';
import { type Clock, systemClock } from './clock.ts';
import { getIntegration } from './sign-in/caller.ts';
import type { Switches } from './switches.ts';
import { RestError } from './wire.ts';

/**
 * How many requests another integration has in flight, and for how long; after the last step the first one
 * follows again.
 */
export type LoadStep = { concurrency: number; seconds: number };
/** `limit`: the part of the account's limit that is allocated to it. */
export type OtherIntegration = { name: string; steps: readonly LoadStep[]; limit?: number | undefined };
export type Load = {
  others: readonly OtherIntegration[];
  /**
   * Parts of the account's limit by the client id or consumer key of the integrations to which they are
   * allocated.
   */
  limits: Readonly<Record<string, number>>;
};
export const NO_LOAD: Load = { others: [], limits: {} };

export type Governance = {
  handler: RequestHandler;
  /** Throws RangeError unless it is a whole number of at least 1. */
  setLimit(limit: number): void;
  setLatency(latencyMs: number): void;
  /**
   * What other integrations use and what is allocated, from now on. Throws RangeError unless some of the
   * limit stays unallocated.
   */
  setLoad(load: Load): void;
  load(): Load;
  /** How many requests these integrations have in flight now, at most as many as are allocated to each. */
  sumConcurrency(others: readonly OtherIntegration[]): number;
  limit(): number;
  /** Body of GET governanceLimits for this caller's integration. */
  limits(integration: string): object;
};

/** A developer account's limit, none of it allocated to an integration. */
const DEFAULT_LIMIT = 5;

type Initial = { concurrencyLimit?: number; latencyMs?: number };

/** Throws RangeError for a concurrency limit that isn't a whole number of at least 1. */
export function createGovernance(
  switches: Switches,
  initial: Initial,
  clock: Clock = systemClock,
): Governance {
  let limit = assertLimit(initial.concurrencyLimit ?? DEFAULT_LIMIT);
  let latencyMs = initial.latencyMs ?? 0;
  let [load, loadedAtMs] = [NO_LOAD, 0];
  const inFlight = new Map<string, number>(); // by allocated integration; '' holds all others together
  const sumConcurrency = (others: readonly OtherIntegration[]): number => {
    return concurrencyAfter(others, clock.now().getTime() - loadedAtMs);
  };
  const unallocated = (): number => Math.max(0, limit - allocatedBy(load));
  return {
    async handler(_request, response, next) {
      const own = load.limits[getIntegration(response)];
      const pool = own === undefined ? '' : getIntegration(response);
      const used =
        (inFlight.get(pool) ?? 0) +
        (own === undefined ? sumConcurrency(load.others.filter(isUnallocated)) : 0);
      if (used >= (own ?? unallocated())) throw tooManyRequests(switches.retryAfterSeconds);
      inFlight.set(pool, (inFlight.get(pool) ?? 0) + 1);
      response.once('close', () => inFlight.set(pool, (inFlight.get(pool) ?? 1) - 1));
      if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs));
      next();
    },
    setLimit: (wanted) => {
      limit = assertLimit(wanted);
    },
    setLatency: (wantedMs) => {
      latencyMs = wantedMs;
    },
    setLoad(wanted) {
      assertUnallocated(wanted, limit);
      [load, loadedAtMs] = [wanted, clock.now().getTime()];
    },
    load: () => load,
    sumConcurrency,
    limit: () => limit,
    limits(integration) {
      const own = load.limits[integration];
      const account = { accountConcurrencyLimit: limit, accountUnallocatedConcurrencyLimit: unallocated() };
      if (own === undefined) return { ...account, integrationLimitType: 'accountLimit' };
      return { ...account, integrationConcurrencyLimit: own, integrationLimitType: 'integrationSpecific' };
    },
  };
}

const concurrencyAfter = (others: readonly OtherIntegration[], elapsedMs: number): number =>
  others.reduce(
    (sum, { steps, limit }) => sum + Math.min(concurrencyAt(steps, elapsedMs), limit ?? Infinity),
    0,
  );

function assertUnallocated(wanted: Load, limit: number): void {
  const allocated = allocatedBy(wanted);
  if (allocated > 0 && allocated >= limit)
    throw new RangeError(
      `${allocated} of the account's concurrency limit of ${limit} are allocated; at least 1 must stay unallocated.`,
    );
}

const isUnallocated = (other: OtherIntegration): boolean => other.limit === undefined;

const allocatedBy = ({ others, limits }: Load): number =>
  [...others.map((other) => other.limit ?? 0), ...Object.values(limits)].reduce((sum, part) => sum + part, 0);

function concurrencyAt(steps: readonly LoadStep[], elapsedMs: number): number {
  const totalMs = steps.reduce((sum, { seconds }) => sum + seconds * 1000, 0);
  let leftMs = totalMs > 0 ? elapsedMs % totalMs : 0;
  for (const { concurrency, seconds } of steps) {
    if (leftMs < seconds * 1000 || totalMs === 0) return concurrency;
    leftMs -= seconds * 1000;
  }
  return 0;
}

function assertLimit(limit: number): number {
  if (!Number.isInteger(limit) || limit < 1)
    throw new RangeError(`The concurrency limit must be a whole number of at least 1, not ${limit}.`);
  return limit;
}

/** Real accounts give this 429 the title of a 400 and an additional code at the top level. */
export function tooManyRequests(retryAfterSeconds: number | null): RestError {
  const detail = {
    detail: 'Concurrent request limit exceeded. Request blocked.',
    'o:errorCode': 'CONCURRENCY_LIMIT_EXCEEDED',
  };
  const headers: Record<string, string> =
    retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) };
  return new RestError(429, detail, { headers, code: 'USER_ERROR' });
}

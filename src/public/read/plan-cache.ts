// Caches the plans of list queries. A query text always means the same to readers of the same records and fields of an endpoint, so a repeated
// text need not be parsed again.
import { createCache } from '../../core/cache.ts';
import { createHitCounter, type HitCounter } from '../../core/hit-counter.ts';
import type { ReadableEndpoint } from '../version/compile.ts';
import { type ListPlan, planList } from './plan.ts';
import { parseQuery } from './request.ts';

/** Returns the cached plan or creates it. Throws 400 and 403 as `planList` does. */
export type PlanCache = (endpoint: ReadableEndpoint, queryText: string) => ListPlan;

/** Size of the values and objects of a plan in addition to its texts, which it holds four times. */
const planBytes = 1_500;

/** The returned function throws as `planList` does; such queries are not cached. */
export function createPlanCache(maxBytes: number, counter: HitCounter = createHitCounter()): PlanCache {
  const plans = createCache<ListPlan>({ maxBytes, bytesOf: ({ normalized }) => planBytes + 4 * normalized.length });
  return (endpoint, queryText) => {
    const key = `${endpoint.key} ${endpoint.reach}?${queryText}`;
    const cached = plans.findAny(key);
    // A version is compiled again when it was evicted meanwhile.
    if (cached !== undefined && cached.endpoint.filters === endpoint.filters) {
      counter.hits += 1;
      return cached;
    }
    counter.misses += 1;
    const plan = planList(endpoint, parseQuery(queryText));
    plans.put(key, plan);
    return plan;
  };
}

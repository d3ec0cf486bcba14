// Caches the plans of lists and summaries. A query text always means the same to readers of the same records
// and fields of an endpoint, so a repeated text need not be parsed again.
import { createCache } from '../../../core/work/cache.ts';
import { createHitCounter, type HitCounter } from '../../../core/work/hit-counter.ts';
import type { ReadableEndpoint } from '../../version/compile.ts';
import { relatedAccessKey } from './expand.ts';
import { type ListPlan, planList } from './plan.ts';
import { parseQuery, type QueryParameters } from './request.ts';
import { planSummary, type SummaryPlan } from './summary-plan.ts';

/** Returns the cached plan or creates it. Throws 400 and 403 as `planList` does. */
export type PlanCache = (endpoint: ReadableEndpoint, queryText: string) => ListPlan;
/** Returns the cached plan or creates it. Throws 400 and 403 as `planSummary` does. */
export type SummaryPlanCache = (endpoint: ReadableEndpoint, queryText: string) => SummaryPlan;

/** Measured: the objects of a plan, and the statement that it keeps, in addition to its texts, which it holds four times. */
const planBytes = 3_500;

type Planned = { readonly normalized: string };
type Cached = { readonly filters: ReadableEndpoint['filters']; readonly plan: Planned };

const planKey = (endpoint: ReadableEndpoint, kind: string, queryText: string): string =>
  `${endpoint.key} ${relatedAccessKey(endpoint, queryText)}${endpoint.reach}${kind}?${queryText}`;

/** Both share the bytes. Queries that are refused are not cached. */
export function createPlanCaches(
  maxBytes: number,
  counter: HitCounter,
): { list: PlanCache; summary: SummaryPlanCache } {
  const plans = createCache<Cached>({
    maxBytes,
    countBytes: ({ plan: { normalized } }) => planBytes + 4 * normalized.length,
  });
  const cachedPlan =
    <P extends Planned>(kind: string, make: (endpoint: ReadableEndpoint, query: QueryParameters) => P) =>
    (endpoint: ReadableEndpoint, queryText: string): P => {
      const key = planKey(endpoint, kind, queryText);
      const cached = plans.findAny(key);
      // A version is compiled again when it was evicted meanwhile.
      if (cached !== undefined && cached.filters === endpoint.filters) {
        counter.hits += 1;
        return cached.plan as P; // the kind is part of the key
      }
      counter.misses += 1;
      const plan = make(endpoint, parseQuery(queryText));
      plans.put(key, { filters: endpoint.filters, plan });
      return plan;
    };
  return { list: cachedPlan('', planList), summary: cachedPlan('/summary', planSummary) };
}

/** The returned function throws as `planList` does; such queries are not cached. */
export const createPlanCache = (maxBytes: number, counter: HitCounter = createHitCounter()): PlanCache =>
  createPlanCaches(maxBytes, counter).list;

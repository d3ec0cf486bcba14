// Queries of lists as they were understood. What a query text means to an endpoint of a version never changes, so a text that
// comes again need not be taken apart again.
import { openTally, type Tally } from '../core/tally.ts';
import { openByteCache } from './byte-cache.ts';
import type { CompiledEndpoint } from './compile.ts';
import { type ListPlan, planList } from './plan.ts';
import { readQuery } from './request.ts';

/** Throws 400 for what can't be understood. */
export type UnderstandList = (endpoint: CompiledEndpoint, queryText: string) => ListPlan;

/** Values and their objects beside the texts, which stand in the plan four times over. */
const planBytes = 1_500;

export function openUnderstandList(maxBytes: number, tally: Tally = openTally()): UnderstandList {
  const plans = openByteCache<ListPlan>(maxBytes, ({ normalized }) => planBytes + 4 * normalized.length);
  return (endpoint, queryText) => {
    const key = `${endpoint.key}?${queryText}`;
    const held = plans.get(key);
    if (held !== undefined && held.endpoint === endpoint) {
      tally.hits += 1;
      return held;
    }
    tally.misses += 1;
    const plan = planList(endpoint, readQuery(queryText));
    plans.set(key, plan);
    return plan;
  };
}

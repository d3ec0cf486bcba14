// The few seeds that the continuous integration plays: together they have every fault, kill, stop and
// decision. Chosen from the plans, so that the choice follows when faults are added.
import { profile } from '../setup/account-profile.ts';
import { countContents } from './mutants/contents.ts';
import { createPlan } from './plan.ts';
import { editKinds, genericTypes, requestFaults, stateFaults } from './plan-names.ts';

const among = 400;

/** What each seed adds first counts; edits only decide between seeds that have equally many new faults. */
const wanted: readonly string[] = [
  ...requestFaults,
  ...stateFaults,
  'approve',
  'kill',
  'stop',
  'freeze',
  'failover',
  'reader',
  'large',
  'clock-back',
  'full',
  ...(profile === undefined ? [] : genericTypes.map((name) => `type:${name}`)),
];

/**
 * Of the seeds from `from` on. Greedy: each next seed is the one with the most that no earlier one has; of equals, the lower seed. Pure.
 */
export function chooseSeeds(
  count: number,
  from = 1,
): {
  readonly seeds: readonly number[];
  readonly missing: readonly string[];
} {
  const plans = Array.from({ length: among }, (_, index) => {
    const contents: ReadonlySet<string> = new Set(countContents(createPlan(from + index)).keys());
    return {
      seed: from + index,
      wanted: wanted.filter((name) => contents.has(name)),
      edits: editKinds.filter((kind) => contents.has(kind)),
    };
  });
  const missing = new Set<string>(wanted);
  const missingEdits = new Set<string>(editKinds);
  const seeds: number[] = [];
  while (seeds.length < count) {
    const scored = plans
      .filter(({ seed }) => !seeds.includes(seed))
      .map((plan) => ({
        plan,
        added: plan.wanted.filter((name) => missing.has(name)).length,
        edits: plan.edits.filter((kind) => missingEdits.has(kind)).length,
      }));
    const [best] = scored.sort((a, b) => b.added - a.added || b.edits - a.edits || a.plan.seed - b.plan.seed);
    if (best === undefined) break;
    seeds.push(best.plan.seed);
    for (const name of best.plan.wanted) missing.delete(name);
    for (const kind of best.plan.edits) missingEdits.delete(kind);
  }
  return { seeds, missing: [...missing, ...missingEdits] };
}

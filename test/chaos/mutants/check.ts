// The mutation check: plays the directed history of each mutant, and when that stays green, seeds until one
// turns red, those first whose plans contain what the mutant concerns. The same plan must be green with the
// control, a mutant that changes nothing.

import type { Fixture } from '../fixture.ts';
import { createPlan, type Plan } from '../plan.ts';
import { simulate } from '../simulate.ts';
import { controlMutant } from './catalog.ts';
import { countContents } from './contents.ts';
import { planOfHistory } from './history.ts';
import { type Mutant, mutatedSource } from './mutant.ts';

/** `by`: the history, or a seed. */
export type Caught = { readonly by: string; readonly how: readonly string[] };
/**
 * `played`: histories and seeds. `unclear`: how many of these were red, and are red without the mutant as
 * well.
 */
export type Checked = {
  readonly mutant: Mutant;
  readonly caught: Caught | null;
  readonly played: number;
  readonly unclear: number;
};
export type MutationSettings = {
  /** How many seeds are played against a mutant at most. */
  readonly seeds: number;
  /** The seeds to choose from are those from 1 to this one. */
  readonly among: number;
  /** Whether to go on. */
  readonly mayGoOn: () => boolean;
  readonly tell: (line: string) => void;
  /** Tells everything that happens, too. */
  readonly diary?: boolean;
};

/** The more of what concerns the mutant, the better; of equals, the lower seed. Pure. */
export function seedsFor({ concerns }: Pick<Mutant, 'concerns'>, plans: readonly Plan[]): number[] {
  const scored = plans.map((plan) => {
    const contents = countContents(plan);
    const counts = concerns.map((content) => Math.min(3, contents.get(content) ?? 0));
    return {
      seed: plan.seed,
      kinds: counts.filter((count) => count > 0).length,
      count: counts.reduce((sum, count) => sum + count, 0),
    };
  });
  return scored
    .sort((a, b) => b.kinds - a.kinds || b.count - a.count || a.seed - b.seed)
    .map(({ seed }) => seed);
}

type Attempt = { readonly by: string; readonly plan: Plan };

/**
 * The kinds of violations; a run that never ends is one, too. Null when the simulation itself failed, which
 * says nothing and is shown.
 */
async function play(
  fixture: Fixture,
  { by, plan }: Attempt,
  { tell, diary = false }: MutationSettings,
): Promise<readonly string[] | null> {
  const what = `${by}${fixture.mutant === undefined ? '' : ` with ${fixture.mutant}`}`;
  try {
    const requests: string[] = [];
    const stop = fixture.wire.watch(({ question, path, status, text }) => {
      requests.push(`${status} ${question === '' ? path : question} -> ${text.slice(0, 200)}`);
    });
    const report = await simulate(fixture, plan, { untilRed: true }).finally(stop);
    if (diary) tell([`${what}:`, ...requests, ...report.diary].join('\n  '));
    return [...new Set(report.violations.map(({ kind }) => kind))];
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (/^the end of a run .* did not happen$/.test(message)) return ['no end'];
    tell(`${what}: the simulation itself failed: ${message}`);
    return null;
  }
}

/** Whether a plan is green with the mutant that changes nothing; each one is played once. */
function openSound(fixture: Fixture, settings: MutationSettings): (attempt: Attempt) => Promise<boolean> {
  const known = new Map<string, boolean>();
  return async (attempt) => {
    const key = JSON.stringify(attempt.plan);
    const isSound =
      known.get(key) ??
      (await play({ ...fixture, mutant: controlMutant.name }, attempt, settings))?.length === 0;
    known.set(key, isSound);
    if (!isSound) settings.tell(`${attempt.by} is not green with a mutant that changes nothing`);
    return isSound;
  };
}

function attemptsFor(mutant: Mutant, plans: readonly Plan[], { seeds }: MutationSettings): Attempt[] {
  const first =
    mutant.history === undefined ? [] : [{ by: 'its history', plan: planOfHistory(mutant.history) }];
  const bySeed = seedsFor(mutant, plans).slice(0, seeds);
  return [...first, ...bySeed.map((seed): Attempt => ({ by: `seed ${seed}`, plan: createPlan(seed) }))];
}

/** Rejects when one of the mutants doesn't apply. */
export async function checkMutants(
  fixture: Fixture,
  mutants: readonly Mutant[],
  settings: MutationSettings,
): Promise<Checked[]> {
  for (const mutant of mutants) mutatedSource(mutant);
  const plans = Array.from({ length: settings.among }, (_, index) => createPlan(index + 1));
  const isSound = openSound(fixture, settings);
  const checked: Checked[] = [];
  for (const mutant of mutants) {
    if (!settings.mayGoOn()) break;
    let caught: Caught | null = null;
    let [played, unclear] = [0, 0];
    for (const attempt of attemptsFor(mutant, plans, settings)) {
      if (caught !== null || !settings.mayGoOn()) break;
      played += 1;
      const how = await play({ ...fixture, mutant: mutant.name }, attempt, settings);
      if (how === null || how.length === 0) continue;
      if (await isSound(attempt)) caught = { by: attempt.by, how };
      else unclear += 1;
    }
    checked.push({ mutant, caught, played, unclear });
    settings.tell(formatLine({ mutant, caught, played, unclear }));
  }
  return checked;
}

function formatLine({ mutant, caught, played, unclear }: Checked): string {
  const result =
    caught === null
      ? `SURVIVED ${played - unclear} plans${unclear === 0 ? '' : `, ${unclear} red anyway`}`
      : `${caught.by} (${caught.how.join(', ')}), ${played} played`;
  return `${mutant.name.padEnd(28)} ${result.padEnd(44)} ${mutant.without}`;
}

/** Proof × what caught its absence. */
export function tableOfMutants(checked: readonly Checked[]): string {
  const alive = checked.filter(({ caught }) => caught === null);
  return [
    ...checked.map(formatLine),
    `${checked.length - alive.length} of ${checked.length} mutants were caught${alive.length === 0 ? '' : `; SURVIVED: ${alive.map(({ mutant }) => mutant.name).join(', ')}`}`,
  ].join('\n');
}

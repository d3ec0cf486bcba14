// The mutation check: plays seeds against each mutant until one turns red, those first whose plans contain what the mutant concerns. The
// same seed must be green without the mutant.
import { type Plan, planOf } from '../plan.ts';
import { simulate } from '../simulate.ts';
import type { World } from '../world.ts';
import { contentsOf } from './contents.ts';
import { type Mutant, mutatedSource } from './mutant.ts';

export type Caught = { readonly seed: number; readonly how: readonly string[] };
/** `unclear`: how many seeds were red, and are red without the mutant as well. */
export type Checked = { readonly mutant: Mutant; readonly caught: Caught | null; readonly played: number; readonly unclear: number };
export type MutationSettings = {
  /** How many seeds are played against a mutant at most. */
  readonly seeds: number;
  /** The seeds to choose from are those from 1 to this one. */
  readonly among: number;
  /** Whether to go on. */
  readonly mayGoOn: () => boolean;
  readonly tell: (line: string) => void;
};

/** The more of what concerns the mutant, the better; of equals, the lower seed. Pure. */
export function seedsFor({ concerns }: Pick<Mutant, 'concerns'>, plans: readonly Plan[]): number[] {
  const scored = plans.map((plan) => {
    const contents = contentsOf(plan);
    const counts = concerns.map((content) => Math.min(3, contents.get(content) ?? 0));
    return { seed: plan.seed, kinds: counts.filter((count) => count > 0).length, count: counts.reduce((sum, count) => sum + count, 0) };
  });
  return scored.sort((a, b) => b.kinds - a.kinds || b.count - a.count || a.seed - b.seed).map(({ seed }) => seed);
}

/** The kinds of violations; a run that never ends is one, too. Null when the simulation itself failed, which says nothing and is shown. */
async function play(world: World, seed: number, tell: MutationSettings['tell']): Promise<readonly string[] | null> {
  try {
    const { violations } = await simulate(world, planOf(seed), { untilRed: true });
    return [...new Set(violations.map(({ kind }) => kind))];
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (/^the end of a run .* did not happen$/.test(message)) return ['no end'];
    tell(`seed ${seed}: the simulation itself failed${world.mutant === undefined ? '' : ` with ${world.mutant}`}: ${message}`);
    return null;
  }
}

/** Rejects when one of the mutants doesn't apply. */
export async function checkMutants(world: World, mutants: readonly Mutant[], settings: MutationSettings): Promise<Checked[]> {
  for (const mutant of mutants) mutatedSource(mutant);
  const plans = Array.from({ length: settings.among }, (_, index) => planOf(index + 1));
  const sound = new Map<number, boolean>();
  const isSound = async (seed: number): Promise<boolean> => {
    const known = sound.get(seed) ?? (await play(world, seed, settings.tell))?.length === 0;
    sound.set(seed, known);
    if (!known) settings.tell(`seed ${seed} is not green without a mutant`);
    return known;
  };
  const checked: Checked[] = [];
  for (const mutant of mutants) {
    let caught: Caught | null = null;
    let [played, unclear] = [0, 0];
    for (const seed of seedsFor(mutant, plans).slice(0, settings.seeds)) {
      if (caught !== null || !settings.mayGoOn()) break;
      played += 1;
      const how = await play({ ...world, mutant: mutant.name }, seed, settings.tell);
      if (how === null || how.length === 0) continue;
      if (await isSound(seed)) caught = { seed, how };
      else unclear += 1;
    }
    if (played === 0) break;
    checked.push({ mutant, caught, played, unclear });
    settings.tell(lineOf({ mutant, caught, played, unclear }));
  }
  return checked;
}

function lineOf({ mutant, caught, played, unclear }: Checked): string {
  const result =
    caught === null
      ? `SURVIVED ${played - unclear} seeds${unclear === 0 ? '' : `, ${unclear} red anyway`}`
      : `seed ${caught.seed} (${caught.how.join(', ')}), ${played} played`;
  return `${mutant.name.padEnd(28)} ${result.padEnd(44)} ${mutant.without}`;
}

/** Proof × seeds that caught its absence. */
export function tableOfMutants(checked: readonly Checked[]): string {
  const alive = checked.filter(({ caught }) => caught === null);
  return [
    ...checked.map(lineOf),
    `${checked.length - alive.length} of ${checked.length} mutants were caught${alive.length === 0 ? '' : `; SURVIVED: ${alive.map(({ mutant }) => mutant.name).join(', ')}`}`,
  ].join('\n');
}

// npm run chaos -- [--seeds 100] [--from 1] [--minutes 60] | [--seed 17] [--mutant page-order]
// [--no-shrink | --shrink] [--log warn] [--diary] npm run chaos -- --mutations [--mutant page-order]
// [--mutant a,b] [--seeds 12] [--minutes 240] Plays seeds one after the other and prints what each covered;
// or plays the history of each mutant of the service against it, and seeds until one turns red (--seeds 0:
// only histories). Exits with 1 when a promise was broken or a mutant survived, and prints how to replay it
// and the shortest steps that break it.
import { parseArgs } from 'node:util';
import { type Fixture, openFixture } from './fixture.ts';
import { findMutant, mutants } from './mutants/catalog.ts';
import { checkMutants, tableOfMutants } from './mutants/check.ts';
import { createPlan, type Plan } from './plan.ts';
import { formatTable, type Report } from './report.ts';
import { buildTest, shrink } from './shrink.ts';
import { playSeed, simulate } from './simulate.ts';

const { values } = parseArgs({
  allowNegative: true,
  options: {
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    minutes: { type: 'string', default: '60' },
    mutations: { type: 'boolean', default: false },
    mutant: { type: 'string', multiple: true, default: [] },
    shrink: { type: 'boolean' },
    'shrink-minutes': { type: 'string', default: '5' },
    log: { type: 'string', default: 'silent' },
    diary: { type: 'boolean', default: false },
  },
});
const minuteMs = 60_000;
const named = values.mutant.flatMap((names) => names.split(','));
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds ?? (values.mutations ? 12 : 100)) : 1;
const times = [values.minutes, values['shrink-minutes']].map(Number);
const least = values.mutations ? 0 : 1;
if (
  !Number.isInteger(first) ||
  first < 1 ||
  !Number.isInteger(count) ||
  count < least ||
  !times.every((minutes) => minutes > 0)
) {
  console.error(
    'Usage: npm run chaos -- [--seeds 100] [--from 1] [--minutes 60] | [--seed 17] | --mutations [--mutant page-order]',
  );
  process.exit(2);
}
const [maxMs = 0, maxShrinkMs = 0] = times.map((minutes) => minutes * minuteMs);

/** Ctrl-C ends after the current seed: nothing is left running. */
let isAsked = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    isAsked = true;
  });
}
const until = (ms: number): (() => boolean) => {
  const end = performance.now() + ms;
  return () => performance.now() < end && !isAsked;
};

const again = (seed: number): string =>
  `npm run chaos -- --seed ${seed}${named.map((name) => ` --mutant ${name}`).join('')}`;

function tell(report: Report): void {
  const { seed, violations, runs, tookMs, diary } = report;
  const ends = Object.entries(runs).flatMap(([end, number]) => (number > 0 ? [`${number} ${end}`] : []));
  console.log(
    `seed ${seed}: ${violations.length === 0 ? 'ok' : 'FAILED'} in ${(tookMs / 1_000).toFixed(1)} s, runs: ${ends.join(', ')}`,
  );
  if (values.diary || violations.length > 0) console.log(diary.map((line) => `  ${line}`).join('\n'));
  if (violations.length === 0) return;
  console.log(JSON.stringify(createPlan(seed)));
  for (const { kind, message } of violations) console.log(`  ${kind}: ${message}`);
  console.log(`  again: ${again(seed)}`);
}

/** Prints the shortest plan that breaks the same promise, as a test. */
async function tellShortest(fixture: Fixture, { seed, violations: [violation] }: Report): Promise<void> {
  const fails = async (plan: Plan): Promise<boolean> => {
    const { violations } = await simulate(fixture, plan, { untilRed: true }).catch(() => ({
      violations: [],
    }));
    return violations.some(({ kind }) => kind === violation?.kind);
  };
  const shortest = await shrink(createPlan(seed), fails, until(maxShrinkMs));
  const isRepeated = await fails(shortest);
  console.log(
    `The shortest steps found${isRepeated ? '' : ' (not each time, because they depend on timing)'}:\n\n${buildTest(shortest, fixture.mutant)}`,
  );
}

async function play(fixture: Fixture): Promise<Report[]> {
  const reports: Report[] = [];
  const mayGoOn = until(maxMs);
  let shrinks = values.shrink ?? true;
  for (let seed = first; seed < first + count && mayGoOn(); seed += 1) {
    try {
      const report = await playSeed(fixture, seed);
      tell(report);
      reports.push(report);
      if (report.violations.length === 0 || !shrinks) continue;
      await tellShortest(fixture, report);
      shrinks = values.shrink ?? false; // the first red seed only, unless --shrink asks for each
    } catch (error) {
      console.error(`seed ${seed}: the simulation itself failed; again: ${again(seed)}`);
      throw error;
    }
  }
  return reports;
}

async function playSeeds(fixture: Fixture): Promise<boolean> {
  const startedMs = performance.now();
  const [mutant] = named.map((name) => findMutant(name));
  const reports = await play(mutant === undefined ? fixture : { ...fixture, mutant: mutant.name });
  const failed = reports.filter(({ violations }) => violations.length > 0).map(({ seed }) => seed);
  console.log(formatTable(reports));
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  const verdict = failed.length === 0 ? 'every promise kept' : `FAILED: ${failed.join(', ')}`;
  console.log(`${reports.length} of ${count} seeds in ${seconds} s; ${verdict}`);
  return failed.length === 0;
}

/** A mutant that no seed was played against for lack of time survives, too. */
async function playMutants(fixture: Fixture): Promise<boolean> {
  const wanted = named.length === 0 ? mutants : named.map((name) => findMutant(name));
  const settings = {
    seeds: count,
    among: 300,
    mayGoOn: until(maxMs),
    tell: (line: string) => console.log(line),
    diary: values.diary,
  };
  const checked = await checkMutants(fixture, wanted, settings);
  console.log(`\n${tableOfMutants(checked)}`);
  if (checked.length < wanted.length)
    console.log(`${wanted.length - checked.length} mutants were not played: the time was up`);
  return checked.length === wanted.length && checked.every(({ caught }) => caught !== null);
}

const fixture = await openFixture({ logLevel: values.log });
console.log(`the service's PostgreSQL: ${fixture.cluster.durability}`);
let isSound = false;
try {
  isSound = await (values.mutations ? playMutants(fixture) : playSeeds(fixture));
} finally {
  await fixture.close();
}
process.exit(isSound ? 0 : 1);

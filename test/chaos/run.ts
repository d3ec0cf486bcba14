// npm run test:chaos -- [--seeds 100] [--from 1] [--minutes 20] | [--seed 17] [--log warn] [--diary]
// Plays seeds one after the other and prints what each covered. Exits with 1 when a promise was broken, and prints how to replay it.
import { parseArgs } from 'node:util';
import { planOf } from './plan.ts';
import { type Report, tableOf } from './report.ts';
import { playSeed } from './simulate.ts';
import { openWorld, type World } from './world.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    minutes: { type: 'string', default: '60' },
    log: { type: 'string', default: 'silent' },
    diary: { type: 'boolean', default: false },
  },
});
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
if (![first, count].every((number) => Number.isInteger(number) && number > 0)) {
  console.error('Usage: npm run test:chaos -- [--seeds 100] [--from 1] [--minutes 20] | [--seed 17] [--log warn] [--diary]');
  process.exit(2);
}

function tell(report: Report): void {
  const { seed, violations, runs, tookMs } = report;
  const ends = Object.entries(runs).flatMap(([end, number]) => (number > 0 ? [`${number} ${end}`] : []));
  console.log(`seed ${seed}: ${violations.length === 0 ? 'ok' : 'FAILED'} in ${(tookMs / 1_000).toFixed(1)} s, runs: ${ends.join(', ')}`);
  if (values.diary) console.log(report.diary.map((line) => `  ${line}`).join('\n'));
  if (violations.length === 0) return;
  console.log(JSON.stringify(planOf(seed)));
  if (!values.diary) console.log(report.diary.map((line) => `  ${line}`).join('\n'));
  for (const { kind, message } of violations) console.log(`  ${kind}: ${message}`);
  console.log(`  again: npm run test:chaos -- --seed ${seed}`);
}

/** Ctrl-C ends after the current seed: nothing is left running. */
let isAsked = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    isAsked = true;
  });
}

async function play(world: World): Promise<Report[]> {
  const reports: Report[] = [];
  const end = performance.now() + Number(values.minutes) * 60_000;
  for (let seed = first; seed < first + count && performance.now() < end && !isAsked; seed += 1) {
    try {
      const report = await playSeed(world, seed);
      tell(report);
      reports.push(report);
    } catch (error) {
      console.error(`seed ${seed}: the simulation itself failed; again: npm run test:chaos -- --seed ${seed}`);
      throw error;
    }
  }
  return reports;
}

const startedMs = performance.now();
const world = await openWorld({ logLevel: values.log });
console.log(`the service's PostgreSQL: ${world.cluster.durability}`);
let isSound = false;
try {
  const reports = await play(world);
  const failed = reports.filter(({ violations }) => violations.length > 0).map(({ seed }) => seed);
  isSound = failed.length === 0;
  console.log(tableOf(reports));
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  console.log(`${reports.length} of ${count} seeds in ${seconds} s; ${isSound ? 'every promise kept' : `FAILED: ${failed.join(', ')}`}`);
} finally {
  await world.close();
}
process.exit(isSound ? 0 : 1);

// Throughput and resource use of a sync, as ratios to COPY. Writes its table to bench/RESULTS.md. Usage: npm
// run bench -- sync [records, default 200000] [rounds, default 3] [all | throughput | reads, default all]
// `throughput` and `reads` run that part alone and write no table.
import type { Ctx } from '../src/core/ctx.ts';
import type { OpenedDatabase } from '../src/open-database.ts';
import { timeParsing } from './sync-parsing.ts';
import { measureMemory, measureResume } from './sync-processes.ts';
import { measureReads } from './sync-reads.ts';
import { type Measured, reportSync } from './sync-report.ts';
import { type Bench, type Round, runRound } from './sync-throughput.ts';
import { withDatabase, withWorkspace } from './workspace.ts';

const leaseMs = 5_000;
const shortLease = (ctx: Ctx): Ctx => ({
  ...ctx,
  settings: { ...ctx.settings, sync: { ...ctx.settings.sync, leaseMs, renewMs: leaseMs / 4 } },
});

async function repeat<T>(times: number, what: string, work: (round: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let round = 0; round < times; round += 1) {
    results.push(await work(round));
    console.log(
      `${what} ${round + 1}/${times}`,
      JSON.stringify(results.at(-1), (key, value) => (key === 'commitsMs' ? undefined : value)),
    );
  }
  return results;
}

async function measure(bench: Bench, address: OpenedDatabase['data'], rounds: number): Promise<Measured> {
  const { ctx, records } = bench;
  const sizes = [records / 4, records / 2, records].map(Math.floor);
  const memory: { count: number; idle: number; peak: number }[] = [];
  for (const count of sizes) {
    memory.push({ count, ...(await measureMemory(bench, address, count)) });
    console.log('memory', JSON.stringify(memory.at(-1)));
  }
  const kills = await repeat(rounds, 'kill', () =>
    measureResume({ ...bench, ctx: shortLease(ctx) }, address),
  );
  const reads = await measureReads(bench, address, rounds);
  console.log('reads', JSON.stringify(reads));
  const parsing = await repeat(rounds, 'parsing', () => timeParsing(ctx, records));
  const timed: Round[] = await repeat(rounds, 'round', (round) => runRound(bench, round));
  return { records, rounds: timed, parsing, memory, resume: { leaseMs, kills }, reads };
}

const environment = { RATE_LIMIT_PER_MINUTE: '100000', ENCRYPTION_KEY: undefined };

const main = (folder: string, records: number, rounds: number, only: string): Promise<boolean> =>
  withDatabase(folder, environment, async ({ ctx, admin, address }) => {
    const bench: Bench = { ctx, admin, folder, records };
    if (only === 'all')
      return reportSync(
        await measure(bench, address, rounds),
        admin,
        ctx.clock.now().toISOString().slice(0, 10),
      );
    if (only === 'throughput') await repeat(rounds, 'round', (round) => runRound(bench, round));
    else console.log('reads', JSON.stringify(await measureReads(bench, address, rounds)));
    return true;
  });

const [records = '200000', rounds = '3', only = 'all'] = process.argv.slice(2);
if (!/^\d{4,7}$/.test(records) || !/^[1-9]$/.test(rounds) || !['all', 'throughput', 'reads'].includes(only)) {
  console.error('Usage: npm run bench -- sync [records] [rounds] [all | throughput | reads]');
  process.exit(2);
}
await withWorkspace((folder) => main(folder, Number(records), Number(rounds), only));

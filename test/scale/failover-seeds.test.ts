// Random publishes, reads and failovers, by seed: `npm test -- --project scale failover-seeds` plays 50 of them,
// SEEDS=200 more, SEED=17 one.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { playFailovers, type SeedReport } from './harness/failover-seed.ts';
import { type PairDatabase, pairDatabase } from './harness/pair-database.ts';

const one = process.env['SEED'];
const seeds =
  one === undefined
    ? Array.from({ length: Number(process.env['SEEDS'] ?? 50) }, (_, index) => index + 1)
    : [Number(one)];
const reports: SeedReport[] = [];

let database: PairDatabase;
beforeAll(async () => {
  database = await pairDatabase();
});
afterAll(async () => {
  const sum = (of: (report: SeedReport) => number) =>
    reports.reduce((total, report) => total + of(report), 0);
  const longest = Math.round(Math.max(...reports.map(({ backAfterMs }) => backAfterMs)));
  console.log(
    `${reports.length} seeds: ${sum((r) => r.failovers)} failovers, ${sum((r) => r.lostPublishes)} lost publishes, ${sum((r) => r.tags)} entity tags, ` +
      `${sum((r) => r.notModified)} answers 304, ${sum((r) => r.followed)} tokens followed, ${sum((r) => r.expired)} expired; reads back after ${longest} ms`,
  );
  await database.close();
});

it.each(seeds)('seed %i', async (seed) => {
  const report = await playFailovers(database, seed);
  reports.push(report);
  expect(report.failovers).toBeGreaterThan(0);
});

// A tenth of the seeds of test/scale/failover-seeds: random publishes, reads and failovers, with and without
// lost commits.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { playFailovers } from '../scale/harness/failover-seed.ts';
import { type PairDatabase, pairDatabase } from '../scale/harness/pair-database.ts';
import { choosePart } from '../setup/choose-part.ts';

let database: PairDatabase;
beforeAll(async () => {
  database = await pairDatabase();
});
afterAll(() => database.close());

it.each(choosePart([1, 2, 3, 4, 5], 3))('seed %i', async (seed) => {
  expect((await playFailovers(database, seed)).failovers).toBeGreaterThan(0);
});

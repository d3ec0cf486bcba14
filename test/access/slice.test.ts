// A part of `npm run test:access`: one random schema, and its readers at every door.
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { createRandom, propertySeed } from './random.ts';
import { runWorld } from './run-cases.ts';
import { type Service, startService } from './service.ts';

let database: TestDatabase;
let service: Service;
beforeAll(async () => {
  database = await testDatabase();
  service = await startService(database, { settings: { anchorEvery: 5 } });
});
afterAll(async () => {
  await service.stop();
  await database.close();
});

describe('a limited reader', () => {
  it('reads what an unlimited one reads, filtered', async () => {
    await runWorld(service, { random: createRandom(propertySeed), readers: 6, rounds: 2, queriesPerRound: 8, records: 60 });
  });
});

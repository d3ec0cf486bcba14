// Over random schemas, scopes and queries: what a limited reader is answered at each door is what an unlimited one is answered, filtered.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { createRandom, propertySeed } from '../random.ts';
import { type Ran, runWorld } from '../run-cases.ts';
import { type Service, startService } from '../service.ts';

const worlds = 12;
const rounds = 3;
/** 1,008 queries in all, each at every door. */
const queriesPerRound = 28;

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
  const ran: Ran[] = [];
  it.each(Array.from({ length: worlds }, (_, index) => index))('reads what an unlimited one reads, filtered: schema %i', async (index) => {
    const size = index === 5 ? { records: 25, bulk: 60_000 } : {};
    ran.push(
      await runWorld(service, {
        random: createRandom(propertySeed + index),
        readers: 8,
        rounds,
        queriesPerRound,
        hasStale: index < 3,
        ...size,
      }),
    );
  });

  it('was asked often, mostly for a resource of which it may read a part', () => {
    const sum = (count: keyof Ran): number => ran.reduce((total, one) => total + one[count], 0);
    expect(sum('cases')).toBeGreaterThanOrEqual(1_000);
    expect(sum('partial')).toBeGreaterThan(sum('cases') / 3);
  });
});

// Over random schemas, scopes and queries: what a limited reader is answered at each surface is what an
// unlimited one is answered, filtered.
import { describe, expect, it } from 'vitest';
import { testDatabase } from '../setup/database.ts';
import { useStarted } from '../setup/use-started.ts';
import { createFixture } from './fixture.ts';
import { createRandom, propertySeed } from './random.ts';
import { type Ran, runFixture } from './run-cases.ts';
import { startService } from './service.ts';

const fixtures = 6;
/** 1,008 queries in all, each at every surface. */
const size = { readers: 10, rounds: 3, queriesPerRound: 56 };

const database = useStarted(testDatabase);
const service = useStarted(() => startService(database, { settings: { anchorEvery: 5 } }));

describe('a limited reader', () => {
  const ran: Ran[] = [];
  it.each(Array.from({ length: fixtures }, (_, index) => index))(
    'reads what an unlimited one reads, filtered: schema %i',
    async (index) => {
      const fixture = await createFixture(service, createRandom(propertySeed + index), { records: 70 });
      ran.push(await runFixture(fixture, { ...size, hasStale: index < 2 }));
    },
  );

  it('reads the same of records so long that answers come in pieces', async () => {
    const fixture = await createFixture(service, createRandom(propertySeed + fixtures), {
      records: 25,
      bulk: 60_000,
    });
    await runFixture(fixture, { readers: 6, rounds: 2, queriesPerRound: 6 });
  });

  it('was asked often, mostly for a resource of which it may read a part', () => {
    const sum = (count: keyof Ran): number => ran.reduce((total, one) => total + one[count], 0);
    expect(sum('cases')).toBeGreaterThanOrEqual(1_000);
    expect(sum('partial')).toBeGreaterThan(sum('cases') / 3);
  });
});

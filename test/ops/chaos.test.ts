// Ten seeds of the simulation (`npm run test:chaos` plays more), and the proof that its judgements can fail: the warehouse is bent
// behind the service's back, and each promise that this breaks is named.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readState } from '../../src/warehouse/generation.ts';
import { type Plan, planOf } from '../chaos/plan.ts';
import { tableOf } from '../chaos/report.ts';
import { playSeed, simulate, type Tamper } from '../chaos/simulate.ts';
import { openWorld, type World } from '../chaos/world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({ accountServer: inject('pg') });
});
afterAll(() => world.close());

/** In the table that readers see, as the superuser could. */
const bend =
  (sql: (table: string, schema: string) => string): NonNullable<Tamper['beforeLastRun']> =>
  async ({ ctx }, { schema }) => {
    const state = await readState(ctx.db.data, schema, 'invoice');
    await ctx.db.data.query(sql(`${schema}."${state?.activeTable}"`, schema));
  };
const calm: Plan = {
  ...planOf(2),
  recordTypes: ['invoice'],
  signIn: 'tba',
  processes: 1,
  reader: true,
  rounds: [
    { full: true, before: [], during: [] },
    { full: false, before: [{ do: 'mutate', kind: 'edit-invoice', seed: 1 }], during: [] },
  ],
};
const broken = async (tamper: Tamper): Promise<string[]> => {
  const { violations } = await simulate(world, calm, tamper);
  return [...new Set(violations.map(({ kind }) => kind))].sort();
};

describe('a seeded simulation of syncs', () => {
  it('runs on a cluster that keeps what it confirmed', () => {
    expect(world.cluster.durability).toBe('fsync=on full_page_writes=on synchronous_commit=on');
  });

  it('decides the same for the same seed', () => {
    expect(planOf(7)).toEqual(planOf(7));
    expect(planOf(7)).not.toEqual({ ...planOf(8), seed: 7 });
  });

  it('ten seeds: every promise is kept', { timeout: 600_000 }, async () => {
    const reports = [];
    for (let seed = 1; seed <= 10; seed += 1) {
      const report = await playSeed(world, seed);
      expect(report.violations, `npm run test:chaos -- --seed ${seed}\n${report.diary.join('\n')}`).toEqual([]);
      reports.push(report);
    }
    console.log(tableOf(reports));
  });
});

describe('its judgements', () => {
  it('find nothing where nothing is wrong', async () => {
    expect(await broken({})).toEqual([]);
  });

  it('find a wrong cell: a green run is wrong, readers and consumers see what has no number', async () => {
    const wrong = bend((table) => `update ${table} set f_memo = 'bent' where id = (select min(id) from ${table})`);
    expect(await broken({ beforeLastRun: wrong })).toEqual(['final', 'green', 'mixed', 'skipped']);
  });

  it('find a lost row: it lives in the account, and nobody was told', async () => {
    const lost = bend((table) => `delete from ${table} where id = (select min(id) from ${table})`);
    expect(await broken({ beforeJudgement: lost })).toEqual(['deleted', 'final', 'mixed', 'skipped']);
  });

  it('find a change that came under a number that was passed', async () => {
    const skipped = bend((table) => `update ${table} set generation = 1, f_otherrefnum = 'late' where id = (select max(id) from ${table})`);
    expect(await broken({ beforeJudgement: skipped })).toEqual(['final', 'skipped']); // readers are not shown that field
  });
});

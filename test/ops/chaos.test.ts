// Ten seeds of the simulation (`npm run test:chaos` runs more), and the proof that its checks can fail: the warehouse is corrupted behind
// the service's back, and the checks name each broken guarantee.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readRecordState } from '../../src/warehouse/record-state.ts';
import { type Plan, planOf } from '../chaos/plan.ts';
import { tableOf } from '../chaos/report.ts';
import { playSeed, simulate, type Tamper } from '../chaos/simulate.ts';
import { openWorld, type World } from '../chaos/world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({ accountServer: inject('pg') });
});
afterAll(() => world.close());

/** Changes the table that readers see, as a superuser. */
const bend =
  (sql: (table: string, schema: string) => string): NonNullable<Tamper['beforeLastRun']> =>
  async ({ ctx }, { schema }) => {
    const state = await readRecordState(ctx.db.data, schema, 'invoice');
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
  it('runs on a cluster with durable commits', () => {
    expect(world.cluster.durability).toBe('fsync=on full_page_writes=on synchronous_commit=on');
  });

  it('makes the same decisions for the same seed', () => {
    expect(planOf(7)).toEqual(planOf(7));
    expect(planOf(7)).not.toEqual({ ...planOf(8), seed: 7 });
  });

  it('ten seeds: every guarantee holds', { timeout: 600_000 }, async () => {
    const reports = [];
    for (let seed = 1; seed <= 10; seed += 1) {
      const report = await playSeed(world, seed);
      expect(report.violations, `npm run test:chaos -- --seed ${seed}\n${report.diary.join('\n')}`).toEqual([]);
      reports.push(report);
    }
    console.log(tableOf(reports));
  });
});

describe('its checks', () => {
  it('find nothing when nothing is wrong', async () => {
    expect(await broken({})).toEqual([]);
  });

  it('find a wrong value: a succeeded run is wrong, and readers and consumers see an unpublished change', async () => {
    const wrong = bend((table) => `update ${table} set f_memo = 'bent' where id = (select min(id) from ${table})`);
    expect(await broken({ beforeLastRun: wrong })).toEqual(['final', 'green', 'mixed', 'skipped']);
  });

  it('find a lost row: it exists in the account, and its deletion was not announced', async () => {
    const lost = bend((table) => `delete from ${table} where id = (select min(id) from ${table})`);
    expect(await broken({ beforeJudgement: lost })).toEqual(['deleted', 'final', 'mixed', 'skipped']);
  });

  it('find a change with a change number that consumers have already passed', async () => {
    const skipped = bend((table) => `update ${table} set generation = 1, f_memo = 'late' where id = (select max(id) from ${table})`);
    expect(await broken({ beforeJudgement: skipped })).toEqual(['final', 'mixed', 'skipped']);
  });
});

// Ten seeds of the simulation (`npm run chaos` plays more), and the proof that its checks can fail: the
// warehouse is corrupted behind the service's back, and the checks name each broken guarantee.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readRecordState } from '../../src/warehouse/record-state.ts';
import { type Fixture, openFixture } from '../chaos/fixture.ts';
import { type Action, createPlan, type Plan } from '../chaos/plan.ts';
import { formatTable } from '../chaos/report.ts';
import { playSeed, simulate, type Tamper } from '../chaos/simulate.ts';
import { chooseSeeds } from '../chaos/slice.ts';
import { profile } from '../setup/account-profile.ts';

/** Other seeds, or more of them; and one share of these, where several projects play them. */
const count = Number(process.env['CHAOS_SEEDS'] ?? 10);
const chosen = chooseSeeds(count, Number(process.env['SLICE_NUMBER'] ?? 1));
const [share = 0, shares = 1] = (process.env['CHAOS_SHARE'] ?? '0/1').split('/').map(Number);

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture({ accountServer: inject('pg') });
});
afterAll(() => fixture.close());

/** Changes the table that readers see, as a superuser. */
const bend =
  (sql: (table: string, schema: string) => string): NonNullable<Tamper['beforeLastRun']> =>
  async ({ ctx }, { schema }) => {
    const state = await readRecordState(ctx.db.data, schema, 'invoice');
    await ctx.db.data.query(sql(`${schema}."${state?.activeTable}"`, schema));
  };
const lastRound = (action: Action): Plan => ({
  ...{ ...createPlan(2), recordTypes: ['invoice'], signIn: 'tba', processes: 1, reader: true },
  rounds: [
    { full: true, before: [], during: [] },
    { full: false, before: [action], during: [] },
  ],
});
const calm = lastRound({ do: 'edit', kind: 'edit-invoice', seed: 1 });
/** The kinds of violations that are found. */
const broken = async (tamper: Tamper, plan = calm): Promise<string[]> => {
  const { violations } = await simulate(fixture, plan, tamper);
  return [...new Set(violations.map(({ kind }) => kind))].sort();
};

describe('a seeded simulation of syncs', () => {
  it('runs on a cluster with durable commits', () => {
    expect(fixture.cluster.durability).toBe('fsync=on full_page_writes=on synchronous_commit=on');
  });

  it('makes the same decisions for the same seed', () => {
    expect(createPlan(7)).toEqual(createPlan(7));
    expect(createPlan(7)).not.toEqual({ ...createPlan(8), seed: 7 });
  });

  it('ten seeds have every fault and every kind of edit', () => {
    expect(chosen.missing).toEqual([]);
    expect(chooseSeeds(1).missing).not.toEqual([]);
  });

  it('some seeds: every guarantee holds', { timeout: count * 120_000 }, async () => {
    const reports = [];
    for (const seed of chosen.seeds.filter((_seed, index) => index % shares === share)) {
      const report = await playSeed(fixture, seed);
      const broken = report.violations.map(({ kind, message }) => `${kind}: ${message}`);
      const again = `npm run chaos -- --seed ${seed}`;
      expect(broken, [again, ...broken, ...report.diary].join('\n')).toEqual([]);
      reports.push(report);
    }
    console.log(formatTable(reports));
  });
});

const update = (change: string, which = 'min') =>
  bend((table) => `update ${table} set ${change} where id = (select ${which}(id) from ${table})`);
const wrong = update("f_memo = 'bent'");

/** They judge the simulation, on whichever account. */
const checks = (): void => {
  it.each<[string, Tamper, string[]]>([
    ['nothing when nothing is wrong', {}, []],
    [
      'a wrong value: a succeeded run is wrong, and readers and followers of changes see an unpublished change',
      { beforeLastRun: wrong },
      ['final', 'green', 'mixed', 'skipped'],
    ],
    [
      'a wrong value in one field of one line',
      { beforeLastRun: update(`f_lines = jsonb_set(f_lines, '{0,rate}', '7.77')`) },
      ['final', 'green', 'mixed', 'skipped'],
    ],
    [
      'a lost row: it exists in the account, and its deletion was not announced',
      { beforeJudgement: bend((table) => `delete from ${table} where id = (select min(id) from ${table})`) },
      ['deleted', 'final', 'mixed', 'skipped'],
    ],
    [
      'a change with a change number that followers have already passed',
      { beforeJudgement: update("generation = 1, f_memo = 'late'", 'max') },
      ['final', 'mixed', 'skipped'],
    ],
  ])('find %s', async (_what, tamper, kinds) => {
    expect(await broken(tamper)).toEqual(kinds);
  });

  it('find a wrong value that a partial run does not name', async () => {
    const rejecting: Action = { do: 'hold', fault: 'bad-value', recordType: 'invoice', rounds: 1, seed: 3 };
    expect(await broken({ beforeLastRound: wrong }, lastRound(rejecting))).toContain('unnamed');
  });

  it('find that runs stay red after all faults have ended', async () => {
    const show = (isVisible: boolean): void => fixture.account.setVisible('transaction', isVisible);
    const found = await broken({ beforeLastRound: async () => show(false) }).finally(() => show(true));
    expect(found).toContain('stuck');
  });
};
if (profile === undefined) describe('its checks', checks);

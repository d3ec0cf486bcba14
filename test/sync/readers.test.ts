// Readers during publishes: a reader that reads state and rows in one statement sees one complete run and its
// total.
import { describe, expect, it } from 'vitest';
import { sqlState } from '../../src/db/pg-errors.ts';
import { listAccount } from '../setup/erp-account.ts';
import { field, memoryErp, type SyncFixture, syncFixture, until } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync();

type Seen = {
  active: string;
  generation: string;
  row_count: string;
  rows: string;
  low: string;
  high: string;
  newest: string;
};

/**
 * As readers do: plan for a table, query state and rows in one statement, and plan again when another table
 * is active.
 */
async function readOnce(fixture: SyncFixture, table: string): Promise<{ seen: Seen | null; table: string }> {
  try {
    const [row] = await fixture.query<Seen>(
      `select s.active_table as active, s.generation, s.row_count, t.* from ${fixture.schema}.record_state s,
       lateral (select count(*) as rows, min(f_total) as low, max(f_total) as high, max(generation) as newest from ${fixture.schema}."${table}") t
       where s.record_type = 'thing'`,
    );
    if (row === undefined) throw new Error('no state');
    return row.active === table ? { seen: row, table } : { seen: null, table: row.active };
  } catch (error) {
    if (sqlState(error) !== '42P01') throw error; // the old table was dropped
    return { seen: null, table: (await fixture.state())?.activeTable ?? table };
  }
}

/** `work` may wait until some reader has seen a run. */
async function readWhile(
  fixture: SyncFixture,
  work: (isSeen: (run: number) => Promise<boolean>) => Promise<void>,
): Promise<Seen[]> {
  const seen: Seen[] = [];
  let done = false;
  const readers = Array.from({ length: 3 }, async () => {
    let table = (await fixture.state())?.activeTable ?? '';
    while (!done) {
      const read = await readOnce(fixture, table);
      table = read.table;
      if (read.seen !== null) seen.push(read.seen);
    }
  });
  const isSeen = (run: number) =>
    until(
      async () => seen.some(({ generation }) => Number(generation) === run),
      `run ${run} before a reader`,
    );
  await work(isSeen).finally(() => {
    done = true;
  });
  await Promise.all(readers);
  return seen;
}

/** Run n writes n into every record, and adds one record. */
const edit = (fixture: SyncFixture, run: number, count: number) => {
  for (let id = 1; id <= count + run; id += 1) fixture.erp.put(id, { total: String(run) });
};
function expectWhole(seen: readonly Seen[], count: number): void {
  for (const { generation, row_count: total, rows, low, high, newest } of seen) {
    const run = Number(generation);
    const facts = [total, rows, low, high, newest].map(Number);
    expect(facts).toEqual([count + run, count + run, run, run, run]);
  }
}

describe('readers', () => {
  it('never see half a run', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    edit(fixture, 1, 400);
    await fixture.sync();
    const seen = await readWhile(fixture, async (isSeen) => {
      for (let run = 2; run <= 8; run += 1) {
        edit(fixture, run, 400);
        await fixture.expectSuccess('full', {}, { generation: String(run) });
        await isSeen(run);
      }
    });
    expectWhole(seen, 400);
    expect(new Set(seen.map(({ generation }) => generation)).size).toBeGreaterThan(6);
  });

  it('continue while another table goes live', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    edit(fixture, 1, 10_000);
    await fixture.sync();
    const seen = await readWhile(fixture, async (isSeen) => {
      for (let run = 2; run <= 3; run += 1) {
        fixture.erp.fields = [...fixture.erp.fields, field(`extra_${run}`)];
        await listAccount(fixture.tenant, fixture.erp.connector);
        edit(fixture, run, 10_000);
        await fixture.expectSuccess('full', {}, { generation: String(run) });
        expect((await fixture.state())?.activeTable).toBe(`thing_${run}`);
        await isSeen(run);
      }
    });
    expectWhole(seen, 10_000);
    expect(new Set(seen.map(({ active }) => active)).size).toBeGreaterThan(1);
  });
});

// A complete read of a table that stays in place: only what differs is staged, and yet all of it is proved.
// And pages that the server lost in a crash, because no page waits for the disk.
import { describe, expect, it } from 'vitest';
import { inDataTransaction } from '../../src/db/transaction.ts';
import { publishRun } from '../../src/warehouse/publish.ts';
import { LostLease, readRunState } from '../../src/warehouse/run-state-row.ts';
import { pagesRead, type SyncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10 });

async function loaded(count: number): Promise<SyncFixture> {
  const fixture = await site.withRecords(count);
  await fixture.expectSuccess('full');
  fixture.erp.calls.length = 0;
  return fixture;
}
const kept = async (fixture: SyncFixture) => {
  const [row] = await fixture.query<{ rows: string; unchanged: string }>(
    `select (select count(*) from ${fixture.schema}.staging_thing) as rows,
            (select coalesce(sum(cardinality(ids)), 0) from ${fixture.schema}.staged_unchanged) as unchanged`,
  );
  return [Number(row?.rows), Number(row?.unchanged)];
};
/** A full run whose worker is lost when it has read everything. */
async function readAndLost(fixture: SyncFixture): Promise<string> {
  const id = await fixture.queue();
  let counts = 0;
  fixture.erp.onCall = ({ operation }) => {
    if (operation === 'count' && ++counts === 2) throw new LostLease('the process is gone');
  };
  await fixture.work(await fixture.claim());
  fixture.erp.onCall = () => undefined;
  fixture.erp.calls.length = 0;
  await fixture.expire(id);
  return id;
}

describe('a complete read of a table that stays in place', () => {
  it('stages what is new or differs, and keeps the ids of the rest', async () => {
    const fixture = await loaded(25);
    fixture.erp.put(7, { name: 'changed' });
    fixture.erp.put(26);
    fixture.erp.drop(1);
    const id = await readAndLost(fixture);
    expect(await kept(fixture)).toEqual([2, 23]);
    const counts = { fetched: 25, inserted: 1, updated: 1, unchanged: 23, deleted: 1 };
    const run = await fixture.expectEnd(id, 'succeeded', counts);
    expect(pagesRead(fixture)).toEqual([]);
    const facts = { staged: 25, rejected: 0 };
    expect(run.proof).toContainEqual(expect.objectContaining({ check: 'staged', passed: true, facts }));
    expect((await fixture.rows()).map(({ id: key, generation }) => [key, generation])).toEqual(
      Array.from({ length: 25 }, (_unused, n) => [String(n + 2), [7, 26].includes(n + 2) ? '2' : '1']),
    );
    expect(await kept(fixture)).toEqual([0, 0]);
  });

  it('an unchanged record that is read again in the same run counts once', async () => {
    const fixture = await loaded(60);
    for (let id = 1; id <= 30; id += 1) fixture.erp.records.delete(String(id));
    await fixture.expectPartial('full', 'DELETIONS_HELD');
    await fixture.query(`update ${fixture.schema}.deletion_proposals set status = 'approved'`);
    fixture.erp.fill(30, (id) => [id === 3 ? { name: 'changed' } : {}]);
    await fixture.expectSuccess('full', { fetched: 60, inserted: 0, updated: 1, unchanged: 59, deleted: 0 });
    expect(await fixture.rows()).toHaveLength(60);
  });

  it('restarts when the active table is not the one it was compared with', async () => {
    const fixture = await loaded(25);
    fixture.erp.put(7, { name: 'changed' });
    const id = await readAndLost(fixture);
    await fixture.query(`update ${fixture.schema}.record_state set generation = 5`);
    await fixture.expectEnd(id, 'succeeded', { updated: 1, unchanged: 24 }, { generation: '6' });
    expect(pagesRead(fixture)).toEqual([null, '10', '20']);
  });

  it('is not published when the active table changed', async () => {
    const fixture = await loaded(25);
    const id = await readAndLost(fixture);
    const state = await readRunState(site.ctx.db.data, fixture.schema, id);
    if (state === undefined) throw new Error('no state');
    await fixture.query(`update ${fixture.schema}.record_state set generation = 5`);
    const rules = { deletions: 'reconcile' as const, maxDeleteShare: 1, settleMs: 0 };
    const publishing = inDataTransaction(site.ctx.db.data, (client) =>
      publishRun(client, fixture.schema, state, rules, () => undefined),
    );
    await expect(publishing).rejects.toThrow('the active table changed since');
    expect(await fixture.rows()).toHaveLength(25);
  });
});

it('a server that lost the last pages of a run in a crash publishes nothing from memory: the run resumes from the state that is stored', async () => {
  const fixture = await loaded(25);
  fixture.erp.fill(25, () => [{ name: 'changed' }]);
  const id = await fixture.queue();
  const before = new Map<string, unknown>();
  let counts = 0;
  fixture.erp.onCall = async ({ operation, afterId }) => {
    if (operation === 'readPage' && afterId === '20') {
      // The state after one or two pages, which the crash restores.
      const [row] = await fixture.query(
        `select page, checkpoint, counters from ${fixture.schema}.run_state where run_id = $1`,
        [id],
      );
      for (const [name, value] of Object.entries(row ?? {})) before.set(name, value);
    }
    if (operation !== 'count' || ++counts !== 2) return;
    const page = Number(before.get('page'));
    await fixture.query(
      `update ${fixture.schema}.run_state set page = $2, checkpoint = $3, counters = $4, complete = false where run_id = $1`,
      [id, page, before.get('checkpoint'), JSON.stringify(before.get('counters'))],
    );
    await fixture.query(`delete from ${fixture.schema}.staging_thing where id > $1`, [page * 10]);
  };
  await fixture.work(await fixture.claim());
  expect(await fixture.row(id)).toMatchObject({ status: 'running', counts: null });
  expect((await fixture.state())?.generation).toBe('1');
  fixture.erp.onCall = () => undefined;
  await fixture.expire(id);
  await fixture.expectEnd(id, 'succeeded', { fetched: 25, updated: 25 }, { generation: '2' });
});

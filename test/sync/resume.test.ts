// An incremental run that is interrupted at each of its steps: another process resumes it, and the outcome is
// the same.
import { beforeAll, describe, expect, it } from 'vitest';
import { LostLease, readRunState } from '../../src/warehouse/run-state-row.ts';
import {
  datedFields,
  field,
  findCheck,
  memoryErp,
  operations,
  type SyncFixture,
  syncFixture,
  until,
  wait,
  waitingFor,
  withSync,
} from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10, leaseMs: 600_000, renewMs: 300_000 });

const fields = [...datedFields, { ...field('unpaid', 'number'), volatile: true }];

/**
 * Work for every step: pages, a rejected record, open records, deletions in and not in the feed, a scan that
 * is due.
 */
async function busy(): Promise<SyncFixture> {
  // Closed so long ago that only the scan compares them.
  const closed = { modifiedAt: '2026-04-20T08:00:00Z' };
  const fixture = await site.dated(40, {}, fields, (id) =>
    id <= 10 ? [{ unpaid: '5' }] : [{ unpaid: '0' }, closed],
  );
  const { erp } = fixture;
  erp.openWhen = { field: 'unpaid', isNoneOf: ['0'], closedOn: null };
  erp.rejects.set('40', { id: '40', code: 'BAD', message: 'bad' });
  await fixture.sync('full');
  wait(fixture, 30);
  erp.rejects.clear();
  for (let id = 11; id <= 35; id += 1) erp.put(id, { name: `edited ${id}`, unpaid: '0' });
  erp.shift(3, { unpaid: '4' });
  erp.shift(39, { unpaid: '1' });
  erp.drop(36);
  erp.records.delete('37');
  erp.put(41, { unpaid: '0' });
  erp.calls.length = 0;
  return fixture;
}
const content = async (fixture: SyncFixture) =>
  (
    await fixture.query<{ row: string }>(
      `select (to_jsonb(t) - 'changed_at')::text as row from ${fixture.schema}.thing_1 t order by id`,
    )
  ).map(({ row }) => row);

/** What the ERP is asked, in the order of the steps. */
const questions = [
  'now today readPage readPage readPage listIds readByIds scan readByIds deletedSince readByIds',
  'count scan scan readByIds count deletedSince',
].flatMap((each) => each.split(' '));
let expected: string[] = [];
let calls: string[] = [];
const counts = { fetched: 29, inserted: 2, updated: 27, unchanged: 0, deleted: 1, rejected: 0 };
beforeAll(async () => {
  const fixture = await busy();
  await fixture.expectPartial('incremental', 'DELETIONS_HELD', counts);
  expected = await content(fixture);
  calls = operations(fixture);
});

describe('an interrupted incremental run', () => {
  it('sends requests to the ERP in the order of its steps', () => expect(calls).toEqual(questions));

  it.each(questions.map((operation, n): [number, string] => [n, operation]))(
    'goes on after a worker that is lost at question %i, %s, and ends the same',
    async (n) => {
      const fixture = await busy();
      const id = await fixture.queue('incremental');
      await fixture.loseWorker(id, n);
      await fixture.expectEnd(id, 'partial', counts, { mode: 'incremental', attempt: 2 });
      expect(await content(fixture)).toEqual(expected);
      expect(await fixture.query(`select from ${fixture.schema}.staged_deletions`)).toEqual([]);
    },
  );

  it('a zombie worker writing after its lease: it can no longer write anything', async () => {
    const fixture = await busy();
    const id = await fixture.queue('incremental');
    const wake = await fixture.loseWorker(id, 0, ['deletedSince']);
    expect(await fixture.drive(id)).toMatchObject({ status: 'partial', counts });
    const after = await fixture.state();
    for (const key of fixture.erp.records.keys()) fixture.erp.put(key, { name: 'zombie' });
    await wake();
    expect(await content(fixture)).toEqual(expected);
    expect(await fixture.state()).toEqual(after);
    expect(await fixture.row(id)).toMatchObject({ status: 'partial' });
  });

  it('killed while publishing: published again without requests to the ERP, deletions and high-water mark included', async () => {
    const fixture = await busy();
    const id = await fixture.queue('incremental');
    const holder = await site.ctx.db.data.connect();
    await holder.query(`begin; select from ${fixture.schema}.record_state for update`);
    const working = fixture.work(await fixture.claim());
    await until(async () => (await fixture.row(id)).status === 'publishing', 'publishing');
    const planned = await readRunState(site.ctx.db.data, fixture.schema, id);
    expect(planned?.plan).toMatchObject({
      mode: 'incremental',
      step: 'done',
      scanned: true,
      feed: 'available',
    });
    await until(async () => {
      const waiting = await waitingFor(site.admin, 'record_state');
      for (const pid of waiting) await site.admin.raw('select pg_terminate_backend(?::int)', [pid]);
      return waiting.length > 0;
    }, 'the lock');
    await working;
    await holder.query('rollback');
    holder.release();
    fixture.erp.failAll();
    expect(await fixture.drive(id)).toMatchObject({ status: 'partial', counts });
    expect(await content(fixture)).toEqual(expected);
    expect((await fixture.state())?.highWater).toBe('2026-05-02T18:55:00Z');
  });
});

it('the proof of a full run goes on where the process before stopped, however many processes stop during it', async () => {
  const fixture = await syncFixture(withSync(site.ctx, { pageSize: 1_000 }), memoryErp());
  const { erp } = fixture;
  const count = 7_200;
  erp.fill(count);
  // No page has this record, so all ids are listed.
  erp.bendPage = (page) => ({ ...page, records: page.records.filter(({ id }) => id !== '4321') });
  let listed = 0;
  erp.onCall = ({ operation }) => {
    if (operation !== 'listIds') return;
    listed += 1;
    if (listed % 2 === 0) throw new LostLease('the process is gone');
  };
  const id = await fixture.queue('full');
  while ((await fixture.row(id)).status !== 'succeeded') {
    await fixture.work(await fixture.claim());
    await fixture.expire(id);
    expect((await fixture.row(id)).attempts_without_progress).toBeLessThan(2);
  }
  const asked = erp.calls.filter(({ operation }) => operation === 'listIds').map(({ afterId }) => afterId);
  const pages = [null, '1000', '2000', '3000', '4000', '5000', '6000', '7000'];
  expect(asked).toEqual(pages.flatMap((afterId, page) => (page === 0 ? [afterId] : [afterId, afterId])));
  expect(await fixture.row(id)).toMatchObject({
    attempt: pages.length,
    counts: { inserted: count, deleted: 0 },
  });
  expect(findCheck(await fixture.row(id), 'count')).toMatchObject({
    facts: { expected: count, missing: ['4321'], missingCount: 1, vanishedCount: 0 },
  });
  expect(await fixture.query(`select run_id from ${fixture.schema}.listed_ids`)).toEqual([]);
});

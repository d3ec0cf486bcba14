// What the ERP does to a run: slow, away, closed, changed, or telling what isn't so. Nothing may be lost, deleted or shown as green.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Ctx } from '../../src/core/ctx.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { openConnectorOf } from '../../src/sync/connection.ts';
import { findConfig } from '../../src/sync/runs.store.ts';
import { workOn } from '../../src/sync/worker.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { datedFields, endOpenRuns, erpError, field, memoryErp, noSignal, type SyncWorld, syncWorld } from './fixture.ts';

let database: TestDatabase;
let ctx: Ctx;
beforeAll(async () => {
  database = await testDatabase();
  ctx = {
    ...database.ctx,
    settings: { ...database.ctx.settings, sync: { ...database.ctx.settings.sync, pageSize: 10, retryBaseMs: 2, retryMaxMs: 4 } },
  };
});
afterEach(() => endOpenRuns(database));
afterAll(() => database.close());

const worldWith = async (count: number, options = {}): Promise<SyncWorld> => {
  const world = await syncWorld(ctx, memoryErp(), options);
  for (let id = 1; id <= count; id += 1) world.erp.put(id);
  return world;
};
const pagesRead = ({ erp }: SyncWorld) => erp.calls.filter(({ operation }) => operation === 'readPage').map(({ afterId }) => afterId);
const pausedReason = async ({ tenant, organizationId, configId }: SyncWorld) =>
  (await inTransaction(tenant, (tx) => findConfig(tx, organizationId, configId)))?.paused_reason;

describe('an ERP that is slow or away', () => {
  it.each([
    ['throttled', erpError('throttled', 'CONCURRENCY_LIMIT_EXCEEDED', 5)],
    ['away', erpError('down', 'SERVER_ERROR')],
    ['unreadable', erpError('answer', 'ANSWER_UNREADABLE')],
  ])('%s: the run waits, and goes on from its checkpoint', async (_name, error) => {
    const world = await worldWith(35);
    let thrown = false;
    world.erp.onCall = ({ operation, afterId }) => {
      if (thrown || operation !== 'readPage' || afterId !== '20') return;
      thrown = true;
      throw error;
    };
    const id = await world.queue();
    const waiting = await world.drive(id, 'waiting');
    expect(waiting).toMatchObject({ error: { code: error.code, fix: expect.any(String) }, attempts_without_progress: 1, counts: null });
    expect(waiting.wake_at).toBeInstanceOf(Date);
    const [held] = await world.query(`select target_table, page, checkpoint from ${world.schema}.run_state where run_id = $1`, [id]);
    expect(held).toMatchObject({ page: 2, checkpoint: '20' });
    expect(await world.drive(id)).toMatchObject({
      status: 'succeeded',
      attempt: 2,
      attempts_without_progress: 0,
      error: null,
      counts: { inserted: 35 },
    });
    expect(pagesRead(world)).toEqual([null, '10', '20', '20', '30']);
    expect(await world.events(id)).toContain('reading goes on from its checkpoint');
  });

  it('a run that waits holds no worker', async () => {
    const world = await worldWith(5);
    world.erp.onCall = ({ operation }) => {
      if (operation === 'readPage') throw erpError('throttled', 'LIMIT', 3_600_000);
    };
    const id = await world.queue();
    await world.drive(id, 'waiting');
    const [row] = await inTransaction(world.tenant, (tx) => tx('sync_runs').where({ id }).select('lease_until', 'lease_owner', 'wake_at'));
    expect([row.lease_until, row.lease_owner]).toEqual([null, null]);
    expect(row.wake_at.getTime()).toBeGreaterThan(Date.now() + 3_000_000);
  });

  it('five attempts without progress fail it, with a fix, and leave nothing staged', async () => {
    const world = await worldWith(35);
    await world.sync();
    const before = await world.rows();
    world.erp.onCall = ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '20') throw erpError('down', 'SERVER_ERROR');
    };
    world.erp.put(1, { name: 'changed' });
    const run = await world.sync();
    expect(run).toMatchObject({
      status: 'failed',
      attempt: 5,
      error: { code: 'SERVER_ERROR', fix: 'Do something about it.' },
      generation: null,
    });
    expect(pagesRead(world).slice(4)).toEqual([null, '10', '20', '20', '20', '20', '20']);
    expect([await world.rows(), await world.staged()]).toEqual([before, 0]);
    expect(await pausedReason(world)).toBeNull();
    world.erp.onCall = () => undefined;
    expect(await world.sync()).toMatchObject({ status: 'succeeded', counts: { updated: 1 } });
  });

  it('progress starts the count anew: a slow way to the end is a way to the end', async () => {
    const world = await worldWith(35);
    const tries = new Map<string, number>();
    world.erp.onCall = ({ operation, afterId }) => {
      if (operation !== 'readPage') return;
      const key = String(afterId);
      tries.set(key, (tries.get(key) ?? 0) + 1);
      if ((tries.get(key) ?? 0) < 5) throw erpError('down', 'SERVER_ERROR');
    };
    expect(await world.sync()).toMatchObject({ status: 'succeeded', attempt: 17, counts: { inserted: 35 } });
  });
});

describe('an ERP that fails', () => {
  const failures: readonly [string, (world: SyncWorld) => void][] = [
    ['no answer', ({ erp }) => (erp.onCall = () => Promise.reject(erpError('down', 'SERVER_ERROR')))],
    ['a closed door', ({ erp }) => (erp.onCall = () => Promise.reject(erpError('credentials', 'INVALID_LOGIN')))],
    ['a hidden record type', ({ erp }) => (erp.onCall = () => Promise.reject(erpError('forbidden', 'RECORD_TYPE_HIDDEN')))],
    ['empty pages', ({ erp }) => (erp.bendPage = (page) => ({ ...page, records: [], lastId: null, hasMore: false }))],
    ['nothing there, and a count of nothing', ({ erp }) => erp.records.clear()],
  ];
  it.each(failures)('source failure empties the destination: %s leaves every record served', async (_name, fail) => {
    for (const mode of ['full', 'incremental'] as const) {
      const world = await syncWorld(ctx, memoryErp(datedFields));
      for (let id = 1; id <= 25; id += 1) world.erp.put(id);
      await world.sync();
      const before = await world.rows();
      fail(world);
      // No page of changes is no failure while nothing changed.
      const ends = mode === 'incremental' && world.erp.bendPage !== null ? ['succeeded'] : ['failed', 'partial'];
      expect(ends).toContain((await world.sync(mode)).status);
      expect([await world.rows(), await world.staged()]).toEqual([before, 0]);
      expect(await world.query(`select from ${world.schema}.tombstones`)).toEqual([]);
    }
  });
});

describe('an ERP that refuses', () => {
  it('credentials: failed at once, the configuration pauses with advice, and nothing is lost', async () => {
    const world = await worldWith(25);
    await world.sync();
    world.erp.onCall = ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '10') throw erpError('credentials', 'INVALID_LOGIN');
    };
    expect(await world.sync()).toMatchObject({ status: 'failed', attempt: 1, error: { code: 'INVALID_LOGIN' } });
    expect(await pausedReason(world)).toMatchObject({ code: 'INVALID_LOGIN', fix: 'Do something about it.' });
    expect([(await world.rows()).length, await world.staged()]).toEqual([25, 0]);
    world.erp.onCall = () => undefined;
    expect(await world.sync()).toMatchObject({ status: 'succeeded' });
    expect(await pausedReason(world)).toBeNull();
  });

  it('a connection that was never set up is a matter of credentials, not of the database', async () => {
    const world = await worldWith(1);
    const id = await world.queue();
    await workOn(ctx, await world.claim(), noSignal, openConnectorOf);
    expect(await world.row(id)).toMatchObject({
      status: 'failed',
      attempt: 1,
      error: { code: 'NO_CONNECTION', fix: expect.stringContaining('PUT /netsuite/connection') },
    });
    expect(await pausedReason(world)).toMatchObject({ code: 'NO_CONNECTION' });
  });

  it('a record type that the role may no longer see fails, and deletes nothing', async () => {
    const world = await worldWith(25);
    await world.sync();
    world.erp.onCall = ({ operation }) => {
      if (operation === 'count') throw erpError('forbidden', 'RECORD_TYPE_HIDDEN');
    };
    expect(await world.sync()).toMatchObject({ status: 'failed', attempt: 1, error: { code: 'RECORD_TYPE_HIDDEN' } });
    expect(await world.rows()).toHaveLength(25);
    world.erp.onCall = () => undefined;
    world.erp.fields = world.erp.fields.map((held) => ({ ...held, syncable: false }));
    await inTransaction(world.tenant, (tx) => tx('erp_metadata').delete());
    expect(await world.sync()).toMatchObject({ status: 'failed', error: { code: 'RECORD_TYPE_UNAVAILABLE' } });
    expect(await world.rows()).toHaveLength(25);
  });

  it('one bad column killing the query or vanishing in silence: the metadata is read anew, the run begins again, the old column keeps its values', async () => {
    const world = await worldWith(25);
    await world.sync();
    world.erp.onCall = ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '10') world.erp.refusedFields.add('total');
      if (operation === 'metadata') world.erp.fields = [field('name')];
    };
    world.erp.put(2, { name: 'changed' });
    world.erp.put(26);
    const run = await world.sync();
    expect(run).toMatchObject({ status: 'succeeded', counts: { fetched: 26, inserted: 1 }, error: null });
    expect(pagesRead(world).slice(3)).toEqual([null, '10', null, '10', '20']);
    const rows = await world.rows();
    expect(rows[1]).toMatchObject({ f_name: 'changed', f_total: '2.50' });
    expect(rows[25]).toMatchObject({ f_name: 'name 26', f_total: null });
    expect(await world.query(`select column_name, state from ${world.schema}.record_columns order by 1`)).toEqual([
      { column_name: 'f_name', state: 'live' },
      { column_name: 'f_total', state: 'vanished' },
    ]);
    expect(await world.events(run.id)).toContain('the fields of the record type changed in the ERP');
  });

  it('an ERP that is away while the metadata is read anew is waited for', async () => {
    const world = await worldWith(5);
    await world.sync();
    world.erp.refusedFields.add('total');
    let tries = 0;
    world.erp.onCall = ({ operation }) => {
      if (operation !== 'metadata') return;
      tries += 1;
      if (tries < 3) throw erpError('throttled', 'LIMIT');
      world.erp.fields = [field('name')];
    };
    expect(await world.sync()).toMatchObject({ status: 'succeeded' });
    expect(tries).toBe(3);
  });

  it('an abandoned first load leaves no table behind', async () => {
    const world = await worldWith(25);
    world.erp.onCall = ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '10') world.erp.refusedFields.add('total');
      if (operation === 'metadata' && world.erp.refusedFields.size > 0) world.erp.fields = [field('name')];
    };
    expect(await world.sync()).toMatchObject({ status: 'succeeded' });
    const tables = () =>
      world.query(`select tablename as t from pg_tables where schemaname = $1 and tablename like 'thing%' order by 1`, [world.schema]);
    expect(await tables()).toEqual([{ t: 'thing_2' }]);
    const failing = await worldWith(25);
    failing.erp.onCall = ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '10') throw erpError('query', 'QUERY_REFUSED');
    };
    expect(await failing.sync()).toMatchObject({ status: 'failed' });
    expect(
      await failing.query(`select tablename from pg_tables where schemaname = $1 and tablename like 'thing%'`, [failing.schema]),
    ).toEqual([]);
  });
});

describe('an ERP whose answers do not add up', () => {
  it('zero rows reported as success: no rows while it counts some fails the run, and nothing is deleted', async () => {
    const world = await worldWith(25);
    await world.sync();
    world.erp.bendPage = (page) => ({ ...page, records: [], lastId: null, hasMore: false });
    expect(await world.sync()).toMatchObject({ status: 'failed', attempt: 1, error: { code: 'ZERO_ROWS' } });
    expect(await world.rows()).toHaveLength(25);
  });

  it('the 100,000 cap reached in silence: "no more" comes too early, and what is missing is fetched by id', async () => {
    const world = await worldWith(25);
    world.erp.bendPage = (page) => ({ ...page, hasMore: false });
    const run = await world.sync();
    expect(run).toMatchObject({ status: 'succeeded', counts: { fetched: 25, inserted: 25 } });
    expect(run.proof[1]).toMatchObject({ check: 'count', facts: { expected: 25, read: 10, missingCount: 15, vanishedCount: 0 } });
  });

  it('paging without a total order: a page that brings back what an earlier one held is refused', async () => {
    const world = await worldWith(25);
    await world.sync();
    const before = await world.rows();
    world.erp.put(3, { name: 'changed' });
    // As rows of the same rank come in another order for each page: 12 comes as 4 once more, and would never come itself.
    world.erp.bendPage = (page) => ({
      ...page,
      records: page.records.map((record) => (record.id === '12' ? { ...record, id: '4' } : record)),
    });
    const run = await world.sync();
    expect(run).toMatchObject({
      status: 'failed',
      attempt: 5,
      error: { code: 'PAGE_OUT_OF_ORDER', message: expect.stringContaining('4') },
    });
    expect([await world.rows(), await world.staged()]).toEqual([before, 0]);
  });

  it('a page with a hole: what is missing is fetched by id', async () => {
    const world = await worldWith(25);
    world.erp.bendPage = (page) => ({ ...page, records: page.records.filter(({ id }) => id !== '14') });
    expect(await world.sync()).toMatchObject({ status: 'succeeded', counts: { inserted: 25 } });
  });

  it('a record made behind the cursor while the run reads is fetched', async () => {
    const world = await worldWith(25);
    world.erp.records.delete('3');
    world.erp.onCall = ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '21') world.erp.put(3, { name: 'late' });
    };
    expect(await world.sync()).toMatchObject({ status: 'succeeded', counts: { fetched: 25 } });
    expect((await world.rows())[2]).toMatchObject({ f_name: 'late' });
  });

  it('a record made after the last page is in this run or the next, and never deleted', async () => {
    const world = await worldWith(25);
    await world.sync();
    world.erp.onCall = ({ operation }) => {
      if (operation === 'count' && pagesRead(world).length === 6) world.erp.put(99);
    };
    expect(await world.sync()).toMatchObject({ status: 'succeeded', counts: { inserted: 1, deleted: 0 } });
    expect(await world.rows()).toHaveLength(26);
  });

  it('a record deleted while the run reads is gone with the next run', async () => {
    const world = await worldWith(25);
    world.erp.onCall = ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '20') world.erp.records.delete('5');
    };
    const run = await world.sync();
    expect(run).toMatchObject({ status: 'succeeded', counts: { fetched: 25 } });
    expect(run.proof[1]).toMatchObject({ facts: { vanished: ['5'], missingCount: 0 } });
    world.erp.onCall = () => undefined;
    expect(await world.sync()).toMatchObject({ status: 'succeeded', counts: { deleted: 1 } });
  });

  it('a record that is listed and can not be read fails the run, and keeps its last version', async () => {
    const world = await worldWith(25);
    await world.sync();
    world.erp.locked.add('14');
    expect(await world.sync()).toMatchObject({
      status: 'failed',
      error: { code: 'COUNT_MISMATCH', message: expect.stringContaining('14') },
    });
    expect(await world.rows()).toHaveLength(25);
    expect(await world.staged()).toBe(0);
  });

  it('a locked record does not hide behind one that was deleted meanwhile', async () => {
    const world = await worldWith(25);
    await world.sync();
    world.erp.locked.add('14');
    world.erp.onCall = ({ operation }) => {
      if (operation === 'readByIds') world.erp.records.delete('5');
    };
    expect(await world.sync()).toMatchObject({ status: 'failed', error: { code: 'COUNT_MISMATCH' } });
  });

  it('a record that is deleted between its listing and its reading is no mismatch', async () => {
    const world = await worldWith(25);
    world.erp.bendPage = (page) => ({ ...page, records: page.records.filter(({ id }) => id !== '14') });
    world.erp.onCall = ({ operation }) => {
      if (operation === 'readByIds') world.erp.records.delete('14');
    };
    expect(await world.sync()).toMatchObject({ status: 'succeeded', counts: { fetched: 24 } });
  });

  it('a list of ids that is shorter than the count proves nothing', async () => {
    const world = await worldWith(25);
    await world.sync();
    world.erp.claimedCount = () => 1_000;
    expect(await world.sync()).toMatchObject({
      status: 'failed',
      error: { code: 'COUNT_MISMATCH', message: 'The ERP counts 1000 records and lists 25' },
    });
    expect(await world.rows()).toHaveLength(25);
  });

  it('pages that lead nowhere do not go on for ever', async () => {
    const world = await worldWith(25);
    world.erp.bendPage = (page, { afterId }) => (afterId === null ? page : { ...page, records: [], lastId: afterId, hasMore: true });
    expect(await world.sync()).toMatchObject({ status: 'failed', attempt: 5, error: { code: 'PAGE_WITHOUT_END' } });
  });
});

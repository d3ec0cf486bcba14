// Incremental runs: what they read, what they leave alone, and the public bugs of other products that they
// must not have. Each bug is named in the words of the specification.
import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/transaction.ts';
import {
  countCalls,
  datedFields,
  erpError,
  field,
  findCheck,
  memoryErp,
  operations,
  pagesRead,
  type SyncFixture,
  start,
  syncFixture,
  wait,
  withSync,
} from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10 });

const versions = (fixture: SyncFixture) =>
  fixture.query<{ id: string; xmin: string; generation: string }>(
    `select id, xmin::text, generation from ${fixture.schema}.thing_1 order by id`,
  );
const minutesBefore = ({ erp }: SyncFixture, minutes: number): string =>
  new Date((erp.at ?? start).getTime() - minutes * 60_000).toISOString().replace('.000Z', 'Z');
const highWater = async (fixture: SyncFixture) => (await fixture.state())?.highWater;

describe('an incremental run', () => {
  it('without changes makes few requests, writes no row and keeps the generation', async () => {
    const fixture = await site.loaded(25);
    const before = await versions(fixture);
    const run = await fixture.expectSuccess(
      'incremental',
      { fetched: 0, inserted: 0, updated: 0, unchanged: 0, deleted: 0, rejected: 0 },
      { mode: 'incremental', generation: '1' },
    );
    expect(run.proof.map(({ check }) => check).join(' ')).toBe('pages changed open feed count staged fields');
    expect(await versions(fixture)).toEqual(before);
    expect(operations(fixture)).toEqual(['now', 'today', 'readPage', 'listIds', 'deletedSince', 'count']);
    expect(await fixture.staged()).toBe(0);
  });

  it('changes exactly the rows that were edited, deleted and inserted', async () => {
    const fixture = await site.loaded(400);
    const before = await versions(fixture);
    fixture.erp.fill(100, (id) => [{ name: `edited ${id}` }]);
    for (let id = 201; id <= 210; id += 1) fixture.erp.drop(id);
    for (let id = 501; id <= 510; id += 1) fixture.erp.put(id);
    const run = await fixture.expectSuccess(
      'incremental',
      { fetched: 110, inserted: 10, updated: 100, unchanged: 0, deleted: 10 },
      { generation: '2' },
    );
    const after = await versions(fixture);
    const same = ({ id }: { id: string }) =>
      Number(id) > 100 && !(Number(id) > 200 && Number(id) <= 210) && Number(id) <= 500;
    expect(after.filter(same)).toEqual(before.filter(same));
    expect(after.filter(({ generation }) => generation === '2')).toHaveLength(110);
    expect(after).toHaveLength(400);
    expect(await fixture.query(`select count(*) as n from ${fixture.schema}.tombstones`)).toEqual([
      { n: '10' },
    ]);
    expect(findCheck(run, 'feed')).toMatchObject({ facts: { available: true, deleted: 10 } });
    const state = await fixture.state();
    wait(fixture, 0.25);
    await fixture.expectSuccess('incremental', { inserted: 0, updated: 0, deleted: 0 }, { generation: '2' });
    expect(await versions(fixture)).toEqual(after);
    expect(await fixture.state()).toMatchObject({ generation: '2', epoch: state?.epoch, rowCount: 400 });
  });

  it('is a full one when requested, on a first load, for a new column, and when the ERP reports no modification time', async () => {
    const fixture = await site.loaded(5);
    expect(await fixture.sync('incremental')).toMatchObject({ mode: 'incremental' });
    expect(await fixture.sync('full')).toMatchObject({ mode: 'full', counts: { fetched: 5 } });
    const undated = await syncFixture(site.ctx, memoryErp());
    undated.erp.put(1);
    for (const _ of [1, 2]) await undated.expectSuccess('incremental', {}, { mode: 'full' });
  });

  it('a new column null for every old row: a field that appears is filled by a complete read before anything may show it', async () => {
    const fixture = await site.loaded(25);
    fixture.erp.fields.push(field('note'));
    for (const { id, modifiedAt } of [...fixture.erp.records.values()])
      fixture.erp.put(id, { note: `note ${id}` }, { modifiedAt });
    const id = await fixture.queue('incremental');
    await fixture.work(await fixture.claim(), undefined, withSync(site.ctx, { metadataMaxAgeMs: -1 }));
    expect(await fixture.row(id)).toMatchObject({
      status: 'succeeded',
      mode: 'full',
      counts: { updated: 25 },
    });
    expect((await fixture.rows()).every(({ id: key, f_note: note }) => note === `note ${key}`)).toBe(true);
    expect(await fixture.query(`select distinct state from ${fixture.schema}.record_columns`)).toEqual([
      { state: 'live' },
    ]);
    expect(await fixture.sync('incremental')).toMatchObject({ mode: 'incremental' });
  });
});

it('a warehouse on a server of its own that loses the last publish while a run is planned: the run reads what was lost', async () => {
  const fixture = await site.loaded(3);
  const { schema } = fixture;
  const [survived] = await fixture.query<{ state: string; rows: string }>(
    `select to_jsonb(s)::text as state, (select jsonb_agg(t)::text from ${schema}.thing_1 t) as rows from ${schema}.record_state s`,
  );
  for (const id of [1, 2]) {
    fixture.erp.put(id, { name: 'changed' });
    wait(fixture, 2);
  }
  expect(await fixture.sync('incremental')).toMatchObject({ mode: 'incremental', counts: { updated: 2 } });
  wait(fixture, 1);
  fixture.erp.once('now', async () => {
    await fixture.query(`truncate ${schema}.record_state, ${schema}.thing_1`);
    await fixture.query(
      `insert into ${schema}.record_state select * from jsonb_populate_record(null::${schema}.record_state, $1)`,
      [survived?.state],
    );
    await fixture.query(
      `insert into ${schema}.thing_1 select * from jsonb_populate_recordset(null::${schema}.thing_1, $1)`,
      [survived?.rows],
    );
  });
  await fixture.expectSuccess('incremental', {}, { mode: 'incremental' });
  expect((await fixture.rows()).map(({ f_name: name }) => name)).toEqual(['changed', 'changed', 'name 3']);
});

it('metadata that an older version stored is read again, because it lacks the open state and the modification time', async () => {
  const fixture = await site.loaded(2);
  await inTransaction(fixture.tenant, (tx) =>
    tx.raw(`update erp_record_types set description = description - 'openWhen' - 'modifiedField'`),
  );
  await fixture.expectSuccess('incremental', {}, { mode: 'incremental' });
  expect(countCalls(fixture, 'metadata')).toBe(1);
});

describe('the high-water mark', () => {
  it('follows the modification times that were read, stays behind the clock, and never goes back', async () => {
    const fixture = await site.loaded(3);
    expect(await highWater(fixture)).toBe('2026-05-01T12:55:00Z'); // the clock was at 13:00 when the full run started
    fixture.erp.put(1, { name: 'x' }, { modifiedAt: '2026-05-01T13:30:00Z' });
    await fixture.sync('incremental');
    expect(await highWater(fixture)).toBe('2026-05-01T13:30:00Z');
    fixture.erp.put(2, { name: 'x' }, { modifiedAt: '2026-05-01T13:59:00Z' }); // a minute before the clock
    await fixture.sync('incremental');
    expect(await highWater(fixture)).toBe('2026-05-01T13:55:00Z');
    await fixture.sync('incremental');
    expect(await highWater(fixture)).toBe('2026-05-01T13:55:00Z');
  });

  it('cursor advanced by a failed attempt: the mark stays, and the next run reads the missed changes', async () => {
    const fixture = await site.loaded(3);
    fixture.erp.put(2, { name: 'edited' });
    const before = await highWater(fixture);
    fixture.erp.failOnce('count', erpError('forbidden', 'RECORD_TYPE_HIDDEN'));
    await fixture.expectFailure('incremental', 'RECORD_TYPE_HIDDEN');
    expect(await highWater(fixture)).toBe(before);
    await fixture.expectSuccess('incremental', { updated: 1 });
  });

  it('rows that become visible after the cursor passed: the overlap reads them', async () => {
    const fixture = await site.loaded(3);
    fixture.erp.put(1, { name: 'seen' });
    await fixture.sync('incremental');
    // Saved a few minutes before the latest time that was read, committed after the run.
    const late = minutesBefore(fixture, 9);
    fixture.erp.put(2, { name: 'late' }, { modifiedAt: late });
    wait(fixture, 0.25);
    expect(await fixture.sync('incremental')).toMatchObject({ counts: { updated: 1 } });
    expect((await fixture.rows())[1]).toMatchObject({ f_name: 'late' });
  });

  it('stays where it is for a record that is stamped an hour back, which the list of ids reveals', async () => {
    const fixture = await site.loaded(12);
    for (const id of [3, 4]) fixture.erp.put(id, { name: 'in time' });
    await fixture.sync('incremental');
    const before = await highWater(fixture);
    const back = minutesBefore(fixture, 60);
    fixture.erp.put(7, { name: 'an hour back' }, { modifiedAt: back });
    fixture.erp.calls.length = 0;
    await fixture.expectSuccess('incremental', { fetched: 3, updated: 1 });
    expect(operations(fixture).join(' ')).toBe('now today readPage listIds readByIds deletedSince count');
    expect((await fixture.rows())[6]).toMatchObject({ f_name: 'an hour back' });
    expect(await highWater(fixture)).toBe(before);
    fixture.erp.calls.length = 0;
    expect(await fixture.sync('incremental')).toMatchObject({ counts: { fetched: 2, updated: 0 } });
    expect(operations(fixture)).not.toContain('readByIds');
  });

  it('without a stored modification time, records of the hour before are read whenever they are listed', async () => {
    const fixture = await site.loaded(12, { fields: ['name', 'total'] });
    const back = minutesBefore(fixture, 60);
    fixture.erp.put(7, { name: 'an hour back' }, { modifiedAt: back });
    await fixture.expectSuccess('incremental', { fetched: 1, updated: 1 });
    await fixture.expectSuccess('incremental', { fetched: 1, updated: 0 });
  });

  it('cursor ties cut by a page boundary: all records of one second are read', async () => {
    const fixture = await site.loaded(50);
    fixture.erp.fill(35, () => [{ name: 'same second' }]);
    expect(await fixture.sync('incremental')).toMatchObject({ counts: { updated: 35 } });
    expect(pagesRead(fixture)).toEqual([null, '10', '20', '30']);
  });
});

describe('changes without a new modification time', () => {
  const invoices = [
    ...datedFields,
    { ...field('unpaid', 'number'), volatile: true },
    { ...field('status', 'list'), volatile: true },
  ];
  async function openAndClosed(): Promise<SyncFixture> {
    const fixture = await site.dated(30, {}, invoices, (id) => {
      const paid = id > 20;
      const labels = { status: paid ? 'Paid' : 'Open' };
      return [
        { unpaid: paid ? '0.00' : `${id}.50`, status: paid ? 'B' : 'A' },
        // Closed so long ago that only the daily scan compares them.
        { labels, ...(paid && { modifiedAt: '2026-04-20T08:00:00Z' }) },
      ];
    });
    fixture.erp.openWhen = { field: 'unpaid', isNoneOf: ['0'], closedOn: null };
    await fixture.sync('incremental');
    wait(fixture, 1);
    fixture.erp.calls.length = 0;
    return fixture;
  }

  it('a value that changes without its modified date: open records are compared, and only those that differ are read', async () => {
    const fixture = await openAndClosed();
    fixture.erp.shift(7, { unpaid: '0', status: 'B' }, { status: 'Paid' });
    fixture.erp.shift(8, { unpaid: '8.5' }); // the same number in other digits
    const run = await fixture.expectSuccess('incremental', { fetched: 1, updated: 1 });
    expect(findCheck(run, 'open')).toMatchObject({ facts: { checked: 20, read: 1 } });
    expect((await fixture.rows())[6]).toMatchObject({ f_unpaid: '0', f_status: 'B', l_status: 'Paid' });
    expect(operations(fixture).join(' ')).toBe(
      'now today readPage listIds scan readByIds deletedSince count',
    );
  });

  it('a renamed label and a reopened record are found by the nightly scan', async () => {
    const fixture = await openAndClosed();
    fixture.erp.shift(25, {}, { status: 'Paid In Full' });
    fixture.erp.shift(26, { unpaid: '3' });
    expect(await fixture.sync('incremental')).toMatchObject({ counts: { updated: 0 } });
    wait(fixture, 24);
    const run = await fixture.expectSuccess('incremental', { fetched: 2, updated: 2 });
    expect(findCheck(run, 'scan')).toMatchObject({ facts: { listed: 30, fetched: 2, absent: 0 } });
    wait(fixture, 1);
    expect((await fixture.sync('incremental')).proof.map(({ check: name }) => name)).toContain('count');
  });

  it('a record that was closed recently is compared like an open one, by its day of closing or else by its modification time', async () => {
    const fixture = await syncFixture(
      site.ctx,
      memoryErp([...invoices, { ...field('closed', 'date'), volatile: true }]),
    );
    fixture.erp.openWhen = { field: 'unpaid', isNoneOf: ['0'], closedOn: 'closed' };
    fixture.erp.at = start;
    fixture.erp.deleted = new Map();
    const old = { modifiedAt: '2026-04-20T08:00:00Z' };
    const [closed, recent] = ['2026-04-20', '2026-04-24'];
    fixture.erp.put(1, { unpaid: '5', closed: null }, old);
    fixture.erp.put(2, { unpaid: '0', closed: recent }, old);
    fixture.erp.put(3, { unpaid: '0', closed }, old);
    fixture.erp.put(4, { unpaid: '0', closed: null });
    fixture.erp.put(5, { unpaid: '0', closed: null }, old);
    wait(fixture, 5);
    await fixture.sync('incremental');
    wait(fixture, 1);
    for (const id of [1, 2, 3, 4, 5]) fixture.erp.shift(id, { closed: '2026-05-01' });
    const run = await fixture.expectSuccess('incremental', { fetched: 3, updated: 3 });
    expect(findCheck(run, 'open')).toMatchObject({
      message:
        '1 open record and 2 that were closed recently were compared by modified, unpaid, status and 1 more field; 3 were read again',
      facts: { checked: 3, closed: 2, closedSince: '2026-04-24', read: 3 },
    });
    wait(fixture, 24);
    await fixture.expectSuccess('incremental', { fetched: 2, updated: 2 });
  });

  it("scans once a calendar day of the ERP, and by UTC's where the ERP does not say its own", async () => {
    const fixture = await site.loaded(3);
    const scans = async () =>
      (await fixture.sync('incremental')).proof.some(({ check: name }) => name === 'scan') ? 1 : 0;
    fixture.erp.today = '2026-05-01';
    expect(await scans()).toBe(0);
    fixture.erp.today = '2026-05-02';
    expect([await scans(), await scans()]).toEqual([1, 0]);
    wait(fixture, 40);
    expect(await scans()).toBe(0);
    fixture.erp.fail('today', erpError('query', 'QUERY_REFUSED'));
    expect([await scans(), await scans()]).toEqual([1, 0]);
  });

  it('child changed without its parent: when lines are volatile, open records are read completely', async () => {
    const lines = {
      ...field('lines', 'lines', [{ ...field('shipped', 'number'), volatile: true }]),
      volatile: true,
    };
    const unshipped = { lines: [{ shipped: '0' }] };
    const fixture = await site.dated(3, {}, [...datedFields, lines], () => [{}, unshipped]);
    fixture.erp.openWhen = 'always';
    await fixture.sync('incremental');
    wait(fixture, 1);
    fixture.erp.setLines(2, [{ shipped: '4' }]);
    await fixture.expectSuccess('incremental', { fetched: 3, updated: 1, unchanged: 2 });
    expect((await fixture.rows())[1]).toMatchObject({ f_lines: [{ shipped: 4 }] });
  });

  it('a change that neither the high-water mark nor the open state reveals is found by the scan', async () => {
    const fixture = await openAndClosed();
    fixture.erp.put(
      28,
      { name: 'came late', unpaid: '0', status: 'B' },
      { modifiedAt: '2026-05-01T09:00:00Z', labels: { status: 'Paid' } },
    );
    expect(await fixture.sync('incremental')).toMatchObject({ counts: { updated: 0 } });
    wait(fixture, 24);
    expect(await fixture.sync('incremental')).toMatchObject({ counts: { updated: 1 } });
  });
});

describe('rejected records', () => {
  const reject = (id: string) => ({ id, code: 'VALUE_UNREADABLE', message: 'total is not a number' });

  it('a rejected record lost behind the watermark: it is read again by each run until it can be stored', async () => {
    const fixture = await site.loaded(12);
    fixture.erp.rejects.set('5', reject('5'));
    fixture.erp.put(5, { name: 'bad' });
    await fixture.expectPartial('incremental', 'RECORDS_REJECTED', { rejected: 1, deleted: 0 });
    wait(fixture, 5);
    await fixture.expectPartial('incremental', 'RECORDS_REJECTED', { rejected: 1 });
    expect((await fixture.rows())[4]).toMatchObject({ f_name: 'name 5' });
    wait(fixture, 5);
    fixture.erp.rejects.clear();
    await fixture.expectSuccess('incremental', { updated: 1, rejected: 0 });
    expect((await fixture.rows())[4]).toMatchObject({ f_name: 'bad' });
  });

  it('a record that is deleted in the ERP is closed, whether or not it was ever stored', async () => {
    const fixture = await site.loaded(12);
    for (const id of ['5', '40']) {
      fixture.erp.rejects.set(id, reject(id));
      fixture.erp.put(id, { name: 'bad' });
    }
    await fixture.expectPartial('incremental', 'RECORDS_REJECTED', { rejected: 2 });
    wait(fixture, 5);
    fixture.erp.rejects.clear();
    for (const id of ['5', '40']) fixture.erp.records.delete(id);
    await fixture.expectSuccess('incremental', { deleted: 1, rejected: 0 });
    expect(await fixture.query(`select id from ${fixture.schema}.rejections`)).toEqual([]);
    expect(await fixture.rows()).toHaveLength(11);
  });

  it('a locked or forbidden record skipped while the run is green: a record that is listed but never returned fails the run', async () => {
    const fixture = await site.loaded(12);
    fixture.erp.locked.add('40');
    const before = await versions(fixture);
    await fixture.expectFailure('incremental', 'COUNT_MISMATCH');
    expect(await versions(fixture)).toEqual(before);
    fixture.erp.locked.clear();
    fixture.erp.put(40);
    await fixture.expectSuccess('incremental', { inserted: 1 });
  });

  it('a locked record skipped while the run is green: a record that was edited and is never returned also fails the run', async () => {
    const fixture = await site.loaded(12);
    fixture.erp.put(5, { name: 'edited' });
    fixture.erp.locked.add('5');
    const before = await versions(fixture);
    await fixture.expectFailure('incremental', 'COUNT_MISMATCH');
    expect(await versions(fixture)).toEqual(before);
    fixture.erp.locked.clear();
    await fixture.expectSuccess('incremental', { updated: 1 });
  });

  it("an edit after the ERP's clock went back further than the overlap is found by a scan", async () => {
    const fixture = await site.loaded(12);
    wait(fixture, -24);
    fixture.erp.put(4, { name: 'edited' });
    fixture.erp.put(9, { name: 'edited' });
    fixture.erp.locked.add('9');
    await fixture.expectFailure('incremental', 'COUNT_MISMATCH'); // and the clock is still remembered
    fixture.erp.locked.clear();
    wait(fixture, 24);
    await fixture.expectSuccess('incremental', { updated: 2 });
    wait(fixture, -24);
    fixture.erp.calls.length = 0;
    for (const id of [5, 6]) {
      fixture.erp.put(id, { name: 'edited' });
      await fixture.expectSuccess('incremental', { updated: 1 }, { mode: 'incremental' });
    }
    expect(countCalls(fixture, 'scan')).toBe(1); // once: afterwards the mark was lowered
    fixture.erp.put(7, { name: 'edited' });
    wait(fixture, 12);
    expect(await fixture.sync('incremental')).toMatchObject({ counts: { updated: 1 } });
  });
});

it('the volume of a run outside the band of the last runs is a warning in the proof, not a failure', async () => {
  const fixture = await site.loaded(300);
  for (let n = 0; n < 5; n += 1) {
    wait(fixture, 0.5);
    fixture.erp.put(1, { name: `edit ${n}` });
    expect(findCheck(await fixture.sync('incremental'), 'volume')).toBeUndefined();
  }
  wait(fixture, 0.5);
  fixture.erp.put(1, { name: 'usual' });
  expect(findCheck(await fixture.sync('incremental'), 'volume')).toMatchObject({
    passed: true,
    facts: { fetched: 1, level: 'info' },
  });
  wait(fixture, 0.5);
  fixture.erp.fill(300, () => [{ name: 'unusual' }]);
  const run = await fixture.sync('incremental');
  expect(run.status).toBe('succeeded');
  expect(findCheck(run, 'volume')).toMatchObject({
    passed: true,
    facts: { fetched: 300, low: 1, high: 1, level: 'warning' },
  });
});

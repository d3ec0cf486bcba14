// The rolling full read: its pace, its budget, and what counts only once it is published.
import { describe, expect, it } from 'vitest';
import type { Ctx } from '../../src/core/ctx.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { describeFullRead } from '../../src/sync/outcome/stored-records.ts';
import type { RunRow } from '../../src/sync/queue/runs.store.ts';
import { workOnRun } from '../../src/sync/run/worker.ts';
import { countCalls, erpError, findCheck, noSignal, type SyncFixture, start, wait } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10 });

/** Its clock is stopped at 13:00 of the first day, when everything was read in full. */
async function loaded(count: number): Promise<SyncFixture> {
  const fixture = await site.dated(count);
  await fixture.expectSuccess('incremental', {}, { mode: 'full' });
  return fixture;
}
type Slice = { from: string | null; to: string | null; records: number; ended: boolean; onlyHere: number };
const findSlice = (run: RunRow) => findCheck(run, 'rolling')?.facts as Slice | undefined;
async function roll(fixture: SyncFixture) {
  const run = await fixture.expectSuccess('incremental', {}, { mode: 'incremental' });
  return { run, slice: findSlice(run) };
}
const stored = async (fixture: SyncFixture) =>
  (
    await fixture.query(
      `select pass_started_at, cursor_id, records::int, pages, complete_since from ${fixture.schema}.rolling_reads`,
    )
  )[0];
/** What the configuration requested in the last 24 hours, as if another run had. */
const request = (fixture: SyncFixture, requests: number, rolling = 0) =>
  inTransaction(fixture.tenant, (tx) =>
    tx('sync_runs')
      .where({ sync_config_id: fixture.configId, mode: 'full' })
      .update({ requests, rolling_requests: rolling }),
  );

/** Works on the next run with a connector that sends a request before each call of this method. */
async function workSending({ erp: { connector }, claim }: SyncFixture, method: 'readPage' | 'count') {
  const own: Ctx = { ...site.ctx, fetch: async () => ({ status: 200, headers: {}, text: '', parts: [] }) };
  const work = connector[method] as (...given: readonly unknown[]) => Promise<unknown>;
  await workOnRun(own, await claim(), noSignal, async (tenant) => ({
    ...connector,
    [method]: async (...given: readonly unknown[]) => {
      await tenant.fetch('https://erp.example', { timeoutMs: 1, maxBytes: 1 });
      return work(...given);
    },
  }));
}

describe('a pass', () => {
  it('begins after half the period, reads a page in each run, and ends with the last record', async () => {
    const fixture = await loaded(25);
    wait(fixture, 83);
    expect((await roll(fixture)).slice).toBeUndefined();
    expect(await stored(fixture)).toMatchObject({
      pass_started_at: null,
      complete_since: new Date('2026-05-01T13:00:00Z'),
    });
    wait(fixture, 1);
    expect((await roll(fixture)).slice).toMatchObject({
      from: null,
      to: '10',
      records: 10,
      ended: false,
      onlyHere: 10,
    });
    expect(await stored(fixture)).toMatchObject({
      cursor_id: '10',
      records: 10,
      pages: 1,
      pass_started_at: fixture.erp.at,
    });
    wait(fixture, 1);
    expect((await roll(fixture)).slice).toMatchObject({ from: '10', to: '20', records: 10 });
    wait(fixture, 1);
    expect((await roll(fixture)).slice).toMatchObject({ from: '20', to: null, records: 5, ended: true });
    expect(await stored(fixture)).toEqual({
      ...{ pass_started_at: null, cursor_id: null, records: 0, pages: 0 },
      complete_since: new Date('2026-05-05T01:00:00Z'),
    });
    wait(fixture, 1);
    expect((await roll(fixture)).slice).toBeUndefined();
  });

  it('that the ERP ends too early reads the records that are left by id', async () => {
    const fixture = await loaded(25);
    fixture.erp.shift(23, { name: 'behind the end' });
    fixture.erp.bendPage = (page, { changedSince }) =>
      changedSince === null ? { ...page, hasMore: false } : page;
    wait(fixture, 84);
    const { slice } = await roll(fixture);
    expect(slice).toMatchObject({ from: null, to: null, records: 25, ended: true });
    expect((await fixture.rows())[22]).toMatchObject({ f_name: 'behind the end' });
  });

  it('is ended by a full run', async () => {
    const fixture = await loaded(25);
    wait(fixture, 84);
    await roll(fixture);
    wait(fixture, 1);
    await fixture.expectSuccess('full', {}, { mode: 'full' });
    expect(await stored(fixture)).toMatchObject({
      pass_started_at: null,
      cursor_id: null,
      records: 0,
      complete_since: fixture.erp.at,
    });
    wait(fixture, 1);
    expect((await roll(fixture)).slice).toBeUndefined();
  });
});

describe('the cursor', () => {
  it('stays when the run fails: the next one reads the same records', async () => {
    const fixture = await loaded(25);
    wait(fixture, 84);
    fixture.erp.failOnce('count', erpError('forbidden', 'RECORD_TYPE_HIDDEN'));
    await fixture.expectFailure('incremental', 'RECORD_TYPE_HIDDEN');
    expect(await stored(fixture)).toMatchObject({ pass_started_at: null, cursor_id: null, records: 0 });
    wait(fixture, 1);
    expect((await roll(fixture)).slice).toMatchObject({ from: null, to: '10' });
  });

  it('is where the run stopped when another process resumes it: no page is read twice', async () => {
    const fixture = await loaded(25);
    wait(fixture, 84);
    fixture.erp.calls.length = 0;
    fixture.erp.failOnce('count', erpError('down', 'ERP_DOWN'));
    const { run, slice } = await roll(fixture);
    expect(slice).toMatchObject({ from: null, to: '10', records: 10 });
    expect(run.attempt).toBe(2);
    expect(countCalls(fixture, 'readPage')).toBe(2); // what changed, and the pass
    expect(await stored(fixture)).toMatchObject({ cursor_id: '10', records: 10 });
  });
});

describe('the pace', () => {
  async function rollCounting(fixture: SyncFixture) {
    const id = await fixture.queue('incremental');
    await workSending(fixture, 'readPage');
    const run = await fixture.row(id);
    expect(run).toMatchObject({ status: 'succeeded', mode: 'incremental' });
    return { run, slice: findSlice(run) };
  }

  it('of a pass that is in time is one page a run, whatever the budget', async () => {
    const fixture = await loaded(100);
    wait(fixture, 84);
    await rollCounting(fixture);
    await request(fixture, 10_000);
    wait(fixture, 8); // a tenth of the time, and a tenth of the records
    expect((await rollCounting(fixture)).slice).toMatchObject({ records: 10 });
  });

  it.each([
    ['nothing was read', 0, 0, null],
    ['no time went by', 10, 0, null],
    ['it suffices', 50, 24, 7],
    ['it does not suffice', 10, 24, 10],
    ['more was read than is stored', 500, 24, 7],
  ])('where %s', (_, records, hours, expectedDays) => {
    const passStartedAt = start.toISOString();
    const lastReadAt = new Date(start.getTime() + hours * 3_600_000).toISOString();
    const read = { passStartedAt, lastReadAt, records, cursorId: null, pages: 1, completeSince: null };
    expect(describeFullRead(read, 100, 7)).toMatchObject({ expectedDays, records });
  });
});

it('the number of requests of a run with several attempts is their sum, and that of a failed run is kept', async () => {
  const fixture = await loaded(5);
  const attempt = () => workSending(fixture, 'count');
  fixture.erp.failOnce('count', erpError('down', 'REFUSED'));
  const resumed = await fixture.queue('incremental');
  await attempt();
  expect(await fixture.row(resumed)).toMatchObject({ status: 'waiting', requests: 1 });
  await attempt();
  expect(await fixture.row(resumed)).toMatchObject({ status: 'succeeded', attempt: 2, requests: 2 });
  fixture.erp.failOnce('count', erpError('forbidden', 'REFUSED'));
  const failed = await fixture.queue('incremental');
  await attempt();
  expect(await fixture.row(failed)).toMatchObject({ status: 'failed', requests: 1 });
});

it('the volume of a run leaves out what only the pass read', async () => {
  const fixture = await loaded(200);
  for (let n = 0; n < 6; n += 1) {
    wait(fixture, 84);
    fixture.erp.put(1, { name: `edit ${n}` });
    const { run, slice } = await roll(fixture);
    const volume = findCheck(run, 'volume');
    expect(run.counts?.fetched).toBe(1 + (slice?.onlyHere ?? 0));
    if (n === 5) expect(volume).toMatchObject({ facts: { fetched: 1, low: 1, high: 1 } });
  }
});

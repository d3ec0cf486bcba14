// The rolling full read: its pace, its budget, and what counts only once it is published.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Ctx } from '../../src/core/ctx.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { describeFullRead, readStoredRecords } from '../../src/sync/full-reads.ts';
import { workOnRun } from '../../src/sync/worker.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import {
  datedFields,
  endOpenRuns,
  erpError,
  memoryErp,
  noSignal,
  type SyncWorld,
  syncWorld,
} from './fixture.ts';

let database: TestDatabase;
let ctx: Ctx;
beforeAll(async () => {
  database = await testDatabase();
  ctx = {
    ...database.ctx,
    settings: { ...database.ctx.settings, sync: { ...database.ctx.settings.sync, pageSize: 10 } },
  };
});
afterEach(() => endOpenRuns(database));
afterAll(() => database.close());

const start = new Date('2026-05-01T08:00:00Z');
const hourMs = 3_600_000;
const wait = ({ erp }: SyncWorld, hours: number): void => {
  erp.at = new Date((erp.at ?? start).getTime() + hours * hourMs);
};
/** Its clock is stopped at 13:00 of the first day, when everything was read in full. */
async function loaded(count: number): Promise<SyncWorld> {
  const world = await syncWorld(ctx, memoryErp(datedFields));
  world.erp.at = start;
  world.erp.deleted = new Map();
  for (let id = 1; id <= count; id += 1) world.erp.put(id);
  wait(world, 5);
  expect(await world.sync('incremental')).toMatchObject({ status: 'succeeded', mode: 'full' });
  return world;
}
type Slice = { from: string | null; to: string | null; records: number; ended: boolean; onlyHere: number };
const findSlice = (run: { proof: readonly { check: string; facts: object }[] }) =>
  run.proof.find(({ check }) => check === 'rolling')?.facts as Slice | undefined;
async function roll(world: SyncWorld) {
  const run = await world.sync('incremental');
  expect(run).toMatchObject({ status: 'succeeded', mode: 'incremental' });
  return { run, slice: findSlice(run) };
}
const stored = async (world: SyncWorld) =>
  (
    await world.query(
      `select pass_started_at, cursor_id, records::int, pages, complete_since from ${world.schema}.rolling_reads`,
    )
  )[0];
/** What the configuration requested in the last 24 hours, as if another run had. */
const request = (world: SyncWorld, requests: number, rolling = 0) =>
  inTransaction(world.tenant, (tx) =>
    tx('sync_runs')
      .where({ sync_config_id: world.configId, mode: 'full' })
      .update({ requests, rolling_requests: rolling }),
  );

describe('a pass', () => {
  it('begins after half the period, reads a page in each run, and ends with the last record', async () => {
    const world = await loaded(25);
    wait(world, 83);
    expect((await roll(world)).slice).toBeUndefined();
    expect(await stored(world)).toMatchObject({
      pass_started_at: null,
      complete_since: new Date('2026-05-01T13:00:00Z'),
    });
    wait(world, 1);
    expect((await roll(world)).slice).toMatchObject({
      from: null,
      to: '10',
      records: 10,
      ended: false,
      onlyHere: 10,
    });
    expect(await stored(world)).toMatchObject({
      cursor_id: '10',
      records: 10,
      pages: 1,
      pass_started_at: world.erp.at,
    });
    wait(world, 1);
    expect((await roll(world)).slice).toMatchObject({ from: '10', to: '20', records: 10 });
    wait(world, 1);
    expect((await roll(world)).slice).toMatchObject({ from: '20', to: null, records: 5, ended: true });
    expect(await stored(world)).toEqual({
      ...{ pass_started_at: null, cursor_id: null, records: 0, pages: 0 },
      complete_since: new Date('2026-05-05T01:00:00Z'),
    });
    wait(world, 1);
    expect((await roll(world)).slice).toBeUndefined();
  });

  it('finds a silent change, moves no high-water mark, and leaves records alone that it does not see', async () => {
    const world = await loaded(25);
    wait(world, 84);
    await world.sync('incremental');
    const before = (await world.state())?.highWater;
    world.erp.shift(15, { name: 'silent' });
    world.erp.bendPage = (page, { afterId, changedSince }) =>
      changedSince === null && afterId === '10'
        ? { ...page, records: page.records.filter(({ id }) => id !== '17') }
        : page;
    wait(world, 1);
    const { run } = await roll(world);
    expect(run.counts).toMatchObject({ fetched: 10, updated: 1, unchanged: 9, deleted: 0 });
    expect((await world.rows())[14]).toMatchObject({ f_name: 'silent' });
    expect((await world.state())?.highWater).toBe(before);
    expect(await world.rows()).toHaveLength(25);
  });

  it('that the ERP ends too early reads the records that are left by id', async () => {
    const world = await loaded(25);
    world.erp.shift(23, { name: 'behind the end' });
    world.erp.bendPage = (page, { changedSince }) =>
      changedSince === null ? { ...page, hasMore: false } : page;
    wait(world, 84);
    const { slice } = await roll(world);
    expect(slice).toMatchObject({ from: null, to: null, records: 25, ended: true });
    expect((await world.rows())[22]).toMatchObject({ f_name: 'behind the end' });
  });

  it('is ended by a full run', async () => {
    const world = await loaded(25);
    wait(world, 84);
    await roll(world);
    wait(world, 1);
    expect(await world.sync('full')).toMatchObject({ status: 'succeeded', mode: 'full' });
    expect(await stored(world)).toMatchObject({
      pass_started_at: null,
      cursor_id: null,
      records: 0,
      complete_since: world.erp.at,
    });
    wait(world, 1);
    expect((await roll(world)).slice).toBeUndefined();
  });
});

describe('the cursor', () => {
  it('stays when the run fails: the next one reads the same records', async () => {
    const world = await loaded(25);
    wait(world, 84);
    world.erp.onCall = ({ operation }) => {
      if (operation === 'count') throw erpError('forbidden', 'RECORD_TYPE_HIDDEN');
    };
    expect(await world.sync('incremental')).toMatchObject({ status: 'failed' });
    expect(await stored(world)).toMatchObject({ pass_started_at: null, cursor_id: null, records: 0 });
    world.erp.onCall = () => undefined;
    wait(world, 1);
    expect((await roll(world)).slice).toMatchObject({ from: null, to: '10' });
  });

  it('is where the run stopped when another process resumes it: no page is read twice', async () => {
    const world = await loaded(25);
    wait(world, 84);
    world.erp.calls.length = 0;
    let down = true;
    world.erp.onCall = ({ operation }) => {
      if (operation === 'count' && down) {
        down = false;
        throw erpError('down', 'ERP_DOWN');
      }
    };
    expect((await roll(world)).slice).toMatchObject({ from: null, to: '10', records: 10 });
    expect(down).toBe(false);
    expect(world.erp.calls.filter(({ operation }) => operation === 'readPage')).toHaveLength(2); // what changed, and the pass
    expect(await stored(world)).toMatchObject({ cursor_id: '10', records: 10 });
  });
});

describe('the pace', () => {
  /** A connector that sends a request for each page of a pass. */
  async function rollCounting(world: SyncWorld) {
    const own: Ctx = { ...ctx, fetch: async () => ({ status: 200, headers: {}, text: '', parts: [] }) };
    const id = await world.queue('incremental');
    await workOnRun(own, await world.claim(), noSignal, async (tenant) => ({
      ...world.erp.connector,
      readPage: async (page) => {
        await tenant.fetch('https://erp.example', { timeoutMs: 1, maxBytes: 1 });
        return world.erp.connector.readPage(page);
      },
    }));
    const run = await world.row(id);
    expect(run).toMatchObject({ status: 'succeeded', mode: 'incremental' });
    return { run, slice: findSlice(run) };
  }

  it('of a pass that is behind is more than a page a run, within a tenth of the requests of a day', async () => {
    const world = await loaded(100);
    wait(world, 84);
    expect((await rollCounting(world)).slice).toMatchObject({ records: 10 });
    wait(world, 50); // more than half of the second half
    await request(world, 36);
    // 36 requests and 2 of the first run; this one sends its first page, and up to 4 of the pass: 4 + 1 of 43
    // are no tenth, 3 + 1 are.
    const { run, slice } = await rollCounting(world);
    expect(slice).toMatchObject({ from: '10', to: '40', records: 30 });
    expect(run.requests).toBe(4);
    const sums = await inTransaction(world.tenant, (tx) =>
      tx('sync_runs')
        .where({ sync_config_id: world.configId })
        .sum<{ all: string; rolling: string }[]>({ all: 'requests', rolling: 'rolling_requests' }),
    );
    expect(sums).toEqual([{ all: '42', rolling: '4' }]);
  });

  it('of a pass that is in time is one page a run, whatever the budget', async () => {
    const world = await loaded(100);
    wait(world, 84);
    await rollCounting(world);
    await request(world, 10_000);
    wait(world, 8); // a tenth of the time, and a tenth of the records
    expect((await rollCounting(world)).slice).toMatchObject({ records: 10 });
  });

  it('without any budget is one page a run, and callers see how long the pass will take', async () => {
    const world = await loaded(100);
    wait(world, 84);
    await rollCounting(world);
    await request(world, 0);
    wait(world, 48);
    expect((await rollCounting(world)).slice).toMatchObject({ records: 10 });
    // 20 of 100 records in two days: ten days.
    expect((await readStoredRecords(world.tenant))('thing')).toMatchObject({
      records: (await world.rows()).length,
      syncedAt: (await world.state())?.syncedAt,
    });
    expect((await readStoredRecords(world.tenant))('thing').fullRead).toEqual({
      periodDays: 7,
      expectedDays: 10,
      passStartedAt: '2026-05-05T01:00:00Z',
      records: 20,
      completeSince: '2026-05-01T13:00:00Z',
    });
  });

  it.each([
    ['nothing was read', 0, 0, null],
    ['no time went by', 10, 0, null],
    ['it suffices', 50, 24, 7],
    ['it does not suffice', 10, 24, 10],
    ['more was read than is stored', 500, 24, 7],
  ])('where %s', (_, records, hours, expectedDays) => {
    const passStartedAt = start.toISOString();
    const lastReadAt = new Date(start.getTime() + hours * hourMs).toISOString();
    const read = { passStartedAt, lastReadAt, records, cursorId: null, pages: 1, completeSince: null };
    expect(describeFullRead(read, 100, 7)).toMatchObject({ expectedDays, records });
  });
});

describe('the number of requests', () => {
  it('of a run with several attempts is their sum, and that of a failed run is kept', async () => {
    const world = await loaded(5);
    const own: Ctx = { ...ctx, fetch: async () => ({ status: 200, headers: {}, text: '', parts: [] }) };
    let fails = 1;
    const attempt = async () =>
      workOnRun(own, await world.claim(), noSignal, async (tenant) => ({
        ...world.erp.connector,
        count: async (recordType, signal) => {
          await tenant.fetch('https://erp.example', { timeoutMs: 1, maxBytes: 1 });
          fails -= 1;
          if (fails >= 0) throw erpError(fails === 5 ? 'forbidden' : 'down', 'REFUSED');
          return world.erp.connector.count(recordType, signal);
        },
      }));
    const resumed = await world.queue('incremental');
    await attempt();
    expect(await world.row(resumed)).toMatchObject({ status: 'waiting', requests: 1 });
    await attempt();
    expect(await world.row(resumed)).toMatchObject({ status: 'succeeded', attempt: 2, requests: 2 });
    fails = 6;
    const failed = await world.queue('incremental');
    await attempt();
    expect(await world.row(failed)).toMatchObject({ status: 'failed', requests: 1 });
  });
});

describe('the volume of a run', () => {
  it('leaves out what only the pass read', async () => {
    const world = await loaded(200);
    for (let n = 0; n < 6; n += 1) {
      wait(world, 84);
      world.erp.put(1, { name: `edit ${n}` });
      const { run, slice } = await roll(world);
      const volume = run.proof.find(({ check }) => check === 'volume');
      expect(run.counts?.fetched).toBe(1 + (slice?.onlyHere ?? 0));
      if (n === 5) expect(volume).toMatchObject({ facts: { fetched: 1, low: 1, high: 1 } });
    }
  });
});

// The rolling full read within incremental runs: which part each run reads, what it finds in lines, and what
// it must leave alone.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Ctx } from '../../src/core/ctx.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { datedFields, endOpenRuns, field, memoryErp, type SyncWorld, syncWorld } from './fixture.ts';

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
const fields = [...datedFields, field('lines', 'lines', [field('item', 'reference'), field('note')])];
const createLines = (note: string, label: string) => ({ lines: [{ item: '7', 'item.name': label, note }] });

/**
 * 35 records that were loaded four days ago, so that the next run begins a pass; it scans as well, the ones
 * of the next hours don't.
 */
async function dueWorld(): Promise<SyncWorld> {
  const world = await syncWorld(ctx, memoryErp(fields));
  world.erp.at = start;
  world.erp.deleted = new Map();
  for (let id = 1; id <= 35; id += 1) world.erp.put(id, {}, createLines('old', 'Lantern'));
  wait(world, 5);
  expect(await world.sync()).toMatchObject({ status: 'succeeded', counts: { inserted: 35 } });
  wait(world, 96);
  return world;
}
/**
 * The next run, an hour later, and after which ids it read pages without a condition on the modification
 * time.
 */
async function slice(world: SyncWorld) {
  const after: (string | null)[] = [];
  const bend = world.erp.bendPage;
  world.erp.bendPage = (page, request) => {
    if (request.changedSince === null) after.push(request.afterId);
    return bend?.(page, request) ?? page;
  };
  const run = await world.sync('incremental');
  world.erp.bendPage = bend;
  wait(world, 1);
  return { run, after, rolling: run.proof.find(({ check }) => check === 'rolling') };
}
const findRow = async (world: SyncWorld, id: string) => (await world.rows()).find((row) => row['id'] === id);

describe('the rolling full read', () => {
  it('continues in each run where the last one stopped, until every record was read', async () => {
    const world = await dueWorld();
    const slices = [];
    for (let run = 1; run <= 5; run += 1) slices.push(await slice(world));
    expect(slices.map(({ after }) => after)).toEqual([[null], ['10'], ['20'], ['30'], []]);
    expect(slices.every(({ run }) => run.status === 'succeeded' && run.mode === 'incremental')).toBe(true);
  });

  it('continues with the same records after a run that failed', async () => {
    const world = await dueWorld();
    await slice(world);
    world.erp.claimedCount = () => 99;
    expect((await slice(world)).run).toMatchObject({ status: 'failed', error: { code: 'COUNT_MISMATCH' } });
    world.erp.claimedCount = null;
    expect((await slice(world)).after).toEqual(['10']);
  });

  it('finds a change of a line without any time, and a renamed label in lines', async () => {
    const world = await dueWorld();
    for (const [id, lines] of [
      ['12', createLines('changed', 'Lantern')],
      ['34', createLines('old', 'Lamp')],
    ] as const) {
      const held = world.erp.records.get(id);
      if (held !== undefined) world.erp.records.set(id, { ...held, ...lines });
    }
    const updates: number[] = [];
    for (let run = 1; run <= 4; run += 1) updates.push((await slice(world)).run.counts?.updated ?? -1);
    expect(updates).toEqual([0, 1, 0, 1]);
    expect(await findRow(world, '12')).toMatchObject({
      f_lines: [{ item: '7', 'item.name': 'Lantern', note: 'changed' }],
    });
    expect(await findRow(world, '34')).toMatchObject({
      f_lines: [{ item: '7', 'item.name': 'Lamp', note: 'old' }],
    });
  });

  it('never moves the high-water mark: a change that only it saw is no reason to skip others', async () => {
    const world = await dueWorld();
    const mark = (await world.state())?.highWater;
    expect(mark).toBe('2026-05-01T12:55:00Z');
    // Edited between the page of changes and the page of the pass.
    world.erp.onCall = ({ operation }, request) => {
      if (
        operation !== 'readPage' ||
        request === null ||
        !('changedSince' in request) ||
        request.changedSince !== null
      )
        return;
      world.erp.put(
        5,
        { name: 'edited' },
        { ...createLines('old', 'Lantern'), modifiedAt: '2026-05-05T13:00:00Z' },
      );
    };
    expect((await slice(world)).run).toMatchObject({ status: 'succeeded', counts: { updated: 1 } });
    expect(await findRow(world, '5')).toMatchObject({ f_name: 'edited' });
    expect((await world.state())?.highWater).toBe(mark);
  });

  it('proves no deletion: a record that it did not find stays until a scan', async () => {
    const world = await dueWorld();
    await slice(world);
    // The ERP lists no deletion, and the counts agree.
    world.erp.records.delete('15');
    world.erp.put(99, {}, { ...createLines('old', 'Lantern'), modifiedAt: '2026-05-01T08:00:00Z' });
    const { run, after, rolling } = await slice(world);
    expect(after).toEqual(['10']);
    expect(run).toMatchObject({ status: 'succeeded', counts: { deleted: 0 } });
    expect(rolling).toMatchObject({ facts: { absent: 1 } });
    expect(await findRow(world, '15')).toBeDefined();
    wait(world, 24);
    expect((await slice(world)).run).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 1, deleted: 1 },
    });
    expect(await findRow(world, '15')).toBeUndefined();
  });
});

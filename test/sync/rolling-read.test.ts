// The rolling full read within incremental runs: which part each run reads, what it finds in lines, and what
// it must leave alone.
import { describe, expect, it } from 'vitest';
import { datedFields, field, findCheck, type SyncFixture, wait } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10 });

const fields = [...datedFields, field('lines', 'lines', [field('item', 'reference'), field('note')])];
const createLines = (note: string, label: string) => ({ lines: [{ item: '7', 'item.name': label, note }] });

/**
 * 35 records that were loaded four days ago, so that the next run begins a pass; it scans as well, the ones
 * of the next hours don't.
 */
async function dueFixture(): Promise<SyncFixture> {
  const fixture = await site.dated(35, {}, fields, () => [{}, createLines('old', 'Lantern')]);
  await fixture.expectSuccess('full', { inserted: 35 });
  wait(fixture, 96);
  return fixture;
}
/**
 * The next run, an hour later, and after which ids it read pages without a condition on the modification
 * time.
 */
async function slice(fixture: SyncFixture) {
  const after: (string | null)[] = [];
  const bend = fixture.erp.bendPage;
  fixture.erp.bendPage = (page, request) => {
    if (request.changedSince === null) after.push(request.afterId);
    return bend?.(page, request) ?? page;
  };
  const run = await fixture.sync('incremental');
  fixture.erp.bendPage = bend;
  wait(fixture, 1);
  return { run, after, rolling: findCheck(run, 'rolling') };
}
const findRow = async (fixture: SyncFixture, id: string) =>
  (await fixture.rows()).find((row) => row['id'] === id);

describe('the rolling full read', () => {
  it('finds a change of a line without any time, and a renamed label in lines', async () => {
    const fixture = await dueFixture();
    fixture.erp.setLines(12, createLines('changed', 'Lantern').lines);
    fixture.erp.setLines(34, createLines('old', 'Lamp').lines);
    const updates: number[] = [];
    for (let run = 1; run <= 4; run += 1) updates.push((await slice(fixture)).run.counts?.updated ?? -1);
    expect(updates).toEqual([0, 1, 0, 1]);
    expect(await findRow(fixture, '12')).toMatchObject({
      f_lines: [{ item: '7', 'item.name': 'Lantern', note: 'changed' }],
    });
    expect(await findRow(fixture, '34')).toMatchObject({
      f_lines: [{ item: '7', 'item.name': 'Lamp', note: 'old' }],
    });
  });

  it('never moves the high-water mark: a change that only it saw is no reason to skip others', async () => {
    const fixture = await dueFixture();
    const mark = (await fixture.state())?.highWater;
    expect(mark).toBe('2026-05-01T12:55:00Z');
    // Edited between the page of changes and the page of the pass.
    const change = { ...createLines('old', 'Lantern'), modifiedAt: '2026-05-05T13:00:00Z' };
    fixture.erp.before('readPage', (request) => {
      if (request === null || !('changedSince' in request) || request.changedSince !== null) return;
      fixture.erp.put(5, { name: 'edited' }, change);
    });
    expect((await slice(fixture)).run).toMatchObject({ status: 'succeeded', counts: { updated: 1 } });
    expect(await findRow(fixture, '5')).toMatchObject({ f_name: 'edited' });
    expect((await fixture.state())?.highWater).toBe(mark);
  });

  it('proves no deletion: a record that it did not find stays until a scan', async () => {
    const fixture = await dueFixture();
    await slice(fixture);
    // The ERP lists no deletion, and the counts agree.
    fixture.erp.records.delete('15');
    fixture.erp.put(99, {}, { ...createLines('old', 'Lantern'), modifiedAt: '2026-05-01T08:00:00Z' });
    const { run, after, rolling } = await slice(fixture);
    expect(after).toEqual(['10']);
    expect(run).toMatchObject({ status: 'succeeded', counts: { deleted: 0 } });
    expect(rolling).toMatchObject({ facts: { absent: 1 } });
    expect(await findRow(fixture, '15')).toBeDefined();
    wait(fixture, 24);
    expect((await slice(fixture)).run).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 1, deleted: 1 },
    });
    expect(await findRow(fixture, '15')).toBeUndefined();
  });
});

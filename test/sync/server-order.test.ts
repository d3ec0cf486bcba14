// Record types whose ids are in an order that only the ERP knows: full runs, changes, deletions, and the scan,
// which can't compare ranges of ids.
import { describe, expect, it } from 'vitest';
import { countCalls, erpError, findCheck, type SyncFixture, wait } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10 });

async function loaded(count: number, maxDeleteShare = 0.02): Promise<SyncFixture> {
  const fixture = await site.dated(count, { maxDeleteShare });
  fixture.erp.keyOrder = 'server';
  await fixture.expectSuccess('incremental', { inserted: count }, { mode: 'full' });
  wait(fixture, 1);
  return fixture;
}

/** Names by id, here and there. */
const stored = async (fixture: SyncFixture) =>
  new Map((await fixture.rows()).map((row) => [String(row['id']), row['f_name']]));
const held = ({ erp }: SyncFixture) =>
  new Map([...erp.records.values()].map(({ id, values }) => [id, values['name']]));
async function expectSame(fixture: SyncFixture): Promise<void> {
  expect(new Map([...(await stored(fixture))].sort())).toEqual(new Map([...held(fixture)].sort()));
}

describe('a record type in the order of its ERP', () => {
  it('is read in full, page by page', async () => {
    const fixture = await loaded(35);
    await expectSame(fixture);
    expect(await fixture.sync('full')).toMatchObject({ counts: { unchanged: 35, deleted: 0 } });
  });

  it('is read incrementally, with deletions that the ERP does not list', async () => {
    const fixture = await loaded(1_250);
    fixture.erp.deleted = null;
    for (const id of [7, 70, 700, 1_007]) fixture.erp.drop(id);
    for (const id of [8, 88, 888]) fixture.erp.put(id, { name: `edited ${id}` });
    for (const id of [2_000, 3_001]) fixture.erp.put(id);
    const run = await fixture.sync('incremental');
    expect(run).toMatchObject({ status: 'succeeded', counts: { inserted: 2, updated: 3, deleted: 4 } });
    expect(findCheck(run, 'scan')).toMatchObject({ facts: { listed: 1_248, absent: 4, fetched: 0 } });
    await expectSame(fixture);
  });

  it('is scanned for changes that did not move the time, and for records that were never read', async () => {
    const fixture = await loaded(30);
    fixture.erp.put(31, {}, { modifiedAt: '2026-04-01T00:00:00Z' });
    fixture.erp.put(5, { name: 'late' }, { modifiedAt: '2026-04-02T00:00:00Z' });
    const run = await fixture.sync('incremental');
    expect(run).toMatchObject({ status: 'succeeded', counts: { inserted: 1, updated: 1, deleted: 0 } });
    await expectSame(fixture);
  });

  it('keeps what a scan lists when the run is interrupted between its pages', async () => {
    const fixture = await loaded(1_100);
    fixture.erp.deleted = null;
    fixture.erp.drop(9);
    let scans = 0;
    fixture.erp.before('scan', () => {
      scans += 1;
      if (scans === 2) throw erpError('down', 'GONE');
    });
    const run = await fixture.sync('incremental');
    expect(run).toMatchObject({ status: 'succeeded', counts: { deleted: 1 } });
    await expectSame(fixture);
  });

  it('counts a record that is deleted and one that is created meanwhile as what they are', async () => {
    const fixture = await loaded(40);
    fixture.erp.deleted = null;
    fixture.erp.drop(11);
    fixture.erp.put(41, {}, { modifiedAt: '2026-04-01T00:00:00Z' });
    wait(fixture, 24); // another day: a scan is due though the counts agree
    expect(await fixture.sync('incremental')).toMatchObject({ counts: { inserted: 1, deleted: 1 } });
    await expectSame(fixture);
  });

  it('is scanned twice when counts contradict the first scan, which then counts for nothing', async () => {
    const fixture = await loaded(2_050, 0.1);
    const { erp } = fixture;
    erp.deleted = null;
    const reversed = (id: string): string => [...id].toReversed().join('');
    const last = [...erp.records.keys()].sort((a, b) => (reversed(a) < reversed(b) ? -1 : 1)).slice(-60);
    let counts = 0;
    erp.claimedCount = () => 2_100;
    erp.before('count', () => {
      counts += 1;
      if (counts !== 3) return;
      for (const id of last) erp.drop(id);
      erp.claimedCount = null;
    });
    const run = await fixture.sync('incremental');
    expect(findCheck(run, 'scan')?.facts).toMatchObject({ scans: 2 });
    expect(run).toMatchObject({ status: 'succeeded', counts: { deleted: 60 } });
    await expectSame(fixture);
  });

  it('is scanned on when reading a record that a page lists failed', async () => {
    const fixture = await loaded(1_100);
    wait(fixture, 24);
    fixture.erp.put(99, { name: 'late' }, { modifiedAt: '2026-04-01T00:00:00Z' }); // on the second page
    fixture.erp.failOnce('readByIds', erpError('down', 'GONE'));
    expect(await fixture.sync('incremental')).toMatchObject({ status: 'succeeded', counts: { updated: 1 } });
    await expectSame(fixture);
  });

  it('fails while the ERP lists a record that it does not return', async () => {
    const fixture = await site.dated(1_100);
    fixture.erp.keyOrder = 'server';
    fixture.erp.locked.add('99'); // on the second page of ids, before the end of the first one as a number
    await fixture.expectFailure('full', 'COUNT_MISMATCH');
  });

  it('is read again in full by and by, in pages that go on where the last run ended', async () => {
    const fixture = await loaded(35);
    wait(fixture, 84);
    const slices: unknown[] = [];
    for (let run = 0; run < 4; run += 1) {
      wait(fixture, 0.25);
      const facts = findCheck(await fixture.sync('incremental'), 'rolling')?.facts;
      slices.push([facts?.['records'], facts?.['ended'], facts?.['onlyHere']]);
    }
    expect(slices).toEqual([
      [10, false, 10],
      [10, false, 10],
      [10, false, 10],
      [5, true, 5],
    ]);
  });

  it('fails when a page contains the record after which it begins', async () => {
    const fixture = await site.dated(25);
    fixture.erp.keyOrder = 'server';
    fixture.erp.bendPage = (page, { afterId }) => {
      const last = afterId === null ? undefined : fixture.erp.records.get(afterId);
      return last === undefined ? page : { ...page, records: [last, ...page.records] };
    };
    expect(await fixture.sync('full')).toMatchObject({ error: { code: 'PAGE_OUT_OF_ORDER' } });
    expect(countCalls(fixture, 'readPage')).toBeGreaterThan(1);
  });
});

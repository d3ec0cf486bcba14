// From how many records on a column that comes empty is confirmed by reading records singly, and when it is a
// change like any other.
import { describe, expect, it } from 'vitest';
import { countCalls, datedFields, field, memoryErp, type SyncFixture, syncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 100 });

/**
 * 80 stored records, all with a total; then this many come without one, and this many are edited and keep
 * theirs.
 */
async function editedFixture(emptied: number, kept: number): Promise<SyncFixture> {
  const fixture = await syncFixture(site.ctx, memoryErp(datedFields));
  fixture.erp.at = new Date('2026-05-01T03:00:00Z');
  fixture.erp.fill(80);
  fixture.erp.at = new Date('2026-05-01T08:00:00Z');
  await fixture.expectSuccess('full', { inserted: 80 });
  fixture.erp.at = new Date('2026-05-01T12:00:00Z');
  fixture.erp.fill(emptied + kept, (id) => [id <= emptied ? { total: null } : { name: 'edited' }]);
  return fixture;
}
const emptyTotals = async (fixture: SyncFixture) =>
  (await fixture.rows()).filter((row) => row['f_total'] === null).length;

describe('a column that comes empty', () => {
  it.each([
    [19, 0],
    [20, 21],
  ])('in %i records, next to %i that keep a value, is a change like any other', async (emptied, kept) => {
    const fixture = await editedFixture(emptied, kept);
    await fixture.expectSuccess('incremental', { updated: emptied + kept });
    expect(await emptyTotals(fixture)).toBe(emptied);
  });

  it.each([
    [20, 0],
    [20, 20],
  ])(
    'in %i records, next to %i that keep a value, is confirmed by single reads and withheld',
    async (emptied, kept) => {
      const fixture = await editedFixture(emptied, kept);
      fixture.erp.calls.length = 0;
      await fixture.expectPartial(
        'incremental',
        'FIELDS_EMPTY',
        {},
        { error: { message: expect.stringContaining('total') } },
      );
      expect(countCalls(fixture, 'readByIds')).toBe(20);
      expect(await emptyTotals(fixture)).toBe(0);
    },
  );

  it.each([
    [20, 0, 1, 'partial'],
    [20, 21, 1, 'succeeded'],
    // All that are read singly at first.
    [39, 0, 20, 'partial'],
    [20, 0, 20, 'partial'],
  ])(
    'in %i records, next to %i that keep a value, of which %i are filled again during the run: %s',
    async (emptied, kept, refilled, status) => {
      const fixture = await editedFixture(emptied, kept);
      const ids = Array.from({ length: refilled }, (_unused, n) => String(n + 1));
      fixture.erp.once('deletedSince', () => {
        fixture.erp.at = new Date('2026-05-01T12:00:05Z');
        for (const id of ids) fixture.erp.put(id);
      });
      expect(await fixture.sync('incremental')).toMatchObject({
        status,
        attempt: 1,
        error: status === 'partial' ? { code: 'FIELDS_EMPTY' } : null,
      });
      // The next run reads what was filled again.
      await fixture.sync('incremental');
      const totals = new Map((await fixture.rows()).map((row) => [String(row['id']), row['f_total']]));
      expect(ids.map((id) => totals.get(id))).toEqual(ids.map((id) => `${id}.50`));
    },
  );

  it('in a full run counts all records that had a value', async () => {
    const fixture = await editedFixture(39, 0);
    await fixture.expectSuccess('full', { updated: 39 });
    const other = await editedFixture(40, 0);
    await other.expectPartial('full', 'FIELDS_EMPTY');
    expect([await emptyTotals(fixture), await emptyTotals(other)]).toEqual([39, 0]);
  });

  it('in a first load has nothing to be compared with', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp(datedFields));
    fixture.erp.fill(60, () => [{ total: null }]);
    await fixture.expectSuccess('full', { inserted: 60 });
    expect(await emptyTotals(fixture)).toBe(60);
  });
});

describe('a field that some lines of many records lose', () => {
  /** 80 stored records with two lines; then the first line of 30 comes without an amount. */
  async function linedFixture(): Promise<SyncFixture> {
    const lines = field('lines', 'lines', [field('line', 'integer'), field('amount', 'number')]);
    const fixture = await syncFixture(site.ctx, memoryErp([...datedFields, lines]));
    fixture.erp.at = new Date('2026-05-01T03:00:00Z');
    fixture.erp.fill(80, () => [{}, { lines: linesWith('1.50') }]);
    fixture.erp.at = new Date('2026-05-01T08:00:00Z');
    await fixture.expectSuccess('full', { inserted: 80 });
    fixture.erp.at = new Date('2026-05-01T12:00:00Z');
    fixture.erp.fill(30, () => [{}, { lines: linesWith(null) }]);
    return fixture;
  }
  const linesWith = (amount: string | null) => [
    { line: '1', ...(amount !== null && { amount }) },
    { line: '2', amount: '2.50' },
  ];

  it('fails the run when one that did not change has them when it is read again', async () => {
    const fixture = await linedFixture();
    fixture.erp.before('readByIds', () => {
      for (let id = 1; id <= 30; id += 1) fixture.erp.setLines(id, linesWith('1.50'));
    });
    await fixture.expectFailure('full', 'COLUMN_EMPTIED', {
      error: { message: expect.stringContaining('lines.amount') },
    });
  });

  it('is a change like any other when they lack it then, too', async () => {
    const fixture = await linedFixture();
    await fixture.expectSuccess('full', { updated: 30 });
  });
});

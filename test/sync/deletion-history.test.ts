// Absent records over several runs: what the ERP's list of deletions named before, and how many went on the
// same calendar day.
import { describe, expect, it } from 'vitest';
import { datedFields, memoryErp, type SyncFixture, syncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync();

const total = 120;
async function loaded(): Promise<SyncFixture> {
  const fixture = await syncFixture(site.ctx, memoryErp(datedFields));
  fixture.erp.at = new Date('2026-05-01T01:00:00Z');
  fixture.erp.deleted = new Map();
  fixture.erp.fill(total);
  await fixture.expectSuccess('full');
  return fixture;
}
/** The role sees a tenth of its records less, from the first one on. */
function narrow({ erp }: SyncFixture): void {
  const visible = [...erp.records.keys()];
  for (const id of visible.slice(0, Math.floor(visible.length / 10))) erp.records.delete(id);
}
const onHour = ({ erp }: SyncFixture, day: number, hour: number): void => {
  erp.at = new Date(Date.UTC(2026, 4, day, hour));
};
const stored = async (fixture: SyncFixture): Promise<number> => (await fixture.rows()).length;

describe('a role that narrows in steps, of which the list of deletions says nothing', () => {
  it.each(['incremental', 'full'] as const)(
    'loses what one day allows of what the day began with, over %s runs',
    async (mode) => {
      const fixture = await loaded();
      const runs: string[] = [];
      for (let step = 1; step <= 12; step += 1) {
        narrow(fixture);
        onHour(fixture, 1, 1 + step);
        const run = await fixture.sync(mode);
        runs.push(run.status);
        expect(await stored(fixture)).toBe(total - 12);
      }
      expect(runs).toEqual(['succeeded', ...Array.from({ length: 11 }, () => 'partial')]);
      // The rest is more than the next day allows.
      onHour(fixture, 2, 6);
      await fixture.expectPartial(mode, 'DELETIONS_HELD');
      expect(await stored(fixture)).toBe(total - 12);
    },
  );

  it('does not get a new allowance by a clock that goes back across midnight', async () => {
    const fixture = await loaded();
    narrow(fixture);
    onHour(fixture, 2, 6);
    await fixture.expectSuccess('incremental', { deleted: 12 });
    narrow(fixture);
    onHour(fixture, 1, 23);
    await fixture.expectPartial('full', 'DELETIONS_HELD', { deleted: 0 });
  });
});

describe('an absence that the list of deletions does not name', () => {
  it.each(['incremental', 'full'] as const)(
    'is kept and proposed once the list has named a deletion: %s run',
    async (mode) => {
      const fixture = await loaded();
      fixture.erp.drop(1);
      onHour(fixture, 1, 3);
      await fixture.expectSuccess(mode, { deleted: 1 });
      fixture.erp.records.delete('2');
      fixture.erp.drop(3);
      onHour(fixture, 2, 4);
      await fixture.expectPartial(mode, 'DELETIONS_HELD', { deleted: 1 });
      expect(
        await fixture.query(
          `select ids, evidence->'allowed' as allowed from ${fixture.schema}.deletion_proposals`,
        ),
      ).toEqual([{ ids: ['2'], allowed: 0 }]);
    },
  );

  it('is kept when the same run finds it and the first deletion that the list names', async () => {
    const fixture = await loaded();
    fixture.erp.drop(1);
    fixture.erp.records.delete('2');
    onHour(fixture, 2, 3);
    await fixture.expectPartial('incremental', 'DELETIONS_HELD', { deleted: 1 });
    expect(await stored(fixture)).toBe(total - 1);
  });
});

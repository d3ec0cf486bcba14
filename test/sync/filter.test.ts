// A sync configuration that reads the records of some subsidiaries only: what leaves the filter, what enters
// it, and what happens when the filter itself changes.
import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/transaction.ts';
import { datedFields, erpError, field, operations, type SyncFixture, wait } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10 });

const fields = [...datedFields, field('subsidiary', 'reference')];
const setFilter = (fixture: SyncFixture, subsidiaries: readonly string[] | null) =>
  fixture.changeConfig({ filter: subsidiaries === null ? null : JSON.stringify({ subsidiaries }) });
const listIds = (fixture: SyncFixture, ...subsidiaries: string[]): string[] =>
  [...fixture.erp.records.values()]
    .filter(({ values }) => subsidiaries.includes(values['subsidiary'] ?? ''))
    .map(({ id }) => id)
    .sort((a, b) => Number(a) - Number(b));

/**
 * 60 records of subsidiaries 1, 2 and 3 in turn, of which those of 1 and 2 are synced and a second run found
 * nothing to do.
 */
async function loaded(options = {}): Promise<SyncFixture> {
  const create = (id: number): [Record<string, string>] => [{ subsidiary: String((id % 3) + 1) }];
  const fixture = await site.dated(60, options, fields, create);
  await setFilter(fixture, ['1', '2']);
  await fixture.expectSuccess('incremental', { inserted: 40 }, { mode: 'full' });
  wait(fixture, 1);
  await fixture.expectSuccess('incremental', { deleted: 0 });
  wait(fixture, 1);
  fixture.erp.calls.length = 0;
  return fixture;
}

describe('a filter by subsidiary', () => {
  it('reads only its records, and a run without changes makes no more requests than one without a filter', async () => {
    const fixture = await loaded();
    expect(await fixture.ids()).toEqual(listIds(fixture, '1', '2'));
    await fixture.expectSuccess('incremental', { inserted: 0, updated: 0, deleted: 0 });
    expect(operations(fixture)).toEqual(['now', 'today', 'readPage', 'listIds', 'deletedSince', 'count']);
  });

  it('a record that leaves it is deleted, and one that enters it is added', async () => {
    const fixture = await loaded();
    fixture.erp.put(1, { subsidiary: '3' }); // was in 2
    await fixture.expectSuccess('incremental', { deleted: 1, inserted: 0 });
    wait(fixture, 1);
    fixture.erp.put(2, { subsidiary: '1' }); // was in 3
    fixture.erp.put(3, { subsidiary: '3' }); // was in 1
    await fixture.expectSuccess('incremental', { deleted: 1, inserted: 1 });
    expect(await fixture.ids()).toEqual(listIds(fixture, '1', '2'));
  });

  it('a record that enters it without a new modification time is found by the count', async () => {
    const fixture = await loaded();
    fixture.erp.shift(2, { subsidiary: '1' });
    await fixture.expectSuccess('incremental', { inserted: 1, deleted: 0 });
    expect(await fixture.ids()).toEqual(listIds(fixture, '1', '2'));
  });

  it('a record that a run rejected and that left it is no longer open', async () => {
    const fixture = await loaded();
    fixture.erp.put(1, { subsidiary: '2', total: 'no number' });
    await fixture.expectPartial('incremental', 'RECORDS_REJECTED', { rejected: 1 });
    wait(fixture, 1);
    fixture.erp.put(1, { subsidiary: '3' });
    await fixture.expectSuccess('incremental', { deleted: 1, rejected: 0 });
  });
});

describe('a changed filter', () => {
  it('that is wider or absent adds what was never read, in the next incremental run', async () => {
    const fixture = await loaded();
    await setFilter(fixture, null);
    await fixture.expectSuccess('incremental', { inserted: 20, deleted: 0 }, { mode: 'incremental' });
    expect(await fixture.ids()).toEqual(listIds(fixture, '1', '2', '3'));
  });

  it('that is narrower by no more than the limit deletes what left it', async () => {
    const fixture = await loaded({ maxDeleteShare: 0.5 });
    await setFilter(fixture, ['1']);
    await fixture.expectSuccess('incremental', { deleted: 20, inserted: 0 });
    expect(await fixture.ids()).toEqual(listIds(fixture, '1'));
  });

  it.each(['incremental', 'full'] as const)(
    'that is narrower by more than that becomes a proposal in an %s run',
    async (mode) => {
      const fixture = await loaded();
      await setFilter(fixture, ['1']);
      await fixture.expectPartial(mode, 'DELETIONS_HELD', { deleted: 0 });
      const held = await fixture.query<{ ids: string[] }>(
        `select ids from ${fixture.schema}.deletion_proposals where status = 'open'`,
      );
      expect(held.map(({ ids }) => ids.toSorted((a, b) => Number(a) - Number(b)))).toEqual([
        listIds(fixture, '2'),
      ]);
      expect(await fixture.ids()).toEqual(listIds(fixture, '1', '2'));
      // The approved records are requested again with the filter, and are absent.
      await fixture.query(`update ${fixture.schema}.deletion_proposals set status = 'approved'`);
      wait(fixture, 1);
      await fixture.expectSuccess('incremental', { deleted: 20 });
      expect(await fixture.ids()).toEqual(listIds(fixture, '1'));
    },
  );

  it('to others with as many records is noticed although the counts are equal', async () => {
    const fixture = await loaded({ maxDeleteShare: 0.5 });
    await setFilter(fixture, ['1', '3']);
    await fixture.expectSuccess('incremental', { deleted: 20, inserted: 20 });
    expect(await fixture.ids()).toEqual(listIds(fixture, '1', '3'));
    wait(fixture, 1);
    fixture.erp.calls.length = 0;
    await fixture.expectSuccess('incremental');
    expect(operations(fixture)).not.toContain('scan');
  });

  it('while a run waits starts it from the first page with the new one', async () => {
    const fixture = await loaded({ maxDeleteShare: 0.5 });
    const id = await fixture.queue('full');
    fixture.erp.onCall = async ({ operation, afterId }) => {
      if (operation !== 'readPage' || afterId === null) return;
      fixture.erp.onCall = () => undefined;
      await setFilter(fixture, ['1', '3']);
      throw erpError('down', 'SERVER_ERROR');
    };
    await fixture.expectEnd(id, 'succeeded', { fetched: 40, deleted: 20, inserted: 20 }, { attempt: 2 });
    expect(await fixture.ids()).toEqual(listIds(fixture, '1', '3'));
  });

  it('whose field the role can no longer read fails the run by name, and nothing is deleted', async () => {
    const fixture = await loaded();
    fixture.erp.fields = fixture.erp.fields.map((one) =>
      one.name === 'subsidiary'
        ? { ...one, syncable: false, reason: 'NetSuite refuses it for this role' }
        : one,
    );
    await inTransaction(fixture.tenant, (tx) => tx('erp_record_types').update({ described_at: new Date(0) }));
    await fixture.expectFailure('incremental', 'FILTER_UNAVAILABLE');
    expect(await fixture.ids()).toEqual(listIds(fixture, '1', '2'));
  });
});

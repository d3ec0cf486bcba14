// Fields that can't be read or come empty, with an ERP in memory: thresholds, interruptions, large tables and
// databases of older versions.
import { describe, expect, it } from 'vitest';
import type { FieldType } from '../../src/connectors/connector.ts';
import { acceptMissingFields } from '../../src/sync/fields/accept-missing.ts';
import { countCalls, datedFields, field, type SyncFixture, wait } from './fixture.ts';
import { useSync } from './site.ts';

// Each run reads the ERP's metadata.
const site = useSync({ metadataMaxAgeMs: -1 }, { refusable: ['update on sync_runs'] });

const all = [...datedFields, field('note')];
const show = (fixture: SyncFixture, ...columns: string[]) =>
  fixture.query(`update ${fixture.schema}.record_state set shown_columns = $1`, [
    JSON.stringify({ v1: columns.map((column) => ({ column })) }),
  ]);
const notes = async (fixture: SyncFixture): Promise<Record<string, unknown>> =>
  Object.fromEntries((await fixture.rows()).map((row) => [String(row['id']), row['f_note']]));

/** A hundred records with notes, synced. */
async function synced(...shown: string[]): Promise<SyncFixture> {
  const fixture = await site.dated(100, {}, all, (id) => [{ note: `note ${id}` }]);
  await fixture.expectSuccess('full');
  await show(fixture, ...shown);
  wait(fixture, 1);
  return fixture;
}
const accept = ({ tenant }: SyncFixture) => acceptMissingFields(tenant, 'thing', ['note']);
/** Changes these records, with their notes or without. */
function change({ erp }: SyncFixture, from: number, to: number, isEmpty: boolean): void {
  for (let id = from; id <= to; id += 1)
    erp.put(id, { note: isEmpty ? null : `note ${id}`, name: `changed ${id}` });
}

describe('a column that comes empty', () => {
  it('fails when a record that is read alone has a value', async () => {
    const fixture = await synced();
    fixture.erp.bendRecords((one) => ({ ...one, values: { ...one.values, note: null } }));
    const run = await fixture.expectFailure('full', 'COLUMN_EMPTIED');
    expect(run.error?.message).toBe(
      'The field note came empty in 100 of 100 records that had a value, but record 1 has one when it is read again',
    );
    expect((await notes(fixture))['1']).toBe('note 1');
  });

  it('is read alone at most twenty times, and not again after an interruption', async () => {
    const fixture = await synced();
    change(fixture, 1, 100, true);
    await site.refuse('sync_runs', '%"status": "publishing"%');
    const runId = await fixture.queue('full');
    fixture.erp.calls.length = 0;
    await fixture.work(await fixture.claim());
    expect((await fixture.row(runId)).status).toBe('waiting');
    const reads = () => countCalls(fixture, 'readByIds');
    expect(reads()).toBe(20);
    await site.allow();
    expect(await fixture.drive(runId)).toMatchObject({ status: 'partial', error: { code: 'FIELDS_EMPTY' } });
    expect(reads()).toBe(20);
    expect(Object.keys((await fixture.state())?.staleFields ?? {})).toEqual(['note']);
  });

  it('a row that was written meanwhile is compared again: it heals also where the value is empty in the ERP', async () => {
    const fixture = await synced();
    change(fixture, 1, 100, true);
    expect((await fixture.sync('full')).status).toBe('partial');
    wait(fixture, 1);
    for (let id = 2; id <= 100; id += 1) fixture.erp.put(id, { note: `note ${id}`, name: `changed ${id}` });
    await fixture.expectSuccess('incremental', {}, { mode: 'full' });
    expect(await notes(fixture)).toMatchObject({ 1: null, 2: 'note 2', 100: 'note 100' });
    expect((await fixture.state())?.staleFields).toEqual({});
  });
});

it('a column that is accepted as empty while a run withholds it is stale until the next run has emptied it', async () => {
  const fixture = await synced('f_note');
  change(fixture, 1, 100, true);
  await fixture.expectPartial('full', 'FIELDS_EMPTY');
  wait(fixture, 1);
  fixture.erp.put(1, { note: null, name: 'changed again' });
  fixture.erp.once('readPage', () => accept(fixture));
  await fixture.expectPartial('incremental', 'FIELDS_EMPTY');
  expect(Object.keys((await fixture.state())?.staleFields ?? {})).toEqual(['note']);
  expect((await notes(fixture))['2']).toBe('note 2');
  await fixture.expectSuccess('incremental', { updated: 100 }, { mode: 'full' });
  expect(await fixture.state()).toMatchObject({
    staleFields: {},
    acceptedFields: { note: { reason: 'empty' } },
  });
  expect(new Set(Object.values(await notes(fixture)))).toEqual(new Set([null]));
});

describe('a shown field that the ERP no longer offers', () => {
  it('keeps since and syncedAt of the first run that could not read it', async () => {
    const fixture = await synced('f_note');
    const { syncedAt } = (await fixture.state()) ?? {};
    fixture.erp.fields = [...datedFields];
    await fixture.expectPartial('incremental', 'FIELDS_UNREADABLE');
    const first = (await fixture.state())?.staleFields;
    expect(first).toEqual({
      note: {
        since: expect.stringMatching(/Z$/),
        syncedAt,
        reason: 'unreadable',
        message: 'The ERP no longer has the field note',
      },
    });
    expect((await fixture.sync('full')).status).toBe('partial');
    expect((await fixture.state())?.staleFields).toEqual(first);
  });

  it.each([
    ['missing', [], 'integer'],
    ['accepted as missing', [], 'integer'],
    ['missing, after another type', ['integer'], 'text'],
  ] as const)('is served as empty when it returns empty with another type: %s', async (how, before, type) => {
    const fixture = await synced('f_note');
    const become = (next: FieldType) => {
      fixture.erp.fields = [...datedFields, field('note', next)];
      wait(fixture, 1);
    };
    for (let id = 1; id <= 100; id += 1) fixture.erp.shift(id, { note: `${id}` });
    for (const next of before) {
      become(next);
      await fixture.expectSuccess('incremental', { updated: 100 }, { mode: 'full' });
    }
    fixture.erp.fields = [...datedFields];
    await fixture.expectPartial('full', 'FIELDS_UNREADABLE');
    if (how === 'accepted as missing') await accept(fixture);
    for (let id = 1; id <= 100; id += 1) fixture.erp.shift(id, { note: null });
    become(type);
    await fixture.expectSuccess('incremental', { updated: 100 }, { mode: 'full' });
    expect(new Set(Object.values(await notes(fixture)))).toEqual(new Set([null]));
    // A value that an earlier version left there.
    const { activeTable } = (await fixture.state()) ?? {};
    await fixture.query(`update ${fixture.schema}.${activeTable} set f_note = 'former' where id = 7`);
    await fixture.expectSuccess('full', { updated: 1, unchanged: 99 });
    expect((await notes(fixture))['7']).toBeNull();
  });

  it('heals a large table in place', async () => {
    const fixture = await synced('f_note');
    const { epoch, activeTable } = (await fixture.state()) ?? {};
    fixture.erp.fields = [...datedFields];
    change(fixture, 1, 2, true);
    expect((await fixture.sync('incremental')).status).toBe('partial');
    await fixture.query(`update ${fixture.schema}.record_state set row_count = 50000`);
    fixture.erp.fields = [...all];
    wait(fixture, 1);
    await fixture.expectSuccess('incremental', { updated: 2, unchanged: 98 }, { mode: 'full' });
    expect(await fixture.state()).toMatchObject({ epoch, activeTable, staleFields: {} });
    expect(await notes(fixture)).toMatchObject({ 1: null, 2: null, 3: 'note 3' });
  });

  it('that an older version stored as vanished is stale, without a time when it was last read', async () => {
    const fixture = await synced('f_note');
    await fixture.query(
      `update ${fixture.schema}.record_columns set state = 'vanished' where field = 'note'`,
    );
    fixture.erp.fields = [...datedFields];
    await fixture.expectPartial('incremental', 'FIELDS_UNREADABLE');
    expect((await fixture.state())?.staleFields).toMatchObject({ note: { syncedAt: null } });
  });
});

it('a field that no version shows vanishes and returns in place, as long as it is not known what versions show', async () => {
  const fixture = await synced();
  await fixture.query(`update ${fixture.schema}.record_state set shown_columns = null`);
  const { epoch } = (await fixture.state()) ?? {};
  fixture.erp.fields = [...datedFields];
  for (const id of [1, 2]) fixture.erp.put(id, { name: `changed ${id}` });
  await fixture.expectSuccess('incremental');
  await fixture.query(`update ${fixture.schema}.record_state set row_count = 50000`);
  fixture.erp.fields = [...all];
  fixture.erp.put(2, { name: 'changed 2', note: 'new' });
  wait(fixture, 1);
  await fixture.expectSuccess('incremental', {}, { mode: 'full' });
  expect((await fixture.state())?.epoch).toBe(epoch);
  // Record 1 was last written without this field, and has no value in the ERP.
  expect(await notes(fixture)).toMatchObject({ 1: null, 2: 'new', 3: 'note 3' });
});

it('a run with every kind of problem names all of them', async () => {
  const fixture = await synced('f_note');
  fixture.erp.fields = [...datedFields];
  fixture.erp.deleted = null;
  for (let id = 41; id <= 80; id += 1) fixture.erp.records.delete(String(id));
  fixture.erp.rejects.set('5', { id: '5', code: 'BAD', message: 'bad' });
  fixture.erp.put(5, {});
  const run = await fixture.expectPartial(
    'full',
    'FIELDS_UNREADABLE',
    {},
    { error: { proposalId: expect.any(String) } },
  );
  for (const part of ['The field note', '40 records are absent', '1 records could not be stored'])
    expect(run.error?.message).toContain(part);
  for (const part of ['accept that the field is missing', 'approve what was deleted', "run's rejections"])
    expect(run.error?.fix).toContain(part);
  expect(await site.admin('sync_alerts').where('sync_config_id', fixture.configId).first('state')).toEqual({
    state: 'stale-held',
  });
});

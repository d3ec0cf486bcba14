// Large changes: a fresh table instead of a rewrite in place, with what published versions need on it before
// it goes live; and values that are too long for an index.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  buildWantedIndexes,
  findIndexesToBuild,
  saveWantedIndexes,
} from '../../src/sync/outcome/index-jobs.ts';
import { dropRetiredTables } from '../../src/warehouse/table.ts';
import { listAccount } from '../setup/erp-account.ts';
import { field, memoryErp, type SyncFixture, syncFixture, until, waitingFor } from '../sync/fixture.ts';
import { useSync } from '../sync/site.ts';

const site = useSync();

const readIndexes = async ({ schema, query }: SyncFixture, table: string): Promise<string[]> =>
  (
    await query<{ d: string }>(
      `select pg_get_indexdef(indexrelid) as d from pg_index where indrelid = '${schema}."${table}"'::regclass and not indisprimary and indisvalid order by 1`,
    )
  )
    .map(({ d }) => d.replace(/^.* USING /, ''))
    .sort();
const allIndexes = async ({ schema, query }: SyncFixture, table: string): Promise<number> =>
  (await query(`select from pg_index where indrelid = '${schema}."${table}"'::regclass`)).length;

const incompressible = (bytes: number): string => randomBytes(bytes).toString('base64');

/** A run that is blocked just before it goes live, by a lock on the state that readers see. */
async function heldBeforeGoingLive(fixture: SyncFixture, look: () => Promise<void>) {
  const holder = await site.ctx.db.data.connect();
  fixture.erp.onCall = async ({ operation, afterId }) => {
    if (operation !== 'readPage' || afterId === null) return;
    fixture.erp.onCall = () => undefined;
    await holder.query(`begin; select from ${fixture.schema}.record_state for update`);
  };
  const id = await fixture.queue();
  const ending = fixture.drive(id);
  try {
    await until(async () => (await fixture.row(id)).status === 'publishing', 'publishing');
    await until(async () => (await waitingFor(site.admin, 'record_state')).length > 0, 'the lock');
    await look();
  } finally {
    await holder.query('rollback');
    holder.release();
  }
  return ending;
}

it('a change of columns on a large table goes into a fresh table, indexed before it goes live, and old columns keep their values', async () => {
  const fixture = await syncFixture(
    site.ctx,
    memoryErp([field('name'), field('total', 'number'), field('note')]),
  );
  const count = 10_050;
  fixture.erp.fill(count, (id) => [{ total: `${id}.50`, note: id % 2 === 0 ? `note ${id}` : null }]);
  fixture.erp.put(9, { name: incompressible(30_000), total: '9.50' }); // too long for an index, and carried over below
  await fixture.expectSuccess('full', { inserted: count }, { progress: { pages: 11 } });
  await saveWantedIndexes(fixture.tenant, 'thing', [
    { method: 'btree', expression: '"f_name", id' },
    { method: 'btree', expression: '"f_total", id' },
    { method: 'gin', expression: 'lower("f_name") gin_trgm_ops' },
  ]);
  await buildWantedIndexes(fixture.tenant, 'thing', () => Promise.resolve());
  const first = await fixture.state();

  fixture.erp.fields = [field('name'), field('total', 'text'), field('extra')];
  await listAccount(fixture.tenant, fixture.erp.connector);
  for (const record of [...fixture.erp.records.values()])
    fixture.erp.put(record.id, { total: `${record.id} pounds`, extra: 'x' });
  for (const id of ['7', '8']) fixture.erp.records.delete(id);
  fixture.erp.rejects.set('9', { id: '9', code: 'BAD', message: 'bad' });
  fixture.erp.put(20_000, { extra: 'new' });
  const run = await heldBeforeGoingLive(fixture, async () => {
    expect(await fixture.state()).toMatchObject({ activeTable: 'thing_1', generation: '1' });
    expect(await readIndexes(fixture, 'thing_2')).toHaveLength(3);
  });
  expect(run).toMatchObject({
    status: 'partial',
    generation: '2',
    counts: { fetched: count - 1, inserted: 1, updated: count - 3, unchanged: 0, deleted: 2, rejected: 1 },
  });

  const state = await fixture.state();
  expect(state).toMatchObject({ activeTable: 'thing_2', rowCount: count - 1, generation: '2' });
  expect(state?.epoch).not.toBe(first?.epoch);
  expect(await fixture.tables()).toEqual(['thing_2']);
  expect(await readIndexes(fixture, 'thing_2')).toEqual([
    'btree (f_total, id)',
    'gin (lower(f_name) gin_trgm_ops)',
  ]);
  const byId = async (id: number) =>
    (await fixture.query(`select * from ${fixture.schema}.thing_2 where id = $1`, [id]))[0];
  expect(await byId(10)).toMatchObject({
    f_total: null,
    f_total_2: '10 pounds',
    f_note: 'note 10',
    f_extra: 'x',
    generation: '2',
  });
  expect(await byId(9)).toMatchObject({ f_total: '9.50', f_total_2: null, generation: '1' }); // rejected: its last good version
  expect(await byId(20_000)).toMatchObject({ f_total: '20000.50', f_extra: 'new' });
  expect(await byId(7)).toBeUndefined();
  expect(await fixture.query(`select id, generation from ${fixture.schema}.tombstones order by 1`)).toEqual([
    { id: '7', generation: '2' },
    { id: '8', generation: '2' },
  ]);

  fixture.erp.rejects.clear();
  fixture.erp.put(8, { total: '8 pounds', extra: 'x' });
  await fixture.expectSuccess('full', { inserted: 1, updated: 1, deleted: 0 });
  expect(await fixture.tables()).toEqual(['thing_2']); // the existing table is updated in place
  expect(await fixture.query(`select id from ${fixture.schema}.tombstones`)).toEqual([{ id: '7' }]);
});

describe('a value that is too long for an index', () => {
  const wanted = [
    { method: 'btree' as const, expression: '"f_name", id' },
    { method: 'btree' as const, expression: 'lower("f_name") text_pattern_ops' },
    { method: 'btree' as const, expression: '"f_total", id' },
  ];
  const others = 30;
  async function indexed(): Promise<SyncFixture> {
    const fixture = await syncFixture(site.ctx, memoryErp());
    fixture.erp.fill(others);
    await fixture.sync();
    await saveWantedIndexes(fixture.tenant, 'thing', wanted);
    await buildWantedIndexes(fixture.tenant, 'thing', () => Promise.resolve());
    return fixture;
  }

  it.each([3_000, 30_000])('of %i bytes drops the index instead of failing the sync', async (bytes) => {
    const fixture = await indexed();
    const value = incompressible(bytes);
    fixture.erp.put(5, { name: value });
    const run = await fixture.expectSuccess('full', { updated: 1 }, { attempt: 1 });
    expect(await readIndexes(fixture, 'thing_1')).toEqual(['btree (f_total, id)']);
    const long = `select id from ${fixture.schema}.thing_1 where f_name = $1`;
    expect(await fixture.query(long, [value])).toEqual([{ id: '5' }]);
    expect(await fixture.events(run.id)).toContain(
      'dropped an index because a value is too long for it; filters on that field are slower',
    );
  });

  it('in a first load, and at a publication, omits that index', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    fixture.erp.put(1, { name: incompressible(3_000) });
    fixture.erp.rejects.set('2', { id: '2', code: 'X', message: 'x' });
    await fixture.sync();
    await saveWantedIndexes(fixture.tenant, 'thing', wanted);
    const built: number[] = [];
    await buildWantedIndexes(fixture.tenant, 'thing', async (done) => {
      built.push(done);
    });
    expect(built).toEqual([1, 2, 3]);
    expect(await readIndexes(fixture, 'thing_1')).toEqual(['btree (f_total, id)']);
    expect(await allIndexes(fixture, 'thing_1')).toBe(2); // no broken index is left behind, which would fail the next write
    expect(await findIndexesToBuild(fixture.tenant, 'thing', wanted)).toHaveLength(2);
    await fixture.query(`update ${fixture.schema}.record_state set active_table = null`); // as if it were the first load again
    await fixture.expectPartial('full', 'RECORDS_REJECTED', { inserted: 1 });
    expect(await readIndexes(fixture, 'thing_2')).toEqual(['btree (f_total, id)']);
  });

  it('that exceeds another limit is rejected, and the index stays', async () => {
    const fixture = await indexed();
    const before = await readIndexes(fixture, 'thing_1');
    fixture.erp.put(6, { total: `1${'0'.repeat(150_000)}` });
    await fixture.expectPartial('full', 'RECORDS_REJECTED', { rejected: 1, unchanged: others - 1 });
    expect(await readIndexes(fixture, 'thing_1')).toEqual(before);
  });

  it('several concurrent builders build each index once', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    fixture.erp.fill(others);
    await fixture.sync();
    await saveWantedIndexes(fixture.tenant, 'thing', wanted);
    await Promise.all(
      Array.from({ length: 4 }, () => buildWantedIndexes(fixture.tenant, 'thing', () => Promise.resolve())),
    );
    expect(await readIndexes(fixture, 'thing_1')).toHaveLength(3);
    expect(await allIndexes(fixture, 'thing_1')).toBe(4);
  });
});

describe('swapped-out tables', () => {
  it('a locked one is left to the next run, without failing anything; the active one is never dropped', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    fixture.erp.put(1);
    await fixture.sync();
    await fixture.query(`create table ${fixture.schema}.thing_77 (id int primary key); `);
    await fixture.query(
      `insert into ${fixture.schema}.retired_tables (table_name) values ('thing_77'), ('thing_1')`,
    );
    const reader = await site.ctx.db.data.connect();
    try {
      await reader.query(`begin; select from ${fixture.schema}.thing_77`);
      fixture.erp.put(2);
      await fixture.expectSuccess('full');
      expect(await fixture.tables()).toEqual(['thing_1', 'thing_77']);
    } finally {
      await reader.query('rollback');
      reader.release();
    }
    expect(await dropRetiredTables(site.ctx.db.control, fixture.schema, 0)).toBe(1);
    expect(await fixture.tables()).toEqual(['thing_1']);
    expect(await fixture.rows()).toHaveLength(2);
  });

  it('tables that a dead worker left behind are found by the next one', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    fixture.erp.put(1);
    fixture.erp.onCall = () => undefined;
    await fixture.sync();
    await fixture.query(`create table ${fixture.schema}.thing_50 (id int primary key)`);
    await fixture.query(`update ${fixture.schema}.record_state set active_table = null`);
    await fixture.sync();
    expect(await fixture.tables()).toEqual(['thing_2']);
  });
});

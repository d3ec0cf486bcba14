// What publishing keeps for readers under a row scope: the values that a record had before it left, and
// records that they may not see.
import { describe, expect, it } from 'vitest';
import { pruneTombstones } from '../../src/sync/deletions/prune-tombstones.ts';
import { acceptMissingFields } from '../../src/sync/fields/accept-missing.ts';
import { listOutdatedOrganizations, updateTenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { field, noSignal, until, waitingFor } from './fixture.ts';
import {
  enter,
  entries,
  mend,
  readChanges,
  readList,
  reject,
  scopedFields,
  scopedFixture,
  scopeState,
  setFields,
  sync,
  wait,
  withheldIds,
} from './scope-fixture.ts';
import { useSync } from './site.ts';

const site = useSync();

const made = (customers: Parameters<typeof scopedFixture>[1], options = {}) =>
  scopedFixture(site.ctx, customers, options);
describe('a record that moves to another customer', () => {
  it('is recorded with the values before, once, with the generation of its row', async () => {
    const fixture = await made({ 1: 'A', 2: 'A', 3: 'B' });
    expect(await entries(fixture)).toEqual([]);
    expect((await scopeState(fixture)).columns).toEqual({ id: '1', f_customer: '1' });
    fixture.erp.put(1, { customer: 'B' });
    fixture.erp.put(2, { customer: 'A', name: 'renamed' });
    expect(await sync(fixture)).toMatchObject({ status: 'succeeded', counts: { updated: 2 } });
    expect(await entries(fixture)).toEqual([{ generation: '2', id: '1', before: { f_customer: 'A' } }]);
    expect(await readChanges(fixture, '1', 'A')).toEqual({ upserts: ['2'], deletes: { 1: '2' } });
    expect(await readChanges(fixture, '1', 'B')).toEqual({ upserts: ['1'], deletes: {} });
    expect(await readChanges(fixture, '1', 'A', 'B')).toEqual({ upserts: ['1', '2'], deletes: {} });
    expect(await readList(fixture, 'A')).toEqual(['2']);
  });

  it('keeps all scope columns as one tuple, each with its type', async () => {
    const fixture = await made({ 1: 'A' });
    await enter(fixture, 'v2', ['f_site', 'f_total', 'f_modified']);
    expect((await scopeState(fixture)).columns).toEqual({
      id: '1',
      f_customer: '1',
      f_site: '1',
      f_total: '1',
      f_modified: '1',
    });
    fixture.erp.put(1, { customer: 'A', site: 'north', total: '7' });
    await sync(fixture);
    expect(await entries(fixture)).toEqual([
      {
        generation: '2',
        id: '1',
        before: { f_customer: 'A', f_site: null, f_total: 1.5, f_modified: '2026-05-01T08:00:00+00:00' },
      },
    ]);
  });
});

it('a deleted record is recorded where no version allows row scopes by a column: the id always does', async () => {
  const fixture = await made({ 1: 'A', 2: 'A' });
  await fixture.query(
    `update ${fixture.schema}.record_state set shown_columns = '{}', scope_columns = '{"id": "1"}'`,
  );
  fixture.erp.drop(2);
  await sync(fixture);
  expect(await entries(fixture)).toEqual([{ generation: '2', id: '2', before: {} }]);
});

describe('a scope column that is stale', () => {
  it('is neither written nor recorded, and is compared when it can be read again', async () => {
    const fixture = await made({ 1: 'A', 2: 'A' });
    await setFields(
      fixture,
      scopedFields.filter(({ name }) => name !== 'customer'),
    );
    fixture.erp.put(1, { customer: 'B', name: 'moved' });
    expect(await sync(fixture, 'full')).toMatchObject({
      status: 'partial',
      error: { code: 'FIELDS_UNREADABLE' },
    });
    expect((await fixture.rows())[0]).toMatchObject({ f_name: 'moved', f_customer: 'A' });
    expect((await fixture.state())?.staleFields).toMatchObject({ customer: { reason: 'unreadable' } });
    expect(await entries(fixture)).toEqual([]);
    await setFields(fixture, scopedFields);
    expect(await sync(fixture)).toMatchObject({ status: 'succeeded' });
    expect(await entries(fixture)).toEqual([{ generation: '3', id: '1', before: { f_customer: 'A' } }]);
  });

  it('counts as stale where the configuration no longer selects it, until an administrator accepts that', async () => {
    const fixture = await made({ 1: 'A' });
    await fixture.changeConfig({ fields: ['name', 'total', 'modified'] });
    expect(await sync(fixture)).toMatchObject({ status: 'partial' });
    expect((await fixture.state())?.staleFields).toMatchObject({
      customer: {
        reason: 'unreadable',
        message: 'The sync configuration does not select the field customer',
      },
    });
    await enter(fixture, 'v2', [], ['f_site']);
    await sync(fixture);
    expect(Object.keys((await fixture.state())?.staleFields ?? {})).toEqual(['customer']);
    expect(await acceptMissingFields(fixture.tenant, 'thing', ['customer'])).toBeNull();
    expect(await sync(fixture)).toMatchObject({ status: 'succeeded' });
    expect(await fixture.state()).toMatchObject({
      staleFields: {},
      acceptedFields: { customer: { reason: 'unreadable' } },
    });
  });

  it('withholds no rejected record of which the other values are the stored ones', async () => {
    const fixture = await made({ 1: 'A' });
    await enter(fixture, 'v2', ['f_site']);
    await setFields(
      fixture,
      scopedFields.filter(({ name }) => name !== 'site'),
    );
    reject(fixture, '1', { customer: 'A' });
    await sync(fixture, 'full');
    expect(await withheldIds(fixture)).toEqual([]);
    await setFields(fixture, scopedFields);
    await sync(fixture);
    expect(await withheldIds(fixture)).toEqual(['1']);
  });
});

it('a table that is swapped begins the record of values, and keeps withheld what it takes over', async () => {
  const fixture = await made({ 1: 'A', 2: 'A', 3: 'A', 4: 'B' });
  reject(fixture, '1', { customer: 'B' });
  reject(fixture, '3', { customer: 'B' });
  fixture.erp.put(4, { customer: 'A' });
  await sync(fixture);
  const before = await scopeState(fixture);
  expect(await entries(fixture)).toHaveLength(3);
  // Above this number of rows, a new column is filled in a fresh table.
  await fixture.query(`update ${fixture.schema}.record_state set row_count = 10000`);
  await setFields(fixture, [...scopedFields, field('extra')]);
  mend(fixture, '3', 'B');
  reject(fixture, '2', { customer: 'A' });
  await sync(fixture, 'full');
  const after = await scopeState(fixture);
  expect((await fixture.state())?.activeTable).toBe('thing_2');
  expect(after).toMatchObject({ generation: '3', columns: { id: '3', f_customer: '3' } });
  expect(after.epoch).not.toBe(before.epoch);
  expect(await entries(fixture)).toEqual([]);
  expect(await withheldIds(fixture)).toEqual(['1']);
  expect(await readList(fixture, 'A')).toEqual(['2', '4']);
  expect(await readList(fixture, 'B')).toEqual(['3']);
  mend(fixture, '1', 'B');
  await sync(fixture);
  expect(await readChanges(fixture, '3', 'B')).toEqual({ upserts: ['1'], deletes: {} });
});

describe('the record of values', () => {
  it('is kept for 30 days, and the generation up to which it was deleted is stored', async () => {
    const fixture = await made({ 1: 'A', 2: 'A' });
    for (const customer of ['B', 'C', 'D']) {
      fixture.erp.put(1, { customer });
      await sync(fixture);
    }
    await fixture.query(
      `insert into ${fixture.schema}.scope_changes select 'thing', 2, (1000 + n)::text, now() - interval '40 days', '{}' from generate_series(1, 2500) n`,
    );
    await fixture.query(
      `update ${fixture.schema}.scope_changes set at = now() - interval '31 days' where generation <= 3`,
    );
    await pruneTombstones(site.ctx, AbortSignal.abort());
    expect(await entries(fixture)).toHaveLength(2503);
    await pruneTombstones(site.ctx, noSignal);
    expect((await entries(fixture)).map(({ generation }) => generation)).toEqual(['4']);
    expect(await scopeState(fixture)).toMatchObject({ pruned: '3', columns: { f_customer: '1' } });
  });

  it('is written once, with the rows, when the process dies while publishing', async () => {
    const fixture = await made({ 1: 'A', 2: 'A', 3: 'A' });
    fixture.erp.put(1, { customer: 'B' });
    reject(fixture, '2', { customer: 'B' });
    fixture.erp.drop(3);
    wait(fixture);
    const id = await fixture.queue('full');
    const holder = await site.ctx.db.data.connect();
    // Publishing a full run writes this table when all rows are written.
    await holder.query(`begin; lock table ${fixture.schema}.record_columns in share mode`);
    try {
      const ending = fixture.drive(id, 'publishing');
      const pids = await until(async () => {
        const found = await waitingFor(site.admin, 'update %record_columns');
        return found.length > 0 && found;
      }, 'the lock');
      expect(await entries(fixture)).toEqual([]);
      await site.admin.raw('select pg_terminate_backend(pid) from unnest(?::int[]) pid', [pids]);
      expect(await ending).toMatchObject({ status: 'publishing' });
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    expect(await readList(fixture, 'A')).toEqual(['1', '2', '3']);
    expect(await fixture.drive(id)).toMatchObject({ status: 'partial', generation: '2' });
    expect(await entries(fixture)).toEqual(
      ['1', '2', '3'].map((one) => ({ generation: '2', id: one, before: { f_customer: 'A' } })),
    );
    expect(await withheldIds(fixture)).toEqual(['2']);
  });

  it('begins where an older version of the service created the tables', async () => {
    const fixture = await made({ 1: 'A', 2: 'A' });
    fixture.erp.put(1, { customer: 'B' });
    await sync(fixture);
    const rejected = { id: '2', code: 'X', message: 'no' };
    fixture.erp.rejects.set('2', rejected);
    await sync(fixture, 'full');
    await fixture.query(`drop table ${fixture.schema}.scope_changes, ${fixture.schema}.withheld_records`);
    await fixture.query(
      `alter table ${fixture.schema}.record_state drop column scope_columns, drop column scope_pruned`,
    );
    await fixture.query(`alter table ${fixture.schema}.rejections drop column scope_values`);
    await pruneTombstones(site.ctx, noSignal);
    expect(await listOutdatedOrganizations(site.ctx.db.data)).toContain(fixture.organizationId);
    await updateTenantSchema(site.ctx, fixture.organizationId);
    expect(await listOutdatedOrganizations(site.ctx.db.data)).not.toContain(fixture.organizationId);
    expect(await scopeState(fixture)).toMatchObject({ generation: '3', columns: { id: '3' }, pruned: '0' });
    await sync(fixture);
    expect((await scopeState(fixture)).columns).toEqual({ id: '3', f_customer: '4' });
    expect(await withheldIds(fixture)).toEqual(['2']);
  });
});

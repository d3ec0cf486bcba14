// A warehouse that the version before made: a new process serves it at once, also while its tables are locked
// and can't be upgraded yet.
import type { Knex } from 'knex';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { openKnex } from '../../src/db/connect.ts';
import {
  startWarehouseUpgrades,
  upgradeWarehousesAtStart,
} from '../../src/platform/api-schemas/upgrade-warehouses.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { createCaller, loadInvoices, publicApp, publishVersion } from '../public/fixture.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';

let database: TestDatabase;
let admin: Knex;
let tenant: TenantCtx;
let schema: string;
let secret: string;

beforeAll(async () => {
  database = await testDatabase();
  admin = openKnex(database.address, null, 2);
  const { id } = await makeOrganization(database.ctx);
  tenant = { ...database.ctx, organizationId: id };
  schema = tenantSchema(id);
  await loadInvoices(database.ctx, id, [{ id: 1, tranid: 'a', total: '10.50' }]);
  await publishVersion(database.ctx, id);
  await publishVersion(database.ctx, id, { version: 'v2', status: 'retired' });
  ({ secret } = await makeKey(database.ctx, id));
});
afterAll(async () => {
  await admin.destroy();
  await database.close();
});

const dropLast = ['timeline', 'former_epochs', 'filter', 'scope_columns', 'scope_pruned', 'deletion_history']
  .map((column) => `drop column if exists ${column}`)
  .join();

const makeOlder = () =>
  admin.raw(`alter table ${schema}.record_state ${dropLast};
    alter table ${schema}.record_columns drop constraint record_columns_parts_check;
    alter table ${schema}.record_columns add constraint record_columns_part_check check (part in ('value', 'label', 'lines'))`);

/** The tables as the version before made them. */
beforeEach(() =>
  admin.raw(`drop table if exists ${schema}.rolling_reads, ${schema}.absent_records, ${schema}.scope_changes, ${schema}.withheld_records;
    alter table ${schema}.rejections drop column if exists scope_values;
    alter table ${schema}.record_state drop column if exists scanned_on, drop column if exists shown_columns,
      drop column if exists stale_fields, drop column if exists accepted_fields,
      ${dropLast}`),
);

/** A caller of a process that has just started: nothing is cached. */
const callNewProcess = () =>
  createCaller(publicApp(database.ctx), { organizationId: tenant.organizationId, secret });
const shown = async () =>
  (await admin.raw(`select shown_columns as shown from ${schema}.record_state`)).rows[0]?.shown;

describe('a warehouse of the version before', () => {
  it('is upgraded at the start, with what its versions show, retired ones too', async () => {
    await upgradeWarehousesAtStart(database.ctx);
    const columns = await shown();
    expect(Object.keys(columns).sort()).toEqual(['v1', 'v2']);
    expect(columns.v1).toEqual(columns.v2);
    expect(columns.v1).toContainEqual({ column: 'l_entity' });
    expect(columns.v1).toContainEqual({ column: 'f_lines', lineFields: ['item', 'item.name', 'quantity'] });
    expect((await callNewProcess()('/v1/invoices')).status).toBe(200);
  });

  it('is upgraded when it lacks nothing but what was added last', async () => {
    await upgradeWarehousesAtStart(database.ctx);
    await makeOlder();
    await upgradeWarehousesAtStart(database.ctx);
    const [state] = (
      await admin.raw(
        `select timeline, former_epochs, scope_columns, generation, scope_pruned, deletion_history from ${schema}.record_state`,
      )
    ).rows;
    expect(state).toEqual({
      timeline: null,
      former_epochs: [],
      scope_columns: { id: state.generation },
      generation: state.generation,
      scope_pruned: '0',
      deletion_history: null,
    });
    const { rows: checks } = await admin.raw(
      'select conname from pg_constraint where conrelid = ?::regclass and conname like ?',
      [`${schema}.record_columns`, 'record_columns_part%check'],
    );
    expect(checks).toEqual([{ conname: 'record_columns_parts_check' }]);
    await makeOlder();
    expect((await callNewProcess()('/v1/invoices/changes')).status).toBe(200);
  });

  it('is left alone when there is nothing to do', async () => {
    await upgradeWarehousesAtStart(database.ctx);
    const readVersion = async () => (await admin.raw(`select xmin::text from ${schema}.record_state`)).rows;
    const before = await readVersion();
    await upgradeWarehousesAtStart(database.ctx);
    expect(await readVersion()).toEqual(before);
  });

  it.each([
    ['a list', '/v1/invoices', {}],
    ['a record', '/v1/invoices/1', {}],
    ['changes', '/v1/invoices/changes', {}],
    ['an export', '/v1/invoices', { accept: 'text/csv' }],
  ])('serves %s at once when no start has upgraded it', async (_name, path, headers) => {
    const { status, text } = await callNewProcess()(path, headers);
    expect([status, text]).toEqual([200, expect.stringContaining('10.50')]);
  });

  it('answers 503 while its tables are locked, which keeps no process from starting, and is upgraded afterwards', async () => {
    const holder = await admin.transaction();
    try {
      await holder.raw(`select from ${schema}.record_state`);
      await upgradeWarehousesAtStart(database.ctx);
      expect(
        await admin.raw(`select to_regclass('${schema}.rolling_reads') as made`).then(({ rows }) => rows),
      ).toEqual([{ made: null }]);
      const refused = await callNewProcess()('/v1/invoices');
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, '10']);
    } finally {
      await holder.rollback();
    }
    const upgrades = startWarehouseUpgrades(database.ctx);
    await upgrades.tick();
    await upgrades.stop();
    expect(Object.keys(await shown())).toHaveLength(2);
    expect((await callNewProcess()('/v1/invoices')).status).toBe(200);
  });
});

// A warehouse that the version before made: a new process serves it at once, also while its tables are locked
// and can't be upgraded yet.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  startWarehouseUpgrades,
  upgradeWarehousesAtStart,
} from '../../src/platform/api-schemas/upgrade-warehouses.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { createCaller, loadInvoices, publicApp, publishVersion } from '../public/fixture.ts';
import { useOrganization } from '../setup/use-organization.ts';

const site = useOrganization();
let schema: string;

beforeAll(async () => {
  const { ctx, id } = site;
  schema = tenantSchema(id);
  await loadInvoices(ctx, id, [{ id: 1, tranid: 'a', total: '10.50' }]);
  await publishVersion(ctx, id);
  await publishVersion(ctx, id, { version: 'v2', status: 'retired' });
});

const dropLast = [
  'timeline',
  'former_epochs',
  'filter',
  'scope_columns',
  'scope_pruned',
  'deletion_history',
  'change_token',
]
  .map((column) => `drop column if exists ${column}`)
  .join();

const makeOlder = () =>
  site.admin.raw(`alter table ${schema}.record_state ${dropLast};
    alter table ${schema}.record_columns drop constraint record_columns_parts_check;
    alter table ${schema}.record_columns add constraint record_columns_part_check check (part in ('value', 'label', 'lines'))`);

/** The tables as the version before made them. */
beforeEach(() =>
  site.admin.raw(`drop table if exists ${schema}.rolling_reads, ${schema}.absent_records, ${schema}.scope_changes, ${schema}.withheld_records;
    alter table ${schema}.rejections drop column if exists scope_values;
    alter table ${schema}.record_state drop column if exists scanned_on, drop column if exists shown_columns,
      drop column if exists stale_fields, drop column if exists accepted_fields,
      ${dropLast}`),
);

/** A caller of a process that has just started: nothing is cached. */
const callNewProcess = () =>
  createCaller(publicApp(site.ctx), { organizationId: site.id, secret: site.owner.secret });
const shown = async () =>
  (await site.admin.raw(`select shown_columns as shown from ${schema}.record_state`)).rows[0]?.shown;

describe('a warehouse of the version before', () => {
  it('is upgraded at the start, with what its versions show, retired ones too', async () => {
    await upgradeWarehousesAtStart(site.ctx);
    const columns = await shown();
    expect(Object.keys(columns).sort()).toEqual(['v1', 'v2']);
    expect(columns.v1).toEqual(columns.v2);
    expect(columns.v1).toContainEqual({ column: 'l_entity' });
    expect(columns.v1).toContainEqual({ column: 'f_lines', lineFields: ['item', 'item.name', 'quantity'] });
    expect((await callNewProcess()('/v1/invoices')).status).toBe(200);
  });

  it('is upgraded when it lacks nothing but what was added last', async () => {
    await upgradeWarehousesAtStart(site.ctx);
    await makeOlder();
    await upgradeWarehousesAtStart(site.ctx);
    const columns = 'timeline, former_epochs, scope_columns, generation, scope_pruned, deletion_history';
    const [state] = (await site.admin.raw(`select ${columns} from ${schema}.record_state`)).rows;
    expect(state).toEqual({
      timeline: null,
      former_epochs: [],
      scope_columns: { id: state.generation },
      generation: state.generation,
      scope_pruned: '0',
      deletion_history: null,
    });
    const { rows: checks } = await site.admin.raw(
      'select conname from pg_constraint where conrelid = ?::regclass and conname like ?',
      [`${schema}.record_columns`, 'record_columns_part%check'],
    );
    expect(checks).toEqual([{ conname: 'record_columns_parts_check' }]);
    await makeOlder();
    expect((await callNewProcess()('/v1/invoices/changes')).status).toBe(200);
  });

  it('is left alone when there is nothing to do', async () => {
    await upgradeWarehousesAtStart(site.ctx);
    const readVersion = async () =>
      (await site.admin.raw(`select xmin::text from ${schema}.record_state`)).rows;
    const before = await readVersion();
    await upgradeWarehousesAtStart(site.ctx);
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
    const holder = await site.admin.transaction();
    try {
      await holder.raw(`select from ${schema}.record_state`);
      await upgradeWarehousesAtStart(site.ctx);
      const { rows } = await site.admin.raw(`select to_regclass('${schema}.rolling_reads') as made`);
      expect(rows).toEqual([{ made: null }]);
      const refused = await callNewProcess()('/v1/invoices');
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, '10']);
    } finally {
      await holder.rollback();
    }
    const upgrades = startWarehouseUpgrades(site.ctx);
    await upgrades.tick();
    await upgrades.stop();
    expect(Object.keys(await shown())).toHaveLength(2);
    expect((await callNewProcess()('/v1/invoices')).status).toBe(200);
  });
});

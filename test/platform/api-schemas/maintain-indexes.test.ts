// Indexes exist as long as a version needs them: those of failed and retired versions are dropped, served
// versions keep theirs, and a restored version gets them again, also after interruptions.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../../src/core/ctx.ts';
import { maintainAllIndexes, maintainIndexes } from '../../../src/platform/api-schemas/maintain-indexes.ts';
import { buildWantedIndexes, saveWantedIndexes } from '../../../src/sync/index.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { loadInvoices } from '../../public/fixture.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';
import { createVersionCalls } from './fixture.ts';

const endpoint = (...sorts: string[]) => ({
  name: 'invoices',
  recordType: 'invoice',
  fields: ['tranid', 'status', 'seq', 'total'].map((source) => ({ name: source, source })),
  sorts,
});
const never = new AbortController().signal;

const org = useOrganization();
let tenant: TenantCtx;
let schema: string;
let table: string;
const versions = createVersionCalls(org);
const retired = { id: '' };

const draft = (...sorts: string[]) => versions.draft({ endpoints: [endpoint(...sorts)] });
async function startPublishing(...sorts: string[]): Promise<string> {
  const made = await draft(...sorts);
  expect((await versions.startPublishing(made)).status).toBe(202);
  return made.id;
}

beforeAll(async () => {
  tenant = { ...org.ctx, organizationId: org.id };
  schema = tenantSchema(org.id);
  table = await loadInvoices(org.ctx, org.id, [{ id: 1, tranid: 'a' }]);
  const ids = [await startPublishing('tranid', 'status'), await startPublishing('status', 'seq')];
  await versions.idle();
  for (const id of ids) expect((await versions.read(id)).status).toBe('published');
  retired.id = ids[1] ?? '';
});

/** How many indexes of this column are to be kept. */
const countWanted = async (column: string): Promise<number> =>
  (await org.admin.raw(`select from ${schema}.record_indexes where expression like '%${column}%'`)).rowCount;

/** The columns of the table's valid indexes, and the number of invalid ones. */
async function held(): Promise<{ usable: string[]; broken: number }> {
  const { rows } = await org.admin.raw<{ rows: { columns: string; valid: boolean }[] }>(
    `select (regexp_match(pg_get_indexdef(indexrelid), '\\(([^)]*)\\)'))[1] as columns, indisvalid as valid from pg_index
     where indrelid = ?::regclass and not indisprimary`,
    [`${schema}.${table}`],
  );
  const usable = rows
    .filter(({ valid }) => valid)
    .map(({ columns }) => columns.replace('f_', '').replace(', id', ''));
  return { usable: usable.sort(), broken: rows.filter(({ valid }) => !valid).length };
}
const left = { method: 'btree', expression: '"f_total", id' } as const;
/** The state left by a version that failed to publish after its indexes had been built. */
async function leaveBehind(): Promise<void> {
  await saveWantedIndexes(tenant, 'invoice', [left]);
  await buildWantedIndexes(tenant, 'invoice', () => Promise.resolve());
  expect((await held()).usable).toContain('total');
}
const tend = () => maintainIndexes(tenant, never);
const usual = { usable: ['generation', 'seq', 'status', 'tranid'], broken: 0 };

beforeEach(async () => {
  await tend();
  expect(await held()).toEqual(usual);
});

describe('the indexes of a table', () => {
  it('are those of the served versions: unused and half-built ones are dropped', async () => {
    await leaveBehind();
    const [index] = (
      await org.admin.raw(
        `select right(relname, 12) as name from pg_class c join pg_index i on i.indexrelid = c.oid where pg_get_indexdef(c.oid) like '%f_total, id)'`,
      )
    ).rows;
    await org.admin.raw(
      `update pg_index set indisvalid = false where indrelid = '${schema}.${table}'::regclass and indexrelid::regclass::text like '%' || ?`,
      [index.name],
    );
    expect((await held()).broken).toBe(1);
    await tend();
    expect([await held(), await countWanted('')]).toEqual([usual, 4]);
    await leaveBehind();
    await maintainAllIndexes(org.ctx, never);
    expect(await held()).toEqual(usual);
  });

  it('stay for a version that is being published', async () => {
    const { id } = await draft('total');
    await versions.setPublication(id, 'running');
    await leaveBehind();
    await tend();
    expect((await held()).usable).toContain('total');
    await versions.setPublication(id, 'failed');
    await tend();
    expect(await held()).toEqual(usual);
  });

  it('of a retired version stay for a day, are dropped, and are rebuilt when it is restored', async () => {
    const { id } = retired;
    const retire = async (body: object) =>
      (await org.api('post', `/api-schema/${id}/retire`, body)).body.status;
    await retire({});
    await tend();
    expect(await held()).toEqual(usual);
    const longAgo = org.admin.raw("now() - interval '25 hours'");
    await org.admin('api_schemas').where({ id }).update({ updated_at: longAgo });
    await tend();
    expect((await held()).usable).toEqual(['generation', 'status', 'tranid']);
    expect(await retire({ undo: true })).toBe('deprecated');
    await versions.idle();
    expect(await held()).toEqual(usual);
    // As after an interruption while the version was being restored.
    await org.admin.raw(`delete from ${schema}.record_indexes where expression like '%f_seq%'`);
    await tend();
    expect(await countWanted('f_seq')).toBe(1);
  });

  it('of a version that is published concurrently are never dropped', async () => {
    await leaveBehind();
    // Index maintenance and publications of the table wait for this session, and all start when it ends.
    const holder = await org.admin.transaction();
    await holder.raw('select pg_advisory_xact_lock(hashtextextended(?, 1))', [`${schema}.${table}`]);
    const tending = tend();
    await until(async () => (await countWanted('f_total')) === 0);
    const id = await startPublishing('total');
    await until(async () => (await countWanted('f_total')) === 1);
    await holder.commit();
    await Promise.all([tending, versions.idle()]);
    expect((await versions.read(id)).status).toBe('published');
    expect((await held()).usable).toContain('total');
    await tend();
    expect((await held()).usable).toContain('total');
  });
});

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
const versions: Record<string, string> = {};

async function publish(...sorts: string[]): Promise<string> {
  const { body } = await org.api('post', '/api-schema', { endpoints: [endpoint(...sorts)] });
  expect((await org.api('post', `/api-schema/${body.id}/publish`, { revision: body.revision })).status).toBe(
    202,
  );
  return body.id;
}
const readStatus = async (id: string) => (await org.api('get', `/api-schema/${id}`)).body.status;

beforeAll(async () => {
  tenant = { ...org.ctx, organizationId: org.id };
  schema = tenantSchema(org.id);
  table = await loadInvoices(org.ctx, org.id, [{ id: 1, tranid: 'a' }]);
  versions['one'] = await publish('tranid', 'status');
  versions['two'] = await publish('status', 'seq');
  await org.ctx.work.waitUntilIdle('publications');
  expect([await readStatus(versions['one']), await readStatus(versions['two'])]).toEqual([
    'published',
    'published',
  ]);
});

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
    await org.admin.raw(
      `update pg_index set indisvalid = false where indrelid = '${schema}.${table}'::regclass and indexrelid::regclass::text like '%' || ?`,
      [
        (
          await org.admin.raw(
            `select right(relname, 12) as name from pg_class c join pg_index i on i.indexrelid = c.oid where pg_get_indexdef(c.oid) like '%f_total, id)'`,
          )
        ).rows[0].name,
      ],
    );
    expect((await held()).broken).toBe(1);
    await tend();
    expect(await held()).toEqual(usual);
    const remembered = await org.admin.raw(`select count(*)::int as n from ${schema}.record_indexes`);
    expect(remembered.rows[0].n).toBe(4);
    await leaveBehind();
    await maintainAllIndexes(org.ctx, never);
    expect(await held()).toEqual(usual);
  });

  it('stay for a version that is being published', async () => {
    const { body } = await org.api('post', '/api-schema', { endpoints: [endpoint('total')] });
    const publication = {
      status: 'running',
      progress: { step: 'starting', done: 0, total: 1 },
      problems: [],
      proof: null,
    };
    await org
      .admin('api_schemas')
      .where({ id: body.id })
      .update({ publication: JSON.stringify(publication) });
    await leaveBehind();
    await tend();
    expect((await held()).usable).toContain('total');
    await org
      .admin('api_schemas')
      .where({ id: body.id })
      .update({ publication: JSON.stringify({ ...publication, status: 'failed' }) });
    await tend();
    expect(await held()).toEqual(usual);
  });

  it('of a retired version stay for a day, are dropped, and are rebuilt when it is restored', async () => {
    const id = versions['two'] ?? '';
    await org.api('post', `/api-schema/${id}/retire`, {});
    await tend();
    expect(await held()).toEqual(usual);
    await org
      .admin('api_schemas')
      .where({ id })
      .update({ updated_at: org.admin.raw("now() - interval '25 hours'") });
    await tend();
    expect((await held()).usable).toEqual(['generation', 'status', 'tranid']);
    expect((await org.api('post', `/api-schema/${id}/retire`, { undo: true })).body.status).toBe(
      'deprecated',
    );
    await org.ctx.work.waitUntilIdle('publications');
    expect(await held()).toEqual(usual);
    // As after an interruption while the version was being restored.
    await org.admin.raw(`delete from ${schema}.record_indexes where expression like '%f_seq%'`);
    await tend();
    expect(
      (await org.admin.raw(`select from ${schema}.record_indexes where expression like '%f_seq%'`)).rowCount,
    ).toBe(1);
  });

  it('of a version that is published concurrently are never dropped', async () => {
    await leaveBehind();
    // Index maintenance and publications of the table wait for this session, and all start when it ends.
    const holder = await org.admin.transaction();
    await holder.raw('select pg_advisory_xact_lock(hashtextextended(?, 1))', [`${schema}.${table}`]);
    const tending = tend();
    await until(async () => {
      const rows = await org.admin.raw(
        `select from ${schema}.record_indexes where expression like '%f_total%'`,
      );
      return rows.rowCount === 0 ? true : undefined;
    });
    const id = await publish('total');
    await until(async () => {
      const rows = await org.admin.raw(
        `select from ${schema}.record_indexes where expression like '%f_total%'`,
      );
      return rows.rowCount === 1 ? true : undefined;
    });
    await holder.commit();
    await Promise.all([tending, org.ctx.work.waitUntilIdle('publications')]);
    expect(await readStatus(id)).toBe('published');
    expect((await held()).usable).toContain('total');
    await tend();
    expect((await held()).usable).toContain('total');
  });
});

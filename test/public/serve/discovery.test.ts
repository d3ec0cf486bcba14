// The address of the public interface itself: which versions a key may read, and how many records of each
// resource.
import type { Express } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { rowsOf, scopedInvoices } from '../access/fixture.ts';
import { callerOf, invoicesEndpoint, loadInvoices, publicApp, publishVersion } from '../fixture.ts';

let database: TestDatabase;
let app: Express;
let organizationId: string;

const rows = [
  { id: 1, tranid: 'A', entity: '7' },
  { id: 2, tranid: 'B', entity: '8' },
  { id: 3, tranid: 'C', entity: '7' },
];

beforeAll(async () => {
  database = await testDatabase({ settings: { cacheTtlMs: 0 } });
  organizationId = (await makeOrganization(database.ctx)).id;
  await loadInvoices(database.ctx, organizationId, rows);
  await publishVersion(database.ctx, organizationId, {
    endpoints: [invoicesEndpoint],
    status: 'deprecated',
    sunsetAt: '2027-01-01T00:00:00Z',
  });
  await publishVersion(database.ctx, organizationId, {
    version: 'v2',
    endpoints: [scopedInvoices, { ...invoicesEndpoint, name: 'copies' }],
  });
  await publishVersion(database.ctx, organizationId, { version: 'v3', status: 'retired' });
  await publishVersion(database.ctx, organizationId, { version: 'v4', status: 'draft' });
  app = publicApp(database.ctx);
});
afterAll(() => database.close());

const callerFor = async (scopes: Parameters<typeof makeKey>[2] = {}) =>
  callerOf(app, { organizationId, secret: (await makeKey(database.ctx, organizationId, scopes)).secret });

const syncedAt = '2026-03-01T08:00:00Z';
const resource = (version: string, name: string, records: number | null) => ({
  name,
  path: `/api/public/${version}/${name}`,
  records,
  syncedAt,
});
const paths = (version: string) => ({
  description: `/api/public/openapi/${version}`,
  reference: `/api/public/openapi/${version}/preview`,
});
const first = (resources: unknown[]) => ({
  version: 'v1',
  name: '',
  state: 'deprecated',
  sunsetAt: '2027-01-01T00:00:00.000Z',
  ...paths('v1'),
  resources,
});
const second = (resources: unknown[]) => ({
  version: 'v2',
  name: '',
  state: 'published',
  sunsetAt: null,
  ...paths('v2'),
  resources,
});

describe('GET /api/public', () => {
  it('lists the published and deprecated versions with their resources, and no others', async () => {
    const { body, headers } = await (await callerFor())('').expect(200);
    expect(body).toEqual({
      data: [
        first([resource('v1', 'invoices', 3)]),
        second([resource('v2', 'invoices', 3), resource('v2', 'copies', 3)]),
      ],
    });
    expect(headers['cache-control']).toBe('private, no-cache');
    for (const { description, reference } of body.data) {
      for (const path of [description, reference])
        await (await callerFor())(path.replace('/api/public', '')).expect(200);
    }
  });

  it('has only what the key may read', async () => {
    const onlyFirst = await (await callerFor({ versions: ['v1'] }))('').expect(200);
    expect(onlyFirst.body.data).toEqual([first([resource('v1', 'invoices', 3)])]);
    const onlyCopies = await (await callerFor({ resources: ['copies'] }))('').expect(200);
    expect(onlyCopies.body.data).toEqual([second([resource('v2', 'copies', 3)])]);
    expect(onlyCopies.text).not.toContain('invoices');
    expect((await (await callerFor({ versions: ['v9'] }))('').expect(200)).body).toEqual({ data: [] });
  });

  it('counts the records within the row scope, and omits versions to which it does not apply', async () => {
    for (const [customers, records] of [
      [['7'], 2],
      [['8'], 1],
      [['9'], 0],
      [['7', '8'], 3],
    ] as const) {
      const { body } = await (await callerFor({ rows: rowsOf(customers) }))('').expect(200);
      expect(body.data).toEqual([second([resource('v2', 'invoices', records)])]);
    }
  });

  it('304 while nothing has changed, and another ETag after a sync', async () => {
    const call = await callerFor();
    const { headers } = await call('').expect(200);
    const tag = String(headers['etag']);
    await call('', { 'if-none-match': tag }).expect(304);
    await database.ctx.db.data.query(`update ${tenantSchema(organizationId)}.record_state set row_count = 4`);
    const changed = await call('', { 'if-none-match': tag }).expect(200);
    expect(changed.body.data[0].resources[0].records).toBe(4);
    await database.ctx.db.data.query(`update ${tenantSchema(organizationId)}.record_state set row_count = 3`);
    await call('', { 'if-none-match': tag }).expect(304);
  });

  it('has null for a resource that was never synced', async () => {
    const other = (await makeOrganization(database.ctx)).id;
    await loadInvoices(database.ctx, other, rows);
    await publishVersion(database.ctx, other);
    await database.ctx.db.data.query(
      `update ${tenantSchema(other)}.record_state set generation = 0, active_table = null`,
    );
    const { secret } = await makeKey(database.ctx, other);
    const { body } = await callerOf(app, { secret, organizationId: other })('').expect(200);
    expect(body.data[0].resources).toEqual([
      { name: 'invoices', path: '/api/public/v1/invoices', records: null, syncedAt: null },
    ]);
  });

  it('has null for a resource whose records cannot be counted at the moment, and the other numbers', async () => {
    const call = await callerFor({ rows: { ...rowsOf(['7']), others: true } });
    const schema = tenantSchema(organizationId);
    const { rows: states } = await database.ctx.db.data.query<{ active_table: string }>(
      `select active_table from ${schema}.record_state`,
    );
    const table = `${schema}."${states[0]?.active_table}"`;
    await database.ctx.db.data.query(`alter table ${table} rename to hidden`);
    try {
      await call('/v2/invoices').expect(503);
      const { body } = await call('').expect(200);
      expect(body.data).toEqual([second([resource('v2', 'invoices', null), resource('v2', 'copies', 3)])]);
    } finally {
      await database.ctx.db.data.query(`alter table ${schema}.hidden rename to "${states[0]?.active_table}"`);
    }
    const { body } = await call('').expect(200);
    expect(body.data).toEqual([second([resource('v2', 'invoices', 2), resource('v2', 'copies', 3)])]);
  });

  it('omits a version that is gone when it is looked up, and lists the others', async () => {
    // What the service has read of a version counts for a while: a draft is as absent as a version that was
    // deleted between two look-ups.
    const kept = await testDatabase({ settings: { cacheTtlMs: 3_600_000 } });
    const other = (await makeOrganization(kept.ctx)).id;
    await loadInvoices(kept.ctx, other, rows);
    await publishVersion(kept.ctx, other);
    await publishVersion(kept.ctx, other, { version: 'v2', status: 'draft' });
    const { secret } = await makeKey(kept.ctx, other);
    const call = callerOf(publicApp(kept.ctx), { secret, organizationId: other });
    await call('/v2/invoices').expect(404);
    await inTransaction({ ...kept.ctx, organizationId: other }, async (tx) => {
      const published = { status: 'published', published_at: new Date(), bindings: '{}', openapi: '{}' };
      await tx('api_schemas').where({ organization_id: other, version: 'v2' }).update(published);
    });
    const { body } = await call('').expect(200);
    expect(body.data.map(({ version }: { version: string }) => version)).toEqual(['v1']);
    await kept.close();
  });

  it('needs both headers, and takes no parameters', async () => {
    const call = await callerFor();
    await call('', { authorization: 'Bearer psk_wrong' }).expect(401);
    await call('', { 'x-tenant-id': '' }).expect(400);
    await call('', { 'x-tenant-id': createId() }).expect(403);
    await call('', { accept: 'text/csv' }).expect(406);
    await call('/').expect(200);
    const { body } = await call('?page=1').expect(400);
    expect(body.error.details).toEqual([
      { path: 'page', code: 'unknown_parameter', message: expect.stringContaining('"page"') },
    ]);
    await call('/v1').expect(404);
  });
});

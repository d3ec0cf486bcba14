// The address of the public interface itself: which versions a key may read, and how many records of each
// resource.
import { describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { useStarted } from '../../setup/use-started.ts';
import { createRowScopes, scopedInvoices } from '../access/fixture.ts';
import { invoicesEndpoint, openSite } from '../fixture.ts';

const site = useStarted(() => {
  const sunsetAt = '2027-01-01T00:00:00Z';
  return openSite({
    settings: { cacheTtlMs: 0 },
    rows,
    versions: [
      { status: 'deprecated', sunsetAt },
      { version: 'v2', endpoints: [scopedInvoices, { ...invoicesEndpoint, name: 'copies' }] },
      { version: 'v3', status: 'retired' },
      { version: 'v4', status: 'draft' },
    ],
  });
});

const rows = [
  { id: 1, tranid: 'A', entity: '7' },
  { id: 2, tranid: 'B', entity: '8' },
  { id: 3, tranid: 'C', entity: '7' },
];

const syncedAt = '2026-03-01T08:00:00Z';
const resource = (version: string, name: string, records: number | null) => ({
  name,
  path: `/api/public/${version}/${name}`,
  records,
  syncedAt,
  freshness: null,
});
const paths = (version: string) => ({
  description: `/api/public/openapi/${version}`,
  reference: `/api/public/openapi/${version}/preview`,
});
const versionOf = (version: string, state: string, sunsetAt: string | null) => (resources: unknown[]) => ({
  ...{ version, name: '', state, sunsetAt, resources },
  ...paths(version),
});
const first = versionOf('v1', 'deprecated', '2027-01-01T00:00:00.000Z');
const second = versionOf('v2', 'published', null);

describe('GET /api/public', () => {
  it('lists the published and deprecated versions with their resources, and no others', async () => {
    const { body, headers } = await (await site.callerWith())('').expect(200);
    expect(body).toEqual({
      data: [
        first([resource('v1', 'invoices', 3)]),
        second([resource('v2', 'invoices', 3), resource('v2', 'copies', 3)]),
      ],
    });
    expect(headers['cache-control']).toBe('private, no-cache');
    for (const { description, reference } of body.data) {
      for (const path of [description, reference])
        await (await site.callerWith())(path.replace('/api/public', '')).expect(200);
    }
  });

  it('has only what the key may read', async () => {
    const onlyFirst = await (await site.callerWith({ versions: ['v1'] }))('').expect(200);
    expect(onlyFirst.body.data).toEqual([first([resource('v1', 'invoices', 3)])]);
    const onlyCopies = await (await site.callerWith({ resources: ['copies'] }))('').expect(200);
    expect(onlyCopies.body.data).toEqual([second([resource('v2', 'copies', 3)])]);
    expect(onlyCopies.text).not.toContain('invoices');
    expect((await (await site.callerWith({ versions: ['v9'] }))('').expect(200)).body).toEqual({ data: [] });
  });

  it('304 while nothing has changed, and another ETag after a sync', async () => {
    const call = await site.callerWith();
    const { headers } = await call('').expect(200);
    const tag = String(headers['etag']);
    await call('', { 'if-none-match': tag }).expect(304);
    await site.sql('update $wh.record_state set row_count = 4');
    const changed = await call('', { 'if-none-match': tag }).expect(200);
    expect(changed.body.data[0].resources[0].records).toBe(4);
    await site.sql('update $wh.record_state set row_count = 3');
    await call('', { 'if-none-match': tag }).expect(304);
  });

  it('has null for a resource that was never synced', async () => {
    const other = await site.another({ rows });
    await other.sql('update $wh.record_state set generation = 0, active_table = null');
    const { body } = await other.get('').expect(200);
    expect(body.data[0].resources).toEqual([
      { name: 'invoices', path: '/api/public/v1/invoices', records: null, syncedAt: null, freshness: null },
    ]);
  });

  it('has null for a resource whose records cannot be counted at the moment, and the other numbers', async () => {
    const call = await site.callerWith({ rows: { ...createRowScopes(['7']), others: true } });
    const { schema, table } = site;
    await site.sql('alter table $t rename to hidden');
    try {
      await call('/v2/invoices').expect(503);
      const { body } = await call('').expect(200);
      expect(body.data).toEqual([second([resource('v2', 'invoices', null), resource('v2', 'copies', 3)])]);
    } finally {
      await site.sql(`alter table ${schema}.hidden rename to ${table}`);
    }
    const { body } = await call('').expect(200);
    expect(body.data).toEqual([second([resource('v2', 'invoices', 2), resource('v2', 'copies', 3)])]);
  });

  it('omits a version that is gone when it is looked up, and lists the others', async () => {
    // What the service has read of a version counts for a while: a draft is as absent as a version that was
    // deleted between two look-ups.
    const kept = await openSite({
      settings: { cacheTtlMs: 3_600_000 },
      rows,
      versions: [{}, { version: 'v2', status: 'draft' }],
    });
    const { get: call } = kept;
    await call('/v2/invoices').expect(404);
    const published = { status: 'published', published_at: new Date(), bindings: '{}', openapi: '{}' };
    await kept.inTransaction((tx) => tx('api_schemas').where({ version: 'v2' }).update(published));
    const { body } = await call('').expect(200);
    expect(body.data.map(({ version }: { version: string }) => version)).toEqual(['v1']);
    await kept.close();
  });

  it('needs both headers, and takes no parameters', async () => {
    const call = await site.callerWith();
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

// What callers see of fields that the ERP can't deliver: on the public interface, in views and in the tools
// for language models.
import type { Express } from 'express';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { fullAccess } from '../../../src/core/record-access.ts';
import { getRecordTools } from '../../../src/public/index.ts';
import { type Api, createApi } from '../../setup/api.ts';
import { useStarted } from '../../setup/use-started.ts';
import { invoicesEndpoint, openSite, publicApp, withReads } from '../fixture.ts';

const syncedAt = '2026-03-01T08:00:00Z';
const stale = (since: string, of: string | null = '2026-02-20T08:00:00Z') => ({
  since,
  syncedAt: of,
  reason: 'unreadable',
  message: 'Hidden',
});
const number = { name: 'number', source: 'tranid' };
const narrow = { ...invoicesEndpoint, name: 'numbers', fields: [number], filters: [], sorts: [] };
const manyNames = Array.from({ length: 200 }, (_, index) => ({
  name: `aRatherLongNameForTheStatus${index}`,
  source: 'status',
}));
const wide = { ...narrow, name: 'wide', fields: [number, ...manyNames] };

const site = useStarted(() =>
  openSite({
    settings: { cacheTtlMs: 20 },
    rows: [{ id: 1, tranid: 'a', entity: '7', entityName: 'Ann' }],
    versions: [{ endpoints: [invoicesEndpoint, narrow, wide] }],
  }),
);
let app: Express;
let api: Api;
beforeAll(async () => {
  app = createApp(site.ctx);
  api = createApi(app, (await site.key({ permissions: ['write'] })).secret);
});
beforeEach(() => setStale({}));

const setStale = (fields: object) =>
  site.sql('update $wh.record_state set stale_fields = $1', [JSON.stringify(fields)]);
/** Of a process that has just started. */
const freshnessAt = async (path: string): Promise<(string | undefined)[]> => {
  const { headers } = await (await site.callerWith({}, publicApp(site.ctx)))(path).expect(200);
  return [headers['x-data-synced-at'], headers['x-data-stale-fields']];
};

describe('the public interface', () => {
  it('names each stale field as the resource does, labels with their field, and the oldest time', async () => {
    await setStale({
      duedate: stale('2026-02-10T08:00:00Z', '2026-02-01T08:00:00Z'),
      entity: stale('2026-02-21T08:00:00Z'),
      total: stale('2026-02-26T08:00:00Z', '2026-02-25T08:00:00Z'),
      lines: stale('2026-02-27T08:00:00Z', '2026-02-26T08:00:00Z'),
    });
    expect(await freshnessAt('/v1/invoices')).toEqual([
      '2026-02-20T08:00:00Z',
      'total; since="2026-02-26T08:00:00Z", totalText; since="2026-02-26T08:00:00Z", customer; since="2026-02-21T08:00:00Z", ' +
        'customerName; since="2026-02-21T08:00:00Z", lines; since="2026-02-27T08:00:00Z"',
    ]);
    expect(await freshnessAt('/v1/numbers')).toEqual([syncedAt, undefined]);
  });

  it('gives no time when that of a stale field is unknown', async () => {
    await setStale({ total: stale('2026-02-26T08:00:00Z', null), status: stale('2026-02-26T08:00:00Z') });
    expect((await freshnessAt('/v1/invoices'))[0]).toBeUndefined();
  });

  it('uses a star for names that would make the header too long', async () => {
    await setStale({ status: stale('2026-02-26T08:00:00Z'), tranid: stale('2026-02-25T08:00:00Z') });
    expect(await freshnessAt('/v1/wide')).toEqual([
      '2026-02-20T08:00:00Z',
      '*; since="2026-02-25T08:00:00Z"',
    ]);
  });

  it('reports within the time for which a process trusts its memory, without a new generation', async () => {
    const get = await site.callerWith({}, app);
    const before = await get('/v1/invoices').expect(200);
    await setStale({ total: stale('2026-02-26T08:00:00Z') });
    await expect
      .poll(
        async () =>
          (await get('/v1/invoices', { 'if-none-match': before.headers['etag'] ?? '' }).expect(304)).headers,
      )
      .toMatchObject({
        'x-data-stale-fields': expect.stringContaining('total;'),
        'x-data-generation': before.headers['x-data-generation'],
      });
  });
});

describe('a view', () => {
  const view = async (columns: string[], filters: object[] = []) =>
    (await api('post', '/views', { name: columns.join(), recordType: 'invoice', columns, filters })).body.id;

  it('has the time of the fields that it uses, and a problem for each stale one', async () => {
    const open = [{ field: 'status', operator: 'null', value: true }];
    const [shows, filters, neither] = [
      await view(['tranid', 'total']),
      await view(['tranid'], open),
      await view(['tranid']),
    ];
    await setStale({
      total: stale('2026-02-26T08:00:00Z'),
      status: stale('2026-02-26T08:00:00Z', '2026-02-19T08:00:00Z'),
    });
    const records = async (id: string) => (await api('get', `/views/${id}/records`)).body;
    await expect
      .poll(() => records(shows))
      .toMatchObject({
        syncedAt: '2026-02-20T08:00:00Z',
        problems: [
          {
            path: 'columns[1]',
            code: 'stale',
            message: expect.stringContaining('"total" since 2026-02-26T08:00:00Z'),
          },
        ],
        data: [{ id: '1' }],
      });
    expect(await records(filters)).toMatchObject({
      syncedAt: '2026-02-19T08:00:00Z',
      problems: [{ path: 'filters[0].field', code: 'stale' }],
    });
    expect(await records(neither)).toMatchObject({ syncedAt, problems: [] });
    const { headers } = await api('get', `/views/${shows}/records`, undefined, { accept: 'text/csv' });
    expect([headers['x-data-synced-at'], headers['x-view-problems']]).toEqual([
      '2026-02-20T08:00:00Z',
      'columns[1] stale',
    ]);
  });
});

describe('a tool for language models', () => {
  it('names the stale fields with the freshness of its result', async () => {
    await setStale({ total: stale('2026-02-26T08:00:00Z') });
    const tools = getRecordTools(withReads(site.ctx));
    const { tenant } = site;
    const access = { reads: fullAccess, masks: 'own' as const, maxCharacters: 100_000 };
    const since = '2026-02-26T08:00:00Z';
    const expected = {
      generation: '1',
      syncedAt: '2026-02-20T08:00:00Z',
      staleFields: [
        { field: 'total', since },
        { field: 'totalText', since },
      ],
    };
    const at = { version: 'v1', resource: 'invoices' };
    const results = [
      await tools.query(tenant, access, at),
      await tools.get(tenant, access, { ...at, id: '1' }),
      await tools.describe(tenant, access, at),
      await tools.aggregate(tenant, access, { ...at, orderBy: 'count', limit: 20 }),
    ];
    for (const result of results) expect(JSON.parse(result).freshness).toEqual(expected);
    const numbers = await tools.query(tenant, access, { version: 'v1', resource: 'numbers' });
    expect(JSON.parse(numbers).freshness).toEqual({ generation: '1', syncedAt });
  });
});

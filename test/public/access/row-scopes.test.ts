// Row scopes where test/access, which compares every door with an oracle, does not look: scopes that don't apply
// to a version, records that are withheld, and fields that the ERP no longer delivers.
import { beforeAll, describe, expect, it } from 'vitest';
import { testClock } from '../../setup/database.ts';
import { useStarted } from '../../setup/use-started.ts';
import { bumpGeneration, type Get, listIds, openSite } from '../fixture.ts';
import { createRowScopes, scopedInvoices, unscopableInvoices } from './fixture.ts';

const customers = ['acme', 'birch', 'corda', null] as const;
const rows = Array.from({ length: 40 }, (_, index) => ({
  id: index + 1,
  tranid: `number ${index}`,
  entity: customers[index % 4] ?? null,
}));
const own = rows.filter(({ entity }) => entity === 'acme').map(({ id }) => String(id));

const clock = testClock();
const site = useStarted(() =>
  openSite({
    clock,
    rows,
    versions: [
      { endpoints: [{ ...scopedInvoices, defaultSort: null }] },
      { version: 'v2', endpoints: [unscopableInvoices] },
    ],
  }),
);
let acme: Get;
beforeAll(async () => {
  acme = await site.callerWith({ rows: createRowScopes(['acme']) });
});
/** As a run publishes, a second after the last read. */
async function publish(): Promise<void> {
  await bumpGeneration(site.ctx, site.organizationId, rows.length);
  clock.advance(site.ctx.settings.cacheTtlMs + 1);
}

describe('a row scope', () => {
  it('leaves its records in lists and exports, and 404 for others as for absent ones', async () => {
    expect(listIds(await acme('/v1/invoices').expect(200))).toEqual(own);
    const { text } = await acme('/v1/invoices?fields=id', { accept: 'text/csv' }).expect(200);
    expect(text.trimEnd().split('\r\n')).toEqual(['id', ...own]);
    const bodies = [(await acme('/v1/invoices/2').expect(404)).body, (await acme('/v1/invoices/99')).body];
    const [foreign, absent] = bodies.map(({ error: { requestId: _, ...error } }) => error);
    expect(foreign).toEqual(absent);
  });

  it('403 where it does not apply: another record type, or a field that is not scopable in the version', async () => {
    const refused = await acme('/v2/invoices').expect(403);
    expect(refused.body.error.details[0].code).toBe('resource_out_of_scope');
    const limitedBy = (recordType: string, conditions: { field: string; source: string; in: string[] }[]) =>
      site.callerWith({ rows: { resources: { invoices: { recordType, conditions } }, others: false } });
    await (await limitedBy('customer', []))('/v1/invoices').expect(403);
    const byId = await limitedBy('invoice', [{ field: 'id', source: 'id', in: ['5', '6'] }]);
    for (const path of ['/v1/invoices', '/v2/invoices'])
      expect(listIds(await byId(path).expect(200)).sort()).toEqual(['5', '6']);
  });

  it('leaves out withheld records, in lists, records, totals and exports', async () => {
    const [hidden = '', shown = ''] = own;
    const withheld =
      "insert into $wh.withheld_records (record_type, id) values ('invoice', $1), ('other', $2)";
    await site.sql(withheld, [hidden, shown]);
    await publish();
    const { data, pagination } = (await acme('/v1/invoices').expect(200)).body;
    expect([data.length, pagination.total]).toEqual([own.length - 1, own.length - 1]);
    await acme(`/v1/invoices/${hidden}`).expect(404);
    const csv = await acme('/v1/invoices', { accept: 'text/csv' }).expect(200);
    expect(csv.headers['x-total-count']).toBe(String(own.length - 1));
    await site.get(`/v1/invoices/${hidden}`).expect(200);
    await site.sql('delete from $wh.withheld_records');
    await publish();
  });
});

describe('503 scope_field_stale', () => {
  const set = async (fields: object) => {
    await site.sql(
      `update $wh.record_state set stale_fields = coalesce($1::jsonb -> 'stale', '{}'), accepted_fields = coalesce($1::jsonb -> 'accepted', '{}')`,
      [JSON.stringify(fields)],
    );
    clock.advance(site.ctx.settings.cacheTtlMs + 1);
  };
  const missing = {
    since: '2026-02-26T08:00:00Z',
    syncedAt: null,
    reason: 'empty',
    message: 'It came empty',
  };
  const paths = ['/v1/invoices', '/v1/invoices/1', '/v1/invoices/99999', '/v1/invoices/changes'];

  it.each([
    ['stale', { stale: { entity: missing } }],
    ['accepted as missing', { accepted: { entity: { ...missing, at: missing.since } } }],
  ])('while a field that the scope names is %s, also in place of 304 and 404', async (_what, fields) => {
    const tags = new Map<string, string>();
    for (const path of paths) tags.set(path, (await acme(path)).headers['etag'] ?? '');
    await set(fields);
    for (const path of paths) {
      const { error } = (await acme(path, { 'if-none-match': tags.get(path) ?? '' }).expect(503)).body;
      expect(error.details[0].code).toBe('scope_field_stale');
      await site.get(path).expect(path.endsWith('99999') ? 404 : 200);
    }
    await set({});
    await acme('/v1/invoices').expect(200);
  });

  it('not while another field or only the label of this one is', async () => {
    for (const stale of [{ total: missing }, { entity: { ...missing, labelOnly: true } }]) {
      await set({ stale });
      await acme('/v1/invoices').expect(200);
    }
    await set({});
  });
});

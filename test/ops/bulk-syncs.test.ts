// Sync configurations of many record types in one request, on an account with a whole company and
// subsidiaries.
import type { Express } from 'express';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp, startBackground } from '../../src/app.ts';
import { inTransaction, type Tx } from '../../src/db/transaction.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { sendControl } from '../setup/account-control.ts';
import { type Api, createApi, listCodes } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { asAdmin } from '../sync/fixture.ts';

let erp: Erp;
let database: TestDatabase;
let app: Express;
let organizationId: string;
let owner: Api;

const inOrganization = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction({ db: database.ctx.db, organizationId }, work);
const bulk = (recordTypes: readonly unknown[], more: object = {}) =>
  owner('post', '/sync-configs/bulk', { recordTypes, ...more });
type Entry = {
  readonly recordType: string;
  readonly status: string;
  readonly syncConfigId: string | null;
  readonly code: string | null;
  readonly fields: number | null;
  readonly records: number;
  readonly requests: number;
};
const listEntries = ({ body }: { body: { data: Entry[] } }): Entry[] => body.data;
const statuses = (answer: { body: { data: Entry[] } }) =>
  listEntries(answer).map(({ recordType, status }) => [recordType, status]);
const configs = async () => (await owner('get', '/sync-configs?pageSize=100')).body.data;
const audited = async (): Promise<{ action: string }[]> =>
  (
    await inOrganization((tx) => tx('audit_log').where({ organization_id: organizationId }).select('action'))
  ).filter(({ action }: { action: string }) => action === 'sync-config.create');

async function newOrganization(): Promise<void> {
  organizationId = (await makeOrganization(database.ctx)).id;
  owner = createApi(app, (await makeKey(database.ctx, organizationId, { permissions: ['write'] })).secret);
}
/** Of the organization that listed the account's record types; the others get a copy. */
let listed: string;
const copyRecordTypes = () =>
  asAdmin(database, async (admin) => {
    for (const [table, columns] of [
      ['erp_metadata', 'account, refreshed_at, last_error'],
      ['erp_record_types', 'name, position, head, description, described_at'],
    ])
      await admin.raw(
        `insert into ${table} (organization_id, ${columns}) select ?, ${columns} from ${table} where organization_id = ?`,
        [organizationId, listed],
      );
  });

beforeAll(async () => {
  erp = await startErp(undefined, { profile: 'oneworld', control: {} });
  database = await testDatabase({ settings: { erp: { ...testSettings.erp, allowedHosts: [erp.host] } } });
  app = createApp(database.ctx);
  await newOrganization();
  await erp.connect(owner);
  expect((await owner('post', '/netsuite/metadata/refresh')).status).toBe(200);
  listed = organizationId;
});
beforeEach(async () => {
  await newOrganization();
  await erp.connect(owner);
  await copyRecordTypes();
});
afterAll(async () => {
  await database.close();
  await erp.stop();
});

describe('POST /sync-configs/bulk', () => {
  it('creates one configuration for each record type, with the same settings and an audit entry', async () => {
    const names = ['invoice', 'purchaseOrder', 'subsidiary', 'customrecord_warranty'];
    const answer = await bulk([...names, 'invoice'], {
      schedule: '0 * * * *',
      timezone: 'Europe/London',
      deletions: 'feed',
    });
    expect(answer.status).toBe(200);
    expect(statuses(answer)).toEqual(names.map((name) => [name, 'created']));
    for (const { recordType, fields } of listEntries(answer))
      expect(fields).toBe((await owner('get', `/netsuite/metadata/${recordType}`)).body.syncableFieldCount);
    expect(answer.body).toMatchObject({
      totals: { created: 4, exists: 0, planned: 0, refused: 0, records: null, requests: null, minutes: null },
      latencyMs: null,
      concurrency: null,
    });
    const made = await configs();
    expect(
      new Map(made.map(({ id, recordType }: { id: string; recordType: string }) => [recordType, id])),
    ).toEqual(new Map(listEntries(answer).map(({ recordType, syncConfigId }) => [recordType, syncConfigId])));
    for (const config of made)
      expect(config).toMatchObject({
        schedule: '0 * * * *',
        timezone: 'Europe/London',
        deletions: 'feed',
        fields: '*',
        filter: null,
      });
    expect(made.find(({ recordType }: Entry) => recordType === 'invoice').name).toBe('Invoice');
    expect(await audited()).toHaveLength(4);
  });

  it('leaves a record type that has a configuration as it is', async () => {
    const { id } = (
      await owner('post', '/sync-configs', { name: 'Mine', recordType: 'customer', mode: 'full' })
    ).body;
    const answer = await bulk(['customer', 'item'], { mode: 'incremental' });
    expect(statuses(answer)).toEqual([
      ['customer', 'exists'],
      ['item', 'created'],
    ]);
    expect(listEntries(answer)[0]?.syncConfigId).toBe(id);
    expect((await owner('get', `/sync-configs/${id}`)).body).toMatchObject({ name: 'Mine', mode: 'full' });
    expect(statuses(await bulk(['customer', 'item']))).toEqual([
      ['customer', 'exists'],
      ['item', 'exists'],
    ]);
  });

  it('two requests at the same time create each configuration once', async () => {
    const names = ['customer', 'item', 'invoice', 'salesOrder', 'vendor'];
    const answers = await Promise.all([bulk(names), bulk(names.toReversed())]);
    for (const answer of answers) expect(answer.status).toBe(200);
    expect(await configs()).toHaveLength(5);
    const created = answers.flatMap(listEntries).filter(({ status }) => status === 'created');
    expect(created.map(({ recordType }) => recordType).sort()).toEqual(names.toSorted());
    const ids = new Set(answers.flatMap(listEntries).map(({ syncConfigId }) => syncConfigId));
    expect(ids.size).toBe(5);
  });

  it('refuses names that the account lacks, types without records of their own, and creates the others', async () => {
    const answer = await bulk(['costumer', 'x y', 'inventoryItem', 'DROP TABLE', 'invoice']);
    expect(answer.status).toBe(200);
    const entries = listEntries(answer);
    expect(entries.map(({ status, code }) => [status, code])).toEqual([
      ['refused', 'unknown_record_type'],
      ['refused', 'unknown_record_type'],
      ['refused', 'unsyncable_record_type'],
      ['refused', 'unknown_record_type'],
      ['created', null],
    ]);
    expect(answer.body.data[0].reason).toContain('Did you mean "customer"?');
    expect(answer.body.data[2].reason).toContain('item');
    expect(answer.body.totals).toMatchObject({ created: 1, refused: 4 });
  });

  it('refuses what is beyond the quota, in a dry run too', async () => {
    const few = {
      ...database.ctx,
      settings: { ...database.ctx.settings, quotas: { ...database.ctx.settings.quotas, syncs: 2 } },
    };
    const { secret } = await makeKey(database.ctx, organizationId, { permissions: ['write'] });
    const limited = createApi(createApp(few), secret);
    const recordTypes = ['customer', 'item', 'unicorn', 'invoice'];
    const expected = [null, null, 'unknown_record_type', 'limit_reached'];
    const planned = await limited('post', '/sync-configs/bulk', { recordTypes, dryRun: true });
    expect(listEntries(planned).map(({ code }) => code)).toEqual(expected);
    const made = await limited('post', '/sync-configs/bulk', { recordTypes });
    expect(listEntries(made).map(({ code }) => code)).toEqual(expected);
    expect(await configs()).toHaveLength(2);
  });

  it('applies a filter to types with a subsidiary, and refuses the others', async () => {
    const filter = { subsidiaries: ['2'] };
    const answer = await bulk(['invoice', 'currency'], { filter });
    expect(listEntries(answer).map(({ status, code }) => [status, code])).toEqual([
      ['created', null],
      ['refused', 'filter_not_supported'],
    ]);
    expect((await configs())[0]).toMatchObject({ recordType: 'invoice', filter });
  });

  it.each([
    ['recordTypes', { recordTypes: [] }, 'too_small'],
    ['recordTypes', { recordTypes: Array.from({ length: 1_001 }, (_, n) => `t${n}`) }, 'too_big'],
    ['recordTypes', { recordTypes: 'invoice' }, 'invalid_type'],
    ['recordTypes[1]', { recordTypes: ['invoice', 7] }, 'invalid_type'],
    ['recordTypes[0]', { recordTypes: ['x'.repeat(201)] }, 'too_big'],
    ['schedule', { recordTypes: ['invoice'], schedule: 'hourly' }, 'invalid_schedule'],
    ['timezone', { recordTypes: ['invoice'], timezone: 'Europe/Atlantis' }, 'invalid_schedule'],
    [
      'filter.subsidiaries[0]',
      { recordTypes: ['invoice'], filter: { subsidiaries: ['UK'] } },
      'invalid_format',
    ],
    ['fields', { recordTypes: ['invoice'], fields: ['tranid'] }, 'unknown_field'],
  ])('422 at %s for a malformed request', async (path, body, code) => {
    const answer = await owner('post', '/sync-configs/bulk', body);
    expect([answer.status, answer.body.error.details[0].path, listCodes(answer)[0]]).toEqual([
      422,
      path,
      code,
    ]);
    expect(await configs()).toEqual([]);
  });

  it('422 before the record types are known, and 403 without sync:create', async () => {
    const reader = createApi(
      app,
      (await makeKey(database.ctx, organizationId, { permissions: ['read'] })).secret,
    );
    expect((await reader('post', '/sync-configs/bulk', { recordTypes: ['invoice'] })).status).toBe(403);
    await newOrganization();
    const answer = await bulk(['invoice']);
    expect([answer.status, listCodes(answer), answer.body.error.details[0].path]).toEqual([
      422,
      ['no_connection'],
      'recordTypes',
    ]);
  });
});

/** A run from its start to its end. */
async function run(configId: string, mode: 'full' | 'incremental') {
  const background = await startBackground(database.ctx);
  const { id } = (await owner('post', `/sync-configs/${configId}/trigger`, { mode })).body;
  return until(async () => {
    const { body } = await owner('get', `/sync-runs/${id}`);
    return ['succeeded', 'partial', 'failed'].includes(body.status) ? body : undefined;
  }).finally(() => background.stop());
}

describe('a dry run', () => {
  it('creates nothing, and estimates the records and requests that the loads then take', async () => {
    const names = [
      'invoice',
      'salesOrder',
      'customerPayment',
      'customer',
      'item',
      'vendor',
      'purchaseOrder',
      'account',
      'transactionaccountingline',
    ];
    const planned = await bulk(names, { dryRun: true });
    expect(statuses(planned)).toEqual(names.map((name) => [name, 'planned']));
    expect(await configs()).toEqual([]);
    expect(await audited()).toEqual([]);
    const { totals, latencyMs, concurrency } = planned.body;
    expect(concurrency).toBe(
      Math.min(database.ctx.settings.erp.concurrency, database.ctx.settings.sync.workers),
    );
    expect(latencyMs).toBeGreaterThan(0);
    const sum = (of: 'records' | 'requests') =>
      listEntries(planned).reduce((total, one) => total + one[of], 0);
    expect(totals).toMatchObject({
      planned: names.length,
      records: sum('records'),
      requests: sum('requests'),
    });
    expect(totals.minutes).toBeGreaterThan(0);

    const made = await bulk(names.slice(0, 8));
    const estimated = new Map(listEntries(planned).map((one) => [one.recordType, one]));
    for (const { recordType, syncConfigId } of listEntries(made)) {
      const loaded = await run(syncConfigId ?? '', 'full');
      expect([recordType, loaded.status, loaded.error]).toEqual([recordType, 'succeeded', null]);
      const { records, requests } = estimated.get(recordType) ?? { records: -1, requests: -1 };
      expect([recordType, records]).toEqual([recordType, loaded.counts.inserted]);
      const allowed = Math.max(5, loaded.requests * 0.2);
      expect(
        Math.abs(requests - loaded.requests),
        `${recordType}: estimated ${requests}, sent ${loaded.requests}`,
      ).toBeLessThanOrEqual(allowed);
    }
  });

  it('counts only the records that pass the filter', async () => {
    const all = listEntries(await bulk(['invoice'], { dryRun: true }))[0]?.records ?? 0;
    const parts = await Promise.all(
      ['1', '2', '3', '4'].map(
        async (id) =>
          listEntries(await bulk(['invoice'], { dryRun: true, filter: { subsidiaries: [id] } }))[0]
            ?.records ?? 0,
      ),
    );
    expect(parts.filter((part) => part > 0).length).toBeGreaterThan(1);
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(all);
  });

  it('says which types the ERP could not count, and 503 when it responds to nothing', async () => {
    const names = ['customer', 'item'];
    erp.account.injectFault({ path: /suiteql/, times: 1, status: 503, body: '<html>Maintenance</html>' });
    const answer = await bulk(names, { dryRun: true });
    erp.account.clearFaults();
    expect(statuses(answer)).toEqual(names.map((name) => [name, 'planned']));
    expect(listEntries(answer).filter(({ code }) => code === 'SERVER_ERROR')).toHaveLength(1);
    expect(listEntries(answer).filter(({ records }) => records !== null)).toHaveLength(1);
    erp.account.injectFault({ path: /./, times: 1_000, status: 503, body: '<html>Maintenance</html>' });
    const none = await bulk(names, { dryRun: true });
    erp.account.clearFaults();
    expect(none.status).toBe(503);
  });
});

describe('the filter of a sync configuration', () => {
  const filter = { subsidiaries: ['2', '3'] };
  const create = (recordType: string, more: object = {}) =>
    owner('post', '/sync-configs', { name: 'Filtered', recordType, ...more });

  it('is stored, changed, kept by other changes and removed by null', async () => {
    const made = await create('invoice', { filter });
    expect([made.status, made.body.filter]).toEqual([201, filter]);
    const path = `/sync-configs/${made.body.id}`;
    expect((await owner('patch', path, { name: 'Renamed' })).body).toMatchObject({ name: 'Renamed', filter });
    expect((await owner('patch', path, { filter: { subsidiaries: ['-1'] } })).body.filter).toEqual({
      subsidiaries: ['-1'],
    });
    expect((await owner('get', path)).body.filter).toEqual({ subsidiaries: ['-1'] });
    expect((await owner('patch', path, { filter: null })).body.filter).toBeNull();
  });

  it.each([
    ['filter.subsidiaries[0]', { subsidiaries: ['UK'] }, 'invalid_format'],
    ['filter.subsidiaries[1]', { subsidiaries: ['1', '2) OR (1=1'] }, 'invalid_format'],
    ['filter.subsidiaries[0]', { subsidiaries: ['007'] }, 'invalid_format'],
    ['filter.subsidiaries[0]', { subsidiaries: [1] }, 'invalid_type'],
    ['filter.subsidiaries', { subsidiaries: [] }, 'too_small'],
    ['filter.subsidiaries', { subsidiaries: ['1', '1'] }, 'custom'],
    ['filter.departments', { subsidiaries: ['1'], departments: ['1'] }, 'unknown_field'],
  ])('422 at %s for %j', async (path, bad, code) => {
    const answer = await create('invoice', { filter: bad });
    expect([answer.status, answer.body.error.details[0].path, listCodes(answer)[0]]).toEqual([
      422,
      path,
      code,
    ]);
  });

  it('422 for a record type whose records belong to several subsidiaries or to none', async () => {
    for (const recordType of ['item', 'currency']) {
      const answer = await create(recordType, { filter });
      expect([answer.status, answer.body.error.details[0].path, listCodes(answer)]).toEqual([
        422,
        'filter.subsidiaries',
        ['filter_not_supported'],
      ]);
      const { id } = (await create(recordType)).body;
      expect(listCodes(await owner('patch', `/sync-configs/${id}`, { filter }))).toEqual([
        'filter_not_supported',
      ]);
    }
  });

  /** The synced records of a type with their subsidiaries. */
  async function storedSubsidiaries(recordType: string): Promise<{ id: string; subsidiary: string }[]> {
    const { data } = database.ctx.db;
    const schema = tenantSchema(organizationId);
    const { rows } = await data.query(
      `select active_table from ${schema}.record_state where record_type = $1`,
      [recordType],
    );
    return (
      await data.query(
        `select id::text as id, f_subsidiary::text as subsidiary from ${schema}."${rows[0].active_table}"`,
      )
    ).rows;
  }

  it('a run reads its records alone, and a record that moves to another subsidiary is deleted', async () => {
    const { id } = (await create('invoice', { filter })).body;
    const first = await run(id, 'full');
    expect([first.status, first.error]).toEqual(['succeeded', null]);
    expect(first.counts.inserted).toBeGreaterThan(0);
    const stored = await storedSubsidiaries('invoice');
    expect(new Set(stored.map(({ subsidiary }) => subsidiary))).toEqual(new Set(filter.subsidiaries));
    const moved = stored[0]?.id ?? '';
    await sendControl(erp.account, 'PATCH', `/records/transaction/${moved}`, { fields: { subsidiary: '1' } });
    const second = await run(id, 'incremental');
    expect(second).toMatchObject({ status: 'succeeded', counts: { deleted: 1, inserted: 0 } });
    await sendControl(erp.account, 'PATCH', `/records/transaction/${moved}`, { fields: { subsidiary: '2' } });
    expect(await run(id, 'incremental')).toMatchObject({
      status: 'succeeded',
      counts: { deleted: 0, inserted: 1 },
    });
  });
});

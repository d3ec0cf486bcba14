// Sync configurations of many record types in one request, on an account with a whole company and
// subsidiaries.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp, startBackground } from '../../src/app.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { sendControl } from '../setup/account-control.ts';
import { type Answer, createApi, listCodes } from '../setup/api.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';

const site = useOrganization({ erp: { profile: 'oneworld', control: {} } });

const bulk = (recordTypes: readonly unknown[], more: object = {}, api = site.api) =>
  api('post', '/sync-configs/bulk', { recordTypes, ...more });
type Entry = Record<'recordType' | 'status', string> &
  Record<'syncConfigId' | 'code', string | null> &
  Record<'fields' | 'records' | 'requests', number>;
const listEntries = ({ body }: { body: { data: Entry[] } }): Entry[] => body.data;
const statuses = (answer: Answer) =>
  listEntries(answer).map(({ recordType, status }) => [recordType, status]);
const refusals = (answer: Answer) => listEntries(answer).map(({ status, code }) => [status, code]);
/** The status, and the path and code of the first detail of an error. */
const problem = (answer: Answer) => [answer.status, answer.body.error.details[0].path, listCodes(answer)[0]];
const configs = async () => (await site.api('get', '/sync-configs?pageSize=100')).body.data;
const countAudited = async (): Promise<number> =>
  (await site.sql((tx) => tx('audit_log').where({ action: 'sync-config.create' }).select('id'))).length;

beforeAll(async () => {
  await site.erp.connect(site.api);
  expect((await site.api('post', '/netsuite/metadata/refresh')).status).toBe(200);
});
beforeEach(() => site.sql((tx) => tx('sync_configs').delete()));

describe('POST /sync-configs/bulk', () => {
  it('creates one configuration for each record type, with the same settings and an audit entry', async () => {
    const names = ['invoice', 'purchaseOrder', 'subsidiary', 'customrecord_warranty'];
    const settings = { schedule: '0 * * * *', timezone: 'Europe/London', deletions: 'feed' };
    const audited = await countAudited();
    const answer = await bulk([...names, 'invoice'], settings);
    expect(answer.status).toBe(200);
    expect(statuses(answer)).toEqual(names.map((name) => [name, 'created']));
    for (const { recordType, fields } of listEntries(answer)) {
      const described = await site.api('get', `/netsuite/metadata/${recordType}`);
      expect(fields).toBe(described.body.syncableFieldCount);
    }
    expect(answer.body).toMatchObject({
      totals: { created: 4, exists: 0, planned: 0, refused: 0, records: null, requests: null, minutes: null },
      latencyMs: null,
      concurrency: null,
    });
    const made = await configs();
    const ids = (entries: { recordType: string }[], id: string) =>
      new Map(entries.map((entry) => [entry.recordType, entry[id as keyof typeof entry]]));
    expect(ids(made, 'id')).toEqual(ids(listEntries(answer), 'syncConfigId'));
    for (const config of made) expect(config).toMatchObject({ ...settings, fields: '*', filter: null });
    expect(made.find(({ recordType }: Entry) => recordType === 'invoice').name).toBe('Invoice');
    expect(await countAudited()).toBe(audited + 4);
  });

  it('queues the first run of each that it creates with `start`, and of no other', async () => {
    await site.api('post', '/sync-configs', { name: 'Mine', recordType: 'customer' });
    const answer = await bulk(['customer', 'item'], { start: true });
    expect(answer.body.totals).toMatchObject({ created: 1, exists: 1 });
    const made: { recordType: string; lastRun: { status: string } | null }[] = await configs();
    const started = made.map(({ recordType, lastRun }) => [recordType, lastRun?.status ?? null]);
    expect(new Map(started as [string, string][])).toEqual(
      new Map([
        ['customer', null],
        ['item', 'queued'],
      ]),
    );
  });

  it('leaves a record type that has a configuration as it is', async () => {
    const mine = { name: 'Mine', recordType: 'customer', mode: 'full' };
    const { id } = (await site.api('post', '/sync-configs', mine)).body;
    const answer = await bulk(['customer', 'item'], { mode: 'incremental' });
    expect(statuses(answer)).toEqual([
      ['customer', 'exists'],
      ['item', 'created'],
    ]);
    expect(listEntries(answer)[0]?.syncConfigId).toBe(id);
    expect((await site.api('get', `/sync-configs/${id}`)).body).toMatchObject({ name: 'Mine', mode: 'full' });
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
    expect(refusals(answer)).toEqual([
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
    const { settings } = site.ctx;
    const few = { ...settings, quotas: { ...settings.quotas, syncs: 2 } };
    const limited = createApi(createApp({ ...site.ctx, settings: few }), site.owner.secret);
    const recordTypes = ['customer', 'item', 'unicorn', 'invoice'];
    const expected = [null, null, 'unknown_record_type', 'limit_reached'];
    for (const dryRun of [true, false])
      expect(listEntries(await bulk(recordTypes, { dryRun }, limited)).map(({ code }) => code)).toEqual(
        expected,
      );
    expect(await configs()).toHaveLength(2);
  });

  it('applies a filter to types with a subsidiary, and refuses the others', async () => {
    const filter = { subsidiaries: ['2'] };
    const answer = await bulk(['invoice', 'currency'], { filter });
    expect(refusals(answer)).toEqual([
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
    expect(problem(await site.api('post', '/sync-configs/bulk', body))).toEqual([422, path, code]);
    expect(await configs()).toEqual([]);
  });

  it('422 before the record types are known, and 403 without sync:create', async () => {
    const reader = await site.join('viewer');
    expect((await bulk(['invoice'], {}, reader.api)).status).toBe(403);
    const { api } = await site.another();
    expect(problem(await bulk(['invoice'], {}, api))).toEqual([422, 'recordTypes', 'no_connection']);
  });
});

/** A run from its start to its end. */
async function run(configId: string, mode: 'full' | 'incremental') {
  const background = await startBackground(site.ctx);
  const { id } = (await site.api('post', `/sync-configs/${configId}/trigger`, { mode })).body;
  return until(async () => {
    const { body } = await site.api('get', `/sync-runs/${id}`);
    return ['succeeded', 'partial', 'failed'].includes(body.status) ? body : undefined;
  }).finally(() => background.stop());
}

describe('a dry run', () => {
  it('creates nothing, and estimates the records and requests that the loads then take', async () => {
    const names =
      'invoice salesOrder customerPayment customer item vendor purchaseOrder account transactionaccountingline'.split(
        ' ',
      );
    const audited = await countAudited();
    const planned = await bulk(names, { dryRun: true });
    expect(statuses(planned)).toEqual(names.map((name) => [name, 'planned']));
    expect(await configs()).toEqual([]);
    expect(await countAudited()).toBe(audited);
    const { totals, latencyMs, concurrency } = planned.body;
    const { erp, sync } = site.ctx.settings;
    expect(concurrency).toBe(Math.min(erp.concurrency, sync.workers));
    expect(latencyMs).toBeGreaterThan(0);
    const sum = (of: 'records' | 'requests') =>
      listEntries(planned).reduce((total, one) => total + one[of], 0);
    const [records, requests] = [sum('records'), sum('requests')];
    expect(totals).toMatchObject({ planned: names.length, records, requests });
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
    const count = async (more = {}) =>
      listEntries(await bulk(['invoice'], { dryRun: true, ...more }))[0]?.records ?? 0;
    const all = await count();
    const parts = await Promise.all(
      ['1', '2', '3', '4'].map((id) => count({ filter: { subsidiaries: [id] } })),
    );
    expect(parts.filter((part) => part > 0).length).toBeGreaterThan(1);
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(all);
  });

  it('says which types the ERP could not count, and 503 when it responds to nothing', async () => {
    const names = ['customer', 'item'];
    const { account } = site.erp;
    const maintenance = { status: 503, body: '<html>Maintenance</html>' };
    account.injectFault({ path: /suiteql/, times: 1, ...maintenance });
    const answer = await bulk(names, { dryRun: true });
    account.clearFaults();
    expect(statuses(answer)).toEqual(names.map((name) => [name, 'planned']));
    expect(listEntries(answer).filter(({ code }) => code === 'SERVER_ERROR')).toHaveLength(1);
    expect(listEntries(answer).filter(({ records }) => records !== null)).toHaveLength(1);
    account.injectFault({ path: /./, times: 1_000, ...maintenance });
    const none = await bulk(names, { dryRun: true });
    account.clearFaults();
    expect(none.status).toBe(503);
  });
});

describe('the filter of a sync configuration', () => {
  const filter = { subsidiaries: ['2', '3'] };
  const create = (recordType: string, more: object = {}) =>
    site.api('post', '/sync-configs', { name: 'Filtered', recordType, ...more });

  it('is stored, changed, kept by other changes and removed by null', async () => {
    const made = await create('invoice', { filter });
    expect([made.status, made.body.filter]).toEqual([201, filter]);
    const path = `/sync-configs/${made.body.id}`;
    expect((await site.api('patch', path, { name: 'Renamed' })).body).toMatchObject({
      name: 'Renamed',
      filter,
    });
    expect((await site.api('patch', path, { filter: { subsidiaries: ['-1'] } })).body.filter).toEqual({
      subsidiaries: ['-1'],
    });
    expect((await site.api('get', path)).body.filter).toEqual({ subsidiaries: ['-1'] });
    expect((await site.api('patch', path, { filter: null })).body.filter).toBeNull();
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
    expect(problem(await create('invoice', { filter: bad }))).toEqual([422, path, code]);
  });

  it.each(['item', 'currency'])(
    '422 for a record type whose records belong to several subsidiaries or to none: %s',
    async (recordType) => {
      const refused = [422, 'filter.subsidiaries', 'filter_not_supported'];
      expect(problem(await create(recordType, { filter }))).toEqual(refused);
      const { id } = (await create(recordType)).body;
      expect(problem(await site.api('patch', `/sync-configs/${id}`, { filter }))).toEqual(refused);
    },
  );

  /** The synced credit memos with their subsidiaries. */
  async function storedSubsidiaries(): Promise<{ id: string; subsidiary: string }[]> {
    const { data } = site.ctx.db;
    const schema = tenantSchema(site.id);
    const { rows } = await data.query(
      `select active_table from ${schema}.record_state where record_type = 'creditMemo'`,
    );
    const columns = 'id::text as id, f_subsidiary::text as subsidiary';
    return (await data.query(`select ${columns} from ${schema}."${rows[0].active_table}"`)).rows;
  }

  it('a run reads its records alone, and a record that moves to another subsidiary is deleted', async () => {
    const { id } = (await create('creditMemo', { filter })).body;
    const first = await run(id, 'full');
    expect([first.status, first.error]).toEqual(['succeeded', null]);
    expect(first.counts.inserted).toBeGreaterThan(0);
    const stored = await storedSubsidiaries();
    expect(new Set(stored.map(({ subsidiary }) => subsidiary))).toEqual(new Set(filter.subsidiaries));
    const moved = stored[0]?.id ?? '';
    const moveTo = (subsidiary: string) =>
      sendControl(site.erp.account, 'PATCH', `/records/transaction/${moved}`, { fields: { subsidiary } });
    await moveTo('1');
    const second = await run(id, 'incremental');
    expect(second).toMatchObject({ status: 'succeeded', counts: { deleted: 1, inserted: 0 } });
    await moveTo('2');
    expect(await run(id, 'incremental')).toMatchObject({
      status: 'succeeded',
      counts: { deleted: 0, inserted: 1 },
    });
  });
});

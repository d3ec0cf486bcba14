// Documents whose type is changed in the ERP keep their id: they leave one record type and enter another.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp, startBackground } from '../../src/app.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { sendControl } from '../setup/account-control.ts';
import { type Api, createApi } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../sync/fixture.ts';

let erp: Erp;
let database: TestDatabase;
let background: Awaited<ReturnType<typeof startBackground>>;
let api: Api;
let schema: string;
let creditMemos: string;

beforeAll(async () => {
  erp = await startErp(undefined, { control: {} });
  database = await testDatabase({ settings: { erp: { ...testSettings.erp, allowedHosts: [erp.host] } } });
  background = await startBackground(database.ctx);
});
beforeEach(async () => {
  const { id } = await makeOrganization(database.ctx);
  schema = tenantSchema(id);
  api = createApi(
    createApp(database.ctx),
    (await makeKey(database.ctx, id, { permissions: ['write'] })).secret,
  );
  await erp.connect(api);
  expect((await api('post', '/netsuite/metadata/refresh')).status).toBe(200);
  creditMemos = await configure('creditMemo');
});
afterEach(async () => {
  await sendControl(erp.account, 'POST', '/reset');
  for (const id of changed.splice(0)) await changeType(id, 'CustCred');
});
afterAll(async () => {
  await background.stop();
  await database.close();
  await erp.stop();
});

async function configure(recordType: string): Promise<string> {
  const created = await api('post', '/sync-configs', { name: recordType, recordType, mode: 'incremental' });
  expect(created.status).toBe(201);
  return created.body.id;
}
async function sync(configId: string, mode: 'full' | 'incremental' = 'incremental') {
  const { id } = (await api('post', `/sync-configs/${configId}/trigger`, { mode })).body;
  return until(async () => {
    const { body } = await api('get', `/sync-runs/${id}`);
    return ['succeeded', 'partial', 'failed', 'cancelled'].includes(body.status) && body;
  });
}
async function storedIds(): Promise<string[]> {
  const { rows } = await database.ctx.db.data.query<{ table: string }>(
    `select active_table as table from ${schema}.record_state where record_type = 'creditMemo'`,
  );
  const stored = await database.ctx.db.data.query<{ id: string }>(
    `select id::text from ${schema}."${rows[0]?.table}" order by id`,
  );
  return stored.rows.map(({ id }) => id);
}
/** Credit memos that are invoices now. */
const changed: string[] = [];
const changeType = (id: string, type: string) =>
  sendControl(erp.account, 'PATCH', `/records/transaction/${id}`, { fields: { type }, touch: 'header' });

async function becomeInvoices(ids: readonly string[]): Promise<void> {
  for (const id of ids) await changeType(id, 'CustInvc');
  changed.push(...ids);
}

describe('documents whose type is changed', () => {
  it.each(['incremental', 'full'] as const)(
    'all of them are deleted by a run (%s), and no deletion is held',
    async (mode) => {
      expect(await sync(creditMemos)).toMatchObject({ status: 'succeeded' });
      const ids = await storedIds();
      expect(ids.length).toBeGreaterThan(0);
      await becomeInvoices(ids);
      expect(await sync(creditMemos, mode)).toMatchObject({
        status: 'succeeded',
        error: null,
        counts: { deleted: ids.length },
      });
      expect(await storedIds()).toEqual([]);
    },
  );

  it('next to one that is hidden, which alone is held', async () => {
    expect(await sync(creditMemos)).toMatchObject({ status: 'succeeded' });
    const [hidden = '', ...ids] = await storedIds();
    await becomeInvoices(ids);
    await sendControl(erp.account, 'PUT', '/hidden', { rows: { transaction: [Number(hidden)] } });
    expect(await sync(creditMemos)).toMatchObject({
      status: 'partial',
      error: { code: 'DELETIONS_HELD' },
      counts: { deleted: ids.length },
    });
    expect(await storedIds()).toEqual([hidden]);
  });
});

// Several connections of an organization: two sign-ins to one simulated account, whose record types have different names.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScheduler } from '../../../src/sync/run/scheduler.ts';
import { createCaller, publishVersion } from '../../public/fixture.ts';
import { type Answer, listCodes, pluck, refusal } from '../../setup/api.ts';
import { accountId } from '../../setup/erp.ts';
import { asSuperuser } from '../../setup/superuser.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ erp: {} });
let scheduler: ReturnType<typeof startScheduler>;

async function sandbox() {
  const { consumerKey, consumerSecret, tokenId, tokenSecret } =
    await org.erp.account.createTokenCredentials('Portal Service');
  return {
    kind: 'netsuite',
    settings: {
      ...{ accountId, baseUrl: org.erp.account.url },
      authentication: { method: 'tba', consumerKey, tokenId },
    },
    secrets: { consumerSecret, tokenSecret },
  };
}
const good = async (...call: Parameters<typeof org.api>): Promise<Answer['body']> => {
  const answer = await org.api(...call);
  if (answer.status >= 300) throw new Error(`${call.join(' ')}: ${answer.status} ${answer.text}`);
  return answer.body;
};
const names = async (connection: string): Promise<string[]> =>
  pluck((await good('get', `/connections/${connection}/metadata?pageSize=100`)).data, 'name');

/** Syncs the record type to the end. */
async function sync(recordType: string): Promise<Answer['body']> {
  const known = (await good('get', '/sync-configs?pageSize=100')).data.find(
    (config: Answer['body']) => config.recordType === recordType,
  );
  const { id } = known ?? (await good('post', '/sync-configs', { name: recordType, recordType }));
  const run = await good('post', `/sync-configs/${id}/trigger`, {});
  return until(async () => {
    scheduler.tick();
    const { status, ...rest } = await good('get', `/sync-runs/${run.id}`);
    return ['succeeded', 'partial', 'failed'].includes(status) ? { status, ...rest } : undefined;
  }, 60_000);
}

beforeAll(async () => {
  scheduler = startScheduler(org.ctx);
  await org.erp.connect(org.api);
  await good('post', '/connections', { name: 'sandbox', ...(await sandbox()) });
  for (const name of ['netsuite', 'sandbox']) await good('post', `/connections/${name}/metadata/refresh`);
});
afterAll(() => scheduler.stop());

describe('the first connection', () => {
  it('has bare names of record types, and each other one its name before them', async () => {
    const { data } = await good('get', '/connections');
    expect(data).toMatchObject([
      { name: 'netsuite', kind: 'netsuite', recordTypePrefix: '', settings: { accountId } },
      { name: 'sandbox', recordTypePrefix: 'sandbox:', hasCredentials: true, certificates: [] },
    ]);
    const bare = await names('netsuite');
    expect(bare).toContain('invoice');
    expect(await names('sandbox')).toEqual(bare.map((name) => `sandbox:${name}`));
    expect(pluck((await good('get', '/netsuite/metadata?pageSize=100')).data, 'name')).toEqual(bare);
    const { fields } = await good('get', '/connections/sandbox/metadata/sandbox:invoice');
    expect(fields.find((field: { name: string }) => field.name === 'entity')).toMatchObject({
      target: 'sandbox:customer',
    });
    for (const [connection, type] of [
      ['sandbox', 'invoice'],
      ['netsuite', 'sandbox:invoice'],
    ])
      expect((await org.api('get', `/connections/${connection}/metadata/${type}`)).status).toBe(404);
  });

  it('is tested, and changed, apart from the others', async () => {
    expect(await good('post', '/connections/sandbox/test')).toMatchObject({ ok: true });
    const wrong = { ...(await sandbox()), secrets: { consumerSecret: 'guess', tokenSecret: 'guess' } };
    await good('patch', '/connections/sandbox', wrong);
    expect(await good('post', '/connections/sandbox/test')).toMatchObject({ ok: false });
    expect(pluck((await good('get', '/connections')).data, 'status')).toEqual(['connected', 'failed']);
    await good('patch', '/connections/sandbox', await sandbox());
  });
});

describe('record types of several connections', () => {
  it('are synced by their own, and published by one version', async () => {
    for (const type of ['customer', 'sandbox:customer', 'sandbox:invoice'])
      expect(await sync(type)).toMatchObject({ status: 'succeeded' });
    await asSuperuser(org.erp.database, (client) =>
      client.query(
        "update ledger.customer set companyname = 'RENAMED', lastmodifieddate = now() where id = (select min(id) from ledger.customer)",
      ),
    );
    expect(await sync('sandbox:customer')).toMatchObject({ counts: { updated: 1 } });
    const fields = [{ name: 'name', source: 'companyname' }];
    await publishVersion(org.ctx, org.id, {
      endpoints: [
        { name: 'customers', recordType: 'customer', fields },
        { name: 'sandbox-customers', recordType: 'sandbox:customer', fields },
      ],
    });
    const call = createCaller(org.app, { secret: org.owner.secret, organizationId: org.id });
    const read = async (resource: string) => (await call(`/v1/${resource}?pageSize=100`).expect(200)).body;
    const [own, other] = [await read('customers'), await read('sandbox-customers')];
    expect(own.pagination.total).toBe(other.pagination.total);
    expect(pluck(own.data, 'name')).not.toContain('RENAMED');
    expect(pluck(other.data, 'name')).toContain('RENAMED');
  });

  it('fail alone when their connection is refused', async () => {
    const wrong = { ...(await sandbox()), secrets: { consumerSecret: 'guess', tokenSecret: 'guess' } };
    await good('patch', '/connections/sandbox', wrong);
    expect(await sync('sandbox:customer')).toMatchObject({ status: 'failed' });
    expect(await sync('customer')).toMatchObject({ status: 'succeeded' });
    expect(pluck((await good('get', '/connections')).data, 'status')).toEqual(['connected', 'failed']);
    expect((await good('get', '/overview')).problems).toMatchObject([
      { kind: 'connection_failed', title: 'The ERP connection sandbox does not work' },
    ]);
    await good('patch', '/connections/sandbox', await sandbox());
    expect(await sync('sandbox:customer')).toMatchObject({ status: 'succeeded' });
  });
});

describe('a connection', () => {
  it('is refused with a taken name, a name that is reserved or malformed, or another kind', async () => {
    const body = await sandbox();
    const create = (name: string) => refusal(org.api('post', '/connections', { name, ...body }));
    expect(await create('sandbox')).toEqual([422, 'taken']);
    for (const name of ['', 'Sandbox', 'a:b', 'x'.repeat(21), '1st'])
      expect((await create(name))[0]).toBe(422);
    const kind = await org.api('patch', '/connections/sandbox', { ...body, kind: 'csv' });
    expect([kind.status, listCodes(kind)]).toEqual([422, ['invalid_union']]);
    expect((await org.api('get', '/connections/unknown')).status).toBe(404);
  });

  it('is refused at the place where a setting was sent', async () => {
    const body = await sandbox();
    const wrong = { ...body.settings, baseUrl: 'http://10.0.0.1' };
    const pathOf = async (answer: Promise<Answer>) => (await answer).body.error.details[0].path;
    expect(await pathOf(org.api('patch', '/connections/sandbox', { ...body, settings: wrong }))).toBe(
      'settings.baseUrl',
    );
    const authentication = { ...wrong.authentication, ...body.secrets };
    expect(await pathOf(org.api('put', '/netsuite/connection', { ...wrong, authentication }))).toBe(
      'baseUrl',
    );
  });

  it('keeps its account while records of it are stored', async () => {
    const body = await sandbox();
    const settings = { ...body.settings, accountId: '7654321' };
    expect(await refusal(org.api('patch', '/connections/sandbox', { ...body, settings }))).toEqual([
      422,
      'records_of_another_account',
    ]);
  });

  it('is read with the permissions of its own group; those of /netsuite are for the connection of this name', async () => {
    const { api } = await org.join(['netsuite:read']);
    const status = async (path: string) => (await api('get', path)).status;
    expect(await status('/connections/netsuite')).toBe(200);
    expect(await status('/connections/sandbox')).toBe(403);
    expect(await status('/connections')).toBe(403);
    const { api: all } = await org.join(['connection:read']);
    expect((await all('get', '/connections/sandbox')).status).toBe(200);
    expect((await all('get', '/netsuite/connection')).status).toBe(200);
  });

  it('has queries of its own, whose record types begin with its name', async () => {
    const query = { label: 'Items', query: 'SELECT id, itemid FROM item', keyColumn: 'id' };
    for (const connection of ['netsuite', 'sandbox'])
      expect(
        await good('post', `/connections/${connection}/queries`, { name: 'stock', ...query }),
      ).toMatchObject({ name: 'stock' });
    for (const path of ['/netsuite/queries', '/connections/sandbox/queries'])
      expect(pluck((await good('get', path)).data, 'name')).toEqual(['stock']);
    expect((await good('get', '/connections/sandbox/metadata/sandbox:stock')).fields).toHaveLength(2);
    await good('delete', '/connections/sandbox/queries/stock');
    expect(pluck((await good('get', '/netsuite/queries')).data, 'name')).toEqual(['stock']);
  });

  it('concerns no record type of another one that has its name', async () => {
    await good('post', '/connections', { name: 'customer', ...(await sandbox()) });
    await good('post', '/connections/customer/metadata/refresh');
    await good('delete', '/connections/customer');
    expect((await good('get', '/netsuite/metadata/customer')).syncConfigId).not.toBeNull();
    const { paused } = (await good('get', '/overview')).syncs.counts;
    expect(paused).toBe(0);
  });

  it('is deleted with its records once no published version shows them, and the others keep theirs', async () => {
    const remove = (query = '') => org.api('delete', `/connections/sandbox${query}`);
    const purge = `?purge=${org.slug}`;
    expect(await refusal(remove('?purge=other'))).toEqual([400, 'confirmation_mismatch']);
    expect(await refusal(remove())).toEqual([422, 'records_stored']);
    expect(await refusal(remove(purge))).toEqual([422, 'in_use']);
    await org.sql((tx) => tx('api_schemas').update({ status: 'retired' }));
    const { id } = (await good('get', '/sync-configs?pageSize=100')).data.find(
      ({ recordType }: { recordType: string }) => recordType === 'sandbox:customer',
    );
    await scheduler.stop();
    const run = await good('post', `/sync-configs/${id}/trigger`, {});
    expect(await refusal(remove(purge))).toEqual([422, 'run_open']);
    await good('post', `/sync-runs/${run.id}/cancel`);
    scheduler = startScheduler(org.ctx);
    expect((await remove(purge)).status).toBe(204);
    const { rows } = await org.ctx.db.data.query<{ type: string }>(
      `select record_type as type from wh_${org.id.replaceAll('-', '')}.record_state`,
    );
    expect(rows).toEqual([{ type: 'customer' }]);
    const { rows: tables } = await org.ctx.db.data.query(
      "select from pg_tables where schemaname = $1 and tablename like '%sandbox%'",
      [`wh_${org.id.replaceAll('-', '')}`],
    );
    expect(tables).toEqual([]);
    expect(await sync('customer')).toMatchObject({ status: 'succeeded' });
    expect(await sync('sandbox:customer')).toMatchObject({
      status: 'failed',
      error: { code: 'NO_CONNECTION' },
    });
  });
});

describe('what is left of a connection that was deleted', () => {
  it('keeps its name from being used, until it is purged, and is never purged for another one', async () => {
    const company = await org.another();
    const { api } = company;
    const purge = `?purge=${company.slug}`;
    expect((await api('post', '/connections', { name: 'prod', ...(await sandbox()) })).status).toBe(201);
    const { recordTypePrefix } = (await api('get', '/connections/prod')).body;
    expect(recordTypePrefix).toBe('');
    const store = (type: string) =>
      org.ctx.db.data.query(
        `insert into wh_${company.id.replaceAll('-', '')}.record_state (record_type, id_type, row_count) values ($1, 'integer', 7)`,
        [type],
      );
    await store('customer');
    for (const path of ['/netsuite/connection', '/connections/netsuite'])
      expect((await api('delete', `${path}${purge}`)).status).toBe(404);
    await store('old:customer');
    expect(await refusal(api('post', '/connections', { name: 'old', ...(await sandbox()) }))).toEqual([
      422,
      'records_of_another_account',
    ]);
    expect((await api('delete', `/connections/old${purge}`)).status).toBe(204);
    const left = await api('post', '/connections', { name: 'old', ...(await sandbox()) });
    expect([left.status, left.body.recordTypePrefix]).toEqual([201, 'old:']);
    const { rows } = await org.ctx.db.data.query<{ type: string }>(
      `select record_type as type from wh_${company.id.replaceAll('-', '')}.record_state`,
    );
    expect(rows).toEqual([{ type: 'customer' }]);
  });
});

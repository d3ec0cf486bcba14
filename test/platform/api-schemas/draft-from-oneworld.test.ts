// The proposal for an account with custom fields, several currencies, and record types that the service
// describes from the account alone.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp, startBackground } from '../../../src/app.ts';
import type { EndpointDefinition } from '../../../src/public/index.ts';
import { type Api, apiOf } from '../../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../../setup/database.ts';
import { type Erp, startErp } from '../../setup/erp.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';

let erp: Erp;
let database: TestDatabase;
let owner: Api;
const recordTypes = ['customer', 'vendor', 'vendorBill'];

beforeAll(async () => {
  erp = await startErp(undefined, { profile: 'oneworld' });
  database = await testDatabase({ settings: { erp: { ...testSettings.erp, allowedHosts: [erp.host] } } });
  const app = createApp(database.ctx);
  const { id: organizationId } = await makeOrganization(database.ctx);
  owner = apiOf(app, (await makeKey(database.ctx, organizationId, { permissions: ['write'] })).secret);
  await erp.connect(owner);
  await owner('post', '/netsuite/metadata/refresh');
  const background = await startBackground(database.ctx);
  const ids: string[] = [];
  for (const recordType of recordTypes)
    ids.push((await owner('post', '/sync-configs', { name: recordType, recordType })).body.id);
  for (const id of ids) await owner('post', `/sync-configs/${id}/trigger`, {});
  for (const id of ids)
    await until(async () =>
      (await owner('get', `/sync-configs/${id}`)).body.lastRun?.status === 'succeeded' ? true : undefined,
    );
  await background.stop();
}, 180_000);
afterAll(async () => {
  await database.close();
  await erp.stop();
});

describe('POST /api-schema/draft-from, in an account of OneWorld', () => {
  it('proposes a definition that is ready to be published', async () => {
    const { status, body } = await owner('post', '/api-schema/draft-from', { recordTypes });
    expect(status, JSON.stringify(body)).toBe(200);
    const [customers, vendors, bills] = body.endpoints as EndpointDefinition[];
    expect([customers?.name, vendors?.name, bills?.name]).toEqual(['customers', 'vendors', 'vendor-bills']);
    expect(customers?.fields).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'name', source: 'companyname' }),
        expect.objectContaining({ name: 'accountManagerName', source: 'custentity_account_manager.name' }),
        expect.objectContaining({ name: 'billingEmail', tags: ['personal'] }),
        expect.objectContaining({ name: 'creditLimit', tags: ['confidential'] }),
      ]),
    );
    // In which currency the balances of customers are, no field of theirs tells.
    expect(customers?.fields).toEqual(
      expect.arrayContaining([expect.objectContaining({ source: 'creditlimit' })]),
    );
    const untold = new Set(
      customers?.fields.flatMap(({ name, source }) => (/^creditlimit$|balance/.test(source) ? [name] : [])),
    );
    expect((customers?.aggregates ?? []).filter(({ field }) => untold.has(field))).toEqual([]);
    expect(bills).toMatchObject({
      filters: expect.arrayContaining([
        expect.objectContaining({ field: 'total' }),
        { field: 'currency', operators: ['eq'] },
      ]),
      aggregates: expect.arrayContaining([expect.objectContaining({ field: 'total' })]),
      groups: expect.arrayContaining(['currency']),
      relations: expect.arrayContaining([{ name: 'entity', field: 'entityId', resource: 'vendors' }]),
    });
    for (const { filters, sorts, groups } of body.endpoints as EndpointDefinition[])
      expect([filters.length <= 20, sorts.length <= 8, (groups?.length ?? 0) <= 12]).toEqual([
        true,
        true,
        true,
      ]);
    const made = await owner('post', '/api-schema', body);
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    expect((await owner('post', `/api-schema/${made.body.id}/validate`)).body).toMatchObject({
      ready: true,
      problems: [],
    });
  });
});

// The proposal for an account with custom fields, several currencies, and record types that the service
// describes from the account alone.
import { beforeAll, expect, it } from 'vitest';
import { startBackground } from '../../../src/app.ts';
import type { EndpointDefinition } from '../../../src/public/index.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ erp: { profile: 'oneworld' } });
const recordTypes = ['customer', 'vendor', 'vendorBill'];

beforeAll(async () => {
  await org.erp.connect(org.api);
  await org.api('post', '/netsuite/metadata/refresh');
  const background = await startBackground(org.ctx);
  const ids: string[] = [];
  for (const recordType of recordTypes)
    ids.push((await org.api('post', '/sync-configs', { name: recordType, recordType })).body.id);
  for (const id of ids) await org.api('post', `/sync-configs/${id}/trigger`, {});
  for (const id of ids)
    await until(
      async () => (await org.api('get', `/sync-configs/${id}`)).body.lastRun?.status === 'succeeded',
    );
  await background.stop();
}, 180_000);

it('POST /api-schema/draft-from, in an account of OneWorld, proposes a definition that is ready to be published', async () => {
  const { status, body } = await org.api('post', '/api-schema/draft-from', { recordTypes });
  expect(status, JSON.stringify(body)).toBe(200);
  // As people use them, not as they are named: documents, then those that they refer to.
  const [bills, vendors, customers] = body.endpoints as EndpointDefinition[];
  expect([bills?.name, vendors?.name, customers?.name]).toEqual(['vendor-bills', 'vendors', 'customers']);
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
  const made = await org.api('post', '/api-schema', body);
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  expect((await org.api('post', `/api-schema/${made.body.id}/validate`)).body).toMatchObject({
    ready: true,
    problems: [],
  });
});

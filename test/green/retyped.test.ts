// A custom field whose type changes and changes back: runs follow, without anyone who refreshes the metadata.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Company, startCompany } from './company.ts';

let company: Company;
beforeAll(async () => {
  company = await startCompany();
  await company.control('POST', '/fields', {
    table: 'customer',
    name: 'custentity_region',
    type: 'text',
    label: 'Region',
  });
  await company.api('post', '/netsuite/metadata/refresh');
  expect(await company.run('customer')).toMatchObject({ status: 'succeeded', mode: 'full' });
}, 60_000);
afterAll(() => company.stop());

it.each(['full', 'incremental'] as const)(
  '%s: a query that NetSuite refuses for the old type is repeated with the new one',
  async (mode) => {
    await company.control('PATCH', '/fields/customer/custentity_region', { type: 'date' });
    await company.api('post', '/netsuite/metadata/refresh');
    await company.control('PATCH', '/fields/customer/custentity_region', { type: 'text' });
    expect(await company.run('customer', mode)).toMatchObject({ status: 'succeeded' });
  },
);

it.each(['full', 'incremental'] as const)(
  '%s: no record is rejected for a type that the field no longer has',
  async (mode) => {
    const [first] = await company.truth('customer');
    await company.run('customer');
    await company.control('PATCH', '/fields/customer/custentity_region', { type: 'integer' });
    await company.api('post', '/netsuite/metadata/refresh');
    await company.control('PATCH', '/fields/customer/custentity_region', { type: 'text' });
    await company.control('PATCH', `/records/customer/${first?.id}`, {
      fields: { custentity_region: mode },
      touch: 'header',
    });
    expect(await company.run('customer', mode)).toMatchObject({
      status: 'succeeded',
      counts: { rejected: 0 },
    });
  },
);

it('a field that is gone while a run fails, and back at the next one, is not reported as missing', async () => {
  const region = { table: 'customer', name: 'custentity_region', type: 'text', label: 'Region' };
  await company.publish([
    {
      name: 'customers',
      recordType: 'customer',
      description: '',
      fields: [{ name: 'region', source: 'custentity_region' }],
      filters: [],
      sorts: [],
    },
  ]);
  await company.control('DELETE', '/fields/customer/custentity_region');
  await company.control('PUT', '/faults', [{ on: { table: 'customer', kind: 'count' }, countOffset: 1 }]);
  expect(await company.run('customer', 'full')).toMatchObject({
    status: 'failed',
    error: { code: 'COUNT_MISMATCH' },
  });
  await company.control('PUT', '/faults', []);
  await company.control('POST', '/fields', region);
  expect(await company.run('customer', 'full')).toMatchObject({ status: 'succeeded' });
});

// A custom field whose type changes and changes back: runs follow, without anyone who refreshes the metadata.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Company, startCompany } from './company.ts';

let company: Company;
beforeAll(async () => {
  company = await startCompany();
  await company.control('POST', '/fields', { table: 'customer', name: 'custentity_region', type: 'text', label: 'Region' });
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

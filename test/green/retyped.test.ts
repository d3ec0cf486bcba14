// A custom field that is deleted and created again between two runs.
import { beforeAll, it } from 'vitest';
import { useCompany } from './company.ts';

const company = useCompany();
const region = { table: 'customer', name: 'custentity_region', type: 'text', label: 'Region' };
beforeAll(async () => {
  await company.control('POST', '/fields', region);
  await company.refresh();
  await company.expectSuccess('customer', 'incremental', {}, { mode: 'full' });
});

it('a field that is gone while a run fails, and back at the next one, is not reported as missing', async () => {
  await company.publish([
    { name: 'customers', recordType: 'customer', fields: [{ name: 'region', source: region.name }] },
  ]);
  await company.control('DELETE', '/fields/customer/custentity_region');
  await company.control('PUT', '/faults', [{ on: { table: 'customer', kind: 'count' }, countOffset: 1 }]);
  await company.expectFailure('customer', 'full', 'COUNT_MISMATCH');
  await company.control('PUT', '/faults', []);
  await company.control('POST', '/fields', region);
  await company.expectSuccess('customer', 'full');
});

// The rules for the relations of an endpoint.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Available } from '../../../src/public/version/bind.ts';
import { compileSchema } from '../../../src/public/version/compile.ts';
import { useStarted } from '../../setup/use-started.ts';
import { availableInvoices, bindEndpoints, listProblems } from '../compiled.ts';
import { invoicesEndpoint, openSite } from '../fixture.ts';
import {
  allTargets,
  customersEndpoint,
  describeTargets,
  loadCustomers,
  relatedInvoices,
} from '../related.ts';

const { invoice } = availableInvoices();
const targets = { entity: 'customer', seq: 'invoice', status: 'toString', paid: 'customer' };
const available: Available = {
  invoice: { ...invoice, targets },
  customer: { ...invoice, label: 'Customer' },
};
const buyers = { ...invoicesEndpoint, name: 'customers', recordType: 'customer' };

type Relation = { readonly name: string; readonly field: string; readonly resource: string };
const problems = (...relations: Relation[]): string[] =>
  listProblems([{ ...invoicesEndpoint, relations }, buyers], available);
const buyer = { name: 'buyer', field: 'customer', resource: 'customers' };

describe('a relation', () => {
  it('names a reference field and an endpoint of the record type that it refers to', () => {
    expect(problems(buyer, { name: 'parent', field: 'seq', resource: 'invoices' })).toEqual([]);
  });

  it.each<[string, Partial<Relation>, string]>([
    ['a field that is not there', { field: 'buyerId' }, 'save field not_included'],
    ['lines', { field: 'lines' }, 'save field not_included'],
    ['a label', { field: 'customerName' }, 'save field not_included'],
    ['an endpoint that is not there', { resource: 'vendors' }, 'save resource unknown_resource'],
    ['a field without a known target', { field: 'number' }, 'publish field unknown_target'],
    ['another record type', { resource: 'invoices' }, 'publish resource other_record_type'],
    ['a target of another name', { field: 'status' }, 'publish resource other_record_type'],
    ['a field that holds no ids', { field: 'paid' }, 'publish field not_a_reference'],
    ['a name that is no name', { name: 'a-b' }, 'save name illegal_name'],
    ['the name of a field', { name: 'number' }, 'save name clashes_with_field'],
    ['the name of the id', { name: 'id' }, 'save name clashes_with_field'],
  ])('is refused with %s', (_what, changes, expected) => {
    const found = problems({ ...buyer, ...changes });
    expect(found.map((problem) => problem.replace('endpoints[0].relations[0].', ''))).toEqual([expected]);
  });

  it('has a name of its own, whatever its case', () => {
    expect(problems(buyer, { ...buyer, name: 'BUYER' })).toEqual([
      'save endpoints[0].relations[1].name duplicate',
      'save endpoints[0].relations[1].name illegal_name',
    ]);
    expect(problems(buyer, { ...buyer, name: 'bUYER' })).toEqual([
      'save endpoints[0].relations[1].name duplicate',
    ]);
  });

  it('is compiled with the endpoint that it names, also when that one comes later', () => {
    const bound = bindEndpoints([{ ...invoicesEndpoint, relations: [buyer] }, buyers], available);
    const { endpoints } = compileSchema({ ...bound, id: 'x', version: 'v1' });
    expect(endpoints.get('invoices')?.relations.get('buyer')?.target()).toBe(endpoints.get('customers'));
  });
});

describe('a publication', () => {
  const site = useStarted(() => openSite({ versions: [] }));
  beforeAll(async () => {
    await loadCustomers(site.ctx, site.organizationId, []);
  });

  it('knows what fields refer to from the description that the ERP gave', async () => {
    const publish = () => site.publish({ endpoints: [relatedInvoices, customersEndpoint] });
    const describeAs = (entity: string) =>
      describeTargets(site.ctx, site.organizationId, {
        ...allTargets,
        invoice: { ...allTargets.invoice, entity },
      });
    await expect(publish()).rejects.toThrow('unknown_target');
    await describeAs('vendor');
    await expect(publish()).rejects.toThrow('other_record_type');
    await describeAs('customer');
    await publish();
  });
});

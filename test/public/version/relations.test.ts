// The rules for the relations of an endpoint.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Available, type AvailableRecordType, bindDocument } from '../../../src/public/version/bind.ts';
import { compileSchema } from '../../../src/public/version/compile.ts';
import { SchemaDocument } from '../../../src/public/version/schema-document.ts';
import { validateDocument } from '../../../src/public/version/validate.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeOrganization } from '../../setup/organization.ts';
import { invoiceColumns, invoicesEndpoint, loadInvoices, publishVersion } from '../fixture.ts';
import {
  allTargets,
  customersEndpoint,
  describeTargets,
  loadCustomers,
  relatedInvoices,
} from '../related.ts';

const typeOf = (label: string, targets?: Readonly<Record<string, string>>): AvailableRecordType => ({
  label,
  idType: 'integer',
  hasData: true,
  columns: invoiceColumns,
  ...(targets !== undefined && { targets }),
});
const available: Available = {
  invoice: typeOf('Invoice', { entity: 'customer', seq: 'invoice', status: 'toString', paid: 'customer' }),
  customer: typeOf('Customer'),
};
const buyers = { ...invoicesEndpoint, name: 'customers', recordType: 'customer' };

type Relation = { readonly name: string; readonly field: string; readonly resource: string };
const problems = (...relations: Relation[]): string[] => {
  const endpoints = [{ ...invoicesEndpoint, relations }, buyers];
  return validateDocument(SchemaDocument.parse({ endpoints }), available).map(
    ({ path, code, blocks }) => `${blocks} ${path} ${code}`,
  );
};
const buyer = { name: 'buyer', field: 'customer', resource: 'customers' };

describe('a relation', () => {
  it('names a reference field and an endpoint of the record type that it refers to', () => {
    expect(problems(buyer, { name: 'parent', field: 'seq', resource: 'invoices' })).toEqual([]);
  });

  it.each<[string, Relation, string[]]>([
    [
      'a field that is not there',
      { ...buyer, field: 'buyerId' },
      ['save endpoints[0].relations[0].field not_included'],
    ],
    ['lines', { ...buyer, field: 'lines' }, ['save endpoints[0].relations[0].field not_included']],
    ['a label', { ...buyer, field: 'customerName' }, ['save endpoints[0].relations[0].field not_included']],
    [
      'an endpoint that is not there',
      { ...buyer, resource: 'vendors' },
      ['save endpoints[0].relations[0].resource unknown_resource'],
    ],
    [
      'a field without a known target',
      { ...buyer, field: 'number' },
      ['publish endpoints[0].relations[0].field unknown_target'],
    ],
    [
      'another record type',
      { ...buyer, resource: 'invoices' },
      ['publish endpoints[0].relations[0].resource other_record_type'],
    ],
    [
      'a target of another name',
      { ...buyer, field: 'status' },
      ['publish endpoints[0].relations[0].resource other_record_type'],
    ],
    [
      'a field that holds no ids',
      { ...buyer, field: 'paid' },
      ['publish endpoints[0].relations[0].field not_a_reference'],
    ],
    [
      'a name that is no name',
      { ...buyer, name: 'a-b' },
      ['save endpoints[0].relations[0].name illegal_name'],
    ],
    [
      'the name of a field',
      { ...buyer, name: 'number' },
      ['save endpoints[0].relations[0].name clashes_with_field'],
    ],
    [
      'the name of the id',
      { ...buyer, name: 'id' },
      ['save endpoints[0].relations[0].name clashes_with_field'],
    ],
  ])('is refused with %s', (_what, relation, expected) => {
    expect(problems(relation)).toEqual(expected);
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
    const document = SchemaDocument.parse({
      endpoints: [{ ...invoicesEndpoint, relations: [buyer] }, buyers],
    });
    const { endpoints } = compileSchema({
      ...document,
      id: 'x',
      version: 'v1',
      bindings: bindDocument(document, available),
    });
    expect(endpoints.get('invoices')?.relations.get('buyer')?.target()).toBe(endpoints.get('customers'));
  });
});

describe('a publication', () => {
  let database: TestDatabase;
  let organizationId: string;
  beforeAll(async () => {
    database = await testDatabase();
    organizationId = (await makeOrganization(database.ctx)).id;
    await loadInvoices(database.ctx, organizationId, []);
    await loadCustomers(database.ctx, organizationId, []);
  });
  afterAll(() => database.close());

  it('knows what fields refer to from the description that the ERP gave', async () => {
    const endpoints = [relatedInvoices, customersEndpoint];
    await expect(publishVersion(database.ctx, organizationId, { endpoints })).rejects.toThrow(
      'unknown_target',
    );
    await describeTargets(database.ctx, organizationId, {
      ...allTargets,
      invoice: { ...allTargets.invoice, entity: 'vendor' },
    });
    await expect(publishVersion(database.ctx, organizationId, { endpoints })).rejects.toThrow(
      'other_record_type',
    );
    await describeTargets(database.ctx, organizationId, allTargets);
    await publishVersion(database.ctx, organizationId, { endpoints });
  });
});

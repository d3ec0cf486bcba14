// Names in new descriptions: readable, unique and legal for every resource name that validation accepts.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EndpointNames, endpointNames, toSingular } from '../../../src/public/openapi/names.ts';

const allNames = ({ operations, components }: EndpointNames): string[] => [
  ...Object.values(operations),
  ...Object.values(components),
];

describe('toSingular', () => {
  it.each([
    ['invoices', 'invoice'],
    ['currencies', 'currency'],
    ['movies', 'movie'],
    ['ties', 'tie'],
    ['addresses', 'address'],
    ['statuses', 'status'],
    ['warehouses', 'warehouse'],
    ['expenses', 'expense'],
    ['taxes', 'tax'],
    ['branches', 'branch'],
    ['caches', 'cache'],
    ['heroes', 'hero'],
    ['shoes', 'shoe'],
    ['people', 'person'],
    ['aliases', 'alias'],
    ['licenses', 'license'],
  ])('%s → %s', (plural, singular) => {
    expect(toSingular(plural)).toBe(singular);
  });

  it('keeps words that are singular, and others than English nouns', () => {
    const words = ['invoice', 'status', 'address', 'analysis', 'news', 'series', 'inventory', 'gas', '2024'];
    for (const word of [...words, 'a1', 'constructor']) expect(toSingular(word)).toBe(word);
  });
});

describe('endpointNames', () => {
  it('reads well in a generated client', () => {
    expect(endpointNames(['sales-orders'], []).get('sales-orders')).toEqual({
      operations: { list: 'listSalesOrders', get: 'getSalesOrder', changes: 'listSalesOrderChanges' },
      components: {
        record: 'SalesOrder',
        page: 'SalesOrderPage',
        change: 'SalesOrderChange',
        upsert: 'SalesOrderUpsert',
        deletion: 'SalesOrderDeletion',
      },
      summaries: {
        list: 'List sales orders',
        get: 'Retrieve a sales order',
        changes: 'List changes to sales orders',
      },
    });
  });

  it.each([
    ['invoices', 'Retrieve an invoice'],
    ['units', 'Retrieve a unit'],
    ['unpaid-bills', 'Retrieve an unpaid bill'],
    ['users', 'Retrieve a user'],
    ['inventory', 'Retrieve an inventory record'],
  ])('summarizes the retrieval of %s', (resource, summary) => {
    expect(endpointNames([resource], []).get(resource)?.summaries.get).toBe(summary);
  });

  it('falls back on a clash, and the first resource keeps its names', () => {
    const names = endpointNames(
      ['invoices', 'invoice', 'invoice-changes', 'a-1', 'a1', 'pagination'],
      ['Pagination', 'ErrorResponse'],
    );
    expect(
      [...names].map(([resource, { operations, components }]) => [
        resource,
        ...Object.values(operations),
        components.record,
      ]),
    ).toEqual([
      ['invoices', 'listInvoices', 'getInvoice', 'listInvoiceChanges', 'Invoice'],
      ['invoice', 'listInvoice', 'getInvoiceRecord', 'listInvoiceRecordChanges', 'InvoiceRecord'],
      [
        'invoice-changes',
        'listInvoiceChanges_2',
        'getInvoiceChange_2',
        'listInvoiceChange_2Changes',
        'InvoiceChange_2',
      ],
      ['a-1', 'listA1', 'getA1', 'listA1Changes', 'A1'],
      ['a1', 'listA1_2', 'getA1_2', 'listA1_2Changes', 'A1_2'],
      [
        'pagination',
        'listPagination',
        'getPaginationRecord',
        'listPaginationRecordChanges',
        'PaginationRecord',
      ],
    ]);
  });

  it('is unique, legal and deterministic for any resources', () => {
    const stems = ['invoice', 'invoices', 'invoice-', 'invoice-changes', 'invoice-pages', 'invoices-record'];
    const others = ['page', 'a-1', 'a1', 'a--1', 'error-response'];
    const name = fc.oneof(fc.constantFrom(...stems, ...others), fc.stringMatching(/^[a-z][a-z0-9-]{0,62}$/));
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 100 }), (resources) => {
        const reserved = ['ErrorResponse', 'Pagination'];
        const names = endpointNames(resources, reserved);
        expect([...names.keys()]).toEqual(resources);
        const all = [...reserved, ...[...names.values()].flatMap(allNames)];
        expect(new Set(all.map((each) => each.toLowerCase())).size).toBe(all.length);
        for (const each of all) expect(each).toMatch(/^[A-Za-z][A-Za-z0-9_]*$/);
        expect(endpointNames(resources, reserved)).toEqual(names);
      }),
    );
  });
});

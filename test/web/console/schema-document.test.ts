// Edits of a definition in the console's editor: nothing is left that refers to a name that is gone.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addEndpoints,
  changeAt,
  changeParts,
  type Endpoint,
  type Field,
  moveField,
  removeEndpoint,
  renameEndpoint,
  setAggregate,
  setGroup,
  setOperators,
  setSearch,
  setSort,
} from '../../../web/console/src/screens/schemas/document.ts';

const invoices: Endpoint = {
  name: 'invoices',
  recordType: 'invoice',
  description: '',
  fields: [
    { name: 'number', source: 'tranid', description: '' },
    { name: 'date', source: 'trandate', description: '' },
    { name: 'customerId', source: 'entity', description: '', scopable: true },
    {
      name: 'lines',
      source: 'lines',
      description: '',
      fields: [
        { name: 'item', source: 'item', description: '' },
        { name: 'quantity', source: 'quantity', description: '' },
      ],
    },
  ],
  filters: [
    { field: 'number', operators: ['eq', 'contains'] },
    { field: 'lines.item', operators: ['eq'] },
  ],
  sorts: ['number', 'date'],
  defaultSort: { field: 'date', order: 'desc' },
  maxPageSize: 100,
  aggregates: [{ field: 'customerId', functions: ['count_distinct'] }],
  groups: ['number', { field: 'date', periods: ['month'] }],
  relations: [{ name: 'customer', field: 'customerId', resource: 'customers' }],
  search: ['number'],
  sortSets: [['date', '-number']],
};
const changeField = (endpoint: Endpoint, field: number, change: Partial<Field>) =>
  changeAt(endpoint, { field, line: null }, change);
const changeLine = (endpoint: Endpoint, field: number, line: number, change: Partial<Field>) =>
  changeAt(endpoint, { field, line }, change);
const removeField = (endpoint: Endpoint, field: number) => changeAt(endpoint, { field, line: null }, null);
const removeLine = (endpoint: Endpoint, field: number, line: number) =>
  changeAt(endpoint, { field, line }, null);
const customers: Endpoint = {
  ...invoices,
  name: 'customers',
  recordType: 'customer',
  fields: [{ name: 'name', source: 'entityid', description: '' }],
};

/** Every name of a field that the resource mentions outside of its fields. */
const mentions = ({
  filters,
  sorts,
  defaultSort,
  aggregates = [],
  groups = [],
  relations = [],
  search = [],
  sortSets = [],
}: Endpoint): string[] => [
  ...filters.map(({ field }) => field.split('.')[0] ?? ''),
  ...sorts,
  ...(defaultSort === null ? [] : [defaultSort.field]),
  ...aggregates.map(({ field }) => field),
  ...groups.map((group) => (typeof group === 'string' ? group : group.field)),
  ...relations.map(({ field }) => field),
  ...search,
  ...sortSets.flat().map((key) => key.replace(/^-/, '')),
];

describe('a new name of a field', () => {
  it('is taken over by filters, sorts, summary, relations, search and sorts by several fields', () => {
    const next = changeField(changeField(invoices, 0, { name: 'documentNumber' }), 2, { name: 'buyerId' });
    expect(next).toMatchObject({
      filters: [{ field: 'documentNumber', operators: ['eq', 'contains'] }, { field: 'lines.item' }],
      sorts: ['documentNumber', 'date'],
      aggregates: [{ field: 'buyerId' }],
      groups: ['documentNumber', { field: 'date', periods: ['month'] }],
      relations: [{ name: 'customer', field: 'buyerId' }],
      search: ['documentNumber'],
      sortSets: [['date', '-documentNumber']],
    });
    expect(changeField(invoices, 1, { name: 'day' })).toMatchObject({
      defaultSort: { field: 'day' },
      sortSets: [['day', '-number']],
    });
  });

  it('of lines is taken over by their filters, and so is that of a field of lines', () => {
    expect(changeField(invoices, 3, { name: 'items' }).filters[1]).toEqual({
      field: 'items.item',
      operators: ['eq'],
    });
    expect(changeLine(invoices, 3, 0, { name: 'product' }).filters[1]).toEqual({
      field: 'lines.product',
      operators: ['eq'],
    });
  });

  it('leaves mentions alone while another field has the old one', () => {
    const twice = {
      ...invoices,
      fields: [...invoices.fields, { name: 'number', source: 'memo', description: '' }],
    };
    expect(changeField(twice, 4, { name: 'memo' }).filters).toEqual(invoices.filters);
  });

  it('leaves no mention of a name that is gone, whatever the new one is', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z][A-Za-z0-9]{0,12}$/), fc.nat(3), (name, index) => {
        const renamed = changeField(invoices, index, { name });
        const names = new Set(renamed.fields.map((field) => field.name));
        expect(mentions(renamed).filter((one) => !names.has(one))).toEqual([]);
      }),
    );
  });
});

describe('a removed field', () => {
  it('leaves nothing that mentions it, and no empty part', () => {
    const next = removeField(removeField(invoices, 0), 1);
    expect(next.fields.map(({ name }) => name)).toEqual(['date', 'lines']);
    expect(mentions(next)).toEqual(['lines', 'date', 'date', 'date']);
    for (const part of ['aggregates', 'relations', 'search', 'sortSets'])
      expect(next).not.toHaveProperty(part);
  });

  it('takes the filters of its lines with it, and the last field of lines the lines', () => {
    expect(removeField(invoices, 3).filters).toEqual([invoices.filters[0]]);
    expect(removeLine(invoices, 3, 0)).toMatchObject({
      filters: [{ field: 'number' }],
      fields: [{}, {}, {}, { fields: [{ name: 'quantity' }] }],
    });
    expect(removeLine(removeLine(invoices, 3, 1), 3, 0).fields.map(({ name }) => name)).toEqual([
      'number',
      'date',
      'customerId',
    ]);
  });
});

describe('what callers may do with a field', () => {
  it('is switched on and off, and parts without entries are left out', () => {
    expect(setOperators(invoices, 'date', ['after']).filters).toContainEqual({
      field: 'date',
      operators: ['after'],
    });
    expect(setOperators(invoices, 'number', []).filters).toEqual([invoices.filters[1]]);
    expect(setSort(invoices, 'date', false)).toMatchObject({ sorts: ['number'], defaultSort: null });
    expect(setSort(invoices, 'customerId', true).sorts).toEqual(['number', 'date', 'customerId']);
    expect(setSearch(invoices, 'number', false)).not.toHaveProperty('search');
    expect(setAggregate(invoices, { field: 'customerId', functions: [] })).not.toHaveProperty('aggregates');
    expect(setGroup(setGroup(invoices, 'number', undefined), 'date', undefined)).not.toHaveProperty('groups');
    expect(setGroup(invoices, 'date', { field: 'date', periods: ['year'] }).groups).toEqual([
      'number',
      { field: 'date', periods: ['year'] },
    ]);
    expect(changeParts(changeParts(invoices, { or: true }), { or: undefined })).toEqual(invoices);
  });

  it('parts that say nothing are left out of a field', () => {
    const changed = changeField(invoices, 2, { scopable: false, tags: [], as: 'number', mask: 'hash' });
    expect(changed.fields[2]).toEqual({
      name: 'customerId',
      source: 'entity',
      description: '',
      mask: 'hash',
    });
  });

  it('fields move within their bounds', () => {
    const order = (endpoint: Endpoint): string => endpoint.fields.map(({ name }) => name).join();
    expect(order(moveField(invoices, 1, -1))).toBe('date,number,customerId,lines');
    expect(order(moveField(invoices, 0, -1))).toBe(order(invoices));
    expect(order(moveField(invoices, 3, 1))).toBe(order(invoices));
  });
});

describe('resources', () => {
  it('relations follow a new name, and go with a removed one', () => {
    expect(renameEndpoint([invoices, customers], 1, 'buyers')[0]?.relations).toEqual([
      { name: 'customer', field: 'customerId', resource: 'buyers' },
    ]);
    expect(removeEndpoint([invoices, customers], 1)[0]).not.toHaveProperty('relations');
  });

  it('an added one whose name is taken gets a number', () => {
    expect(addEndpoints([invoices], [invoices, customers, invoices]).map(({ name }) => name)).toEqual([
      'invoices',
      'invoices-2',
      'customers',
      'invoices-3',
    ]);
  });
});

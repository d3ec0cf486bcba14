// Two resources that declare everything that a request may ask for at once. The buyer of an invoice is a
// record of `parties`.
import { invoicesEndpoint } from '../fixture.ts';

const named = (...names: string[]) => invoicesEndpoint.fields.filter(({ name }) => names.includes(name));

export const richInvoices = {
  ...invoicesEndpoint,
  filters: [
    ...invoicesEndpoint.filters,
    { field: 'customer', operators: ['eq'] },
    { field: 'lines.item', operators: ['eq'] },
    { field: 'lines.quantity', operators: ['eq', 'gt', 'lte'] },
  ],
  aggregates: [
    { field: 'total', functions: ['sum', 'avg', 'min', 'max'] },
    { field: 'date', functions: ['min', 'max'] },
    { field: 'customer', functions: ['count_distinct'] },
  ],
  groups: [
    'customer',
    'paid',
    'seq',
    { field: 'date', periods: ['day', 'week', 'month', 'quarter', 'year'] },
  ],
  relations: [{ name: 'buyer', field: 'customer', resource: 'parties' }],
  search: ['number', 'customerName'],
  or: true,
  sortSets: [['date', '-total']],
  document: 'invoice',
};

/** What the ERP must say of the invoice's reference for the relation to be known. */
export const richTargets = { invoice: { entity: 'invoice' } };

export const parties = {
  name: 'parties',
  recordType: 'invoice',
  description: 'Who buys',
  fields: named('number', 'status', 'paid'),
  filters: [],
  sorts: [],
};

// Invoices whose customer and time of change may be named by row scopes, and such scopes.
import type { RowScopes } from '../../../src/core/record-access.ts';
import { invoicesEndpoint } from '../fixture.ts';

export const scopedInvoices = {
  ...invoicesEndpoint,
  fields: invoicesEndpoint.fields.map((field): typeof field & { scopable?: boolean } =>
    ['customer', 'modified'].includes(field.name) ? { ...field, scopable: true } : field,
  ),
  filters: [...invoicesEndpoint.filters, { field: 'customer', operators: ['eq', 'not', 'null'] }],
  defaultSort: { field: 'date', order: 'desc' },
};

/** Invoices of these customers. */
export const createRowScopes = (customers: readonly string[]): RowScopes => ({
  resources: {
    invoices: { recordType: 'invoice', conditions: [{ field: 'customer', source: 'entity', in: customers }] },
  },
  others: false,
});

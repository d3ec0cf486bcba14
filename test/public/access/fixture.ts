// Invoices whose customer and time of change may be named by row scopes, and such scopes.
import type { RowScopes } from '../../../src/core/record-access.ts';
import { fieldsWith, invoicesEndpoint } from '../fixture.ts';

/** Of the same invoices, without fields that scopes may name. */
export const unscopableInvoices = {
  ...invoicesEndpoint,
  filters: [...invoicesEndpoint.filters, { field: 'customer', operators: ['eq', 'not', 'null'] }],
  defaultSort: { field: 'date', order: 'desc' },
};
export const scopedInvoices = {
  ...unscopableInvoices,
  fields: fieldsWith({ customer: { scopable: true }, modified: { scopable: true } }),
};

/** Invoices of these customers. */
export const createRowScopes = (customers: readonly string[]): RowScopes => ({
  resources: {
    invoices: { recordType: 'invoice', conditions: [{ field: 'customer', source: 'entity', in: customers }] },
  },
  others: false,
});

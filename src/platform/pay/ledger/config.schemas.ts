// Parts of the payment configuration stored as JSON: where invoices are read, how payments reach the ERP.
import { z } from 'zod';

const source = z.string().min(1).max(120);

export const InvoiceMapping = z
  .strictObject({
    recordType: source.describe('A synced record type'),
    number: source.describe('The invoice number that the payer knows'),
    amountDue: source.describe('The open amount, in the currency of the record'),
    currency: source
      .nullable()
      .default(null)
      .describe("Null when all records are in the configuration's currency"),
    customer: source.describe('The customer who pays the invoice'),
  })
  .describe('Which synced field holds which value');
export type InvoiceMapping = z.output<typeof InvoiceMapping>;

const name = z.string().regex(/^[A-Za-z0-9_.:-]{1,50}$/, 'must be an id as shown in the ERP');

const writeBackSettings = z.strictObject({
  account: name
    .nullable()
    .default(null)
    .describe('Id of the ERP account that payments are deposited to; null for undeposited funds.'),
  refundAccount: name
    .nullable()
    .default(null)
    .describe('Id of the ERP account from which refunds are paid; null for `account`.'),
  refundMethod: name
    .nullable()
    .default(null)
    .describe("Id of the ERP's refund method; null when the ERP requires none."),
});

export const WriteBack = z
  .union([z.literal(false), writeBackSettings])
  .describe('How payments are written to the ERP; false when people enter them by hand');
export type WriteBack = z.output<typeof WriteBack>;

// How payments are written to the organization's ERP.
import { z } from 'zod';

const name = z.string().regex(/^[A-Za-z0-9_.:-]{1,50}$/, 'must be an id as shown in the ERP');

export const writeBackSettings = z.strictObject({
  account: name.nullable().default(null).describe('Id of the ERP account that payments are deposited to; null for undeposited funds.'),
  refundAccount: name.nullable().default(null).describe('Id of the ERP account from which refunds are paid; null for `account`.'),
  refundMethod: name.nullable().default(null).describe("Id of the ERP's refund method; null when the ERP requires none."),
});

// What an organization says of how payments are written into its ERP.
import { z } from 'zod';

const name = z.string().regex(/^[A-Za-z0-9_.:-]{1,50}$/, 'is an id as the ERP shows it');

export const writeBackSettings = z.strictObject({
  account: name.nullable().default(null).describe('Id of the ERP account where paid money lies; null for undeposited funds.'),
  refundAccount: name.nullable().default(null).describe('Id of the ERP account from which refunds are paid; null for `account`.'),
  refundMethod: name.nullable().default(null).describe("Id of the ERP's refund method; null where it asks for none."),
});

// How many customers can sign in, and which addresses several of them share.
import { z } from 'zod';
import { Instant } from '../../http/fields.ts';

const Shared = z.object({
  email: z.string(),
  customers: z.array(z.object({ id: z.string(), name: z.string() })).describe('At most 10'),
});
const examples = z
  .array(Shared)
  .describe('At most 10; none for callers who may not read records, or not the addresses unmasked');

export const Figures = z
  .object({
    customers: z.int().describe('Customers that the conditions of `people` select'),
    withAddress: z.int().describe('Those of them who can sign in'),
    withoutAddress: z.int(),
    addresses: z.int().describe('Different addresses'),
    sharedAddresses: z
      .object({ count: z.int(), examples })
      .describe('Addresses of several customers: who signs in with one chooses among them'),
    sharedMailboxes: z
      .object({ count: z.int(), examples })
      .describe('Addresses such as info@ or accounts@, which several people are likely to read'),
    truncated: z.boolean().describe('There are more than 200,000 people, and the rest was not counted'),
    asOf: Instant,
  })
  .meta({ id: 'PortalFigures' });
export type Figures = z.output<typeof Figures>;

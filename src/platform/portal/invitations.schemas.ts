// Invitations of visitors: whom, and how many that are.
import { z } from 'zod';
import { Id } from '../../http/fields.ts';
import { Email } from './visitors.schemas.ts';

export const InvitationInput = z
  .strictObject({
    email: Email.optional().describe('One address'),
    viewId: Id.optional().describe(
      'All customers of a view: one of customers, or of records that name their customer. A summary of it is ignored',
    ),
    dryRun: z.boolean().default(true).describe('Counts, and sends nothing'),
    again: z
      .boolean()
      .default(false)
      .describe('Also those who signed in before, or were invited less than 24 hours ago'),
  })
  .refine(
    ({ email, viewId }) => (email === undefined) !== (viewId === undefined),
    'name either an address or a view',
  );
export type InvitationInput = z.output<typeof InvitationInput>;

export const InvitationCounts = z
  .object({
    customers: z.int().describe('Customers that were chosen'),
    withoutAddress: z.int().describe('Those of them for whom no address is known'),
    addresses: z.int().describe('Different addresses of the others'),
    invited: z.int().describe('Addresses to which a mail was queued, or would be'),
    alreadySignedIn: z.int().describe('Addresses that signed in before; invited only with `again`'),
    blocked: z.int().describe('Addresses that are blocked, which are never invited'),
    skipped: z
      .int()
      .describe(
        'Addresses that were invited less than 24 hours ago, and those beyond the 5,000 of one call or the mails of a day: call again for them',
      ),
    dryRun: z.boolean(),
  })
  .meta({ id: 'PortalInvitations' });
export type InvitationCounts = z.output<typeof InvitationCounts>;

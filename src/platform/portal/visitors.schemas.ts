// What the ERP doesn't know of visitors of the portal.
import { z } from 'zod';
import { Day, Id, Instant } from '../../http/fields.ts';
import { normalizeEmail } from '../../identity/email-address.ts';

const email = z
  .string()
  .max(320)
  .transform((text, context) => {
    const address = normalizeEmail(text);
    if (address === null) context.addIssue({ code: 'custom', message: 'must be an e-mail address' });
    return address ?? '';
  })
  .meta({ openapi: { type: 'string', format: 'email', maxLength: 320 }, example: 'ada@accountants.example' });
/** As it is compared with what the ERP has. */
export const Email = email;
const customers = z
  .array(z.string().min(1).max(200))
  .max(100)
  .describe('Ids of customers whose records the address sees besides those that the ERP names');
const blocked = z.boolean().describe('Whether the address sees nothing, whatever the ERP says');

export const NewVisitor = z.strictObject({
  email,
  customers: customers.default([]),
  blocked: blocked.default(false),
});
export const VisitorPatch = z.strictObject({ customers: customers.optional(), blocked: blocked.optional() });
export const Visitor = z
  .object({
    id: Id,
    email: z.string(),
    customers,
    blocked,
    lastSignInAt: Instant.nullable(),
    invitedAt: Instant.nullable().describe('When the last invitation was sent'),
    reads: z
      .array(
        z.object({
          recordType: z.string(),
          requests: z.int().describe('Pages and files with something of these records, answered or refused'),
          lastDay: Day.describe('The day of the latest, in UTC'),
        }),
      )
      .describe(
        'What the visitor read in the last 30 days, the most first. Counts are up to ten seconds old',
      ),
    createdAt: Instant,
  })
  .meta({ id: 'PortalVisitor' });

export const ViewAsInput = z
  .strictObject({
    email: email.optional().describe('The address of the visitor'),
    customer: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('The id of the customer whose records are shown, of those of the address if it has several'),
  })
  .refine(
    (given) => given.email !== undefined || given.customer !== undefined,
    'name an address or a customer',
  );
export type ViewAsInput = z.output<typeof ViewAsInput>;
export const ViewAs = z
  .object({
    code: z.string().describe('Opens the portal once, within a minute'),
    address: z.string().describe('Post the form field `code` to it, in a frame or a page of its own'),
    domainAddress: z.string().nullable().describe('The same on the domain of the portal, if it has one'),
    expiresAt: Instant,
  })
  .meta({ id: 'PortalViewAs' });

export const AddressLookup = z
  .object({
    email: z.string(),
    customers: z
      .array(z.object({ id: z.string(), name: z.string() }))
      .describe('The customers whose records the address sees now, at most 100'),
  })
  .meta({ id: 'PortalAddress' });

export type NewVisitor = z.output<typeof NewVisitor>;
export type VisitorPatch = z.output<typeof VisitorPatch>;

// What the ERP doesn't know of visitors of the portal.
import { z } from 'zod';
import { Id, Instant } from '../../http/fields.ts';
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
    createdAt: Instant,
  })
  .meta({ id: 'PortalVisitor' });

export type NewVisitor = z.output<typeof NewVisitor>;
export type VisitorPatch = z.output<typeof VisitorPatch>;

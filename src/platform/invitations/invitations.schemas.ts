// Request and response schemas of invitations. The token is never in a response; it is only in the mail.
import { z } from 'zod';
import { secretTokenPattern } from '../../core/secrets/secret-token.ts';
import { Email, Id, Instant } from '../../http/fields.ts';
import { isOneRole, roleFields, twoRoles } from '../roles/roles.schemas.ts';

export const invitationStatuses = ['pending', 'accepted', 'expired', 'revoked'] as const;

export const NewInvitation = z
  .strictObject({ email: Email, ...roleFields })
  .refine(({ role, roleId }) => role !== undefined || roleId !== undefined, {
    path: ['roleId'],
    error: 'is required, or role by name',
  })
  .refine(isOneRole, twoRoles);
export const InvitationAcceptance = z.strictObject({
  token: z
    .string()
    .regex(secretTokenPattern, 'must be the token of an invitation')
    .describe('From the link in the mail'),
});

export const Invitation = z
  .object({
    id: Id,
    email: z.string(),
    roleId: Id,
    role: z.object({ id: Id, name: z.string() }),
    status: z.enum(invitationStatuses),
    expiresAt: Instant,
    invitedBy: z.object({ id: Id, email: z.string(), name: z.string() }),
    createdAt: Instant,
    delivery: z
      .object({ status: z.enum(['queued', 'sent', 'failed', 'unknown']), error: z.string().nullable() })
      .nullable()
      .describe(
        'State of the last mail; `unknown`: it may have been delivered. Null when the state is no longer stored',
      ),
  })
  .meta({ id: 'Invitation' });

export const JoinedOrganization = z
  .object({
    organization: z.object({ id: Id, slug: z.string(), name: z.string() }),
    role: z.object({ id: Id, name: z.string() }),
  })
  .meta({ id: 'JoinedOrganization' });

export type Invitation = z.input<typeof Invitation>;
export type JoinedOrganization = z.input<typeof JoinedOrganization>;

// What an invitation looks like from outside: never its token, which goes out by mail alone.
import { z } from 'zod';
import { secretTokenForm } from '../../core/secret-token.ts';
import { Email, Id, Instant } from '../../http/fields.ts';

export const invitationStatuses = ['pending', 'accepted', 'expired', 'revoked'] as const;

export const NewInvitation = z.strictObject({ email: Email, roleId: Id });
export const Acceptance = z.strictObject({
  token: z.string().regex(secretTokenForm, 'must be the token of an invitation').describe('From the link in the mail'),
});

export const Invitation = z
  .object({
    id: Id,
    email: z.string(),
    role: z.object({ id: Id, name: z.string() }),
    status: z.enum(invitationStatuses),
    expiresAt: Instant,
    invitedBy: z.object({ id: Id, email: z.string(), name: z.string() }),
    createdAt: Instant,
    delivery: z
      .object({ status: z.enum(['queued', 'sent', 'failed', 'unknown']), error: z.string().nullable() })
      .nullable()
      .describe('What became of the last mail; `unknown`: it may have arrived. Null once that is no longer known'),
  })
  .meta({ id: 'Invitation' });

export const Joined = z
  .object({
    organization: z.object({ id: Id, slug: z.string(), name: z.string() }),
    role: z.object({ id: Id, name: z.string() }),
  })
  .meta({ id: 'JoinedOrganization' });

export type InvitationView = z.input<typeof Invitation>;
export type JoinedView = z.input<typeof Joined>;

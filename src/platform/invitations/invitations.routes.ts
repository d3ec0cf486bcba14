import { z } from 'zod';
import { Id, IdParams } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { definePersonRoute, defineRoute, inGroup } from '../../http/route/define.ts';
import { acceptInvitation } from './accept.ts';
import {
  Invitation,
  InvitationAcceptance,
  invitationStatuses,
  JoinedOrganization,
  NewInvitation,
} from './invitations.schemas.ts';
import {
  createInvitation,
  getInvitation,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from './invitations.service.ts';

const params = z.strictObject({ id: Id, invitationId: Id });

export const invitationRoutes = inGroup('Organizations', [
  defineRoute('listInvitations', 'GET /organizations/{id}/invitations', {
    permission: 'invitation:read',
    summary: 'List invitations',
    description:
      'Newest first: open, accepted, revoked and expired invitations. `delivery` is the state of the mail.',
    params: IdParams,
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(254).optional().describe('Part of the e-mail address'),
      status: z.enum(invitationStatuses).optional(),
    }),
    response: createPageSchema(Invitation),
    handler: (ctx, { query: { q, status, ...page } }) => listInvitations(ctx, page, { q, status }),
  }),
  defineRoute('createInvitation', 'POST /organizations/{id}/invitations', {
    permission: 'invitation:create',
    summary: 'Invite a member by e-mail',
    description:
      'Sends a link that is valid for 7 days. If the address already has an open invitation, that one gets the new role and a new link; ' +
      'the old link stops working.',
    params: IdParams,
    body: NewInvitation,
    example: { email: 'colleague@acme.example', roleId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21' },
    response: Invitation,
    status: 201,
    handler: (ctx, { body }) => createInvitation(ctx, body),
  }),
  defineRoute('getInvitation', 'GET /organizations/{id}/invitations/{invitationId}', {
    permission: 'invitation:read',
    summary: 'Retrieve an invitation',
    description: 'The token is only in the mail; no response contains it.',
    params,
    response: Invitation,
    handler: (ctx, input) => getInvitation(ctx, input.params.invitationId),
  }),
  defineRoute('deleteInvitation', 'DELETE /organizations/{id}/invitations/{invitationId}', {
    permission: 'invitation:delete',
    summary: 'Revoke an invitation',
    description: 'Its link stops working immediately. The invitation stays listed as revoked.',
    params,
    handler: (ctx, input) => revokeInvitation(ctx, input.params.invitationId),
  }),
  defineRoute('resendInvitation', 'POST /organizations/{id}/invitations/{invitationId}/resend', {
    permission: 'invitation:update',
    summary: 'Resend an open or expired invitation',
    description:
      'Sends a new link that is valid for 7 days; the old link stops working. The caller becomes the sender: the invitation is valid ' +
      'only while the caller has the permissions of its role.',
    params,
    response: Invitation,
    handler: (ctx, input) => resendInvitation(ctx, input.params.invitationId),
  }),
  definePersonRoute('acceptInvitation', 'POST /invitations/accept', {
    permission: 'signed-in',
    summary: 'Accept an invitation',
    additionalErrors: [404],
    description:
      'For the signed-in person to whose address the invitation was sent. A session without an active organization switches to this one.',
    body: InvitationAcceptance,
    example: { token: 'AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE' },
    response: JoinedOrganization,
    handler: (ctx, { body }) => acceptInvitation(ctx, body.token),
  }),
]);

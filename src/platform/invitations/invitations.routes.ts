import { z } from 'zod';
import { Id, IdParams } from '../../http/fields.ts';
import { pageFields, pageOf } from '../../http/page.ts';
import { definePersonRoute, defineRoute } from '../../http/route.ts';
import { accept } from './accept.ts';
import { Acceptance, Invitation, invitationStatuses, Joined, NewInvitation } from './invitations.schemas.ts';
import { getInvitation, invite, listOpenAndClosed, resend, revoke } from './invitations.service.ts';

const group = 'Organizations';
const params = z.strictObject({ id: Id, invitationId: Id });

export const invitationRoutes = [
  defineRoute({
    id: 'listInvitations',
    group,
    method: 'GET',
    path: '/organizations/{id}/invitations',
    permission: 'invitation:read',
    summary: 'Invitations of the organization, newest first',
    description: 'Open ones and those that were accepted, revoked or ran out; `delivery` says what became of the mail.',
    params: IdParams,
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(254).optional().describe('Part of the address'),
      status: z.enum(invitationStatuses).optional(),
    }),
    response: pageOf(Invitation),
    handler: (ctx, { query: { q, status, ...page } }) => listOpenAndClosed(ctx, page, { q, status }),
  }),
  defineRoute({
    id: 'createInvitation',
    group,
    method: 'POST',
    path: '/organizations/{id}/invitations',
    permission: 'invitation:create',
    summary: 'Invite a person by e-mail',
    description:
      'The link leaves by mail and ends after 7 days. Inviting an address again that has an open invitation sends a new link for that one, with the role as asked now; the old link is dead.',
    params: IdParams,
    body: NewInvitation,
    example: { email: 'colleague@acme.example', roleId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21' },
    response: Invitation,
    status: 201,
    handler: (ctx, { body }) => invite(ctx, body),
  }),
  defineRoute({
    id: 'getInvitation',
    group,
    method: 'GET',
    path: '/organizations/{id}/invitations/{invitationId}',
    permission: 'invitation:read',
    summary: 'One invitation',
    description: 'The token is in the mail alone: no answer shows it.',
    params,
    response: Invitation,
    handler: (ctx, input) => getInvitation(ctx, input.params.invitationId),
  }),
  defineRoute({
    id: 'deleteInvitation',
    group,
    method: 'DELETE',
    path: '/organizations/{id}/invitations/{invitationId}',
    permission: 'invitation:delete',
    summary: 'Revoke an invitation',
    description: 'Its link is dead at once. The invitation stays listed as revoked.',
    params,
    handler: (ctx, input) => revoke(ctx, input.params.invitationId),
  }),
  defineRoute({
    id: 'resendInvitation',
    group,
    method: 'POST',
    path: '/organizations/{id}/invitations/{invitationId}/resend',
    permission: 'invitation:update',
    summary: 'Send an open or expired invitation again',
    description:
      'With a new link for another 7 days; the old one is dead. From now on the invitation is yours: it lasts while you hold its role.',
    params,
    response: Invitation,
    handler: (ctx, input) => resend(ctx, input.params.invitationId),
  }),
  definePersonRoute({
    id: 'acceptInvitation',
    group,
    method: 'POST',
    path: '/invitations/accept',
    permission: 'signed-in',
    summary: 'Accept an invitation',
    alsoAnswers: [404],
    description:
      'For the signed-in person whose address the invitation was sent to. A session that has chosen no organization chooses this one.',
    body: Acceptance,
    example: { token: 'AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE' },
    response: Joined,
    handler: (ctx, { body }) => accept(ctx, body.token),
  }),
];

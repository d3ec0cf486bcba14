import { z } from 'zod';
import { Id, IdParams } from '../../http/fields.ts';
import { pageFields, pageOf } from '../../http/page.ts';
import { definePersonRoute, defineRoute } from '../../http/route.ts';
import { leaveOrganization, removeMember } from './leaving.service.ts';
import { Leaving, Member, MemberChange, MemberParams, MemberWithKeys } from './members.schemas.ts';
import { changeMember, getMember, listMembers } from './members.service.ts';

const group = 'Organizations';

export const memberRoutes = [
  defineRoute({
    id: 'listMembers',
    group,
    method: 'GET',
    path: '/organizations/{id}/members',
    permission: 'member:read',
    summary: 'Members of the organization, newest first',
    description: '`q` looks in names and addresses, `roleId` narrows to one role.',
    params: IdParams,
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional().describe('Part of a name or e-mail address'),
      roleId: Id.optional(),
    }),
    response: pageOf(Member),
    handler: (ctx, { query: { q, roleId, ...page } }) => listMembers(ctx, page, { q, roleId }),
  }),
  defineRoute({
    id: 'getMember',
    group,
    method: 'GET',
    path: '/organizations/{id}/members/{userId}',
    permission: 'member:read',
    summary: 'One member, with the living keys that act for them',
    description: 'With the living API keys that act for this member.',
    params: MemberParams,
    response: MemberWithKeys,
    handler: (ctx, { params }) => getMember(ctx, params.userId),
  }),
  defineRoute({
    id: 'updateMember',
    group,
    method: 'PATCH',
    path: '/organizations/{id}/members/{userId}',
    permission: 'member:update',
    summary: "Change a member's role",
    description: 'Takes effect with their next request, and with that of their keys. Only an owner makes or changes an owner.',
    params: MemberParams,
    body: MemberChange,
    example: { roleId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21' },
    response: MemberWithKeys,
    handler: (ctx, { params, body }) => changeMember(ctx, params.userId, body),
  }),
  defineRoute({
    id: 'deleteMember',
    group,
    method: 'DELETE',
    path: '/organizations/{id}/members/{userId}',
    permission: 'member:delete',
    summary: 'Remove a member',
    alsoAnswers: [422],
    description:
      'Takes effect at once. Whoever has living API keys is removed together with a word on what becomes of them: revoked, or transferred ' +
      'to another member. A transferred key goes on reading publicly; it manages what it could before when the caller takes it over, and ' +
      'nothing when it goes to somebody else. Only an owner removes an owner, and the last one stays.',
    params: MemberParams,
    query: Leaving,
    handler: (ctx, { params, query }) => removeMember(ctx, params.userId, query),
  }),
  definePersonRoute({
    id: 'leaveOrganization',
    group: 'Identity',
    method: 'DELETE',
    path: '/whoami/organizations/{id}',
    permission: 'signed-in',
    summary: 'Leave an organization',
    alsoAnswers: [422],
    description:
      'For any member but the last owner. Living API keys are revoked, or transferred to the member that `transferTo` names: they then go on reading publicly and manage nothing.',
    params: IdParams,
    query: Leaving,
    handler: (ctx, { params, query }) => leaveOrganization(ctx, params.id, query),
  }),
];

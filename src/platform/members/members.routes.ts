import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { definePersonRoute, defineRoute, inGroup } from '../../http/route/define.ts';
import { roleFields } from '../roles/roles.schemas.ts';
import { deleteMember, leaveOrganization } from './leaving.service.ts';
import {
  LeavingOptions,
  Member,
  MemberParams,
  MemberPatch,
  MemberWithKeys,
  RemovalOptions,
} from './members.schemas.ts';
import { getMember, listMembers, updateMember } from './members.service.ts';

const organizationRoutes = inGroup('Organizations', [
  defineRoute('listMembers', 'GET /organizations/{id}/members', {
    permission: 'member:read',
    summary: 'List members',
    description:
      'Newest first. `q` searches in names and e-mail addresses; `roleId` or `role`, its name, filters by role.',
    params: IdParams,
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional().describe('Part of a name or e-mail address'),
      ...roleFields,
    }),
    response: createPageSchema(Member),
    handler: (ctx, { query: { q, roleId, role, ...page } }) => listMembers(ctx, page, { q, roleId, role }),
  }),
  defineRoute('getMember', 'GET /organizations/{id}/members/{userId}', {
    permission: 'member:read',
    summary: 'Retrieve a member',
    description: 'Includes the active API keys that act for this member.',
    params: MemberParams,
    response: MemberWithKeys,
    handler: (ctx, { params }) => getMember(ctx, params.userId),
  }),
  defineRoute('updateMember', 'PATCH /organizations/{id}/members/{userId}', {
    permission: 'member:update',
    summary: "Change a member's role",
    description:
      "Takes effect with the next request of the member or of their keys. Only an owner can grant the owner role or change an owner's " +
      'role.',
    params: MemberParams,
    body: MemberPatch,
    example: { roleId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21' },
    response: MemberWithKeys,
    handler: (ctx, { params, body }) => updateMember(ctx, params.userId, body),
  }),
  defineRoute('deleteMember', 'DELETE /organizations/{id}/members/{userId}', {
    permission: 'member:delete',
    summary: 'Remove a member',
    additionalErrors: [422],
    description:
      'Takes effect immediately. If the member has active API keys, `keys` must say whether they are revoked or transferred to another ' +
      'member. A transferred key keeps reading the public interface until its secret ends after `gracePeriodSeconds`; the member who takes it ' +
      'over gets a mail then, and one before. On the management interface it can do what it could before when the caller takes it over, and ' +
      'nothing when another member does. Only an owner can remove an owner; the last owner cannot be removed.',
    params: MemberParams,
    query: RemovalOptions,
    handler: (ctx, { params, query }) => deleteMember(ctx, params.userId, query),
  }),
]);

const personRoutes = inGroup('Identity', [
  definePersonRoute('leaveOrganization', 'DELETE /whoami/organizations/{id}', {
    permission: 'signed-in',
    summary: 'Leave an organization',
    additionalErrors: [422],
    description:
      'For any member except the last owner. Active API keys are revoked, or transferred to the member in `transferTo`: they then keep ' +
      'reading the public interface until their secrets end after `gracePeriodSeconds`, and lose all access to the management interface.',
    params: IdParams,
    query: LeavingOptions,
    handler: (ctx, { params, query }) => leaveOrganization(ctx, params.id, query),
  }),
]);

export const memberRoutes = [...organizationRoutes, ...personRoutes];

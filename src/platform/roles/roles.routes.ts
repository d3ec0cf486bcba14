import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { PageQuery, pageFields, pageOf } from '../../http/page.ts';
import { type AnyRoute, defineRoute } from '../../http/route.ts';
import { NewRole, PermissionEntry, Role, RoleChange, RoleParams } from './roles.schemas.ts';
import { changeRole, createRole, deleteRole, getRole, listPermissions, listRoles } from './roles.service.ts';

const group = 'Organizations';

/** `allRoutes` is asked when a request comes in: the catalogue of permissions names every operation, these among them. */
export const roleRoutes = (allRoutes: () => readonly AnyRoute[]) => [
  defineRoute({
    id: 'listRoles',
    group,
    method: 'GET',
    path: '/organizations/{id}/roles',
    permission: 'role:read',
    summary: 'Roles of the organization, newest first',
    description: 'Built-in roles and those of the organization itself, with how many members have each.',
    params: IdParams,
    query: z.strictObject({ ...pageFields, q: z.string().min(1).max(120).optional() }),
    response: pageOf(Role),
    handler: (ctx, { query: { q, ...page } }) => listRoles(ctx, page, q),
  }),
  defineRoute({
    id: 'createRole',
    group,
    method: 'POST',
    path: '/organizations/{id}/roles',
    permission: 'role:create',
    summary: 'Create a role',
    description: 'It may hold what the caller holds, and no more.',
    params: IdParams,
    body: NewRole,
    example: { name: 'Auditor', description: 'Reads what happened', permissions: ['audit:read', 'member:read'] },
    response: Role,
    status: 201,
    handler: (ctx, { body }) => createRole(ctx, body),
  }),
  defineRoute({
    id: 'getRole',
    group,
    method: 'GET',
    path: '/organizations/{id}/roles/{roleId}',
    permission: 'role:read',
    summary: 'One role',
    description: 'Its permissions, and how many members have it.',
    params: RoleParams,
    response: Role,
    handler: (ctx, { params }) => getRole(ctx, params.roleId),
  }),
  defineRoute({
    id: 'updateRole',
    group,
    method: 'PATCH',
    path: '/organizations/{id}/roles/{roleId}',
    permission: 'role:update',
    summary: 'Change a role',
    description: 'Takes effect with the next request of whoever has it. What is added must be held by the caller.',
    params: RoleParams,
    body: RoleChange,
    example: { permissions: ['audit:read'] },
    response: Role,
    handler: (ctx, { params, body }) => changeRole(ctx, params.roleId, body),
  }),
  defineRoute({
    id: 'deleteRole',
    group,
    method: 'DELETE',
    path: '/organizations/{id}/roles/{roleId}',
    permission: 'role:delete',
    summary: 'Delete a role that nobody has',
    alsoAnswers: [422],
    description: 'Refused while a member has the role, or an open invitation would give it. Built-in roles stay.',
    params: RoleParams,
    handler: (ctx, { params }) => deleteRole(ctx, params.roleId),
  }),
  defineRoute({
    id: 'listPermissions',
    group,
    method: 'GET',
    path: '/organizations/{id}/permissions',
    permission: 'role:read',
    summary: 'Every permission: what it allows, and which operations need it',
    description: 'Every permission, what it allows, which operations need it, and whether the caller holds it.',
    params: IdParams,
    query: PageQuery,
    response: pageOf(PermissionEntry),
    handler: async (ctx, { query }) => listPermissions(ctx, query, allRoutes()),
  }),
];

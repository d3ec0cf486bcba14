import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { createPageSchema, NamedPageQuery, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import type { AnyRoute } from '../../http/route/route.ts';
import { NewRole, PermissionEntry, Role, RoleParams, RolePatch } from './roles.schemas.ts';
import { createRole, deleteRole, getRole, listPermissions, listRoles, updateRole } from './roles.service.ts';

export const roleRoutes = inGroup('Organizations', [
  defineRoute('listRoles', 'GET /organizations/{id}/roles', {
    permission: 'role:read',
    summary: 'List roles',
    description: 'Newest first. Built-in and custom roles, each with its number of members.',
    params: IdParams,
    query: z.strictObject({ ...pageFields, q: z.string().min(1).max(120).optional() }),
    response: createPageSchema(Role),
    handler: (ctx, { query: { q, ...page } }) => listRoles(ctx, page, q),
  }),
  defineRoute('createRole', 'POST /organizations/{id}/roles', {
    permission: 'role:create',
    summary: 'Create a role',
    description: 'The role can have only permissions that the caller has.',
    params: IdParams,
    body: NewRole,
    example: {
      name: 'Auditor',
      description: 'Reads the audit log',
      permissions: ['audit:read', 'member:read'],
    },
    response: Role,
    status: 201,
    handler: (ctx, { body }) => createRole(ctx, body),
  }),
  defineRoute('getRole', 'GET /organizations/{id}/roles/{roleId}', {
    permission: 'role:read',
    summary: 'Retrieve a role',
    description: 'Includes its permissions and its number of members.',
    params: RoleParams,
    response: Role,
    handler: (ctx, { params }) => getRole(ctx, params.roleId),
  }),
  defineRoute('updateRole', 'PATCH /organizations/{id}/roles/{roleId}', {
    permission: 'role:update',
    summary: 'Update a role',
    description:
      'Takes effect with the next request of each member who has the role. The caller must have every permission that is added.',
    params: RoleParams,
    body: RolePatch,
    example: { permissions: ['audit:read'] },
    response: Role,
    handler: (ctx, { params, body }) => updateRole(ctx, params.roleId, body),
  }),
  defineRoute('deleteRole', 'DELETE /organizations/{id}/roles/{roleId}', {
    permission: 'role:delete',
    summary: 'Delete an unused role',
    additionalErrors: [422],
    description:
      'Returns 422 while a member or an open invitation has the role. Built-in roles cannot be deleted.',
    params: RoleParams,
    handler: (ctx, { params }) => deleteRole(ctx, params.roleId),
  }),
]);

/** `allRoutes` is a function, called per request: the list names every operation, including this one. */
export const permissionRoutes = (allRoutes: () => readonly AnyRoute[]) =>
  inGroup('Organizations', [
    defineRoute('listPermissions', 'GET /organizations/{id}/permissions', {
      permission: 'role:read',
      summary: 'List permissions',
      description: 'What each permission allows, which operations need it, and whether the caller has it.',
      params: IdParams,
      query: NamedPageQuery,
      response: createPageSchema(PermissionEntry),
      handler: async (ctx, { query }) => listPermissions(ctx, query, allRoutes()),
    }),
  ]);

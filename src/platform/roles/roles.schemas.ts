import { z } from 'zod';
import { assignablePermissions, type Permission } from '../../core/permissions.ts';
import { Id, Instant, longText, uniqueName } from '../../http/fields.ts';

export const RoleParams = z.strictObject({ id: Id, roleId: Id });

const Permissions = z
  .array(
    z.enum(assignablePermissions as [Permission, ...Permission[]], {
      error: 'must be a permission that a role can have',
    }),
  )
  .max(assignablePermissions.length)
  .refine((list) => new Set(list).size === list.length, 'must not repeat an entry')
  .describe('See GET /organizations/{id}/permissions');

const roleName = uniqueName(60);

/** How other objects name a role: by its id, or by its name. */
export const roleFields = {
  roleId: Id.optional(),
  role: z
    .string()
    .min(1)
    .max(60)
    .optional()
    .describe('The name of the role, instead of `roleId`, ignoring case'),
};
export const isOneRole = ({ roleId, role }: { roleId?: string | undefined; role?: string | undefined }) =>
  roleId === undefined || role === undefined;
export const twoRoles = { path: ['role'], error: 'must not be given together with roleId' };

export const NewRole = z.strictObject({
  name: roleName,
  description: longText(500).default(''),
  permissions: Permissions,
});
export const RolePatch = z
  .strictObject({ name: roleName, description: longText(500).nullable(), permissions: Permissions })
  .partial();

export const Role = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    permissions: z.array(z.string()),
    builtIn: z.boolean().describe('Built-in roles cannot be changed or deleted'),
    memberCount: z.int(),
    createdAt: Instant,
  })
  .meta({ id: 'Role' });

export const PermissionEntry = z
  .object({
    name: z.string(),
    description: z.string(),
    grantable: z.boolean().describe('Whether a role can have it'),
    held: z
      .boolean()
      .describe('Whether the caller has it; callers can grant only permissions that they have'),
    operations: z.array(z.string()).describe('Operation ids of the operations that need it'),
  })
  .meta({ id: 'Permission' });

export type NewRole = z.output<typeof NewRole>;
export type RolePatch = z.output<typeof RolePatch>;
export type Role = z.input<typeof Role>;
export type PermissionEntry = z.input<typeof PermissionEntry>;

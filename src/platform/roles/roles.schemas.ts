import { z } from 'zod';
import { type Permission, rolePermissions } from '../../core/permissions.ts';
import { Id, Instant, longText, shortText } from '../../http/fields.ts';

export const RoleParams = z.strictObject({ id: Id, roleId: Id });

const Permissions = z
  .array(z.enum(rolePermissions as [Permission, ...Permission[]], { error: 'must be a permission that a role may hold' }))
  .max(rolePermissions.length)
  .refine((list) => new Set(list).size === list.length, 'must not repeat an entry')
  .describe('See GET /organizations/{id}/permissions');

export const NewRole = z.strictObject({ name: shortText(60), description: longText(500).default(''), permissions: Permissions });
export const RoleChange = z.strictObject({
  name: shortText(60).optional(),
  description: longText(500).nullable().optional(),
  permissions: Permissions.optional(),
});

export const Role = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    permissions: z.array(z.string()),
    builtIn: z.boolean().describe('Comes with the service; neither changed nor deleted'),
    memberCount: z.int(),
    createdAt: Instant,
  })
  .meta({ id: 'Role' });

export const PermissionEntry = z
  .object({
    name: z.string(),
    description: z.string(),
    grantable: z.boolean().describe('Whether a role may hold it'),
    held: z.boolean().describe('Whether the caller holds it; nobody grants what they do not hold'),
    operations: z.array(z.string()).describe('operationIds of the operations that need it'),
  })
  .meta({ id: 'Permission' });

export type RoleInput = z.output<typeof NewRole>;
export type RoleChanges = z.output<typeof RoleChange>;
export type RoleView = z.input<typeof Role>;
export type PermissionView = z.input<typeof PermissionEntry>;

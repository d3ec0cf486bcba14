// POST /role: the permissions of the integration's role.
import { z } from 'zod';
import { PERMISSION_KEYS, PERMISSIONS, type PermissionKey } from '../permissions.ts';
import type { Access } from '../tables/role-visibility.ts';
import { type ErrorDetail, invalid } from './control-error.ts';

const Level = z.union([z.boolean(), z.literal(['none', 'view', 'full'])], 'must be true, false, "none", "view" or "full"');
export const RoleBody = z.strictObject({
  permissions: z.union([z.array(z.string()), z.record(z.string(), Level), z.null()], 'must be an object, a list or null'),
});

/** Keys, NetSuite's names and table names are accepted, in any case and spacing. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]/g, '');
const KEYS_BY_NAME: ReadonlyMap<string, PermissionKey> = new Map(
  PERMISSION_KEYS.flatMap((key) => [key, PERMISSIONS[key].title, ...PERMISSIONS[key].tables].map((name) => [plain(name), key] as const)),
);

const levelOf = (value: z.output<typeof Level>): Access => (typeof value === 'string' ? value : value ? 'full' : 'none');

/**
 * An object says what differs from full permissions; a list names all that the role has; null is everything. Throws ControlError 422 for an
 * unknown permission.
 */
export function parsePermissions({ permissions }: z.output<typeof RoleBody>): Partial<Record<PermissionKey, Access>> {
  const isList = Array.isArray(permissions);
  const given = isList ? permissions.map((name) => [name, true] as const) : Object.entries(permissions ?? {});
  const problems: ErrorDetail[] = [];
  const wanted: Partial<Record<PermissionKey, Access>> = isList ? Object.fromEntries(PERMISSION_KEYS.map((key) => [key, 'none'])) : {};
  for (const [i, [name, level]] of given.entries()) {
    const key = KEYS_BY_NAME.get(plain(name));
    if (key) wanted[key] = levelOf(level);
    else
      problems.push({
        path: isList ? `permissions[${i}]` : `permissions.${name}`,
        message: `is unknown; the permissions are ${PERMISSION_KEYS.join(', ')}`,
      });
  }
  if (problems.length > 0) throw invalid(...problems);
  return wanted;
}

// POST /role: the permissions of the integration's role, and the records to which it is restricted.
import { z } from 'zod';
import { PERMISSION_KEYS, PERMISSIONS, type PermissionKey } from '../permissions.ts';
import { findEnabledType } from '../records/record-types.ts';
import { type Access, type Restrictions, UNRESTRICTED } from '../tables/role-restrictions.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { type ErrorDetail, invalid } from './control-error.ts';
import { IdText } from './parse.ts';

const Level = z.union(
  [z.boolean(), z.literal(['none', 'view', 'full'])],
  'must be true, false, "none", "view" or "full"',
);
const Ids = z.array(IdText).min(1);
const flag = z.boolean().default(false);
const LIST_OR_OBJECT = 'must be a list of internal ids, or an object with "ids"';
const subsidiaries = z.union(
  [Ids.transform((ids) => ({ ids, viewing: false })), z.strictObject({ ids: Ids, viewing: flag })],
  LIST_OR_OBJECT,
);
const segment = z.union(
  [
    Ids.transform((ids) => ({ ids, unassigned: false, viewing: false, items: false })),
    z.strictObject({ ids: Ids, unassigned: flag, viewing: flag, items: flag }),
  ],
  LIST_OR_OBJECT,
);
export const RoleBody = z
  .strictObject({
    permissions: z
      .union(
        [z.array(z.string()), z.record(z.string(), Level), z.null()],
        'must be an object, a list or null',
      )
      .optional(),
    restrictions: z
      .strictObject({
        subsidiaries: subsidiaries.optional(),
        departments: segment.optional(),
        classes: segment.optional(),
        locations: segment.optional(),
        recordTypes: z.record(z.string(), Level).default({}),
      })
      .nullable()
      .optional(),
  })
  .refine(({ permissions, restrictions }) => permissions !== undefined || restrictions !== undefined, {
    path: ['permissions'],
    message: 'is required unless restrictions are given',
  });

/** Keys, NetSuite's names and table names are accepted, in any case and spacing. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]/g, '');
const KEYS_BY_NAME: ReadonlyMap<string, PermissionKey> = new Map(
  PERMISSION_KEYS.flatMap((key) =>
    [key, PERMISSIONS[key].title, ...PERMISSIONS[key].tables].map((name) => [plain(name), key] as const),
  ),
);

const toAccess = (value: z.output<typeof Level>): Access =>
  typeof value === 'string' ? value : value ? 'full' : 'none';

/**
 * An object says what differs from full permissions; a list names all that the role has; null is everything.
 * Throws ControlError 422 for an unknown permission.
 */
export function parsePermissions(
  permissions: z.output<typeof RoleBody>['permissions'],
): Partial<Record<PermissionKey, Access>> {
  const isList = Array.isArray(permissions);
  const given = isList ? permissions.map((name) => [name, true] as const) : Object.entries(permissions ?? {});
  const problems: ErrorDetail[] = [];
  const wanted: Partial<Record<PermissionKey, Access>> = isList
    ? Object.fromEntries(PERMISSION_KEYS.map((key) => [key, 'none']))
    : {};
  for (const [i, [name, level]] of given.entries()) {
    const key = KEYS_BY_NAME.get(plain(name));
    if (key) wanted[key] = toAccess(level);
    else
      problems.push({
        path: isList ? `permissions[${i}]` : `permissions.${name}`,
        message: `is unknown; the permissions are ${PERMISSION_KEYS.join(', ')}`,
      });
  }
  if (problems.length > 0) throw invalid(...problems);
  return wanted;
}

/** Null is no restriction. Throws ControlError 422 for what isn't a type of transactions. */
export function parseRestrictions(
  role: RoleVisibility,
  given: z.output<typeof RoleBody>['restrictions'],
): Restrictions {
  if (!given) return UNRESTRICTED;
  const { recordTypes, ...rest } = given;
  const types = Object.entries(recordTypes).map(
    ([name, level]) => [findEnabledType(role, name)?.transactionType, toAccess(level), name] as const,
  );
  const unknown = types.filter(([code]) => code === undefined);
  if (unknown.length > 0)
    throw invalid(
      ...unknown.map(([, , name]) => ({
        path: `restrictions.recordTypes.${name}`,
        message: 'is no type of transactions; use permissions',
      })),
    );
  return { ...rest, transactionTypes: Object.fromEntries(types) };
}

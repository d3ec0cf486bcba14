// Callers who change others' permissions must still have their own at that time. Such changes are serialized
// per organization, so that neither of two concurrent requests relies on what the other removes.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { signUpPermission } from '../../core/permissions.ts';
import type { Tx } from '../../db/transaction.ts';
import { permissionsOfRole } from '../../identity/principal.ts';
import { assertNotTransferredKey } from '../grant.ts';
import { lockOrganization } from '../organizations/organizations.store.ts';
import { findRoleOfMember, type RoleReference, type RoleRow } from './roles.store.ts';

export const permissionsOfRow = ({
  name,
  permissions,
  built_in: builtIn,
}: Pick<RoleRow, 'name' | 'permissions' | 'built_in'>) => permissionsOfRole({ name, builtIn, permissions });

/** The built-in owner role; custom roles cannot take its name. A transferred key never acts as an owner. */
export const actsAsOwner = ({ principal }: Pick<RequestCtx, 'principal'>): boolean =>
  principal.role.name === 'owner' && !principal.isTransferredKey;

/** A 422 for the caller to throw. */
export function unknownRole({ roleId }: RoleReference, code = 'unknown_role'): AppError {
  const [path, by] = roleId === undefined ? ['role', 'name'] : ['roleId', 'id'];
  return invalid('Unknown role', [{ path, code, message: `The organization has no role with this ${by}` }]);
}

/** A 403 `owner_needed` for the caller to throw. */
export const ownerNeeded = (message: string, path: string): AppError =>
  new AppError('FORBIDDEN', message, {
    details: [{ path, code: 'owner_needed', message: 'Ask an owner of the organization' }],
  });

/**
 * Locks the organization row, waiting for concurrent permission changes. Throws 403 when one of them took
 * permissions from the caller, and 403 `handed_over` for a transferred key.
 */
export async function assertStillAuthorized(tx: Tx, ctx: RequestCtx): Promise<void> {
  assertNotTransferredKey(ctx);
  await lockOrganization(tx, ctx.organizationId);
  const { user, role, permissions } = ctx.principal;
  const stored = await findRoleOfMember(tx, ctx.organizationId, user.id);
  const current = new Set(stored?.id === role.id ? permissionsOfRow(stored) : []);
  if ([...permissions].some((permission) => permission !== signUpPermission && !current.has(permission)))
    throw new AppError('FORBIDDEN', 'Your permissions changed while this request waited');
}

// Whoever changes what others may do must still hold that power when the change happens. All such changes of an organization go one
// after the other, so that two requests at once can't each rely on what the other takes away.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { signUpPermission } from '../../core/permissions.ts';
import type { Tx } from '../../db/transaction.ts';
import { rolePermissions } from '../../identity/principal.ts';
import { refuseHandedOver } from '../grant.ts';
import { lockOrganization } from '../organizations/organizations.store.ts';
import { findMember } from './members.store.ts';

/** No custom role can take a built-in name, and a key that was handed over stands for nobody's office. */
export const actsAsOwner = ({ principal }: Pick<RequestCtx, 'principal'>): boolean =>
  principal.role.name === 'owner' && !principal.handedOver;

export const onlyOwners = (message: string, path: string): AppError =>
  new AppError('FORBIDDEN', message, { details: [{ path, code: 'owner_needed', message: 'Ask an owner of the organization' }] });

/** Waits for other changes of power, and throws 403 when one of them took the caller's away. */
export async function holdAuthority(tx: Tx, ctx: RequestCtx): Promise<void> {
  refuseHandedOver(ctx);
  await lockOrganization(tx, ctx.organizationId);
  const { user, role, permissions } = ctx.principal;
  const member = await findMember(tx, ctx.organizationId, user.id);
  const held = new Set(member?.role_id === role.id ? rolePermissions(roleOf(member)) : []);
  if ([...permissions].some((permission) => permission !== signUpPermission && !held.has(permission)))
    throw new AppError('FORBIDDEN', 'Your permissions changed while this request waited');
}

type RoleColumns = { readonly role_name: string; readonly role_built_in: boolean; readonly role_permissions: string[] };
export const roleOf = (row: RoleColumns) => ({ name: row.role_name, builtIn: row.role_built_in, permissions: row.role_permissions });

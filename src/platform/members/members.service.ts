// Members and their roles. An organization always has an owner, only owners change owners, and callers can
// assign only roles whose permissions they hold.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, orNotFound } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { listActiveKeys } from '../api-keys/api-keys.store.ts';
import { assertCanGrant } from '../grant.ts';
import {
  actsAsOwner,
  assertStillAuthorized,
  ownerNeeded,
  permissionsOfRow,
  unknownRole,
} from '../roles/authority.ts';
import { findRole, findRoleId, type RoleReference } from '../roles/roles.store.ts';
import { listerOf } from '../rows.ts';
import type { Member } from './members.schemas.ts';
import * as store from './members.store.ts';

const view = (row: store.MemberRow): Member => ({
  user: { id: row.user_id, email: row.user_email, name: row.user_name },
  roleId: row.role_id,
  role: { id: row.role_id, name: row.role_name },
  joinedAt: instant(row.joined_at),
  lastActiveAt: instantOrNull(row.last_active_at),
});

/** Throws 404 when the person is not a member. */
export async function getMemberRow(tx: Tx, organizationId: string, userId: string): Promise<store.MemberRow> {
  return orNotFound(await store.findMember(tx, organizationId, userId), 'Member');
}

export const isOwner = (role: { role_name: string; role_built_in: boolean }): boolean =>
  role.role_built_in && role.role_name === 'owner';

/** Call with the organization row locked. Throws 422 `last_owner` when there is only one owner. */
export async function assertOwnerRemains(tx: Tx, organizationId: string): Promise<void> {
  if ((await store.countOwners(tx, organizationId)) > 1) return;
  throw invalid('The organization must keep an owner', [
    { path: '', code: 'last_owner', message: 'Make another member an owner first' },
  ]);
}

export const listMembers = listerOf(store.listMembers, view);

async function viewWithKeys(tx: Tx, organizationId: string, userId: string) {
  const row = await getMemberRow(tx, organizationId, userId);
  const keys = await listActiveKeys(tx, organizationId, userId);
  return { ...view(row), apiKeys: keys.map(({ id, name, prefix }) => ({ id, name, prefix })) };
}

/** Throws 404 when the person is not a member. */
export const getMember = (ctx: RequestCtx, userId: string) =>
  inTransaction(ctx, (tx) => viewWithKeys(tx, ctx.organizationId, userId));

async function assignRole(tx: Tx, ctx: RequestCtx, member: store.MemberRow, reference: RoleReference) {
  const roleId = await findRoleId(tx, ctx.organizationId, reference);
  const role = roleId === undefined ? undefined : await findRole(tx, ctx.organizationId, roleId);
  if (role === undefined) throw unknownRole(reference, 'unknown');
  const [was, becomes] = [isOwner(member), role.built_in && role.name === 'owner'];
  if ((was || becomes) && !actsAsOwner(ctx))
    throw ownerNeeded('Only an owner can grant the owner role or change an owner', 'roleId');
  assertCanGrant(ctx, permissionsOfRow(role));
  if (was && !becomes) await assertOwnerRemains(tx, ctx.organizationId);
  await store.setRole(tx, ctx.organizationId, member.user_id, role.id);
  return role.name;
}

/**
 * Throws 404 for an unknown member, 422 for an unknown role or when the last owner would lose the role, 403
 * when the caller lacks a permission of the role, or is not an owner and an owner is concerned.
 */
export const updateMember = (ctx: RequestCtx, userId: string, reference: RoleReference) =>
  inTransaction(ctx, async (tx) => {
    await assertStillAuthorized(tx, ctx);
    const member = await getMemberRow(tx, ctx.organizationId, userId);
    const isGiven = reference.roleId !== undefined || reference.role !== undefined;
    const role = isGiven ? await assignRole(tx, ctx, member, reference) : member.role_name;
    await writeAudit(tx, ctx, 'member.update', ['member', userId], {
      email: member.user_email,
      role: { from: member.role_name, to: role },
    });
    return viewWithKeys(tx, ctx.organizationId, userId);
  });

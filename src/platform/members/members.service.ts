// Who belongs to the organization and as what. An organization keeps an owner, owners are the affair of owners, and nobody gives a
// role that holds what they do not.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { rolePermissions } from '../../identity/principal.ts';
import { livingKeysOf } from '../api-keys/api-keys.store.ts';
import { checkGrant } from '../grant.ts';
import { findRole } from '../roles/roles.store.ts';
import { actsAsOwner, holdAuthority, onlyOwners } from './authority.ts';
import type { MemberView } from './members.schemas.ts';
import * as store from './members.store.ts';

const view = (row: store.MemberRow): MemberView => ({
  user: { id: row.user_id, email: row.user_email, name: row.user_name },
  role: { id: row.role_id, name: row.role_name },
  joinedAt: instant(row.joined_at),
  lastActiveAt: instantOrNull(row.last_active_at),
});

export async function getMemberRow(tx: Tx, organizationId: string, userId: string): Promise<store.MemberRow> {
  const row = await store.findMember(tx, organizationId, userId);
  if (row === undefined) throw notFound('Member');
  return row;
}

export const isOwner = (role: { role_name: string; role_built_in: boolean }): boolean => role.role_built_in && role.role_name === 'owner';

/** To be called under the lock of `holdAuthority`: throws when nobody would be left to own the organization. */
export async function keepAnOwner(tx: Tx, organizationId: string): Promise<void> {
  if ((await store.countOwners(tx, organizationId)) > 1) return;
  throw invalid('The last owner stays', [{ path: '', code: 'last_owner', message: 'Make another member an owner first' }]);
}

export const listMembers = (ctx: RequestCtx, page: PageQuery, filter: store.MemberFilter) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listMembers(tx, ctx.organizationId, page, filter);
    return toPage(rows.map(view), total, page);
  });

async function viewWithKeys(tx: Tx, organizationId: string, userId: string) {
  const row = await getMemberRow(tx, organizationId, userId);
  const keys = await livingKeysOf(tx, organizationId, userId);
  return { ...view(row), apiKeys: keys.map(({ id, name, prefix }) => ({ id, name, prefix })) };
}

export const getMember = (ctx: RequestCtx, userId: string) => inTransaction(ctx, (tx) => viewWithKeys(tx, ctx.organizationId, userId));

async function giveRole(tx: Tx, ctx: RequestCtx, member: store.MemberRow, roleId: string): Promise<string> {
  const role = await findRole(tx, ctx.organizationId, roleId);
  if (role === undefined) throw invalid('No such role', [{ path: 'roleId', code: 'unknown', message: 'No role has this id' }]);
  const [was, becomes] = [isOwner(member), role.built_in && role.name === 'owner'];
  if ((was || becomes) && !actsAsOwner(ctx)) throw onlyOwners('Only an owner makes or changes an owner', 'roleId');
  checkGrant(ctx, rolePermissions({ name: role.name, builtIn: role.built_in, permissions: role.permissions }));
  if (was && !becomes) await keepAnOwner(tx, ctx.organizationId);
  await store.setRole(tx, ctx.organizationId, member.user_id, role.id);
  return role.name;
}

export const changeMember = (ctx: RequestCtx, userId: string, { roleId }: { readonly roleId?: string | undefined }) =>
  inTransaction(ctx, async (tx) => {
    await holdAuthority(tx, ctx);
    const member = await getMemberRow(tx, ctx.organizationId, userId);
    const role = roleId === undefined ? member.role_name : await giveRole(tx, ctx, member, roleId);
    await writeAudit(tx, ctx, {
      action: 'member.update',
      target: { type: 'member', id: userId },
      changes: { email: member.user_email, role: { from: member.role_name, to: role } },
    });
    return viewWithKeys(tx, ctx.organizationId, userId);
  });

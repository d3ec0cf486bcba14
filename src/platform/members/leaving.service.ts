// How someone leaves an organization: removed by another, or by their own word. Their keys are revoked or handed over, never
// forgotten, and everything happens in one transaction.
import type { CallerCtx, Ctx, RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type Author, writeAudit } from '../../identity/audit.store.ts';
import { membershipsOf } from '../../identity/users.store.ts';
import { type ApiKeyRow, holdLivingKeys } from '../api-keys/api-keys.store.ts';
import { handOverKeys, revokeKeys } from '../api-keys/leaving.ts';
import { lockOrganization } from '../organizations/organizations.store.ts';
import { viewsOwnedBy } from '../views/views.store.ts';
import { actsAsOwner, holdAuthority, onlyOwners } from './authority.ts';
import type { LeavingInput } from './members.schemas.ts';
import { getMemberRow, isOwner, keepAnOwner } from './members.service.ts';
import { deleteMember, findMember, holdMembership } from './members.store.ts';

const keysInTheWay = (keys: readonly ApiKeyRow[]) =>
  invalid(
    'The member has living API keys',
    keys.map(({ name, prefix }) => ({
      path: 'keys',
      code: 'member_has_keys',
      message: `The key "${name}" (${prefix}…) acts for this member: send keys=revoke or keys=transfer`,
    })),
  );

const badHeir = (code: string, message: string) => invalid('The keys need a member to go to', [{ path: 'transferTo', code, message }]);

type Leaver = { readonly organizationId: string; readonly userId: string; readonly callerId: string };

async function heirOf(tx: Tx, { organizationId, userId, callerId }: Leaver, wanted: string | undefined): Promise<string> {
  const heir = wanted ?? callerId;
  if (heir === userId) throw badHeir('another_member_needed', 'Name another member: whoever leaves keeps no keys');
  if ((await findMember(tx, organizationId, heir)) === undefined) throw badHeir('not_a_member', 'No member has this id');
  return heir;
}

/** Settles the keys; says in the audit row's words what became of them. */
async function settleKeys(tx: Tx, leaver: Leaver, { keys: wish, transferTo }: LeavingInput): Promise<Record<string, unknown>> {
  const keys = await holdLivingKeys(tx, leaver.organizationId, leaver.userId);
  if (keys.length > 0 && wish === undefined) throw keysInTheWay(keys);
  if (wish !== 'transfer' && transferTo !== undefined)
    throw invalid('transferTo goes with keys=transfer', [{ path: 'transferTo', code: 'not_transferred', message: 'Send keys=transfer' }]);
  const heir = wish === 'transfer' ? await heirOf(tx, leaver, transferTo) : null;
  // Who removes somebody takes the keys over knowingly; nobody else was asked.
  if (heir !== null) await handOverKeys(tx, leaver.organizationId, keys, leaver.userId, { id: heir, agreed: heir === leaver.callerId });
  else await revokeKeys(tx, leaver.organizationId, keys, leaver.userId);
  if (keys.length === 0) return {};
  const named = keys.map(({ id, name, prefix }) => ({ id, name, prefix }));
  return heir === null ? { keysRevoked: named } : { keysTransferred: named, transferredTo: heir };
}

/** To be called under the lock of the organization. */
async function endMembership(tx: Tx, author: Author, leaver: Leaver, action: string, wish: LeavingInput): Promise<void> {
  const { organizationId, userId } = leaver;
  await holdMembership(tx, organizationId, userId);
  const member = await getMemberRow(tx, organizationId, userId);
  if (isOwner(member)) await keepAnOwner(tx, organizationId);
  const keys = await settleKeys(tx, leaver, wish);
  // The database takes the owner from them; whoever may change members looks after them from now on.
  const viewsWithoutOwner = await viewsOwnedBy(tx, organizationId, userId);
  await deleteMember(tx, organizationId, userId);
  await writeAudit(tx, author, {
    action,
    target: { type: 'member', id: userId },
    changes: { email: member.user_email, role: member.role_name, ...keys, ...(viewsWithoutOwner.length > 0 && { viewsWithoutOwner }) },
  });
}

export const removeMember = (ctx: RequestCtx, userId: string, wish: LeavingInput): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await holdAuthority(tx, ctx);
    const member = await getMemberRow(tx, ctx.organizationId, userId);
    if (isOwner(member) && !actsAsOwner(ctx)) throw onlyOwners('Only an owner removes an owner', '');
    const leaver = { organizationId: ctx.organizationId, userId, callerId: ctx.principal.user.id };
    await endMembership(tx, ctx, leaver, 'member.remove', wish);
  });

/** Whoever belongs to an organization may leave it, whatever their role. */
export async function leaveOrganization(ctx: CallerCtx & Pick<Ctx, 'db'>, organizationId: string, wish: LeavingInput): Promise<void> {
  const { user, credential } = ctx.caller;
  const memberships = await membershipsOf(ctx, user.id);
  if (!memberships.some(({ organization }) => organization.id === organizationId)) throw notFound('Organization');
  await inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    await lockOrganization(tx, organizationId);
    const author = { organizationId, principal: { user, credential }, ip: ctx.ip, requestId: ctx.requestId };
    await endMembership(tx, author, { organizationId, userId: user.id, callerId: user.id }, 'member.leave', wish);
  });
}

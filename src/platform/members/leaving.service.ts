// Ends a membership: a member is removed by someone else or leaves. In the same transaction their active keys are revoked or
// transferred.
import type { CallerCtx, Ctx, RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type Author, writeAudit } from '../../identity/audit.store.ts';
import { findMemberships } from '../../identity/users.store.ts';
import { type ApiKeyRow, lockActiveKeys } from '../api-keys/api-keys.store.ts';
import { handOverKeys, revokeKeys } from '../api-keys/keys-of-leaver.ts';
import { lockOrganization } from '../organizations/organizations.store.ts';
import { actsAsOwner, assertStillAuthorized, ownerNeeded } from '../roles/authority.ts';
import { listViewIdsOwnedBy } from '../views/views.store.ts';
import type { LeavingOptions } from './members.schemas.ts';
import { assertOwnerRemains, getMemberRow, isOwner } from './members.service.ts';
import { deleteMembership, findMember, lockMembership } from './members.store.ts';

const memberHasKeys = (keys: readonly ApiKeyRow[]) =>
  invalid(
    'The member has active API keys',
    keys.map(({ name, prefix }) => ({
      path: 'keys',
      code: 'member_has_keys',
      message: `The key "${name}" (${prefix}…) acts for this member. Send keys=revoke or keys=transfer.`,
    })),
  );

const invalidRecipient = (code: string, message: string) =>
  invalid('The keys cannot be transferred to this member', [{ path: 'transferTo', code, message }]);

/** `callerId`: who asked for it; equals `userId` when the member leaves by themselves. */
type Leaver = { readonly organizationId: string; readonly userId: string; readonly callerId: string };

async function getKeyRecipient(tx: Tx, { organizationId, userId, callerId }: Leaver, wanted: string | undefined): Promise<string> {
  const recipient = wanted ?? callerId;
  if (recipient === userId) throw invalidRecipient('another_member_needed', 'Name another member: the leaving member cannot keep keys');
  if ((await findMember(tx, organizationId, recipient)) === undefined) throw invalidRecipient('not_a_member', 'No member has this id');
  return recipient;
}

/** Returns the fields of the audit entry that name the revoked or transferred keys. */
async function revokeOrTransferKeys(
  tx: Tx,
  leaver: Leaver,
  { keys: choice, transferTo }: LeavingOptions,
): Promise<Record<string, unknown>> {
  const keys = await lockActiveKeys(tx, leaver.organizationId, leaver.userId);
  if (keys.length > 0 && choice === undefined) throw memberHasKeys(keys);
  if (choice !== 'transfer' && transferTo !== undefined)
    throw invalid('transferTo requires keys=transfer', [{ path: 'transferTo', code: 'not_transferred', message: 'Send keys=transfer' }]);
  const recipient = choice === 'transfer' ? await getKeyRecipient(tx, leaver, transferTo) : null;
  // Only the caller has agreed to take the keys over; any other recipient was not asked.
  if (recipient !== null)
    await handOverKeys(tx, leaver.organizationId, keys, leaver.userId, { id: recipient, agreed: recipient === leaver.callerId });
  else await revokeKeys(tx, leaver.organizationId, keys, leaver.userId);
  if (keys.length === 0) return {};
  const named = keys.map(({ id, name, prefix }) => ({ id, name, prefix }));
  return recipient === null ? { keysRevoked: named } : { keysTransferred: named, transferredTo: recipient };
}

/** Call with the organization row locked. */
async function endMembership(tx: Tx, author: Author, leaver: Leaver, action: string, options: LeavingOptions): Promise<void> {
  const { organizationId, userId } = leaver;
  await lockMembership(tx, organizationId, userId);
  const member = await getMemberRow(tx, organizationId, userId);
  if (isOwner(member)) await assertOwnerRemains(tx, organizationId);
  const keys = await revokeOrTransferKeys(tx, leaver, options);
  // A foreign key sets their owner to null; from then on callers with `member:update` manage these views.
  const viewsWithoutOwner = await listViewIdsOwnedBy(tx, organizationId, userId);
  await deleteMembership(tx, organizationId, userId);
  await writeAudit(tx, author, {
    action,
    target: { type: 'member', id: userId },
    changes: { email: member.user_email, role: member.role_name, ...keys, ...(viewsWithoutOwner.length > 0 && { viewsWithoutOwner }) },
  });
}

/**
 * Removes another member. Throws 404 for an unknown member, 403 when a non-owner removes an owner or the caller's permissions changed,
 * 422 `last_owner`, `member_has_keys` (active keys and no `keys` option), or for an invalid `transferTo`.
 */
export const deleteMember = (ctx: RequestCtx, userId: string, options: LeavingOptions): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await assertStillAuthorized(tx, ctx);
    const member = await getMemberRow(tx, ctx.organizationId, userId);
    if (isOwner(member) && !actsAsOwner(ctx)) throw ownerNeeded('Only an owner can remove an owner', '');
    const leaver = { organizationId: ctx.organizationId, userId, callerId: ctx.principal.user.id };
    await endMembership(tx, ctx, leaver, 'member.remove', options);
  });

/**
 * The caller leaves; no permission is needed. Throws 404 when the caller is not a member, 422 `last_owner`, `member_has_keys`, or for
 * an invalid `transferTo`.
 */
export async function leaveOrganization(ctx: CallerCtx & Pick<Ctx, 'db'>, organizationId: string, options: LeavingOptions): Promise<void> {
  const { user, credential } = ctx.caller;
  const memberships = await findMemberships(ctx, user.id);
  if (!memberships.some(({ organization }) => organization.id === organizationId)) throw notFound('Organization');
  await inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    await lockOrganization(tx, organizationId);
    const author = { organizationId, principal: { user, credential }, ip: ctx.ip, requestId: ctx.requestId };
    await endMembership(tx, author, { organizationId, userId: user.id, callerId: user.id }, 'member.leave', options);
  });
}

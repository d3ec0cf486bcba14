// Ends a membership: a member is removed or leaves. Their keys are revoked or transferred with it.
import type { CallerCtx, RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type Author, writeAudit } from '../../identity/audit.store.ts';
import { findMemberships } from '../../identity/users.store.ts';
import { type ApiKeyRow, actsFor, lockKeys } from '../api-keys/api-keys.store.ts';
import { handOverKeys, revokeKeys } from '../api-keys/keys-of-leaver.ts';
import { reportTransfer } from '../api-keys/report-secret-ends.ts';
import { lockOrganization } from '../organizations/organizations.store.ts';
import { actsAsOwner, assertStillAuthorized, ownerNeeded } from '../roles/authority.ts';
import { listViewIdsOwnedBy } from '../views/views.store.ts';
import { defaultGracePeriodSeconds, type LeavingOptions } from './members.schemas.ts';
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

/** Throws 422 `not_transferred` for options that only a transfer has. */
function assertFitting({ keys, transferTo, gracePeriodSeconds }: LeavingOptions): void {
  if (keys === 'transfer') return;
  const given = Object.entries({ transferTo, gracePeriodSeconds }).filter(([, value]) => value !== undefined);
  if (given.length === 0) return;
  const details = given.map(([path]) => ({ path, code: 'not_transferred', message: 'Send keys=transfer' }));
  throw invalid('transferTo and gracePeriodSeconds require keys=transfer', details);
}

async function getKeyRecipient(
  tx: Tx,
  { organizationId, userId, callerId }: Leaver,
  wanted: string | undefined,
): Promise<string> {
  const recipient = wanted ?? callerId;
  if (recipient === userId)
    throw invalidRecipient(
      'another_member_needed',
      'Name another member: the leaving member cannot keep keys',
    );
  if ((await findMember(tx, organizationId, recipient)) === undefined)
    throw invalidRecipient('not_a_member', 'No member has this id');
  return recipient;
}

/** Returns the fields of the audit entry that name the revoked or transferred keys. */
async function revokeOrTransferKeys(
  tx: Tx,
  ctx: TenantCtx,
  leaver: Leaver & { readonly email: string },
  options: LeavingOptions,
): Promise<Record<string, unknown>> {
  const { organizationId, userId, email, callerId } = leaver;
  const keys = await lockKeys(tx, organizationId, userId);
  const active = keys.filter((key) => actsFor(key, userId));
  if (active.length > 0 && options.keys === undefined) throw memberHasKeys(active);
  assertFitting(options);
  const named = keys.map(({ id, name, prefix }) => ({ id, name, prefix }));
  if (options.keys !== 'transfer') {
    await revokeKeys(tx, organizationId, keys, userId);
    return named.length === 0 ? {} : { keysRevoked: named };
  }
  const recipient = await getKeyRecipient(tx, leaver, options.transferTo);
  const graceSeconds = options.gracePeriodSeconds ?? defaultGracePeriodSeconds;
  // Only the caller has agreed to take the keys over; any other recipient was not asked.
  const to = { id: recipient, agreed: recipient === callerId };
  await handOverKeys(tx, organizationId, keys, { from: { id: userId, email }, to, graceSeconds });
  await reportTransfer(tx, ctx, { from: email, keyIds: active.map(({ id }) => id) });
  return named.length === 0
    ? {}
    : { keysTransferred: named, transferredTo: recipient, gracePeriodSeconds: graceSeconds };
}

/** Call with the organization row locked. */
async function endMembership(
  tx: Tx,
  ctx: TenantCtx & Author,
  leaver: Leaver,
  action: 'member.remove' | 'member.leave',
  options: LeavingOptions,
): Promise<void> {
  const { organizationId, userId } = leaver;
  await lockMembership(tx, organizationId, userId);
  const member = await getMemberRow(tx, organizationId, userId);
  if (isOwner(member)) await assertOwnerRemains(tx, organizationId);
  const keys = await revokeOrTransferKeys(tx, ctx, { ...leaver, email: member.user_email }, options);
  // A foreign key sets their owner to null; from then on callers with `member:update` manage these views.
  const viewsWithoutOwner = await listViewIdsOwnedBy(tx, organizationId, userId);
  await deleteMembership(tx, organizationId, userId);
  await writeAudit(tx, ctx, action, ['member', userId], {
    email: member.user_email,
    role: member.role_name,
    ...keys,
    ...(viewsWithoutOwner.length > 0 && { viewsWithoutOwner }),
  });
}

/**
 * Removes another member. Throws 404 for an unknown member, 403 when a non-owner removes an owner or the
 * caller's permissions changed, 422 `last_owner`, `member_has_keys` (active keys and no `keys` option), or
 * for an invalid `transferTo` or `gracePeriodSeconds`.
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
 * The caller leaves; no permission is needed. Throws 404 when the caller is not a member, 422 `last_owner`,
 * `member_has_keys`, or for an invalid `transferTo` or `gracePeriodSeconds`.
 */
export async function leaveOrganization(ctx: CallerCtx, organizationId: string, options: LeavingOptions) {
  const { user, credential } = ctx.caller;
  const memberships = await findMemberships(ctx, user.id);
  if (!memberships.some(({ organization }) => organization.id === organizationId))
    throw notFound('Organization');
  await inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    await lockOrganization(tx, organizationId);
    const leaving = { ...ctx, organizationId, principal: { user, credential } };
    await endMembership(
      tx,
      leaving,
      { organizationId, userId: user.id, callerId: user.id },
      'member.leave',
      options,
    );
  });
}

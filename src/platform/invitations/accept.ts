// Accepts an invitation. Everything is checked again at this time: the address, that the invitation is open,
// and that its sender could still grant the role.
import type { CallerCtx } from '../../core/ctx.ts';
import { AppError, invalid, orNotFound } from '../../core/errors.ts';
import { hashSecretToken } from '../../core/secrets/secret-token.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { permissionsOfRow } from '../roles/authority.ts';
import type { JoinedOrganization } from './invitations.schemas.ts';
import { isOwnerRole } from './invitations.service.ts';
import * as store from './invitations.store.ts';

const invalidToken = (message: string, code: string, advice: string): AppError =>
  invalid(message, [{ path: 'token', code, message: advice }]);

/** Does not reveal the address of the invitation. */
const anotherAddress = (): AppError =>
  new AppError('FORBIDDEN', 'This invitation is for another e-mail address', {
    details: [
      {
        path: 'token',
        code: 'other_address',
        message: 'Sign in with the address to which the invitation was sent',
      },
    ],
  });

const closed = {
  accepted: () =>
    invalidToken('The invitation was already accepted', 'already_accepted', 'Nothing left to do'),
  expired: () => invalidToken('The invitation has expired', 'expired', 'Ask for a new invitation'),
  revoked: () => invalidToken('The invitation was revoked', 'revoked', 'Ask for a new invitation'),
};

/** The role to grant. Throws 422 `no_longer_valid` unless the sender still holds every permission of it. */
async function getRoleStillGrantable(tx: Tx, organizationId: string, row: store.InvitationRow) {
  const role = await store.lockRole(tx, organizationId, row.role_id);
  const sender = await store.lockRoleOfMember(tx, organizationId, row.user_id);
  const holds = new Set(sender === undefined ? [] : permissionsOfRow(sender));
  const ownersOnly =
    role !== undefined && isOwnerRole(role) && (sender === undefined || !isOwnerRole(sender));
  if (
    role === undefined ||
    ownersOnly ||
    !permissionsOfRow(role).every((permission) => holds.has(permission))
  )
    throw invalidToken('The invitation is no longer valid', 'no_longer_valid', 'Ask for a new invitation');
  return role;
}

/**
 * The caller becomes a member. Throws 404 for an unknown token, 403 `other_address` for another person's
 * invitation, 422 when the invitation is not open, is no longer valid, or the caller is already a member.
 */
export async function acceptInvitation(ctx: CallerCtx, token: string): Promise<JoinedOrganization> {
  const found = orNotFound(await store.findInvitationByToken(ctx, hashSecretToken(token)), 'Invitation');
  const { organizationId, id } = found;
  const { user, credential } = ctx.caller;
  return inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    const row = orNotFound(await store.lockInvitation(tx, organizationId, id), 'Invitation');
    if (row.email !== user.email.toLowerCase()) throw anotherAddress();
    if (row.status !== 'pending') throw closed[row.status]();
    const role = await getRoleStillGrantable(tx, organizationId, row);
    if (!(await store.insertMembership(tx, organizationId, user.id, role.id)))
      throw invalidToken('You are already a member', 'already_member', 'Nothing left to do');
    await store.markAccepted(tx, organizationId, id, user.id);
    if (credential.kind === 'session')
      await store.activateIfNoneChosen(tx, user.id, credential.id, organizationId);
    await writeAudit(
      tx,
      {
        organizationId,
        principal: { user, credential },
        ip: ctx.ip,
        requestId: ctx.requestId,
        claim: ctx.claim,
      },
      'invitation.accept',
      ['invitation', id],
      { userId: user.id, email: row.email, role: { id: role.id, name: role.name } },
    );
    return {
      organization: await store.readOrganization(tx, organizationId),
      role: { id: role.id, name: role.name },
    };
  });
}

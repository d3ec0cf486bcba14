// A person takes an invitation up. Everything that was true when it was sent is asked again: whose address it is for, that it is
// open, and that whoever sent it could still give what it gives.
import type { CallerCtx } from '../../core/ctx.ts';
import { AppError, invalid, notFound } from '../../core/errors.ts';
import { hashSecretToken } from '../../core/secret-token.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { rolePermissions } from '../../identity/principal.ts';
import type { JoinedView } from './invitations.schemas.ts';
import { isOwnerRole } from './invitations.service.ts';
import {
  acceptInvitation,
  activateInSession,
  findByToken,
  getOrganization,
  type InvitationRow,
  insertMembership,
  lockInvitation,
  lockRole,
  lockRoleOfMember,
  type RoleRow,
} from './invitations.store.ts';

const refuse = (message: string, code: string, advice: string): AppError => invalid(message, [{ path: 'token', code, message: advice }]);

/** Says nothing of whose invitation it is. */
const anotherAddress = (): AppError =>
  new AppError('FORBIDDEN', 'This invitation is for another e-mail address', {
    details: [{ path: 'token', code: 'other_address', message: 'Sign in with the address that the invitation was sent to' }],
  });

const closed = {
  accepted: () => refuse('The invitation was accepted already', 'already_accepted', 'Nothing is left to do'),
  expired: () => refuse('The invitation has expired', 'expired', 'Ask for a new one'),
  revoked: () => refuse('The invitation was revoked', 'revoked', 'Ask for a new one'),
};

/** The role that it gives, as long as its sender is a member who holds all that the role holds today. */
async function roleStillGiven(tx: Tx, organizationId: string, row: InvitationRow): Promise<RoleRow> {
  const role = await lockRole(tx, organizationId, row.role_id);
  const sender = await lockRoleOfMember(tx, organizationId, row.user_id);
  const permissionsOf = (held: RoleRow) => rolePermissions({ ...held, builtIn: held.built_in });
  const holds = new Set(sender === undefined ? [] : permissionsOf(sender));
  const ownersOnly = role !== undefined && isOwnerRole(role) && (sender === undefined || !isOwnerRole(sender));
  if (role === undefined || ownersOnly || !permissionsOf(role).every((permission) => holds.has(permission)))
    throw refuse('The invitation is no longer valid', 'no_longer_valid', 'Ask for a new one');
  return role;
}

export async function accept(ctx: CallerCtx, token: string): Promise<JoinedView> {
  const found = await findByToken(ctx, hashSecretToken(token));
  if (found === undefined) throw notFound('Invitation');
  const { organizationId, id } = found;
  const { user, credential } = ctx.caller;
  return inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    const row = await lockInvitation(tx, organizationId, id);
    if (row === undefined) throw notFound('Invitation');
    if (row.email !== user.email.toLowerCase()) throw anotherAddress();
    if (row.status !== 'pending') throw closed[row.status]();
    const role = await roleStillGiven(tx, organizationId, row);
    if (!(await insertMembership(tx, organizationId, user.id, role.id)))
      throw refuse('You are a member already', 'already_member', 'Nothing is left to do');
    await acceptInvitation(tx, organizationId, id, user.id);
    if (credential.kind === 'session') await activateInSession(tx, user.id, credential.id, organizationId);
    await writeAudit(
      tx,
      { organizationId, principal: { user, credential }, ip: ctx.ip, requestId: ctx.requestId, claim: ctx.claim },
      {
        action: 'invitation.accept',
        target: { type: 'invitation', id },
        changes: { userId: user.id, email: row.email, role: { id: role.id, name: role.name } },
      },
    );
    return { organization: await getOrganization(tx, organizationId), role: { id: role.id, name: role.name } };
  });
}

// Invitations: callers can grant only roles whose permissions they hold; each address has at most one open
// invitation, and each invitation one valid token, which is sent by mail and stored only as a hash.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { createSecretToken, hashSecretToken } from '../../core/secrets/secret-token.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { cancelQueuedMail, enqueueMail, layoutMail } from '../../mail/index.ts';
import { assertCanGrant } from '../grant.ts';
import { assertQuota } from '../quotas.ts';
import {
  actsAsOwner,
  assertStillAuthorized,
  ownerNeeded,
  permissionsOfRow,
  unknownRole,
} from '../roles/authority.ts';
import { findRoleId, type RoleReference } from '../roles/roles.store.ts';
import { getterOf, listerOf } from '../rows.ts';
import type { Invitation } from './invitations.schemas.ts';
import * as store from './invitations.store.ts';

/** Only the built-in role; a custom role with every permission is not the owner role. */
export const isOwnerRole = (role: Pick<store.LockedRoleRow, 'name' | 'built_in'>): boolean =>
  role.built_in && role.name === 'owner';

const view = (row: store.InvitationRow): Invitation => ({
  id: row.id,
  email: row.email,
  roleId: row.role_id,
  role: { id: row.role_id, name: row.role_name },
  status: row.status,
  expiresAt: instant(row.expires_at),
  invitedBy: { id: row.user_id, email: row.user_email, name: row.user_name },
  createdAt: instant(row.created_at),
  delivery:
    row.mail_status === null
      ? null
      : { status: row.mail_status === 'sending' ? 'queued' : row.mail_status, error: row.mail_error },
});

const getRow = getterOf(store.findInvitation, 'Invitation');

const lockRow = getterOf(store.lockInvitation, 'Invitation');

/** Throws 422 `unknown_role`, 403 when the caller may not grant the role. */
async function getGrantableRole(tx: Tx, ctx: RequestCtx, reference: RoleReference) {
  const id = await findRoleId(tx, ctx.organizationId, reference);
  const role = id === undefined ? undefined : await store.lockRole(tx, ctx.organizationId, id);
  if (role === undefined) throw unknownRole(reference);
  if (isOwnerRole(role) && !actsAsOwner(ctx))
    throw ownerNeeded('Only an owner can invite an owner', 'roleId');
  assertCanGrant(ctx, permissionsOfRow(role));
  return role;
}

async function assertNotMember(tx: Tx, ctx: RequestCtx, email: string): Promise<void> {
  if (await store.isMemberAddress(tx, ctx.organizationId, email))
    throw invalid('This person is already a member', [
      { path: 'email', code: 'already_member', message: 'Change their role instead' },
    ]);
}

const maxMailsPerAddressAndHour = 5;
const maxMailsPerDay = 1_000;

/** Keeps callers from flooding a mailbox and from misusing the service for bulk mail. Throws 429. */
async function assertMailQuota(tx: Tx, ctx: RequestCtx, email: string): Promise<void> {
  const { toAddress, today } = await store.countInvitationMails(tx, ctx.organizationId, email);
  const exceeded = (message: string, seconds: number): AppError =>
    new AppError('RATE_LIMIT_EXCEEDED', message, { headers: { 'Retry-After': String(seconds) } });
  if (toAddress >= maxMailsPerAddressAndHour)
    throw exceeded(
      `At most ${maxMailsPerAddressAndHour} invitations per hour can be sent to one address`,
      3_600,
    );
  if (today >= maxMailsPerDay)
    throw exceeded(`An organization can send at most ${maxMailsPerDay} invitations per day`, 86_400);
}

/** Queues the mail with a new token and returns the columns to store. */
async function sendToken(
  tx: Tx,
  ctx: RequestCtx,
  email: string,
  role: store.LockedRoleRow,
): Promise<store.InvitationTerms> {
  await assertMailQuota(tx, ctx, email);
  const token = createSecretToken();
  const { organization, user } = ctx.principal;
  const title = `Join ${organization.name}`;
  const sender = user.name === user.email ? user.email : `${user.name} (${user.email})`;
  const mailId = await enqueueMail(tx, ctx, {
    kind: 'invitation',
    to: { address: email },
    subject: `Invitation to ${organization.name}`,
    ...layoutMail({
      title,
      paragraphs: [
        `${sender} invites you to ${organization.name} with the role ${role.name}.`,
        `To accept, sign in with the address ${email}. The invitation expires after 7 days.`,
      ],
      action: {
        label: 'Accept the invitation',
        url: `${ctx.settings.publicUrl}/invitations/accept#token=${token}`,
      },
      notes: ['This link is only for you. If you did not expect this mail, you can ignore it.'],
    }),
  });
  return {
    role_id: role.id,
    role_name: role.name,
    token_hash: hashSecretToken(token),
    invited_by: user.id,
    mail_id: mailId,
  };
}

/** Replaces role and token: the old token stops working, and its mail is withdrawn if it was not sent yet. */
async function renewOpenInvitation(
  tx: Tx,
  ctx: RequestCtx,
  row: store.InvitationRow,
  role: store.LockedRoleRow,
) {
  await store.renewInvitation(tx, ctx.organizationId, row.id, await sendToken(tx, ctx, row.email, role));
  if (row.mail_id !== null) await cancelQueuedMail(tx, ctx, row.mail_id);
  await writeAudit(tx, ctx, 'invitation.resend', ['invitation', row.id], {
    email: row.email,
    role: { id: role.id, name: role.name },
  });
}

export const listInvitations = listerOf(store.listInvitationRows, view);

/** Throws 404 for an unknown invitation. */
export const getInvitation = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

/**
 * An open invitation to the address gets the new role and a new mail. Throws 422 for an unknown role, an
 * existing member, or at the quota; 403 when the caller may not grant the role; 429 after too many mails.
 */
export const createInvitation = (
  ctx: RequestCtx,
  { email, ...reference }: { readonly email: string } & RoleReference,
) =>
  inTransaction(ctx, async (tx) => {
    await assertStillAuthorized(tx, ctx);
    const open = await store.lockOpenInvitationTo(tx, ctx.organizationId, email);
    const role = await getGrantableRole(tx, ctx, reference);
    await assertNotMember(tx, ctx, email);
    if (open !== undefined) {
      await renewOpenInvitation(tx, ctx, open, role);
      return view(await getRow(tx, ctx, open.id));
    }
    const id = createId();
    await assertQuota(tx, ctx, 'members');
    await assertQuota(tx, ctx, 'invitations');
    await store.insertInvitation(tx, ctx.organizationId, id, email, await sendToken(tx, ctx, email, role));
    await writeAudit(tx, ctx, 'invitation.create', ['invitation', id], {
      email,
      role: { id: role.id, name: role.name },
    });
    return view(await getRow(tx, ctx, id));
  });

/**
 * The caller becomes the sender. Throws 404, 422 when the invitation was accepted or revoked or the person is
 * already a member, 403 when the caller may not grant the role, 429 when too many mails were sent.
 */
export const resendInvitation = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    await assertStillAuthorized(tx, ctx);
    const row = await lockRow(tx, ctx, id);
    if (row.status === 'accepted' || row.status === 'revoked')
      throw invalid(`The invitation was ${row.status}`, [
        { path: '', code: row.status, message: 'Create a new invitation' },
      ]);
    await assertNotMember(tx, ctx, row.email);
    await renewOpenInvitation(tx, ctx, row, await getGrantableRole(tx, ctx, { roleId: row.role_id }));
    return view(await getRow(tx, ctx, id));
  });

/** The invitation stays listed; revoking it again has no effect. Throws 404, 422 `accepted`. */
export const revokeInvitation = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await lockRow(tx, ctx, id);
    if (row.status === 'revoked') return;
    if (row.status === 'accepted')
      throw invalid('The invitation was accepted', [
        { path: '', code: 'accepted', message: 'Remove the member instead' },
      ]);
    await store.markRevoked(tx, ctx.organizationId, id);
    if (row.mail_id !== null) await cancelQueuedMail(tx, ctx, row.mail_id);
    await writeAudit(tx, ctx, 'invitation.revoke', ['invitation', id], { email: row.email });
  });

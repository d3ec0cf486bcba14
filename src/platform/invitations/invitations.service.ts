// Rules of inviting: nobody gives a role above their own, one open invitation for each address, and one living token for each
// invitation, which leaves by mail and is kept as its hash alone.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { hashSecretToken, newSecretToken } from '../../core/secret-token.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { rolePermissions } from '../../identity/principal.ts';
import { enqueueMail, layoutMail, recallMail } from '../../mail/index.ts';
import { checkGrant } from '../grant.ts';
import { actsAsOwner, holdAuthority, onlyOwners } from '../members/authority.ts';
import { makeRoom } from '../room.ts';
import type { InvitationView } from './invitations.schemas.ts';
import {
  countInvitationMails,
  findInvitation,
  type InvitationFilter,
  type InvitationRow,
  insertInvitation,
  isMember,
  listInvitations,
  lockAddress,
  lockInvitation,
  lockRole,
  type RoleRow,
  renewInvitation,
  revokeInvitation,
  type Terms,
} from './invitations.store.ts';

/** A custom role may hold every permission, and is still not the owners' own. */
export const isOwnerRole = (role: Pick<RoleRow, 'name' | 'built_in'>): boolean => role.built_in && role.name === 'owner';

const view = (row: InvitationRow): InvitationView => ({
  id: row.id,
  email: row.email,
  role: { id: row.role_id, name: row.role_name },
  status: row.status,
  expiresAt: instant(row.expires_at),
  invitedBy: { id: row.user_id, email: row.user_email, name: row.user_name },
  createdAt: instant(row.created_at),
  delivery: row.mail_status === null ? null : { status: row.mail_status === 'sending' ? 'queued' : row.mail_status, error: row.mail_error },
});

async function getRow(tx: Tx, ctx: RequestCtx, id: string): Promise<InvitationRow> {
  const row = await findInvitation(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('Invitation');
  return row;
}

async function lockRow(tx: Tx, ctx: RequestCtx, id: string): Promise<InvitationRow> {
  const row = await lockInvitation(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('Invitation');
  return row;
}

async function getRole(tx: Tx, ctx: RequestCtx, id: string): Promise<RoleRow> {
  const role = await lockRole(tx, ctx.organizationId, id);
  if (role === undefined)
    throw invalid('There is no such role', [{ path: 'roleId', code: 'unknown_role', message: 'Name a role of this organization' }]);
  if (isOwnerRole(role) && !actsAsOwner(ctx)) throw onlyOwners('Only an owner invites an owner', 'roleId');
  checkGrant(ctx, rolePermissions({ ...role, builtIn: role.built_in }));
  return role;
}

async function refuseMember(tx: Tx, ctx: RequestCtx, email: string): Promise<void> {
  if (await isMember(tx, ctx.organizationId, email))
    throw invalid('That person is a member already', [{ path: 'email', code: 'already_member', message: 'Change their role instead' }]);
}

const mostMailsPerAddressAndHour = 5;
const mostMailsPerDay = 1_000;

/** Nobody's mailbox is filled from here, nor is this service used to send what it isn't for. */
async function checkMailBudget(tx: Tx, ctx: RequestCtx, email: string): Promise<void> {
  const { toAddress, today } = await countInvitationMails(tx, ctx.organizationId, email);
  const exceeded = (message: string, seconds: number): AppError =>
    new AppError('RATE_LIMIT_EXCEEDED', message, { headers: { 'Retry-After': String(seconds) } });
  if (toAddress >= mostMailsPerAddressAndHour)
    throw exceeded(`At most ${mostMailsPerAddressAndHour} invitations an hour go to one address`, 3_600);
  if (today >= mostMailsPerDay) throw exceeded(`At most ${mostMailsPerDay} invitations a day leave an organization`, 86_400);
}

/** The mail with a new token; what it opens from now on. */
async function sendToken(tx: Tx, ctx: RequestCtx, email: string, role: RoleRow): Promise<Terms> {
  await checkMailBudget(tx, ctx, email);
  const token = newSecretToken();
  const { organization, user } = ctx.principal;
  const title = `Join ${organization.name}`;
  const mailId = await enqueueMail(tx, ctx, {
    kind: 'invitation',
    to: { address: email },
    subject: `Invitation to ${organization.name}`,
    ...layoutMail({
      title,
      paragraphs: [
        `${user.name === user.email ? user.email : `${user.name} (${user.email})`} invites you to ${organization.name} with the role ${role.name}.`,
        `Sign in with this address, ${email}, to accept. The invitation ends after 7 days.`,
      ],
      action: { label: 'Accept the invitation', url: `${ctx.settings.publicUrl}/invitations/accept#token=${token}` },
      notes: ['The link is for you alone. If you did not expect this mail, you need not do anything.'],
    }),
  });
  return { role_id: role.id, role_name: role.name, token_hash: hashSecretToken(token), invited_by: user.id, mail_id: mailId };
}

/** New terms for an open invitation: the old token is dead, and its mail stays here if it had not left. */
async function renew(tx: Tx, ctx: RequestCtx, row: InvitationRow, role: RoleRow): Promise<void> {
  await renewInvitation(tx, ctx.organizationId, row.id, await sendToken(tx, ctx, row.email, role));
  if (row.mail_id !== null) await recallMail(tx, ctx, row.mail_id);
  await writeAudit(tx, ctx, {
    action: 'invitation.resend',
    target: { type: 'invitation', id: row.id },
    changes: { email: row.email, role: { id: role.id, name: role.name } },
  });
}

export const listOpenAndClosed = (ctx: RequestCtx, page: PageQuery, filter: InvitationFilter) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await listInvitations(tx, ctx.organizationId, page, filter);
    return toPage(rows.map(view), total, page);
  });

export const getInvitation = (ctx: RequestCtx, id: string) => inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

/** An address that has an open invitation gets a new mail for that one, with the role as asked now. */
export const invite = (ctx: RequestCtx, { email, roleId }: { email: string; roleId: string }) =>
  inTransaction(ctx, async (tx) => {
    await holdAuthority(tx, ctx);
    const open = await lockAddress(tx, ctx.organizationId, email);
    const role = await getRole(tx, ctx, roleId);
    await refuseMember(tx, ctx, email);
    if (open !== undefined) {
      await renew(tx, ctx, open, role);
      return view(await getRow(tx, ctx, open.id));
    }
    const id = newId();
    await makeRoom(tx, ctx, 'members');
    await makeRoom(tx, ctx, 'invitations');
    await insertInvitation(tx, ctx.organizationId, id, email, await sendToken(tx, ctx, email, role));
    await writeAudit(tx, ctx, {
      action: 'invitation.create',
      target: { type: 'invitation', id },
      changes: { email, role: { id: role.id, name: role.name } },
    });
    return view(await getRow(tx, ctx, id));
  });

/** Whoever resends vouches for the invitation from now on. */
export const resend = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    await holdAuthority(tx, ctx);
    const row = await lockRow(tx, ctx, id);
    if (row.status === 'accepted' || row.status === 'revoked')
      throw invalid(`The invitation was ${row.status}`, [{ path: '', code: row.status, message: 'Invite the address anew' }]);
    await refuseMember(tx, ctx, row.email);
    await renew(tx, ctx, row, await getRole(tx, ctx, row.role_id));
    return view(await getRow(tx, ctx, id));
  });

/** The invitation stays listed. Revoking it again changes nothing. */
export const revoke = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await lockRow(tx, ctx, id);
    if (row.status === 'revoked') return;
    if (row.status === 'accepted')
      throw invalid('The invitation was accepted', [{ path: '', code: 'accepted', message: 'Remove the member instead' }]);
    await revokeInvitation(tx, ctx.organizationId, id);
    if (row.mail_id !== null) await recallMail(tx, ctx, row.mail_id);
    await writeAudit(tx, ctx, { action: 'invitation.revoke', target: { type: 'invitation', id }, changes: { email: row.email } });
  });

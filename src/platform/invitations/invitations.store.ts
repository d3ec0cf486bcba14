// Rows of invitations. Only this file writes that table.
import type { Ctx } from '../../core/ctx.ts';
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import type { invitationStatuses } from './invitations.schemas.ts';

export type InvitationStatus = (typeof invitationStatuses)[number];

export type InvitationRow = {
  id: string;
  email: string;
  role_id: string;
  role_name: string;
  status: InvitationStatus;
  expires_at: Date;
  created_at: Date;
  mail_id: string | null;
  user_id: string;
  user_email: string;
  user_name: string;
  mail_status: 'queued' | 'sending' | 'sent' | 'failed' | 'unknown' | null;
  mail_error: string | null;
};

export type InvitationFilter = {
  readonly q?: string | undefined;
  readonly status?: InvitationStatus | undefined;
};

const status =
  "case when i.status = 'pending' and i.expires_at <= clock_timestamp() then 'expired' else i.status end";

const select = (tx: Tx, organizationId: string) =>
  tx('invitations as i')
    .join('users as u', 'u.id', 'i.invited_by')
    .leftJoin('roles as r', 'r.id', 'i.open_role_id')
    .leftJoin('outgoing_mails as o', 'o.id', 'i.mail_id')
    .where('i.organization_id', organizationId)
    .select(
      'i.id',
      'i.email',
      'i.role_id',
      tx.raw('coalesce(r.name, i.role_name) as role_name'),
      tx.raw(`${status} as status`),
      'i.expires_at',
      'i.created_at',
      'i.mail_id',
      'u.id as user_id',
      'u.email as user_email',
      'u.name as user_name',
      'o.status as mail_status',
      'o.last_error as mail_error',
    );

export function listInvitationRows(
  tx: Tx,
  organizationId: string,
  page: PageQuery,
  filter: InvitationFilter,
) {
  const query = select(tx, organizationId).orderBy(newestFirst('i.created_at', 'i.id'));
  if (filter.q !== undefined) query.whereRaw(containsSql('i.email'), [filter.q]);
  if (filter.status !== undefined) query.whereRaw(`${status} = ?`, [filter.status]);
  return readPage<InvitationRow>(query, page);
}

export const findInvitation = async (tx: Tx, organizationId: string, id: string) =>
  (await select(tx, organizationId).where('i.id', id).first()) as InvitationRow | undefined;

/** Locks the row until the transaction ends. */
export const lockInvitation = (tx: Tx, organizationId: string, id: string) =>
  select(tx, organizationId).where('i.id', id).forUpdate('i').first() as Promise<InvitationRow | undefined>;

/** An address's open invitation. An advisory lock keeps concurrent requests from both creating the first. */
export async function lockOpenInvitationTo(tx: Tx, organizationId: string, email: string) {
  await tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `invitation ${organizationId} ${email}`,
  ]);
  return select(tx, organizationId)
    .where('i.email', email)
    .where('i.status', 'pending')
    .forUpdate('i')
    .first() as Promise<InvitationRow | undefined>;
}

/** What a new mail changes: sender, role and the token that is valid from then on. */
export type InvitationTerms = {
  role_id: string;
  role_name: string;
  token_hash: Buffer;
  invited_by: string;
  mail_id: string;
};
const lifetime = (tx: Tx) => tx.raw("clock_timestamp() + interval '7 days'");

export const insertInvitation = (
  tx: Tx,
  organizationId: string,
  id: string,
  email: string,
  terms: InvitationTerms,
) =>
  tx('invitations').insert({
    id,
    organization_id: organizationId,
    email,
    ...terms,
    expires_at: lifetime(tx),
  });

export const renewInvitation = (tx: Tx, organizationId: string, id: string, terms: InvitationTerms) =>
  tx('invitations')
    .where({ organization_id: organizationId, id, status: 'pending' })
    .update({ ...terms, expires_at: lifetime(tx) });

export const markRevoked = (tx: Tx, organizationId: string, id: string) =>
  tx('invitations')
    .where({ organization_id: organizationId, id, status: 'pending' })
    .update({ status: 'revoked' });

export const markAccepted = (tx: Tx, organizationId: string, id: string, userId: string) =>
  tx('invitations')
    .where({ organization_id: organizationId, id, status: 'pending' })
    .update({ status: 'accepted', accepted_at: tx.raw('clock_timestamp()'), accepted_by: userId });

/** Searches all organizations, because the caller knows only the token. */
export async function findInvitationByToken(ctx: Pick<Ctx, 'db'>, hash: Buffer) {
  const { rows } = await ctx.db.control.raw<{ rows: { id: string; organization_id: string }[] }>(
    'select * from find_invitation(?)',
    [hash],
  );
  const row = rows[0];
  return row === undefined ? undefined : { id: row.id, organizationId: row.organization_id };
}

export type LockedRoleRow = { id: string; name: string; built_in: boolean; permissions: string[] };

/** Share lock: the role is neither changed nor deleted until the transaction ends. */
export const lockRole = (tx: Tx, organizationId: string, id: string): Promise<LockedRoleRow | undefined> =>
  tx('roles')
    .where({ organization_id: organizationId, id })
    .forShare()
    .first<LockedRoleRow | undefined>('id', 'name', 'built_in', 'permissions');

/** The member's current role. Share lock on role and membership until the transaction ends. */
export const lockRoleOfMember = async (tx: Tx, organizationId: string, userId: string) =>
  tx('memberships as m')
    .join('roles as r', 'r.id', 'm.role_id')
    .where({ 'm.organization_id': organizationId, 'm.user_id': userId })
    .forShare('m', 'r')
    .first<LockedRoleRow | undefined>('r.id', 'r.name', 'r.built_in', 'r.permissions');

export const isMemberAddress = async (tx: Tx, organizationId: string, email: string): Promise<boolean> =>
  (await tx('memberships as m')
    .join('users as u', 'u.id', 'm.user_id')
    .where('m.organization_id', organizationId)
    .whereRaw('lower(u.email) = ?', [email])
    .first('m.user_id')) !== undefined;

/** False when the person is already a member. */
export async function insertMembership(tx: Tx, organizationId: string, userId: string, roleId: string) {
  const { rowCount } = await tx.raw<{ rowCount: number }>(
    'insert into memberships (organization_id, user_id, role_id) values (?, ?, ?) on conflict do nothing',
    [organizationId, userId, roleId],
  );
  return rowCount === 1;
}

/** Makes the organization active in the session, unless one of the person's organizations already is. */
export async function activateIfNoneChosen(
  tx: Tx,
  userId: string,
  sessionId: string,
  organizationId: string,
): Promise<void> {
  await tx.raw("select set_config('portal.user_id', ?, true)", [userId]);
  await tx('sessions')
    .where({ id: sessionId })
    .whereRaw(
      '(active_organization_id is null or active_organization_id not in (select m.organization_id from memberships_of(?) m))',
      [userId],
    )
    .update({ active_organization_id: organizationId });
}

export const readOrganization = async (
  tx: Tx,
  id: string,
): Promise<{ id: string; slug: string; name: string }> =>
  tx('organizations').where({ id }).first('id', 'slug', 'name');

/** Queued invitations: to this address within the last hour, and of the organization within the last day. */
export async function countInvitationMails(tx: Tx, organizationId: string, email: string) {
  const row = await tx('outgoing_mails')
    .where({ organization_id: organizationId, kind: 'invitation' })
    .whereRaw("created_at > now() - interval '1 day'")
    .first<{ to_address: string; today: string }>(
      tx.raw(
        "count(*) filter (where lower(recipient) = lower(?) and created_at > now() - interval '1 hour') as to_address",
        [email],
      ),
      tx.raw('count(*) as today'),
    );
  return { toAddress: Number(row.to_address), today: Number(row.today) };
}

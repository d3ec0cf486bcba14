// Rows of invitations; the only writer of that table.
import type { Ctx } from '../../core/ctx.ts';
import { readPage } from '../../db/page.ts';
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

export type InvitationFilter = { readonly q?: string | undefined; readonly status?: InvitationStatus | undefined };

const status = "case when i.status = 'pending' and i.expires_at <= clock_timestamp() then 'expired' else i.status end";

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

export function listInvitations(tx: Tx, organizationId: string, page: PageQuery, filter: InvitationFilter) {
  const query = select(tx, organizationId).orderBy([
    { column: 'i.created_at', order: 'desc' },
    { column: 'i.id', order: 'desc' },
  ]);
  if (filter.q !== undefined) query.whereRaw('strpos(i.email, lower(?)) > 0', [filter.q]);
  if (filter.status !== undefined) query.whereRaw(`${status} = ?`, [filter.status]);
  return readPage<InvitationRow>(query, page);
}

export const findInvitation = async (tx: Tx, organizationId: string, id: string): Promise<InvitationRow | undefined> =>
  (await select(tx, organizationId).where('i.id', id).first()) as InvitationRow | undefined;

/** Also keeps others from changing it until the transaction ends. */
export const lockInvitation = (tx: Tx, organizationId: string, id: string): Promise<InvitationRow | undefined> =>
  select(tx, organizationId).where('i.id', id).forUpdate('i').first() as Promise<InvitationRow | undefined>;

/** One invitation of an address at a time, so that two requests can't both make the first. */
export async function lockAddress(tx: Tx, organizationId: string, email: string): Promise<InvitationRow | undefined> {
  await tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`invitation ${organizationId} ${email}`]);
  return select(tx, organizationId).where('i.email', email).where('i.status', 'pending').forUpdate('i').first() as Promise<
    InvitationRow | undefined
  >;
}

/** What an invitation is worth from now on: whom it names, what it gives, and the one token that opens it. */
export type Terms = { role_id: string; role_name: string; token_hash: Buffer; invited_by: string; mail_id: string };
const lifetime = (tx: Tx) => tx.raw("clock_timestamp() + interval '7 days'");

export const insertInvitation = (tx: Tx, organizationId: string, id: string, email: string, terms: Terms) =>
  tx('invitations').insert({ id, organization_id: organizationId, email, ...terms, expires_at: lifetime(tx) });

export const renewInvitation = (tx: Tx, organizationId: string, id: string, terms: Terms) =>
  tx('invitations')
    .where({ organization_id: organizationId, id, status: 'pending' })
    .update({ ...terms, expires_at: lifetime(tx) });

/** Its mail goes with it, unless that was under way. */
export const revokeInvitation = (tx: Tx, organizationId: string, id: string) =>
  tx('invitations').where({ organization_id: organizationId, id, status: 'pending' }).update({ status: 'revoked' });

export const acceptInvitation = (tx: Tx, organizationId: string, id: string, userId: string) =>
  tx('invitations')
    .where({ organization_id: organizationId, id, status: 'pending' })
    .update({ status: 'accepted', accepted_at: tx.raw('clock_timestamp()'), accepted_by: userId });

/** Looked up across organizations: whoever holds a token knows nothing else. */
export async function findByToken(ctx: Pick<Ctx, 'db'>, hash: Buffer): Promise<{ id: string; organizationId: string } | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: { id: string; organization_id: string }[] }>('select * from find_invitation(?)', [
    hash,
  ]);
  const row = rows[0];
  return row === undefined ? undefined : { id: row.id, organizationId: row.organization_id };
}

export type RoleRow = { id: string; name: string; built_in: boolean; permissions: string[] };

/** Neither changed nor deleted until the transaction ends. */
export const lockRole = (tx: Tx, organizationId: string, id: string): Promise<RoleRow | undefined> =>
  tx('roles').where({ organization_id: organizationId, id }).forShare().first<RoleRow | undefined>('id', 'name', 'built_in', 'permissions');

/** What the member may do today, neither changed nor taken away until the transaction ends. */
export const lockRoleOfMember = (tx: Tx, organizationId: string, userId: string): Promise<RoleRow | undefined> =>
  tx('memberships as m')
    .join('roles as r', 'r.id', 'm.role_id')
    .where({ 'm.organization_id': organizationId, 'm.user_id': userId })
    .forShare('m', 'r')
    .first<RoleRow | undefined>('r.id', 'r.name', 'r.built_in', 'r.permissions');

export const isMember = async (tx: Tx, organizationId: string, email: string): Promise<boolean> =>
  (await tx('memberships as m')
    .join('users as u', 'u.id', 'm.user_id')
    .where('m.organization_id', organizationId)
    .whereRaw('lower(u.email) = ?', [email])
    .first('m.user_id')) !== undefined;

/** False when the person is a member already. */
export async function insertMembership(tx: Tx, organizationId: string, userId: string, roleId: string): Promise<boolean> {
  const { rowCount } = await tx.raw<{ rowCount: number }>(
    'insert into memberships (organization_id, user_id, role_id) values (?, ?, ?) on conflict do nothing',
    [organizationId, userId, roleId],
  );
  return rowCount === 1;
}

/** The session works in the organization from now on, unless it has chosen one. */
export async function activateInSession(tx: Tx, userId: string, sessionId: string, organizationId: string): Promise<void> {
  await tx.raw("select set_config('portal.user_id', ?, true)", [userId]);
  await tx('sessions')
    .where({ id: sessionId })
    .whereRaw('(active_organization_id is null or active_organization_id not in (select m.organization_id from memberships_of(?) m))', [
      userId,
    ])
    .update({ active_organization_id: organizationId });
}

export const getOrganization = async (tx: Tx, id: string): Promise<{ id: string; slug: string; name: string }> =>
  tx('organizations').where({ id }).first('id', 'slug', 'name');

/** Mails of invitations that were asked for: to the address in the last hour, and in all within a day. */
export async function countInvitationMails(tx: Tx, organizationId: string, email: string): Promise<{ toAddress: number; today: number }> {
  const row = await tx('outgoing_mails')
    .where({ organization_id: organizationId, kind: 'invitation' })
    .whereRaw("created_at > now() - interval '1 day'")
    .first<{ to_address: string; today: string }>(
      tx.raw("count(*) filter (where lower(recipient) = lower(?) and created_at > now() - interval '1 hour') as to_address", [email]),
      tx.raw('count(*) as today'),
    );
  return { toAddress: Number(row.to_address), today: Number(row.today) };
}

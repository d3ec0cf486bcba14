// Rows of memberships, joined with users and roles.
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import type { RoleReference } from '../roles/roles.store.ts';

export type MemberRow = {
  user_id: string;
  user_email: string;
  user_name: string;
  role_id: string;
  role_name: string;
  role_built_in: boolean;
  role_permissions: string[];
  joined_at: Date;
  last_active_at: Date | null;
};

export type MemberFilter = { readonly q?: string | undefined } & RoleReference;

const select = (tx: Tx, organizationId: string) =>
  tx('memberships as m')
    .join('users as u', 'u.id', 'm.user_id')
    .join('roles as r', 'r.id', 'm.role_id')
    .where('m.organization_id', organizationId)
    .select(
      'u.id as user_id',
      'u.email as user_email',
      'u.name as user_name',
      'r.id as role_id',
      'r.name as role_name',
      'r.built_in as role_built_in',
      'r.permissions as role_permissions',
      'm.joined_at',
      'm.last_active_at',
    );

export function listMembers(
  tx: Tx,
  organizationId: string,
  page: PageQuery,
  { q, roleId, role }: MemberFilter,
) {
  const query = select(tx, organizationId).orderBy(newestFirst('m.joined_at', 'm.user_id'));
  if (q !== undefined) query.whereRaw(containsSql('u.name', 'u.email'), [q]);
  if (roleId !== undefined) query.where('m.role_id', roleId);
  if (role !== undefined) query.whereRaw('lower(r.name) = lower(?)', [role]);
  return readPage<MemberRow>(query, page);
}

export const findMember = async (tx: Tx, organizationId: string, userId: string) =>
  (await select(tx, organizationId).where('m.user_id', userId).first()) as MemberRow | undefined;

/** Waits for keys that are being created for the member, and blocks new ones until the transaction ends. */
export const lockMembership = (tx: Tx, organizationId: string, userId: string) =>
  tx('memberships').where({ organization_id: organizationId, user_id: userId }).forUpdate().select('user_id');

export async function countOwners(tx: Tx, organizationId: string): Promise<number> {
  const [row] = await tx('memberships as m')
    .join('roles as r', 'r.id', 'm.role_id')
    .where({ 'm.organization_id': organizationId, 'r.built_in': true, 'r.name': 'owner' })
    .count<{ count: string }[]>({ count: '*' });
  return Number(row?.count ?? 0);
}

export const setRole = (tx: Tx, organizationId: string, userId: string, roleId: string) =>
  tx('memberships').where({ organization_id: organizationId, user_id: userId }).update({ role_id: roleId });

/** Team memberships are deleted by cascade. */
export const deleteMembership = (tx: Tx, organizationId: string, userId: string) =>
  tx('memberships').where({ organization_id: organizationId, user_id: userId }).delete();

// Rows of roles, each with its number of members and of open invitations.
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';

export type RoleRow = {
  id: string;
  name: string;
  description: string;
  permissions: string[];
  built_in: boolean;
  created_at: Date;
  member_count: number;
  /** Open invitations that grant the role. */
  invitation_count: number;
};

const select = (tx: Tx, organizationId: string) =>
  tx('roles as r')
    .where('r.organization_id', organizationId)
    .select(
      'r.id',
      'r.name',
      'r.description',
      'r.permissions',
      'r.built_in',
      'r.created_at',
      tx.raw(
        '(select count(*)::int from memberships m where m.organization_id = r.organization_id and m.role_id = r.id) as member_count',
      ),
      tx.raw(
        '(select count(*)::int from invitations i where i.organization_id = r.organization_id and i.open_role_id = r.id) as invitation_count',
      ),
    );

export function listRoles(tx: Tx, organizationId: string, page: PageQuery, q: string | undefined) {
  const query = select(tx, organizationId).orderBy(newestFirst('r.created_at', 'r.id'));
  if (q !== undefined) query.whereRaw(containsSql('r.name'), [q]);
  return readPage<RoleRow>(query, page);
}

/** A role, named by its id or its name. */
export type RoleReference = { readonly roleId?: string | undefined; readonly role?: string | undefined };

/** The id of the role with this name, ignoring case; a given id is returned as it is. */
export async function findRoleId(tx: Tx, organizationId: string, { roleId, role }: RoleReference) {
  if (role === undefined) return roleId;
  const row = await tx('roles')
    .where({ organization_id: organizationId })
    .whereRaw('lower(name) = lower(?)', [role])
    .first<{ id: string } | undefined>('id');
  return row?.id;
}

export const findRole = async (tx: Tx, organizationId: string, id: string): Promise<RoleRow | undefined> =>
  (await select(tx, organizationId).where('r.id', id).first()) as RoleRow | undefined;

/** The role that a member has now; undefined when the person is not a member. */
export const findRoleOfMember = async (
  tx: Tx,
  organizationId: string,
  userId: string,
): Promise<Pick<RoleRow, 'id' | 'name' | 'permissions' | 'built_in'> | undefined> =>
  tx('memberships as m')
    .join('roles as r', 'r.id', 'm.role_id')
    .where({ 'm.organization_id': organizationId, 'm.user_id': userId })
    .first('r.id', 'r.name', 'r.permissions', 'r.built_in');

type Columns = Pick<RoleRow, 'name' | 'description' | 'permissions'>;
export const insertRole = (tx: Tx, organizationId: string, row: Columns & Pick<RoleRow, 'id'>) =>
  tx('roles').insert({ ...row, organization_id: organizationId });
export const updateRole = (tx: Tx, organizationId: string, id: string, change: Partial<Columns>) =>
  tx('roles').where({ organization_id: organizationId, id }).update(change);
export const deleteRole = (tx: Tx, organizationId: string, id: string) =>
  tx('roles').where({ organization_id: organizationId, id }).delete();

// Rows of teams and team_members. A foreign key to memberships admits only members of the organization, and
// removes the row of a member who leaves.
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';

export type TeamRow = {
  id: string;
  name: string;
  description: string;
  created_at: Date;
  member_count: number;
};
export type TeamMemberRow = { user_id: string; user_email: string; user_name: string; added_at: Date };

const selectTeams = (tx: Tx, organizationId: string) =>
  tx('teams as t')
    .where('t.organization_id', organizationId)
    .select(
      't.id',
      't.name',
      't.description',
      't.created_at',
      tx.raw(
        '(select count(*)::int from team_members m where m.organization_id = t.organization_id and m.team_id = t.id) as member_count',
      ),
    );

export function listTeams(tx: Tx, organizationId: string, page: PageQuery, q: string | undefined) {
  const query = selectTeams(tx, organizationId).orderBy(newestFirst('t.created_at', 't.id'));
  if (q !== undefined) query.whereRaw(containsSql('t.name'), [q]);
  return readPage<TeamRow>(query, page);
}

export const findTeam = async (tx: Tx, organizationId: string, id: string): Promise<TeamRow | undefined> =>
  (await selectTeams(tx, organizationId).where('t.id', id).first()) as TeamRow | undefined;

type Columns = Pick<TeamRow, 'name' | 'description'>;
export const insertTeam = (tx: Tx, organizationId: string, row: Columns & Pick<TeamRow, 'id'>) =>
  tx('teams').insert({ ...row, organization_id: organizationId });
export const updateTeam = (tx: Tx, organizationId: string, id: string, change: Partial<Columns>) =>
  tx('teams').where({ organization_id: organizationId, id }).update(change);
export const deleteTeam = (tx: Tx, organizationId: string, id: string) =>
  tx('teams').where({ organization_id: organizationId, id }).delete();

const selectMembers = (tx: Tx, organizationId: string, teamId: string) =>
  tx('team_members as m')
    .join('users as u', 'u.id', 'm.user_id')
    .where('m.organization_id', organizationId)
    .where('m.team_id', teamId)
    .select('u.id as user_id', 'u.email as user_email', 'u.name as user_name', 'm.added_at');

export function listTeamMembers(
  tx: Tx,
  organizationId: string,
  teamId: string,
  page: PageQuery,
  q: string | undefined,
) {
  const query = selectMembers(tx, organizationId, teamId).orderBy(newestFirst('m.added_at', 'm.user_id'));
  if (q !== undefined) query.whereRaw(containsSql('u.name', 'u.email'), [q]);
  return readPage<TeamMemberRow>(query, page);
}

export const findTeamMember = async (tx: Tx, organizationId: string, teamId: string, userId: string) =>
  (await selectMembers(tx, organizationId, teamId).where('m.user_id', userId).first()) as
    | TeamMemberRow
    | undefined;

export const insertTeamMember = (tx: Tx, organizationId: string, teamId: string, userId: string) =>
  tx('team_members').insert({ organization_id: organizationId, team_id: teamId, user_id: userId });
export const deleteTeamMember = (tx: Tx, organizationId: string, teamId: string, userId: string) =>
  tx('team_members').where({ organization_id: organizationId, team_id: teamId, user_id: userId }).delete();

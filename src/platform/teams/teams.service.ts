// Teams. Who is in one is the database's rule: a member of the organization, once.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { makeRoom } from '../room.ts';
import type { TeamChanges, TeamInput, TeamMemberView, TeamView } from './teams.schemas.ts';
import * as store from './teams.store.ts';

const view = (row: store.TeamRow): TeamView => ({
  id: row.id,
  name: row.name,
  description: row.description,
  memberCount: row.member_count,
  createdAt: instant(row.created_at),
});
const memberView = (row: store.TeamMemberRow): TeamMemberView => ({
  user: { id: row.user_id, email: row.user_email, name: row.user_name },
  addedAt: instant(row.added_at),
});

async function getRow(tx: Tx, ctx: RequestCtx, id: string): Promise<store.TeamRow> {
  const row = await store.findTeam(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('Team');
  return row;
}

function explain(error: unknown): unknown {
  if (violates(error, 'team_name_is_unique'))
    return invalid('That name is taken', [{ path: 'name', code: 'taken', message: 'Another team has this name, whatever its case' }]);
  if (violates(error, 'team_member_is_unique'))
    return invalid('Already in the team', [{ path: 'userId', code: 'already_a_member', message: 'This person is in the team' }]);
  if (violates(error, 'team_member_is_a_member'))
    return invalid('Not a member', [{ path: 'userId', code: 'not_a_member', message: 'No member of the organization has this id' }]);
  // The team was deleted in this moment.
  return violates(error, 'team_member_of_team') ? notFound('Team') : error;
}

const inOne = <T>(ctx: RequestCtx, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction(ctx, work).catch((error: unknown) => {
    throw explain(error);
  });

export const listTeams = (ctx: RequestCtx, page: PageQuery, q: string | undefined) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listTeams(tx, ctx.organizationId, page, q);
    return toPage(rows.map(view), total, page);
  });

export const getTeam = (ctx: RequestCtx, id: string) => inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

export const createTeam = (ctx: RequestCtx, input: TeamInput) =>
  inOne(ctx, async (tx) => {
    const id = newId();
    await makeRoom(tx, ctx, 'teams');
    await store.insertTeam(tx, ctx.organizationId, { id, ...input });
    await writeAudit(tx, ctx, { action: 'team.create', target: { type: 'team', id }, changes: input });
    return view(await getRow(tx, ctx, id));
  });

export const changeTeam = (ctx: RequestCtx, id: string, { name, description }: TeamChanges) =>
  inOne(ctx, async (tx) => {
    await getRow(tx, ctx, id);
    const columns = { ...(name !== undefined && { name }), ...(description !== undefined && { description: description ?? '' }) };
    if (Object.keys(columns).length > 0) await store.updateTeam(tx, ctx.organizationId, id, columns);
    await writeAudit(tx, ctx, { action: 'team.update', target: { type: 'team', id }, changes: columns });
    return view(await getRow(tx, ctx, id));
  });

export const deleteTeam = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { name } = await getRow(tx, ctx, id);
    // Two requests at once: the second one finds nothing to delete, and nothing to write down.
    if ((await store.deleteTeam(tx, ctx.organizationId, id)) === 0) throw notFound('Team');
    await writeAudit(tx, ctx, { action: 'team.delete', target: { type: 'team', id }, changes: { name } });
  });

export const listTeamMembers = (ctx: RequestCtx, id: string, page: PageQuery, q: string | undefined) =>
  inTransaction(ctx, async (tx) => {
    await getRow(tx, ctx, id);
    const { rows, total } = await store.listTeamMembers(tx, ctx.organizationId, id, page, q);
    return toPage(rows.map(memberView), total, page);
  });

export const addTeamMember = (ctx: RequestCtx, id: string, userId: string) =>
  inOne(ctx, async (tx) => {
    await getRow(tx, ctx, id);
    await store.insertTeamMember(tx, ctx.organizationId, id, userId);
    await writeAudit(tx, ctx, { action: 'team.add-member', target: { type: 'team', id }, changes: { userId } });
    const row = await store.findTeamMember(tx, ctx.organizationId, id, userId);
    if (row === undefined) throw new Error('the member that was added is not there');
    return memberView(row);
  });

export const removeTeamMember = (ctx: RequestCtx, id: string, userId: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await getRow(tx, ctx, id);
    if ((await store.deleteTeamMember(tx, ctx.organizationId, id, userId)) === 0) throw notFound('Team member');
    await writeAudit(tx, ctx, { action: 'team.remove-member', target: { type: 'team', id }, changes: { userId } });
  });

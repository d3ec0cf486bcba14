// Teams. Constraints ensure that only members of the organization are in a team, and each only once.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, viewPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { assertQuota } from '../quotas.ts';
import { getterOf, listerOf } from '../rows.ts';
import type { NewTeam, Team, TeamMember, TeamPatch } from './teams.schemas.ts';
import * as store from './teams.store.ts';

const view = (row: store.TeamRow): Team => ({
  id: row.id,
  name: row.name,
  description: row.description,
  memberCount: row.member_count,
  createdAt: instant(row.created_at),
});
const memberView = (row: store.TeamMemberRow): TeamMember => ({
  user: { id: row.user_id, email: row.user_email, name: row.user_name },
  addedAt: instant(row.added_at),
});

const getRow = getterOf(store.findTeam, 'Team');

function toClientError(error: unknown): unknown {
  if (violatesConstraint(error, 'team_name_is_unique'))
    return invalid('That name is taken', [
      { path: 'name', code: 'taken', message: 'Another team has this name, ignoring case' },
    ]);
  if (violatesConstraint(error, 'team_member_is_unique'))
    return invalid('Already in the team', [
      { path: 'userId', code: 'already_a_member', message: 'This person is already in the team' },
    ]);
  if (violatesConstraint(error, 'team_member_is_a_member'))
    return invalid('Not a member', [
      { path: 'userId', code: 'not_a_member', message: 'No member of the organization has this id' },
    ]);
  // The team was deleted concurrently.
  return violatesConstraint(error, 'team_member_of_team') ? notFound('Team') : error;
}

const inTeamTransaction = <T>(ctx: RequestCtx, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction(ctx, work).catch((error: unknown) => {
    throw toClientError(error);
  });

export const listTeams = listerOf(store.listTeams, view);

/** Throws 404 when the organization has no such team. */
export const getTeam = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

/** Throws 422 `taken` when the name exists, `limit_reached` at the quota. */
export const createTeam = (ctx: RequestCtx, input: NewTeam) =>
  inTeamTransaction(ctx, async (tx) => {
    const id = createId();
    await assertQuota(tx, ctx, 'teams');
    await store.insertTeam(tx, ctx.organizationId, { id, ...input });
    await writeAudit(tx, ctx, 'team.create', ['team', id], input);
    return view(await getRow(tx, ctx, id));
  });

/** Throws 404 for an unknown team, 422 `taken` when another team has the name. */
export const updateTeam = (ctx: RequestCtx, id: string, { name, description }: TeamPatch) =>
  inTeamTransaction(ctx, async (tx) => {
    await getRow(tx, ctx, id);
    const columns = {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description: description ?? '' }),
    };
    if (Object.keys(columns).length > 0) await store.updateTeam(tx, ctx.organizationId, id, columns);
    await writeAudit(tx, ctx, 'team.update', ['team', id], columns);
    return view(await getRow(tx, ctx, id));
  });

/** Throws 404 for an unknown team. */
export const deleteTeam = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { name } = await getRow(tx, ctx, id);
    // Of two concurrent requests the second deletes no row, and must not write an audit entry.
    if ((await store.deleteTeam(tx, ctx.organizationId, id)) === 0) throw notFound('Team');
    await writeAudit(tx, ctx, 'team.delete', ['team', id], { name });
  });

/** Throws 404 for an unknown team. */
export const listTeamMembers = (ctx: RequestCtx, id: string, page: PageQuery, q: string | undefined) =>
  inTransaction(ctx, async (tx) => {
    await getRow(tx, ctx, id);
    return viewPage(await store.listTeamMembers(tx, ctx.organizationId, id, page, q), page, memberView);
  });

/** Throws 404, 422 when the person is not a member of the organization or is already in the team. */
export const addTeamMember = (ctx: RequestCtx, id: string, userId: string) =>
  inTeamTransaction(ctx, async (tx) => {
    await getRow(tx, ctx, id);
    await store.insertTeamMember(tx, ctx.organizationId, id, userId);
    await writeAudit(tx, ctx, 'team.add-member', ['team', id], { userId });
    const row = await store.findTeamMember(tx, ctx.organizationId, id, userId);
    if (row === undefined) throw new Error('the added team member was not found');
    return memberView(row);
  });

/** Throws 404 when the team does not exist or the person is not in it. */
export const removeTeamMember = (ctx: RequestCtx, id: string, userId: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await getRow(tx, ctx, id);
    if ((await store.deleteTeamMember(tx, ctx.organizationId, id, userId)) === 0)
      throw notFound('Team member');
    await writeAudit(tx, ctx, 'team.remove-member', ['team', id], { userId });
  });

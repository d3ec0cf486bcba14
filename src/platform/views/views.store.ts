// Rows of views. Queries for a caller filter by visibility: a view that they may not see doesn't exist.
import type { Knex } from 'knex';
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import type { NewView } from './views.schemas.ts';

export type ViewRow = {
  id: string;
  name: string;
  record_type: string;
  columns: string[];
  filters: NewView['filters'];
  sort: NewView['sort'];
  summary: NewView['summary'];
  visibility: NewView['visibility'];
  team_id: string | null;
  owner_id: string | null;
  owner_email: string | null;
  owner_name: string | null;
  created_at: Date;
  updated_at: Date;
};

/** The caller. `managesOrphans`: may see and change views whose owner left. */
export type Viewer = { readonly userId: string; readonly managesOrphans: boolean };

/** SQL condition over `views v`; its bindings are `viewerBindings`. */
export const isVisible = `(v.owner_id = ? or v.visibility = 'organization' or (v.owner_id is null and ?::boolean) or (v.visibility = 'team' and exists
  (select from team_members m where m.organization_id = v.organization_id and m.team_id = v.team_id and m.user_id = ?)))`;
export const viewerBindings = ({ userId, managesOrphans: keeper }: Viewer): Knex.RawBinding[] => [
  userId,
  keeper,
  userId,
];

const selectViews = (tx: Tx, organizationId: string) =>
  tx('views as v')
    .leftJoin('users as u', 'u.id', 'v.owner_id')
    .where('v.organization_id', organizationId)
    .select(
      'v.id',
      'v.name',
      'v.record_type',
      'v.columns',
      'v.filters',
      'v.sort',
      'v.summary',
      'v.visibility',
      'v.team_id',
    )
    .select('v.owner_id')
    .select('u.email as owner_email', 'u.name as owner_name', 'v.created_at', 'v.updated_at');

export type ViewFilters = {
  readonly q?: string | undefined;
  readonly recordType?: string | undefined;
  readonly visibility?: string | undefined;
};

export function listViews(
  tx: Tx,
  organizationId: string,
  viewer: Viewer,
  page: PageQuery,
  { q, recordType, visibility }: ViewFilters,
) {
  const query = selectViews(tx, organizationId)
    .whereRaw(isVisible, viewerBindings(viewer))
    .orderBy(newestFirst('v.created_at', 'v.id'));
  if (q !== undefined) query.whereRaw(containsSql('v.name'), [q]);
  if (recordType !== undefined) query.where('v.record_type', recordType);
  if (visibility !== undefined) query.where('v.visibility', visibility);
  return readPage<ViewRow>(query, page);
}

export const findVisibleView = async (tx: Tx, organizationId: string, viewer: Viewer, id: string) =>
  (await selectViews(tx, organizationId)
    .where('v.id', id)
    .whereRaw(isVisible, viewerBindings(viewer))
    .first()) as ViewRow | undefined;

/** Ignores visibility: for the response to an update after which the caller may no longer see the view. */
export const findView = async (tx: Tx, organizationId: string, id: string): Promise<ViewRow | undefined> =>
  (await selectViews(tx, organizationId).where('v.id', id).first()) as ViewRow | undefined;

type Columns = Pick<ViewRow, 'name' | 'columns' | 'visibility' | 'team_id'> & {
  readonly filters: string;
  readonly sort: string;
  readonly summary: string | null;
};
export const insertView = (
  tx: Tx,
  organizationId: string,
  row: Columns & Pick<ViewRow, 'id' | 'record_type' | 'owner_id'>,
) => tx('views').insert({ ...row, organization_id: organizationId });
export const updateView = async (tx: Tx, organizationId: string, id: string, change: Partial<Columns>) =>
  tx('views')
    .where({ organization_id: organizationId, id })
    .update({ ...change, updated_at: tx.fn.now() });
export const deleteView = (tx: Tx, organizationId: string, id: string): Promise<number> =>
  tx('views').where({ organization_id: organizationId, id }).delete();

export async function isInTeam(tx: Tx, organizationId: string, teamId: string, userId: string) {
  const row: unknown = await tx('team_members')
    .where({ organization_id: organizationId, team_id: teamId, user_id: userId })
    .first('team_id');
  return row !== undefined;
}
export async function isTeam(tx: Tx, organizationId: string, teamId: string): Promise<boolean> {
  const row: unknown = await tx('teams').where({ organization_id: organizationId, id: teamId }).first('id');
  return row !== undefined;
}

/** All views of the record type, newest first; `visible`: whether the viewer may see it. */
export async function listViewsOfRecordType(
  tx: Tx,
  organizationId: string,
  recordType: string,
  viewer: Viewer,
): Promise<
  (Pick<ViewRow, 'id' | 'name' | 'visibility' | 'columns' | 'filters' | 'sort' | 'summary'> & {
    visible: boolean;
  })[]
> {
  return tx('views as v')
    .where({ 'v.organization_id': organizationId, 'v.record_type': recordType })
    .orderBy(newestFirst('v.created_at', 'v.id'))
    .select(
      'v.id',
      'v.name',
      'v.visibility',
      'v.columns',
      'v.filters',
      'v.sort',
      'v.summary',
      tx.raw(`${isVisible} as visible`, viewerBindings(viewer)),
    );
}

/** Ids of the views that lose their owner when this member leaves. */
export const listViewIdsOwnedBy = async (tx: Tx, organizationId: string, ownerId: string) =>
  (
    await tx('views')
      .where({ organization_id: organizationId, owner_id: ownerId })
      .orderBy('id')
      .select<{ id: string }[]>('id')
  ).map(({ id }) => id);

// Who may know of a subscription, who may change it, and whether its owner still sees what it sends.
import type { Knex } from 'knex';
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, notFound } from '../../core/errors.ts';
import type { Tx } from '../../db/transaction.ts';
import { rolePermissions } from '../../identity/principal.ts';
import { findSubscription, lockSubscription, type Seen, type SubscriptionRow } from './subscriptions.store.ts';

/** The office to change what others made: built-in roles alone, never a key that was handed over. */
const isAdministrator = ({ principal }: Pick<RequestCtx, 'principal'>): boolean =>
  (principal.role.name === 'owner' || principal.role.name === 'admin') && !principal.handedOver;

/** The rows of `views v` that a person sees: their own, those of the whole organization, and those of their teams. */
function visibleTo(query: Knex.QueryBuilder, userId: string): void {
  query.whereRaw(
    `(v.visibility = 'organization' or v.owner_id = ? or (v.visibility = 'team' and exists (
        select from team_members t where t.organization_id = v.organization_id and t.team_id = v.team_id and t.user_id = ?)))`,
    [userId, userId],
  );
}

export const seenBy =
  (ctx: Pick<RequestCtx, 'principal'>): Seen =>
  (query) => {
    const { user } = ctx.principal;
    if (!isAdministrator(ctx)) query.where((either) => either.where('s.owner_id', user.id).orWhere((sees) => visibleTo(sees, user.id)));
  };

function refuseStranger(ctx: Pick<RequestCtx, 'principal'>, { owner_id: ownerId }: Pick<SubscriptionRow, 'owner_id'>): void {
  if (ownerId === ctx.principal.user.id || isAdministrator(ctx)) return;
  const message = 'Only whoever made it, and owners and admins of the organization, may change a subscription';
  throw new AppError('FORBIDDEN', message, { details: [{ path: '', code: 'not_yours', message }] });
}

/** One that the caller may not know of is not there. */
export async function getRow(tx: Tx, ctx: RequestCtx, id: string): Promise<SubscriptionRow> {
  const row = await findSubscription(tx, ctx.organizationId, id, seenBy(ctx));
  if (row === undefined) throw notFound('Subscription');
  return row;
}

/** One that the caller may change; nobody else changes it meanwhile. */
export async function lockOwnRow(tx: Tx, ctx: RequestCtx, id: string): Promise<SubscriptionRow> {
  await lockSubscription(tx, ctx.organizationId, id);
  const row = await getRow(tx, ctx, id);
  refuseStranger(ctx, row);
  return row;
}

export type ViewRow = {
  id: string;
  name: string;
  record_type: string;
  columns: string[];
  filters: { field: string; operator: string; value: unknown }[];
  sort: { field: string; direction: 'asc' | 'desc' }[];
};

/** The view as this person sees it; undefined when they don't. */
export const findViewFor = async (tx: Tx, organizationId: string, viewId: string, userId: string): Promise<ViewRow | undefined> => {
  const query = tx('views as v').where({ 'v.organization_id': organizationId, 'v.id': viewId });
  visibleTo(query, userId);
  return query.first<ViewRow | undefined>('v.id', 'v.name', 'v.record_type', 'v.columns', 'v.filters', 'v.sort');
};

type Member = { name: string; built_in: boolean; permissions: string[] };

/** The view as the owner of a subscription sees it now: their role must still let them read views. */
export async function findViewForOwner(tx: Tx, organizationId: string, viewId: string, ownerId: string): Promise<ViewRow | undefined> {
  const role = await tx('memberships as m')
    .join('roles as r', 'r.id', 'm.role_id')
    .where({ 'm.organization_id': organizationId, 'm.user_id': ownerId })
    .first<Member | undefined>('r.name', 'r.built_in', 'r.permissions');
  const held = role === undefined ? [] : rolePermissions({ ...role, builtIn: role.built_in });
  return held.includes('view:read') ? findViewFor(tx, organizationId, viewId, ownerId) : undefined;
}

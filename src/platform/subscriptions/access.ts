// Who may know of a subscription, who may change it, and whether its owner still sees what it sends.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, notFound } from '../../core/errors.ts';
import type { Tx } from '../../db/transaction.ts';
import { rolePermissions } from '../../identity/principal.ts';
import { viewerOf } from '../views/views.service.ts';
import { findVisibleView, type ViewRow } from '../views/views.store.ts';
import { findSeenSubscription, lockSubscription, type SeenSubscriptionRow, type SubscriptionRow } from './subscriptions.store.ts';

function refuseStranger(ctx: Pick<RequestCtx, 'principal'>, { owner_id: ownerId }: Pick<SubscriptionRow, 'owner_id'>): void {
  const { userId, keeper } = viewerOf(ctx);
  if (ownerId === userId || keeper) return;
  throw new AppError('FORBIDDEN', 'Only its owner changes a subscription', {
    details: [{ path: '', code: 'subscription_owner_needed', message: 'Ask its owner, or somebody who may change members' }],
  });
}

/** One that the caller may not know of is not there. */
export async function getRow(tx: Tx, ctx: RequestCtx, id: string): Promise<SeenSubscriptionRow> {
  const row = await findSeenSubscription(tx, ctx.organizationId, viewerOf(ctx), id);
  if (row === undefined) throw notFound('Subscription');
  return row;
}

/** One that the caller may change; nobody else changes it meanwhile. */
export async function lockOwnRow(tx: Tx, ctx: RequestCtx, id: string): Promise<SeenSubscriptionRow> {
  await lockSubscription(tx, ctx.organizationId, id);
  const row = await getRow(tx, ctx, id);
  refuseStranger(ctx, row);
  return row;
}

export const findViewOfCaller = (tx: Tx, ctx: RequestCtx, viewId: string): Promise<ViewRow | undefined> =>
  findVisibleView(tx, ctx.organizationId, viewerOf(ctx), viewId);

type Role = { name: string; built_in: boolean; permissions: string[] };

/** The view as the owner of a subscription sees it now: their role must still let them read views. */
export async function findViewForOwner(tx: Tx, organizationId: string, viewId: string, ownerId: string): Promise<ViewRow | undefined> {
  const role = await tx('memberships as m')
    .join('roles as r', 'r.id', 'm.role_id')
    .where({ 'm.organization_id': organizationId, 'm.user_id': ownerId })
    .first<Role | undefined>('r.name', 'r.built_in', 'r.permissions');
  const held = role === undefined ? [] : rolePermissions({ ...role, builtIn: role.built_in });
  if (!held.includes('view:read')) return undefined;
  return findVisibleView(tx, organizationId, { userId: ownerId, keeper: held.includes('member:update') }, viewId);
}

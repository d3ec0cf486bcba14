// Access to subscriptions: who can see one, who may change it, and whether its owner still sees its view.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, orNotFound } from '../../core/errors.ts';
import type { Tx } from '../../db/transaction.ts';
import { permissionsOfRow } from '../roles/authority.ts';
import { findRoleOfMember } from '../roles/roles.store.ts';
import { toViewer } from '../views/views.service.ts';
import { findVisibleView } from '../views/views.store.ts';
import { findVisibleSubscription, lockSubscription, type SubscriptionRow } from './subscriptions.store.ts';

function assertMayUpdate(
  ctx: Pick<RequestCtx, 'principal'>,
  { owner_id: ownerId }: Pick<SubscriptionRow, 'owner_id'>,
): void {
  const { userId, managesOrphans } = toViewer(ctx);
  if (ownerId === userId || managesOrphans) return;
  const message = 'Ask its owner, or someone with the permission member:update';
  throw new AppError('FORBIDDEN', 'Only the owner may change a subscription', {
    details: [{ path: '', code: 'subscription_owner_needed', message }],
  });
}

/** Throws 404 when the caller can't see the subscription, exactly as when it doesn't exist. */
export async function getSubscriptionRow(tx: Tx, ctx: RequestCtx, id: string) {
  return orNotFound(await findVisibleSubscription(tx, ctx.organizationId, toViewer(ctx), id), 'Subscription');
}

/** Locks the subscription. Throws 404 when the caller can't see it and 403 when they may not change it. */
export async function lockEditableSubscription(tx: Tx, ctx: RequestCtx, id: string) {
  await lockSubscription(tx, ctx.organizationId, id);
  const row = await getSubscriptionRow(tx, ctx, id);
  assertMayUpdate(ctx, row);
  return row;
}

/** The view, if a subscription's owner still sees it; their role must have `view:read` and `record:read`. */
export async function findViewForOwner(tx: Tx, organizationId: string, viewId: string, ownerId: string) {
  const role = await findRoleOfMember(tx, organizationId, ownerId);
  const permissions = role === undefined ? [] : permissionsOfRow(role);
  if (!permissions.includes('view:read') || !permissions.includes('record:read')) return undefined;
  return findVisibleView(
    tx,
    organizationId,
    { userId: ownerId, managesOrphans: permissions.includes('member:update') },
    viewId,
  );
}

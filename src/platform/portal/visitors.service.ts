// Visitors of the portal of whom something is known that the ERP doesn't know: customers by hand, a block, and when
// they last signed in. Everyone else whom the ERP names is a visitor without a row.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { deleteConversationsOf } from '../conversations/visitor-conversations.store.ts';
import { assertQuota } from '../quotas.ts';
import { getterOf, listerOf } from '../rows.ts';
import type { NewVisitor, VisitorPatch } from './visitors.schemas.ts';
import * as store from './visitors.store.ts';

const view = ({ id, email, customers, blocked, reads, ...row }: store.ShownVisitorRow) => ({
  ...{ id, email, customers, blocked, reads },
  lastSignInAt: instantOrNull(row.last_sign_in_at),
  invitedAt: instantOrNull(row.invited_at),
  createdAt: instant(row.created_at),
});

const getRow = getterOf(store.findShownVisitor, 'Visitor');

export const listVisitors = listerOf(store.listVisitors, view);

/** Throws 404 for an unknown visitor. */
export const getVisitor = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

/** Throws 422 `taken` for an address that has an entry, or at the quota. */
export const createVisitor = (ctx: RequestCtx, visitor: NewVisitor) =>
  inTransaction(ctx, async (tx) => {
    const id = createId();
    await assertQuota(tx, ctx, 'visitors');
    await store.insertVisitor(tx, ctx.organizationId, { id, ...visitor });
    await writeAudit(tx, ctx, 'portal.create-visitor', ['portal-visitor', id], visitor);
    return view(await getRow(tx, ctx, id));
  }).catch((error: unknown) => {
    if (!violatesConstraint(error, 'visitor_email_is_unique')) throw error;
    throw invalid('The address has an entry already', [
      { path: 'email', code: 'taken', message: 'There is an entry of this address: change that one' },
    ]);
  });

/** Throws 404 for an unknown visitor. */
export const updateVisitor = (ctx: RequestCtx, id: string, change: VisitorPatch) =>
  inTransaction(ctx, async (tx) => {
    const { email } = await getRow(tx, ctx, id);
    const { customers, blocked } = change;
    const given = { ...(customers && { customers }), ...(blocked !== undefined && { blocked }) };
    if (Object.keys(given).length > 0) await store.updateVisitor(tx, ctx.organizationId, id, given);
    await writeAudit(tx, ctx, 'portal.update-visitor', ['portal-visitor', id], { email, ...given });
    return view(await getRow(tx, ctx, id));
  });

/** Throws 404 for an unknown visitor. */
export const deleteVisitor = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { email } = await getRow(tx, ctx, id);
    await store.deleteVisitor(tx, ctx.organizationId, id);
    await deleteConversationsOf(tx, ctx.organizationId, email);
    await writeAudit(tx, ctx, 'portal.delete-visitor', ['portal-visitor', id], { email });
  });

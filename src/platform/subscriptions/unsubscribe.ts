// What the link of a mail does: its recipient ends the subscription or takes that back, without being anyone here. Whoever holds the
// link is taken for the recipient, so it says no more than the mail said.
import type { Ctx } from '../../core/ctx.ts';
import { hashSecretToken, secretTokenForm } from '../../core/secret-token.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import type { LinkCaller, LinkState } from '../../http/unsubscribe-page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { recallMails } from './deliveries.service.ts';
import { skipWaitingDeliveries } from './deliveries.store.ts';
import { findLinked, findOrganizationOfLink, type LinkedRow, markUnsubscribed } from './subscriptions.store.ts';

const stateOf = (row: LinkedRow): LinkState => ({
  email: row.email,
  title: row.title,
  organizationName: row.organization_name,
  state: row.unsubscribed_at !== null ? 'unsubscribed' : row.removed_at !== null ? 'ended' : 'active',
});

async function withLink(
  ctx: Ctx,
  token: string,
  work: (tx: Tx, organizationId: string, row: LinkedRow) => Promise<LinkState>,
): Promise<LinkState | undefined> {
  if (!secretTokenForm.test(token)) return undefined;
  const hash = hashSecretToken(token);
  const organizationId = await findOrganizationOfLink(ctx.db.control, hash);
  if (organizationId === undefined) return undefined;
  return inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    const row = await findLinked(tx, organizationId, hash);
    return row === undefined ? undefined : work(tx, organizationId, row);
  });
}

/** What the link is about; undefined when it is not known, or no longer. */
export const lookAtLink = (ctx: Ctx, token: string): Promise<LinkState | undefined> =>
  withLink(ctx, token, async (_tx, _organizationId, row) => stateOf(row));

async function change(tx: Tx, organizationId: string, row: LinkedRow, caller: LinkCaller, isUnsubscribed: boolean): Promise<LinkState> {
  await markUnsubscribed(tx, organizationId, row.recipient_id, isUnsubscribed);
  if (isUnsubscribed) {
    await skipWaitingDeliveries(tx, organizationId, row.recipient_id);
    await recallMails(tx, organizationId, row.subscription_id, row.recipient_id);
  }
  const principal = { user: { id: null, email: row.email }, credential: { kind: 'mail-link', id: null } };
  await writeAudit(
    tx,
    { organizationId, principal, ...caller },
    {
      action: isUnsubscribed ? 'subscription.unsubscribe' : 'subscription.resubscribe',
      target: { type: 'subscription', id: row.subscription_id },
      changes: { email: row.email },
    },
  );
  return { ...stateOf(row), state: isUnsubscribed ? 'unsubscribed' : row.removed_at === null ? 'active' : 'ended' };
}

/** Ends it for this recipient; what has not left yet stays here. Again it changes nothing. */
export const unsubscribe = (ctx: Ctx, token: string, caller: LinkCaller): Promise<LinkState | undefined> =>
  withLink(ctx, token, async (tx, organizationId, row) =>
    row.unsubscribed_at === null ? change(tx, organizationId, row, caller, true) : stateOf(row),
  );

/** Takes it back: mails come again from the next slot on. */
export const resubscribe = (ctx: Ctx, token: string, caller: LinkCaller): Promise<LinkState | undefined> =>
  withLink(ctx, token, async (tx, organizationId, row) =>
    row.unsubscribed_at === null ? stateOf(row) : change(tx, organizationId, row, caller, false),
  );

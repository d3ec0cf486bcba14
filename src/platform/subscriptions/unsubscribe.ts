// The unsubscribe link of a mail: its recipient unsubscribes or resubscribes without an account. Anyone who
// has the link counts as the recipient, so the page shows no more than the mail did.
import type { Ctx } from '../../core/ctx.ts';
import { hashSecretToken, secretTokenPattern } from '../../core/secrets/secret-token.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import type { LinkCaller, LinkState } from '../../http/pages/unsubscribe-page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { cancelQueuedMails } from './deliveries.service.ts';
import { skipWaitingDeliveries } from './deliveries.store.ts';
import {
  findLinkedRecipient,
  findOrganizationOfLink,
  type LinkedRow,
  markUnsubscribed,
} from './subscriptions.store.ts';

const toLinkState = (row: LinkedRow): LinkState => ({
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
  if (!secretTokenPattern.test(token)) return undefined;
  const hash = hashSecretToken(token);
  const organizationId = await findOrganizationOfLink(ctx.db.control, hash);
  if (organizationId === undefined) return undefined;
  return inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    const row = await findLinkedRecipient(tx, organizationId, hash);
    return row === undefined ? undefined : work(tx, organizationId, row);
  });
}

/** The state of the link's subscription; undefined for an unknown or expired link. */
export const readLinkState = (ctx: Ctx, token: string): Promise<LinkState | undefined> =>
  withLink(ctx, token, async (_tx, _organizationId, row) => toLinkState(row));

async function setUnsubscribed(
  tx: Tx,
  organizationId: string,
  row: LinkedRow,
  caller: LinkCaller,
  isUnsubscribed: boolean,
): Promise<LinkState> {
  await markUnsubscribed(tx, organizationId, row.recipient_id, isUnsubscribed);
  if (isUnsubscribed) {
    await skipWaitingDeliveries(tx, organizationId, row.recipient_id);
    await cancelQueuedMails(tx, organizationId, row.subscription_id, row.recipient_id);
  }
  const principal = { user: { id: null, email: row.email }, credential: { kind: 'mail-link', id: null } };
  await writeAudit(
    tx,
    { organizationId, principal, ...caller },
    isUnsubscribed ? 'subscription.unsubscribe' : 'subscription.resubscribe',
    ['subscription', row.subscription_id],
    { email: row.email },
  );
  return {
    ...toLinkState(row),
    state: isUnsubscribed ? 'unsubscribed' : row.removed_at === null ? 'active' : 'ended',
  };
}

/** Unsubscribes the recipient and cancels their queued mails. Idempotent; undefined for an unknown link. */
export const unsubscribe = (ctx: Ctx, token: string, caller: LinkCaller): Promise<LinkState | undefined> =>
  withLink(ctx, token, async (tx, organizationId, row) =>
    row.unsubscribed_at === null ? setUnsubscribed(tx, organizationId, row, caller, true) : toLinkState(row),
  );

/** Undoes it: mails are sent again from the next slot on. Idempotent; undefined for an unknown link. */
export const resubscribe = (ctx: Ctx, token: string, caller: LinkCaller): Promise<LinkState | undefined> =>
  withLink(ctx, token, async (tx, organizationId, row) =>
    row.unsubscribed_at === null ? toLinkState(row) : setUnsubscribed(tx, organizationId, row, caller, false),
  );

// Creating slots, sending a subscription on request, listing deliveries, and canceling queued mails.
import { createHash } from 'node:crypto';
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, viewPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { cancelQueuedMail, messageIdFor } from '../../mail/index.ts';
import { getSubscriptionRow, lockEditableSubscription } from './access.ts';
import { dailyLimitMessage } from './daily-limit.ts';
import * as store from './deliveries.store.ts';
import type { Delivery } from './subscriptions.schemas.ts';
import { listRecipients } from './subscriptions.store.ts';

const toDelivery = (row: store.DeliveryRow): Delivery => ({
  id: row.id,
  slot: instant(row.slot),
  trigger: row.trigger,
  recipient: row.email,
  status: row.status,
  records: row.records === null ? null : Number(row.records),
  messageId: row.message_id,
  error: row.error,
  sentAt: instantOrNull(row.sent_at),
  createdAt: instant(row.created_at),
});

type NewSlot = {
  readonly subscriptionId: string;
  readonly trigger: store.Trigger;
  readonly slot: Date;
  /** Why the slot may have been sent already. It is then shown as such and not sent. */
  readonly maybeSent?: string;
};

/** Deterministic for the same subscription, slot and recipient; short enough for one header line. */
const computeMessageId = (
  settings: TenantCtx['settings'],
  subscriptionId: string,
  slot: string,
  recipientId: string,
): string =>
  messageIdFor(
    settings,
    createHash('sha256').update([subscriptionId, slot, recipientId].join(' ')).digest('hex').slice(0, 40),
  );

/**
 * Creates a slot with one delivery per recipient; returns its id, or undefined when this time of the schedule
 * already has a slot. When the organization has reached its daily limit, the slot fails with that message and
 * gets no deliveries, so that rows don't pile up.
 */
export async function createSlot(
  tx: Tx,
  ctx: Pick<TenantCtx, 'organizationId' | 'settings'>,
  { subscriptionId, trigger, slot, maybeSent }: NewSlot,
): Promise<string | undefined> {
  const id = createId();
  if (!(await store.insertSlot(tx, ctx.organizationId, { id, subscriptionId, trigger, slot })))
    return undefined;
  const limitMessage = await dailyLimitMessage(tx, ctx);
  const error = limitMessage ?? maybeSent;
  if (error !== undefined) await store.markSlotFailed(tx, ctx.organizationId, id, error);
  if (limitMessage !== undefined) return id;
  const slotKey = trigger === 'manual' ? id : slot.toISOString();
  const recipients = await listRecipients(tx, ctx.organizationId, [subscriptionId]);
  const deliveries = recipients.map((recipient) => ({
    recipient_id: recipient.id,
    message_id: computeMessageId(ctx.settings, subscriptionId, slotKey, recipient.id),
    ...(recipient.unsubscribed_at !== null
      ? { status: 'skipped' as const }
      : maybeSent === undefined
        ? { status: 'queued' as const }
        : { status: 'unknown' as const, error: maybeSent }),
  }));
  await store.insertDeliveries(tx, ctx.organizationId, { slotId: id, subscriptionId }, deliveries);
  return id;
}

const maxManualSlotsPerHour = 10;

/**
 * Sends a subscription now. Throws 404 when the caller can't see it, 403 when they may not change it, 422
 * when its view or owner is gone, 429 when its hourly or the organization's daily limit is reached.
 */
export const sendSubscription = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await lockEditableSubscription(tx, ctx, id);
    if (row.view_id === null || row.owner_id === null)
      throw invalid('There is nothing to send', [
        {
          path: '',
          code: row.view_id === null ? 'view_deleted' : 'owner_left',
          message:
            row.view_id === null
              ? 'Its view was deleted: set another view first'
              : 'Its owner left: enable the subscription to become its owner',
        },
      ]);
    if ((await store.countManualSlots(tx, ctx.organizationId, id)) >= maxManualSlotsPerHour)
      throw new AppError(
        'RATE_LIMIT_EXCEEDED',
        `Rate limit exceeded: a subscription can be sent on request at most ${maxManualSlotsPerHour} times an hour`,
        { headers: { 'Retry-After': '3600' } },
      );
    const limitMessage = await dailyLimitMessage(tx, ctx);
    if (limitMessage !== undefined)
      throw new AppError('RATE_LIMIT_EXCEEDED', limitMessage, { headers: { 'Retry-After': '3600' } });
    const slot = ctx.clock.now();
    const slotId = await createSlot(tx, ctx, { subscriptionId: id, trigger: 'manual', slot });
    if (slotId === undefined) throw new Error('The manual slot was not created');
    await writeAudit(tx, ctx, 'subscription.send', ['subscription', id], { slot: instant(slot) });
    return {
      slot: instant(slot),
      deliveries: (await store.listSlotDeliveries(tx, ctx.organizationId, id, slotId)).map(toDelivery),
    };
  });

/** Throws 404 when the caller can't see the subscription. */
export const listDeliveries = (
  ctx: RequestCtx,
  id: string,
  page: PageQuery,
  status: store.DeliveryStatus | undefined,
) =>
  inTransaction(ctx, async (tx) => {
    await getSubscriptionRow(tx, ctx, id);
    return viewPage(await store.listDeliveryRows(tx, ctx.organizationId, id, page, status), page, toDelivery);
  });

/** Cancels queued mails of the subscription, to one recipient or all; not those that are being sent. */
export async function cancelQueuedMails(
  tx: Tx,
  organizationId: string,
  subscriptionId: string,
  recipientId?: string,
): Promise<void> {
  for (const { id, mail_id: mailId } of await store.listQueuedMails(
    tx,
    organizationId,
    subscriptionId,
    recipientId,
  ))
    if (await cancelQueuedMail(tx, { organizationId }, mailId))
      await store.updateDelivery(tx, organizationId, id, { status: 'skipped' });
}

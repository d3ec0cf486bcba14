// Slots by hand, what became of slots, and mails taken back.
import { createHash } from 'node:crypto';
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { messageIdFor, recallMail } from '../../mail/index.ts';
import { whyNoMore } from './daily-bound.ts';
import * as store from './deliveries.store.ts';
import { getRow, lockOwnRow } from './sight.ts';
import type { DeliveryView } from './subscriptions.schemas.ts';
import { listRecipients } from './subscriptions.store.ts';

const view = (row: store.DeliveryRow): DeliveryView => ({
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

type Due = { readonly subscriptionId: string; readonly trigger: store.Trigger; readonly slot: Date };

/** The same however often it is made of the same three; short, so that it stands in one line of a mail. */
const messageIdOf = (settings: TenantCtx['settings'], subscriptionId: string, slot: string, recipientId: string): string =>
  messageIdFor(settings, createHash('sha256').update([subscriptionId, slot, recipientId].join(' ')).digest('hex').slice(0, 40));

/**
 * Makes a slot with one delivery for each address on the list; undefined when the time of the schedule has one. Where the organization
 * may send no more today, the slot says so and has no delivery, as many slots would leave many rows.
 */
export async function openSlot(
  tx: Tx,
  ctx: Pick<TenantCtx, 'organizationId' | 'settings'>,
  { subscriptionId, trigger, slot }: Due,
): Promise<string | undefined> {
  const id = newId();
  if (!(await store.insertSlot(tx, ctx.organizationId, { id, subscriptionId, trigger, slot }))) return undefined;
  const noMore = await whyNoMore(tx, ctx);
  if (noMore !== undefined) {
    await store.refuseSlot(tx, ctx.organizationId, id, noMore);
    return id;
  }
  const time = trigger === 'manual' ? id : slot.toISOString();
  const recipients = await listRecipients(tx, ctx.organizationId, [subscriptionId]);
  const deliveries = recipients.map((recipient) => ({
    recipient_id: recipient.id,
    message_id: messageIdOf(ctx.settings, subscriptionId, time, recipient.id),
    status: recipient.unsubscribed_at === null ? ('queued' as const) : ('skipped' as const),
  }));
  await store.insertDeliveries(tx, ctx.organizationId, { slotId: id, subscriptionId }, deliveries);
  return id;
}

const mostSlotsByHandAndHour = 10;

export const sendNow = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await lockOwnRow(tx, ctx, id);
    if (row.view_id === null || row.owner_id === null)
      throw invalid('There is nothing to send', [
        { path: '', code: row.view_id === null ? 'view_deleted' : 'owner_left', message: 'Mend the subscription first' },
      ]);
    if ((await store.countSlotsByHand(tx, ctx.organizationId, id)) >= mostSlotsByHandAndHour)
      throw new AppError('RATE_LIMIT_EXCEEDED', `A subscription is sent by hand at most ${mostSlotsByHandAndHour} times an hour`, {
        headers: { 'Retry-After': '3600' },
      });
    const noMore = await whyNoMore(tx, ctx);
    if (noMore !== undefined) throw new AppError('RATE_LIMIT_EXCEEDED', noMore, { headers: { 'Retry-After': '3600' } });
    const slot = ctx.clock.now();
    const slotId = await openSlot(tx, ctx, { subscriptionId: id, trigger: 'manual', slot });
    if (slotId === undefined) throw new Error('a slot by hand was not made');
    await writeAudit(tx, ctx, { action: 'subscription.send', target: { type: 'subscription', id }, changes: { slot: instant(slot) } });
    return { slot: instant(slot), deliveries: (await store.deliveriesOfSlot(tx, ctx.organizationId, id, slotId)).map(view) };
  });

export const listDeliveries = (ctx: RequestCtx, id: string, page: PageQuery, status: store.DeliveryStatus | undefined) =>
  inTransaction(ctx, async (tx) => {
    await getRow(tx, ctx, id);
    const { rows, total } = await store.listDeliveryRows(tx, ctx.organizationId, id, page, status);
    return toPage(rows.map(view), total, page);
  });

/** Whatever of a subscription has not begun to leave stays here: for one recipient, or for all. */
export async function recallMails(tx: Tx, organizationId: string, subscriptionId: string, recipientId?: string): Promise<void> {
  for (const { id, mail_id: mailId } of await store.listMailsOnTheirWay(tx, organizationId, subscriptionId, recipientId))
    if (await recallMail(tx, { organizationId }, mailId)) await store.updateDelivery(tx, organizationId, id, { status: 'skipped' });
}

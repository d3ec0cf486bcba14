// One slot: is it still to be sent, what does it say, and then everything at once: deliveries and mails are one transaction, so that a
// crash before it repeats the slot and one after it changes nothing. The records are read outside, under the lease.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { AppError, causeOf } from '../../core/errors.ts';
import { hashSecretToken, newSecretToken } from '../../core/secret-token.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { serviceItself, writeAudit } from '../../identity/audit.store.ts';
import { enqueueMail, storeAttachment } from '../../mail/index.ts';
import { nextSlot } from '../../sync/index.ts';
import type { ViewRow } from '../views/views.store.ts';
import type { About, SlotContent } from './content.ts';
import { whyNoMore } from './daily-bound.ts';
import * as store from './deliveries.store.ts';
import { findViewForOwner } from './sight.ts';
import { findSubscription, insertLink, type SubscriptionRow, updateSubscription } from './subscriptions.store.ts';

/** The slot can't be sent, and trying again would not help. Its words are for the owner. */
export class Undeliverable extends Error {
  override readonly name = 'Undeliverable';
}

export type SlotWork = {
  readonly slot: store.SlotRow;
  readonly subscription: SubscriptionRow;
  readonly view: ViewRow;
  readonly about: About;
};
/** `stop`: the process ends, so that whatever was read is of no use. */
export type ReadSlot = (tenant: TenantCtx, work: SlotWork, stop: AbortSignal) => Promise<SlotContent>;

/** How long to wait after each failed reading; one more failure than there are waits is the end, and so is the next slot. */
const waitsMs = [5_000, 30_000, 120_000, 300_000];

/** A slot that a later one has overtaken, after the service was down, is not sent any more: nobody wants a flood. Pure. */
export function isOvertaken(
  { trigger, slot }: Pick<store.SlotRow, 'trigger' | 'slot'>,
  row: Pick<SubscriptionRow, 'schedule' | 'timezone'>,
  now: Date,
) {
  if (trigger === 'manual') return false;
  const next = nextSlot(row.schedule, row.timezone, slot);
  return next !== null && next <= now;
}

/** When to try again what failed now; null when that would be too late. Pure. */
export function retryWait(
  { trigger, slot, attempts }: Pick<store.SlotRow, 'trigger' | 'slot' | 'attempts'>,
  row: Pick<SubscriptionRow, 'schedule' | 'timezone'>,
  now: Date,
): number | null {
  const waitMs = waitsMs[attempts - 1];
  if (waitMs === undefined) return null;
  return isOvertaken({ trigger, slot }, row, new Date(now.getTime() + waitMs)) ? null : waitMs;
}

/** Switched off, with its reason, in the transaction that finds it out. */
async function switchOff(tx: Tx, organizationId: string, id: string): Promise<void> {
  await updateSubscription(tx, organizationId, id, { enabled: false, disabled_reason: 'view_hidden' });
  const changes = { enabled: false, disabledReason: 'view_hidden' };
  await writeAudit(tx, serviceItself(organizationId), { action: 'subscription.disable', target: { type: 'subscription', id }, changes });
}

/** What is to be sent; a text where nothing is, which says why. */
async function findWork(tx: Tx, ctx: TenantCtx, slot: store.SlotRow): Promise<SlotWork | string> {
  const { organizationId } = ctx;
  const subscription = await findSubscription(tx, organizationId, slot.subscription_id);
  if (subscription === undefined) return 'The subscription was deleted';
  const { view_id: viewId, owner_id: ownerId } = subscription;
  if (viewId === null) return 'The view was deleted';
  if (ownerId === null) return 'The owner of the subscription left the organization';
  if (slot.trigger === 'schedule' && !subscription.enabled) return 'The subscription was switched off';
  if (isOvertaken(slot, subscription, ctx.clock.now())) return 'The service could not send it before the next slot was due';
  if (slot.attempts > waitsMs.length + 1) return 'Every attempt ended before it could be reported';
  const noMore = await whyNoMore(tx, ctx);
  if (noMore !== undefined) return noMore;
  const view = await findViewForOwner(tx, organizationId, viewId, ownerId);
  if (view === undefined) {
    if (subscription.enabled) await switchOff(tx, organizationId, subscription.id);
    return 'The owner of the subscription no longer sees the view';
  }
  const organization = await tx('organizations').where({ id: organizationId }).first<{ name: string }>('name');
  const about: About = {
    viewName: view.name,
    organizationName: organization.name,
    ownerName: subscription.owner_name ?? '',
    timezone: subscription.timezone,
  };
  return { slot, subscription, view, about };
}

const begin = (ctx: TenantCtx, claim: store.SlotClaim): Promise<SlotWork | undefined> =>
  inTransaction(ctx, async (tx) => {
    const slot = await store.holdSlot(tx, claim);
    if (slot === undefined) return undefined;
    const work = await findWork(tx, ctx, slot);
    if (typeof work !== 'string') return work;
    await store.failSlot(tx, claim, work);
    return undefined;
  });

type Delivering = { readonly content: SlotContent; readonly attachmentId: string | undefined };

/** One mail with a link of its own. An address that no server would take fails alone. */
async function queueMail(tx: Tx, ctx: TenantCtx, delivery: store.WaitingDelivery, { content, attachmentId }: Delivering): Promise<void> {
  const token = newSecretToken();
  const unsubscribeUrl = `${ctx.settings.publicUrl}/unsubscribe?token=${token}`;
  try {
    const mailId = await enqueueMail(tx, ctx, {
      kind: 'subscription',
      to: { address: delivery.email },
      subject: content.subject,
      messageId: delivery.message_id,
      unsubscribeUrl,
      ...(attachmentId !== undefined && { sharedAttachmentId: attachmentId }),
      ...content.layout(unsubscribeUrl),
    });
    const link = { token_hash: hashSecretToken(token), recipient_id: delivery.recipient_id, title: content.title };
    await insertLink(tx, ctx.organizationId, link);
    await store.updateDelivery(tx, ctx.organizationId, delivery.id, { mail_id: mailId, records: content.records });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    await store.updateDelivery(tx, ctx.organizationId, delivery.id, { status: 'failed', error: error.message });
  }
}

/** Writes nothing when another process has taken the slot over meanwhile. */
const commit = (ctx: TenantCtx, claim: store.SlotClaim, content: SlotContent): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    if ((await store.holdSlot(tx, claim)) === undefined) return;
    const deliveries = await store.lockWaitingDeliveries(tx, claim);
    const wanted = deliveries.filter((delivery) => delivery.unsubscribed_at === null && delivery.removed_at === null);
    const attachmentId =
      content.attachment === undefined || wanted.length === 0 ? undefined : await storeAttachment(tx, ctx, content.attachment);
    for (const delivery of deliveries) {
      if (wanted.includes(delivery)) await queueMail(tx, ctx, delivery, { content, attachmentId });
      else await store.updateDelivery(tx, ctx.organizationId, delivery.id, { status: 'skipped' });
    }
    await store.finishSlot(tx, claim);
  });

async function settleFailure(ctx: TenantCtx, claim: store.SlotClaim, { slot, subscription }: SlotWork, error: unknown): Promise<void> {
  const isKnown = error instanceof Undeliverable || error instanceof AppError;
  if (!isKnown) ctx.log.error({ err: error, subscriptionId: subscription.id }, 'a slot could not be delivered');
  const words = isKnown ? causeOf(error) : 'The service had an error of its own';
  const waitMs = error instanceof Undeliverable ? null : retryWait(slot, subscription, ctx.clock.now());
  await inTransaction(ctx, async (tx) => {
    if (waitMs === null) await store.failSlot(tx, claim, words);
    else await store.retrySlot(tx, claim, words, waitMs);
  });
}

/** Works on a claimed slot until it is done, failed, or waits for another attempt. */
export async function deliverSlot(ctx: Ctx, claim: store.SlotClaim, read: ReadSlot, stop: AbortSignal): Promise<void> {
  const tenant: TenantCtx = { ...ctx, organizationId: claim.organizationId };
  const work = await begin(tenant, claim);
  if (work === undefined) return;
  try {
    const waiting = await inTransaction(tenant, (tx) => store.lockWaitingDeliveries(tx, claim));
    // With nobody to send it to, nothing is read.
    if (waiting.length === 0) return void (await inTransaction(tenant, (tx) => store.finishSlot(tx, claim)));
    const content = await read(tenant, work, stop);
    await commit(tenant, claim, content);
  } catch (error) {
    if (stop.aborted) await inTransaction(tenant, (tx) => store.handSlotBack(tx, claim));
    else await settleFailure(tenant, claim, work, error);
  }
}

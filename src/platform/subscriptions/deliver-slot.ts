// Delivers one slot: checks that it is still to be sent, reads the records, and then queues the mails and
// finishes the deliveries in one transaction. A crash before that transaction repeats the slot; a crash after
// it has no effect. The records are read outside of it, under the lease.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { AppError, errorMessage } from '../../core/errors.ts';
import { createSecretToken, hashSecretToken } from '../../core/secrets/secret-token.ts';
import type { Job } from '../../db/jobs.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { systemAuthor, writeAudit } from '../../identity/audit.store.ts';
import { enqueueMail, storeAttachment } from '../../mail/index.ts';
import { findNextSlot } from '../../sync/index.ts';
import type { ViewRow } from '../views/views.store.ts';
import { findViewForOwner } from './access.ts';
import type { MailContext, SlotContent } from './content.ts';
import { dailyLimitMessage } from './daily-limit.ts';
import * as store from './deliveries.store.ts';
import {
  findSubscription,
  insertLink,
  type SubscriptionRow,
  updateSubscription,
} from './subscriptions.store.ts';

/** The slot can't be sent, and a retry would not help. The message is for the owner. */
export class UndeliverableError extends Error {
  override readonly name = 'UndeliverableError';
}

export type SlotWork = {
  readonly slot: store.SlotRow;
  readonly subscription: SubscriptionRow;
  readonly view: ViewRow;
  readonly context: MailContext;
};
/** `stop` is aborted when the process shuts down; the result is then discarded. */
export type ReadSlotContent = (tenant: TenantCtx, work: SlotWork, stop: AbortSignal) => Promise<SlotContent>;

/** After failed attempts. The slot fails after one more, or when the next slot is due before the retry. */
const retryDelaysMs = [5_000, 30_000, 120_000, 300_000];

/** Whether a later slot is due, such as after downtime; then this isn't sent, so that mails don't pile up. */
export function isSuperseded(
  { trigger, slot }: Pick<store.SlotRow, 'trigger' | 'slot'>,
  row: Pick<SubscriptionRow, 'schedule' | 'timezone'>,
  now: Date,
) {
  if (trigger === 'manual') return false;
  const next = findNextSlot(row.schedule, row.timezone, slot);
  return next !== null && next <= now;
}

/** Delay in ms until the next attempt of a slot that failed now; null when that would be too late. Pure. */
export function retryDelayMs(
  { trigger, slot, attempts }: Pick<store.SlotRow, 'trigger' | 'slot' | 'attempts'>,
  row: Pick<SubscriptionRow, 'schedule' | 'timezone'>,
  now: Date,
): number | null {
  const waitMs = retryDelaysMs[attempts - 1];
  if (waitMs === undefined) return null;
  return isSuperseded({ trigger, slot }, row, new Date(now.getTime() + waitMs)) ? null : waitMs;
}

/** Disables the subscription with its reason, in the transaction that found the reason. */
async function disableSubscription(tx: Tx, organizationId: string, id: string): Promise<void> {
  await updateSubscription(tx, organizationId, id, { enabled: false, disabled_reason: 'view_hidden' });
  const changes = { enabled: false, disabledReason: 'view_hidden' };
  await writeAudit(tx, systemAuthor(organizationId), 'subscription.disable', ['subscription', id], changes);
}

/** The work to do, or the reason as text why nothing is sent. */
async function prepareWork(tx: Tx, ctx: TenantCtx, slot: store.SlotRow): Promise<SlotWork | string> {
  const { organizationId } = ctx;
  const subscription = await findSubscription(tx, organizationId, slot.subscription_id);
  if (subscription === undefined) return 'The subscription was deleted';
  const { view_id: viewId, owner_id: ownerId } = subscription;
  if (viewId === null) return 'The view was deleted';
  if (ownerId === null) return 'The owner of the subscription left the organization';
  if (slot.trigger === 'schedule' && !subscription.enabled) return 'The subscription was disabled';
  if (isSuperseded(slot, subscription, ctx.clock.now()))
    return 'The service could not send this slot before the next one was due';
  if (slot.attempts > retryDelaysMs.length + 1) return 'Every attempt was interrupted before it finished';
  const limitMessage = await dailyLimitMessage(tx, ctx);
  if (limitMessage !== undefined) return limitMessage;
  const view = await findViewForOwner(tx, organizationId, viewId, ownerId);
  if (view === undefined) {
    if (subscription.enabled) await disableSubscription(tx, organizationId, subscription.id);
    return 'The owner of the subscription no longer sees the view';
  }
  const organization = await tx('organizations')
    .where({ id: organizationId })
    .first<{ name: string }>('name');
  const context: MailContext = {
    viewName: view.name,
    organizationName: organization.name,
    ownerName: subscription.owner_name ?? '',
    timezone: subscription.timezone,
    recordsUrl: `${ctx.settings.publicUrl}/api/platform/v1/views/${view.id}/records?masked=true`,
  };
  return { slot, subscription, view, context };
}

const startWork = (ctx: TenantCtx, job: Job): Promise<SlotWork | undefined> =>
  inTransaction(ctx, async (tx) => {
    const slot = await store.lockSlot(tx, job);
    if (slot === undefined) return undefined;
    const work = await prepareWork(tx, ctx, slot);
    if (typeof work !== 'string') return work;
    await store.failSlot(tx, job, work);
    return undefined;
  });

type SharedContent = { readonly content: SlotContent; readonly attachmentId: string | undefined };

/** Queues one mail with its own unsubscribe link. An invalid address fails only this delivery. */
async function queueMail(
  tx: Tx,
  ctx: TenantCtx,
  delivery: store.WaitingDelivery,
  { content, attachmentId }: SharedContent,
): Promise<void> {
  const token = createSecretToken();
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
    const link = {
      token_hash: hashSecretToken(token),
      recipient_id: delivery.recipient_id,
      title: content.title,
    };
    await insertLink(tx, ctx.organizationId, link);
    await store.updateDelivery(tx, ctx.organizationId, delivery.id, {
      mail_id: mailId,
      records: content.records,
    });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    await store.updateDelivery(tx, ctx.organizationId, delivery.id, {
      status: 'failed',
      error: error.message,
    });
  }
}

/** Queues the mails and finishes the slot. Writes nothing when the lease was lost. */
const queueMails = (ctx: TenantCtx, job: Job, content: SlotContent): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    if ((await store.lockSlot(tx, job)) === undefined) return;
    const deliveries = await store.lockWaitingDeliveries(tx, job);
    const wanted = deliveries.filter(
      (delivery) => delivery.unsubscribed_at === null && delivery.removed_at === null,
    );
    const attachmentId =
      content.attachment === undefined || wanted.length === 0
        ? undefined
        : await storeAttachment(tx, ctx, content.attachment);
    for (const delivery of deliveries) {
      if (wanted.includes(delivery)) await queueMail(tx, ctx, delivery, { content, attachmentId });
      else await store.updateDelivery(tx, ctx.organizationId, delivery.id, { status: 'skipped' });
    }
    await store.finishSlot(tx, job);
  });

async function recordFailure(ctx: TenantCtx, job: Job, { slot, subscription }: SlotWork, error: unknown) {
  const isKnown = error instanceof UndeliverableError || error instanceof AppError;
  if (!isKnown)
    ctx.log.error(
      { err: error, subscriptionId: subscription.id },
      'a subscription slot could not be delivered',
    );
  const message = isKnown ? errorMessage(error) : 'Internal error';
  const waitMs =
    error instanceof UndeliverableError ? null : retryDelayMs(slot, subscription, ctx.clock.now());
  await inTransaction(ctx, async (tx) => {
    if (waitMs === null) await store.failSlot(tx, job, message);
    else await store.retrySlot(tx, job, message, waitMs);
  });
}

/** Works on a claimed slot until it is done, has failed, or waits for a retry. */
export async function deliverSlot(
  ctx: Ctx,
  job: Job,
  read: ReadSlotContent,
  stop: AbortSignal,
): Promise<void> {
  const tenant: TenantCtx = { ...ctx, organizationId: job.organizationId };
  const work = await startWork(tenant, job);
  if (work === undefined) return;
  try {
    const waiting = await inTransaction(tenant, (tx) => store.lockWaitingDeliveries(tx, job));
    // Without recipients there is no need to read the records.
    if (waiting.length === 0) return void (await inTransaction(tenant, (tx) => store.finishSlot(tx, job)));
    const content = await read(tenant, work, stop);
    await queueMails(tenant, job, content);
  } catch (error) {
    if (stop.aborted) await inTransaction(tenant, (tx) => store.releaseSlot(tx, job));
    else await recordFailure(tenant, job, work, error);
  }
}

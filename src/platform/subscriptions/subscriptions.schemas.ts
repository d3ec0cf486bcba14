// Subscriptions and their deliveries as callers see them: never the token of a link, which stands in one mail alone.
import { z } from 'zod';
import { Email, Id, Instant } from '../../http/fields.ts';

export const formats = ['html', 'csv'] as const;
export const deliveryStatuses = ['queued', 'sending', 'sent', 'failed', 'unknown', 'skipped'] as const;
export const disabledReasons = ['view_deleted', 'view_hidden', 'owner_left'] as const;

const shape = {
  viewId: Id.describe('A view that you see'),
  schedule: z.string().trim().min(1).max(120).describe('A cron expression of five fields'),
  timezone: z.string().min(1).max(64).describe('An IANA time zone, by which the schedule and the mails count'),
  recipients: z.array(Email).min(1).max(50).describe('Addresses, each once whatever its case'),
  format: z.enum(formats).describe('`html`: the first records in the mail itself; `csv`: all of them, attached'),
  templateId: Id.nullable().describe('A template of kind `email`; for `html` alone'),
  enabled: z.boolean(),
};

export const NewSubscription = z.strictObject({
  viewId: shape.viewId,
  schedule: shape.schedule,
  timezone: shape.timezone.default('UTC'),
  recipients: shape.recipients,
  format: shape.format.default('html'),
  templateId: shape.templateId.default(null),
  enabled: shape.enabled.default(true),
});
export const SubscriptionChange = z.strictObject({
  viewId: shape.viewId.optional(),
  schedule: shape.schedule.optional(),
  timezone: shape.timezone.optional(),
  recipients: shape.recipients.optional().describe('The whole list; who left it by a link stays unsubscribed when named again'),
  format: shape.format.optional(),
  templateId: shape.templateId.optional(),
  enabled: shape.enabled.optional(),
});
export type NewSubscription = z.output<typeof NewSubscription>;
export type SubscriptionChange = z.output<typeof SubscriptionChange>;

export const Subscription = z
  .object({
    id: Id,
    view: z.object({ id: Id, name: z.string() }).nullable().describe('Null once the view was deleted, or its owner no longer sees it'),
    viewId: Id.nullable(),
    owner: z
      .object({ id: Id, email: z.string(), name: z.string() })
      .nullable()
      .describe('The view is read with the sight of this person; null once they left'),
    schedule: z.string(),
    timezone: z.string(),
    recipients: z.array(
      z.object({
        email: z.string(),
        status: z.enum(['active', 'unsubscribed']),
        unsubscribedAt: Instant.nullable().describe('When this person ended it by the link in a mail; only they can undo it'),
      }),
    ),
    format: z.enum(formats),
    templateId: Id.nullable(),
    enabled: z.boolean(),
    disabledReason: z
      .object({ code: z.enum(disabledReasons), message: z.string() })
      .nullable()
      .describe('Why the service switched it off; null where a person did, or nobody'),
    nextRunAt: Instant.nullable(),
    lastSlot: z
      .object({
        slot: Instant,
        trigger: z.enum(['schedule', 'manual']),
        deliveries: z.object({ queued: z.int(), sent: z.int(), failed: z.int(), unknown: z.int(), skipped: z.int() }),
        error: z.string().nullable().describe('Why the records could not be read, the last time that it was tried'),
      })
      .nullable()
      .describe('The newest one, and what became of its mails'),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'Subscription' });

export const Delivery = z
  .object({
    id: Id,
    slot: Instant.describe('The minute that was due, or when it was asked for'),
    trigger: z.enum(['schedule', 'manual']),
    recipient: z.string(),
    status: z
      .enum(deliveryStatuses)
      .describe('`unknown`: the mail may have arrived, and is not sent again; `skipped`: the recipient had unsubscribed'),
    records: z.int().nullable().describe('How many records the view held; null until they were read'),
    messageId: z.string().describe('The same for every attempt'),
    error: z.string().nullable(),
    sentAt: Instant.nullable(),
    createdAt: Instant,
  })
  .meta({ id: 'SubscriptionDelivery' });

export const SentNow = z.object({ slot: Instant, deliveries: z.array(Delivery) }).meta({ id: 'SubscriptionSentNow' });

export type SubscriptionView = z.input<typeof Subscription>;
export type DeliveryView = z.input<typeof Delivery>;

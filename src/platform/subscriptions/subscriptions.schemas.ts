// Subscriptions and their deliveries as API callers see them. They never contain the token of an unsubscribe
// link: that is only in its mail.
import { z } from 'zod';
import { Email, Id, Instant } from '../../http/fields.ts';

export const formats = ['html', 'csv'] as const;
export const deliveryStatuses = ['queued', 'sending', 'sent', 'failed', 'unknown', 'skipped'] as const;
export const disabledReasons = ['view_deleted', 'view_hidden', 'owner_left'] as const;

const shape = {
  viewId: Id.describe('A view that you can see'),
  schedule: z.string().trim().min(1).max(120).describe('A cron expression with five fields'),
  timezone: z
    .string()
    .min(1)
    .max(64)
    .describe('IANA time zone of the schedule and of the times in the mails'),
  recipients: z
    .array(Email)
    .min(1)
    .max(50)
    .describe('Mail addresses without duplicates; case does not matter'),
  format: z
    .enum(formats)
    .describe('`html`: the first records in the mail itself; `csv`: all records, attached'),
  templateId: Id.nullable().describe('A template of kind `email`; only for the format `html`'),
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
export const SubscriptionPatch = z
  .strictObject(shape)
  .partial()
  .extend({
    recipients: shape.recipients
      .optional()
      .describe('Replaces the whole list; a recipient who unsubscribed stays unsubscribed when listed again'),
  });
export type NewSubscription = z.output<typeof NewSubscription>;
export type SubscriptionPatch = z.output<typeof SubscriptionPatch>;

export const Subscription = z
  .object({
    id: Id,
    view: z
      .object({ id: Id, name: z.string() })
      .nullable()
      .describe('Null when the view was deleted or you cannot see it'),
    viewId: Id.nullable(),
    owner: z
      .object({ id: Id, email: z.string(), name: z.string() })
      .nullable()
      .describe('The view is read with the access of this person; null when they left the organization'),
    schedule: z.string(),
    timezone: z.string(),
    recipients: z.array(
      z.object({
        email: z.string(),
        status: z.enum(['active', 'unsubscribed']),
        unsubscribedAt: Instant.nullable().describe(
          'When the recipient unsubscribed by the link in a mail; only they can undo it',
        ),
      }),
    ),
    format: z.enum(formats),
    templateId: Id.nullable(),
    enabled: z.boolean(),
    disabledReason: z
      .object({ code: z.enum(disabledReasons), message: z.string() })
      .nullable()
      .describe('Why the service disabled it; null when a person disabled it or it is enabled'),
    nextRunAt: Instant.nullable(),
    lastSlot: z
      .object({
        slot: Instant,
        trigger: z.enum(['schedule', 'manual']),
        deliveries: z.object({
          queued: z.int(),
          sent: z.int(),
          failed: z.int(),
          unknown: z.int(),
          skipped: z.int(),
        }),
        error: z.string().nullable().describe('Why the last attempt to read the records failed'),
      })
      .nullable()
      .describe('The newest send and the number of its deliveries by status'),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'Subscription' });

export const Delivery = z
  .object({
    id: Id,
    slot: Instant.describe('The minute in which it was due, or the time of the request'),
    trigger: z.enum(['schedule', 'manual']),
    recipient: z.string(),
    status: z
      .enum(deliveryStatuses)
      .describe(
        '`unknown`: the mail may have arrived and is not sent again; `skipped`: not sent, for example because the recipient unsubscribed',
      ),
    records: z.int().nullable().describe('Number of records in the view; null until they were read'),
    messageId: z.string().describe('The Message-ID header, the same for every attempt'),
    error: z.string().nullable(),
    sentAt: Instant.nullable(),
    createdAt: Instant,
  })
  .meta({ id: 'SubscriptionDelivery' });

export const SentNow = z
  .object({ slot: Instant, deliveries: z.array(Delivery) })
  .meta({ id: 'SubscriptionSentNow' });

export type Subscription = z.input<typeof Subscription>;
export type Delivery = z.input<typeof Delivery>;

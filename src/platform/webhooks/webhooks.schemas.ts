// Webhook endpoints and their deliveries as callers see them. A shared secret is shown once.
import { z } from 'zod';
import { Id, Instant, isSpan, noSpan, spanFields } from '../../http/fields.ts';
import { pageFields } from '../../http/page.ts';
import { eventTypes, signatureKinds } from '../../webhooks/index.ts';
import { disabledReasons } from './endpoints.store.ts';
import { attemptReasons, messageStatuses } from './messages.store.ts';

const EventType = z.enum(eventTypes);

const shape = {
  url: z
    .url({ protocol: /^https?$/, error: 'must be an https URL' })
    .max(2_000)
    .describe('An https address that answers within 15 seconds'),
  description: z.string().trim().max(200),
  events: z
    .array(EventType)
    .min(1)
    .max(eventTypes.length)
    .describe('The types of events that are sent. Each needs the permission to read what it is about'),
  version: z
    .string()
    .min(1)
    .max(40)
    .nullable()
    .describe('The published version whose changed records are reported; only with `records.changed`'),
  resources: z
    .array(z.string().min(1).max(100))
    .max(200)
    .describe('Of the version; an empty list means all that the key reads'),
  keyId: Id.describe('The API key whose scopes the endpoint has. It ends with the key'),
  include: z
    .enum(['none', 'records'])
    .describe(
      '`records`: a message about changed records has the first of them, as many as fit, at most 100',
    ),
  enabled: z.boolean(),
};

export const NewWebhook = z.strictObject({
  ...shape,
  description: shape.description.default(''),
  version: shape.version.default(null),
  resources: shape.resources.default([]),
  include: shape.include.default('none'),
  enabled: shape.enabled.default(true),
  signature: z
    .enum(signatureKinds)
    .default('v1')
    .describe('`v1`: HMAC-SHA256 with a shared secret; `v1a`: ed25519 with a public key'),
});
export const WebhookPatch = z.strictObject(shape).partial();
export type NewWebhook = z.output<typeof NewWebhook>;
export type WebhookPatch = z.output<typeof WebhookPatch>;

const webhookFields = {
  id: Id,
  url: z.string(),
  description: z.string(),
  events: z.array(EventType),
  version: z.string().nullable(),
  resources: z.array(z.string()),
  keyId: Id,
  include: z.enum(['none', 'records']),
  signature: z.enum(signatureKinds),
  publicKey: z.string().nullable().describe('Verifies signatures of the kind `v1a`'),
  previousSecretEndsAt: Instant.nullable().describe('Until when the former secret signs as well'),
  enabled: z.boolean(),
  disabledReason: z
    .object({ code: z.enum(disabledReasons), message: z.string() })
    .nullable()
    .describe('Why the service disabled it; null when a person disabled it or it is enabled'),
  failingSince: Instant.nullable().describe('When the first of the attempts failed that failed since'),
  nextAttemptAt: Instant.nullable().describe('Nothing is sent before, because the last attempt failed'),
  createdAt: Instant,
  updatedAt: Instant,
};
export const Webhook = z.object(webhookFields).meta({ id: 'Webhook' });
export const WebhookWithSecret = z
  .object({
    ...webhookFields,
    secret: z.string().nullable().describe('Verifies signatures of the kind `v1`; shown once'),
  })
  .meta({ id: 'WebhookWithSecret' });
export type Webhook = z.input<typeof Webhook>;

export const SecretRotation = z.strictObject({
  overlapHours: z.int().min(0).max(168).default(24).describe('For so long, the former secret signs as well'),
});

export const DeliveryQuery = z
  .strictObject({
    ...{ ...pageFields, ...spanFields },
    status: z.enum(messageStatuses).optional(),
    type: z.string().max(60).optional(),
  })
  .refine(isSpan, noSpan);

const Attempt = z
  .object({
    number: z.int(),
    reason: z.enum(attemptReasons),
    startedAt: Instant,
    durationMs: z.int(),
    status: z.int().nullable().describe('Of the answer; null when there was none'),
    error: z.string().nullable(),
    response: z.string().nullable().describe('The first 1,000 characters of the answer; null as `data` is'),
  })
  .meta({ id: 'WebhookAttempt' });

export const WebhookDelivery = z
  .object({
    id: Id,
    messageId: z.string().describe('The header `webhook-id`, the same for every attempt'),
    type: z.string(),
    status: z
      .enum(messageStatuses)
      .describe(
        '`failed`: all ten attempts failed. `superseded`: a later message tells what this one would have',
      ),
    data: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('What was sent, without records; null for people who may not read what it is about'),
    createdAt: Instant,
    nextAttemptAt: Instant.nullable(),
    endedAt: Instant.nullable(),
    attempts: z.array(Attempt),
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.input<typeof WebhookDelivery>;

export const Replay = z
  .strictObject({ deliveryId: Id.optional(), after: spanBody(), before: spanBody() })
  .refine(({ deliveryId, after }) => (deliveryId === undefined) !== (after === undefined), {
    path: [],
    error: 'must have either deliveryId or after',
  });
function spanBody() {
  return z.iso
    .datetime({ offset: true, error: 'must be an RFC 3339 timestamp with a time zone' })
    .transform((text) => new Date(text))
    .optional()
    .meta({ openapi: { type: 'string', format: 'date-time' } });
}
export type Replay = z.output<typeof Replay>;
export const Replayed = z
  .object({
    messages: z.int().describe('Other events that are sent once more, under their ids'),
    resources: z.array(z.string()).describe('Resources of which one message will tell everything since then'),
  })
  .meta({ id: 'WebhookReplayed' });

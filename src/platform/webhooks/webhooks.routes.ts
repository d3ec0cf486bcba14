import { z } from 'zod';
import { Id, IdParams } from '../../http/fields.ts';
import { createPageSchema, PageQuery } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { getWebhookDelivery, listWebhookDeliveries, replayDeliveries } from './deliveries.service.ts';
import {
  DeliveryQuery,
  NewWebhook,
  Replay,
  Replayed,
  SecretRotation,
  Webhook,
  WebhookDelivery,
  WebhookPatch,
  WebhookWithSecret,
} from './webhooks.schemas.ts';
import * as service from './webhooks.service.ts';

const DeliveryParams = z.strictObject({ id: Id, deliveryId: Id });

export const webhookRoutes = inGroup('Webhooks', [
  defineRoute('listWebhooks', 'GET /webhooks', {
    permission: 'webhook:read',
    summary: 'List webhooks',
    description: 'Newest first. Shared secrets are never returned again.',
    query: PageQuery,
    response: createPageSchema(Webhook),
    handler: (ctx, { query }) => service.listWebhooks(ctx, query),
  }),
  defineRoute('createWebhook', 'POST /webhooks', {
    permission: 'webhook:create',
    readsRecords: true,
    summary: 'Create a webhook',
    description:
      'Sends events to an address from now on, as [Standard Webhooks](https://www.standardwebhooks.com) describe. The endpoint reads with the present scopes of an API key that reads no more than you, and ends with it. ' +
      'The secret is returned only in this response.',
    body: NewWebhook,
    example: {
      url: 'https://example.com/hooks/portal',
      events: ['records.changed', 'sync.failed'],
      version: 'v1',
      resources: ['invoices'],
      keyId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21',
    },
    response: WebhookWithSecret,
    status: 201,
    shownOnce: ['secret'],
    handler: (ctx, { body }) => service.createWebhook(ctx, body),
  }),
  defineRoute('getWebhook', 'GET /webhooks/{id}', {
    permission: 'webhook:read',
    summary: 'Retrieve a webhook',
    description: 'Its settings, and whether attempts fail.',
    params: IdParams,
    response: Webhook,
    handler: (ctx, { params }) => service.getWebhook(ctx, params.id),
  }),
  defineRoute('updateWebhook', 'PATCH /webhooks/{id}', {
    permission: 'webhook:update',
    readsRecords: true,
    summary: 'Update a webhook',
    description:
      '`enabled: true` clears `disabledReason`; the endpoint then gets the records that changed while it was disabled. A message with `startOver` follows when it reads another version, or other records by another key.',
    params: IdParams,
    body: WebhookPatch,
    example: { enabled: true },
    response: Webhook,
    handler: (ctx, { params, body }) => service.updateWebhook(ctx, params.id, body),
  }),
  defineRoute('deleteWebhook', 'DELETE /webhooks/{id}', {
    permission: 'webhook:delete',
    summary: 'Delete a webhook',
    description: 'Deletes its deliveries as well.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteWebhook(ctx, params.id),
  }),
  defineRoute('rotateWebhookSecret', 'POST /webhooks/{id}/rotate', {
    permission: 'webhook:update',
    summary: 'Rotate the secret of a webhook',
    description: 'Makes a new secret, or key pair. Messages have both signatures until the former one ends.',
    params: IdParams,
    body: SecretRotation,
    example: { overlapHours: 24 },
    response: WebhookWithSecret,
    shownOnce: ['secret'],
    handler: (ctx, { params, body }) => service.rotateSecret(ctx, params.id, body),
  }),
  defineRoute('testWebhook', 'POST /webhooks/{id}/test', {
    permission: 'webhook:update',
    summary: 'Send a test to a webhook',
    description: 'Sends an event of the type `webhook.test`. Its delivery shows the result.',
    params: IdParams,
    response: WebhookDelivery,
    status: 202,
    handler: async (ctx, { params: { id } }) =>
      getWebhookDelivery(ctx, id, await service.testWebhook(ctx, id)),
  }),
  defineRoute('listWebhookDeliveries', 'GET /webhooks/{id}/deliveries', {
    permission: 'webhook:read',
    summary: "List a webhook's deliveries",
    description: 'One for each message, with its attempts, newest first, kept for 90 days.',
    params: IdParams,
    query: DeliveryQuery,
    response: createPageSchema(WebhookDelivery),
    handler: (ctx, { params, query: { page, pageSize, ...filter } }) =>
      listWebhookDeliveries(ctx, params.id, { page, pageSize }, filter),
  }),
  defineRoute('getWebhookDelivery', 'GET /webhooks/{id}/deliveries/{deliveryId}', {
    permission: 'webhook:read',
    summary: 'Retrieve a delivery of a webhook',
    description: 'What was sent, and each attempt with its answer.',
    params: DeliveryParams,
    response: WebhookDelivery,
    handler: (ctx, { params }) => getWebhookDelivery(ctx, params.id, params.deliveryId),
  }),
  defineRoute('replayWebhook', 'POST /webhooks/{id}/replay', {
    permission: 'webhook:update',
    summary: 'Send deliveries again',
    description:
      'One delivery by `deliveryId`, or those created after `after` and, if given, before `before`. Events are sent once more under their message ids. Of changed records, one new message for each resource tells everything since the first of these deliveries.',
    params: IdParams,
    body: Replay,
    example: { after: '2026-11-01T00:00:00Z' },
    response: Replayed,
    status: 202,
    handler: (ctx, { params, body }) => replayDeliveries(ctx, params.id, body),
  }),
]);

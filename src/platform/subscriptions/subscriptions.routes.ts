import { z } from 'zod';
import { Id, IdParams } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { listDeliveries, sendSubscription } from './deliveries.service.ts';
import {
  Delivery,
  deliveryStatuses,
  NewSubscription,
  SentNow,
  Subscription,
  SubscriptionPatch,
} from './subscriptions.schemas.ts';
import * as service from './subscriptions.service.ts';

export const subscriptionRoutes = inGroup('Views', [
  defineRoute('listSubscriptions', 'GET /subscriptions', {
    permission: 'subscription:read',
    summary: 'List subscriptions',
    description:
      'Your own subscriptions and those to views that you can see, newest first. `viewId` limits the list to one view.',
    query: z.strictObject({ ...pageFields, viewId: Id.optional() }),
    response: createPageSchema(Subscription),
    handler: (ctx, { query: { viewId, ...page } }) => service.listSubscriptions(ctx, page, viewId),
  }),
  defineRoute('createSubscription', 'POST /subscriptions', {
    permission: 'subscription:create',
    readsRecords: true,
    summary: 'Create a subscription',
    description:
      'Sends a view by mail, on a schedule. Each recipient gets their own mail with an unsubscribe link. The view is read with your access: when you can no longer see it or read records, the subscription is disabled, and `disabledReason` says why. Fields that any published or deprecated version masks are masked in every mail.',
    body: NewSubscription,
    example: {
      viewId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21',
      schedule: '0 7 * * 1-5',
      timezone: 'Europe/London',
      recipients: ['ada@example.com', 'grace@example.com'],
      format: 'html',
    },
    response: Subscription,
    status: 201,
    handler: (ctx, { body }) => service.createSubscription(ctx, body),
  }),
  defineRoute('getSubscription', 'GET /subscriptions/{id}', {
    permission: 'subscription:read',
    summary: 'Retrieve a subscription',
    description:
      'Includes the status of each recipient, the time of the next run, and the result of the last one.',
    params: IdParams,
    response: Subscription,
    handler: (ctx, { params }) => service.getSubscription(ctx, params.id),
  }),
  defineRoute('updateSubscription', 'PATCH /subscriptions/{id}', {
    permission: 'subscription:update',
    summary: 'Update a subscription',
    description:
      'Allowed for its owner and for people with `member:update`. `enabled: true` clears `disabledReason`, provided that the owner can see the view. If the owner has left, the person who enables the subscription becomes its owner.',
    params: IdParams,
    body: SubscriptionPatch,
    example: { schedule: '30 6 * * *', recipients: ['ada@example.com'] },
    response: Subscription,
    handler: (ctx, { params, body }) => service.updateSubscription(ctx, params.id, body),
  }),
  defineRoute('deleteSubscription', 'DELETE /subscriptions/{id}', {
    permission: 'subscription:delete',
    summary: 'Delete a subscription',
    description: 'Cancels its queued mails, and deletes its deliveries.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteSubscription(ctx, params.id),
  }),
  defineRoute('sendSubscription', 'POST /subscriptions/{id}/send', {
    permission: 'subscription:update',
    summary: 'Send a subscription now',
    description:
      'Sends it once in addition to the schedule, at most ten times an hour. The deliveries show its progress.',
    params: IdParams,
    response: SentNow,
    status: 202,
    handler: (ctx, { params }) => sendSubscription(ctx, params.id),
  }),
  defineRoute('listSubscriptionDeliveries', 'GET /subscriptions/{id}/deliveries', {
    permission: 'subscription:read',
    summary: "List a subscription's deliveries",
    description: 'One per send and recipient, newest first, kept for 90 days.',
    params: IdParams,
    query: z.strictObject({ ...pageFields, status: z.enum(deliveryStatuses).optional() }),
    response: createPageSchema(Delivery),
    handler: (ctx, { params, query: { status, ...page } }) => listDeliveries(ctx, params.id, page, status),
  }),
]);

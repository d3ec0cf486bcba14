import { z } from 'zod';
import { Id, IdParams } from '../../http/fields.ts';
import { pageFields, pageOf } from '../../http/page.ts';
import { defineRoute } from '../../http/route.ts';
import { listDeliveries, sendNow } from './deliveries.service.ts';
import { Delivery, deliveryStatuses, NewSubscription, SentNow, Subscription, SubscriptionChange } from './subscriptions.schemas.ts';
import * as service from './subscriptions.service.ts';

const group = 'Views';

export const subscriptionRoutes = [
  defineRoute({
    id: 'listSubscriptions',
    group,
    method: 'GET',
    path: '/subscriptions',
    permission: 'subscription:read',
    summary: 'Subscriptions to views that you see, newest first',
    description: 'Your own and those to views that you see. `viewId` names one view.',
    query: z.strictObject({ ...pageFields, viewId: Id.optional() }),
    response: pageOf(Subscription),
    handler: (ctx, { query: { viewId, ...page } }) => service.listSubscriptions(ctx, page, viewId),
  }),
  defineRoute({
    id: 'createSubscription',
    group,
    method: 'POST',
    path: '/subscriptions',
    permission: 'subscription:create',
    summary: 'Send a view by mail, on a schedule',
    description:
      'Each recipient gets a mail of their own, with a link that ends it. The view is read with your sight of it: when you can no longer see it, the subscription is switched off and says why.',
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
  defineRoute({
    id: 'getSubscription',
    group,
    method: 'GET',
    path: '/subscriptions/{id}',
    permission: 'subscription:read',
    summary: 'One subscription',
    description: 'With the state of each recipient, the next run, and what became of the last one.',
    params: IdParams,
    response: Subscription,
    handler: (ctx, { params }) => service.getSubscription(ctx, params.id),
  }),
  defineRoute({
    id: 'updateSubscription',
    group,
    method: 'PATCH',
    path: '/subscriptions/{id}',
    permission: 'subscription:update',
    summary: 'Change a subscription',
    description:
      'Its owner may, and whoever may change members (`member:update`). `enabled: true` lifts what switched it off, as long as its owner sees the view; whose owner has left belongs to who switches it on again.',
    params: IdParams,
    body: SubscriptionChange,
    example: { schedule: '30 6 * * *', recipients: ['ada@example.com'] },
    response: Subscription,
    handler: (ctx, { params, body }) => service.changeSubscription(ctx, params.id, body),
  }),
  defineRoute({
    id: 'deleteSubscription',
    group,
    method: 'DELETE',
    path: '/subscriptions/{id}',
    permission: 'subscription:delete',
    summary: 'End a subscription',
    description: 'Mails that have not begun to leave are taken back; its deliveries are forgotten.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteSubscription(ctx, params.id),
  }),
  defineRoute({
    id: 'sendSubscription',
    group,
    method: 'POST',
    path: '/subscriptions/{id}/send',
    permission: 'subscription:update',
    summary: 'Send it now',
    description: 'A slot of its own beside the schedule, up to ten an hour. The deliveries tell what becomes of it.',
    params: IdParams,
    response: SentNow,
    status: 202,
    handler: (ctx, { params }) => sendNow(ctx, params.id),
  }),
  defineRoute({
    id: 'listSubscriptionDeliveries',
    group,
    method: 'GET',
    path: '/subscriptions/{id}/deliveries',
    permission: 'subscription:read',
    summary: 'Deliveries of a subscription, newest first',
    description: 'One for each slot and recipient, kept for 90 days.',
    params: IdParams,
    query: z.strictObject({ ...pageFields, status: z.enum(deliveryStatuses).optional() }),
    response: pageOf(Delivery),
    handler: (ctx, { params, query: { status, ...page } }) => listDeliveries(ctx, params.id, page, status),
  }),
];

import { z } from 'zod';
import { Id, IdParams, queryInstant } from '../../http/fields.ts';
import { PageQuery, pageFields, pageOf } from '../../http/page.ts';
import { defineRoute, defineWebhook } from '../../http/route.ts';
import * as checkouts from './checkouts.service.ts';
import { getPayConfig, putPayConfig } from './config.service.ts';
import {
  Checkout,
  CheckoutInput,
  erpStatuses,
  PayConfig,
  PayConfigInput,
  Payment,
  Payout,
  RefundInput,
  WebhookTaken,
} from './pay.schemas.ts';
import { paymentStatuses } from './payment-state.ts';
import * as payments from './payments.service.ts';
import { getPayout, listPayouts } from './payouts.service.ts';
import { takeEvent } from './webhooks.service.ts';

const group = 'Pay';

const configRoutes = [
  defineRoute({
    id: 'getPayConfig',
    group,
    method: 'GET',
    path: '/pay/config',
    permission: 'pay-config:read',
    summary: 'How payments are taken, without secrets',
    description:
      'Before it is set up every field is null or off. Secrets are never shown, only whether they are there and their last four characters.',
    response: PayConfig,
    handler: (ctx) => getPayConfig(ctx),
  }),
  defineRoute({
    id: 'putPayConfig',
    group,
    method: 'PUT',
    path: '/pay/config',
    permission: 'pay-config:update',
    summary: 'Set up or replace how payments are taken',
    description:
      'Given secrets are tried at the provider first. Enter `webhookUrl` of the answer there. Moving to another provider, or giving credentials of another account of the same one, leaves open payments where they are: they are asked for, and can be refunded, with the credentials of their own account. `webhookUrl` is then another. The sandbox moves no money: in production it is refused unless an operator allows it.',
    body: PayConfigInput,
    example: {
      provider: 'sandbox',
      currency: 'GBP',
      enabled: true,
      invoices: { recordType: 'invoice', number: 'tranid', amountDue: 'foreignamountunpaid', currency: 'currency', customer: 'entity' },
      writeBack: false,
    },
    response: PayConfig,
    handler: (ctx, { body }) => putPayConfig(ctx, body),
  }),
];

const checkoutRoutes = [
  defineRoute({
    id: 'createCheckout',
    group,
    method: 'POST',
    path: '/pay/checkout',
    permission: 'payment:create',
    summary: 'Ask a customer to pay invoices',
    description:
      'Open amounts are read from the ERP, and what other payments have in flight is taken off: nobody is asked for more than is due. Send the payer to `url`, before it expires. With the ERP down: 503, unless `allowStale`. After `answer_lost` under an `Idempotency-Key` read the checkout that it names: with a `url` it is as good as answered. Without one, as after a 503, it is ended by itself within minutes, and its invoices are in flight until then; ask again under a new key.',
    body: CheckoutInput,
    example: {
      customerId: '1204',
      invoices: [{ recordId: '53021' }, { recordId: '53044', amount: '120.50' }],
      successUrl: 'https://portal.example.com/paid',
      cancelUrl: 'https://portal.example.com/invoices',
    },
    response: Checkout,
    status: 201,
    handler: (ctx, { body }) => checkouts.createCheckout(ctx, body),
  }),
  defineRoute({
    id: 'getCheckout',
    group,
    method: 'GET',
    path: '/pay/checkouts/{id}',
    permission: 'payment:read',
    summary: 'One checkout',
    description: 'With the status of its payment. `url` is null once nobody can pay there any more.',
    params: IdParams,
    response: Checkout,
    handler: (ctx, { params }) => checkouts.getCheckout(ctx, params.id),
  }),
];

const paymentRoutes = [
  defineRoute({
    id: 'listPayments',
    group,
    method: 'GET',
    path: '/pay/payments',
    permission: 'payment:read',
    summary: 'Payments, newest first',
    description:
      '`after` and `before` bound `createdAt`. A payment begins with its checkout, so unpaid ones are listed as well. `erpStatus=FAILED` are those whose way back into the ERP waits for a person.',
    query: z.strictObject({
      ...pageFields,
      status: z.enum(paymentStatuses).optional(),
      customerId: z.string().max(60).optional(),
      after: queryInstant.optional(),
      before: queryInstant.optional(),
      erpStatus: z.enum(erpStatuses).optional(),
    }),
    response: pageOf(Payment),
    handler: (ctx, { query: { page, pageSize, ...filter } }) => payments.listPayments(ctx, { page, pageSize }, filter),
  }),
  defineRoute({
    id: 'getPayment',
    group,
    method: 'GET',
    path: '/pay/payments/{id}',
    permission: 'payment:read',
    summary: 'One payment',
    description: 'With its invoices, its refunds, and what became of it in the ERP.',
    params: IdParams,
    response: Payment,
    handler: (ctx, { params }) => payments.getPayment(ctx, params.id),
  }),
  defineRoute({
    id: 'refundPayment',
    group,
    method: 'POST',
    path: '/pay/payments/{id}/refund',
    permission: 'payment:update',
    summary: 'Give money back',
    description:
      'All that is left of it, or a part. A refund that the provider has not answered yet is PENDING and is asked for again; it is never made twice. Where an `Idempotency-Key` is answered with `answer_lost` the refund was begun and goes on: see `refunds` of the payment, and do not ask under another key.',
    params: IdParams,
    body: RefundInput,
    example: { amount: '20.00', reason: 'Goods were returned' },
    response: Payment,
    handler: (ctx, { params, body }) => payments.refundPayment(ctx, params.id, body),
  }),
  defineRoute({
    id: 'retryWriteBack',
    group,
    method: 'POST',
    path: '/pay/payments/{id}/retry-write-back',
    permission: 'payment:update',
    summary: 'Try the way back into the ERP once more',
    description: 'For payments whose `erp.status` is FAILED or PENDING: after the fix that `erp.problem` names. It is never entered twice.',
    params: IdParams,
    response: Payment,
    handler: (ctx, { params }) => payments.retryWriteBack(ctx, params.id),
  }),
  defineRoute({
    id: 'endWriteBack',
    group,
    method: 'POST',
    path: '/pay/payments/{id}/end-write-back',
    permission: 'payment:update',
    summary: 'Say that people enter it in the ERP',
    description:
      'For payments whose `erp.status` is FAILED, or PENDING while `writeBack` is off. What is stuck is never sent again: enter it in the ERP by hand. Then `erp.status` is OFF, or that of the payment where a refund alone was stuck, and a checkout takes it for entered as far as the open amounts fall.',
    params: IdParams,
    response: Payment,
    handler: (ctx, { params }) => payments.endWriteBack(ctx, params.id),
  }),
];

const payoutRoutes = [
  defineRoute({
    id: 'listPayouts',
    group,
    method: 'GET',
    path: '/pay/payouts',
    permission: 'payout:read',
    summary: 'Payouts, newest first',
    description: 'What the provider sends to the bank, with the payments in it. The sums add up to the amount.',
    query: PageQuery,
    response: pageOf(Payout),
    handler: (ctx, { query }) => listPayouts(ctx, query),
  }),
  defineRoute({
    id: 'getPayout',
    group,
    method: 'GET',
    path: '/pay/payouts/{id}',
    permission: 'payout:read',
    summary: 'One payout',
    description: 'With the payments that it contains and what it takes back of them.',
    params: IdParams,
    response: Payout,
    handler: (ctx, { params }) => getPayout(ctx, params.id),
  }),
];

export const payRoutes = [
  ...configRoutes,
  ...checkoutRoutes,
  ...paymentRoutes,
  ...payoutRoutes,
  defineWebhook({
    id: 'takePayEvent',
    group,
    method: 'POST',
    path: '/pay/webhooks/{provider}/{endpointId}',
    summary: 'Where a payment provider tells what happened',
    description:
      'Signed by the provider over the bytes of the body. What an event claims is not believed: it is noted once, and the provider is asked. The address is `webhookUrl` of the configuration; a wrong signature is 400 and an unknown address 404, and both count as failed authentication.',
    params: z.strictObject({ provider: z.string().regex(/^[a-z]{1,20}$/), endpointId: Id }),
    maxBodyBytes: 256 * 1024,
    response: WebhookTaken,
    responseExample: { received: true },
    handler: (ctx, call) => takeEvent(ctx, call),
  }),
];

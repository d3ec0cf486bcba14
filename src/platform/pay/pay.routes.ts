import { z } from 'zod';
import { Id, IdParams, isSpan, noSpan, spanFields } from '../../http/fields.ts';
import { createPageSchema, PageQuery, pageFields, sortFields } from '../../http/page.ts';
import { defineRoute, defineWebhook, inGroup } from '../../http/route/define.ts';
import * as checkouts from './checkout/checkouts.service.ts';
import { getPayConfig, putPayConfig } from './config.service.ts';
import { erpStatuses } from './ledger/erp-states.store.ts';
import { paymentStatuses } from './ledger/payment-state.ts';
import { paymentSorts } from './ledger/payments.store.ts';
import {
  Checkout,
  CheckoutInput,
  PayConfig,
  PayConfigInput,
  Payment,
  Payout,
  RefundInput,
  WebhookReceived,
} from './pay.schemas.ts';
import * as payments from './payments.service.ts';
import { getPayout, listPayouts } from './provider/payouts.service.ts';
import { receiveEvent } from './provider/webhooks.service.ts';

const configRoutes = [
  defineRoute('getPayConfig', 'GET /pay/config', {
    permission: 'pay-config:read',
    summary: 'Retrieve the payment configuration',
    description:
      'Until payments are set up, every field is null or off. Secrets are never returned, only whether they are stored and their last four characters.',
    response: PayConfig,
    handler: (ctx) => getPayConfig(ctx),
  }),
  defineRoute('putPayConfig', 'PUT /pay/config', {
    permission: 'pay-config:update',
    summary: 'Replace the payment configuration',
    description:
      'Secrets are verified at the provider before they are stored. Register the `webhookUrl` of the response at the provider. After a move to another provider, or to another account of the same provider, `webhookUrl` changes, and existing payments stay with their previous account: they are still updated and can be refunded with its credentials. The sandbox moves no money; in production it is rejected unless an operator allows it.',
    body: PayConfigInput,
    example: {
      provider: 'sandbox',
      currency: 'GBP',
      enabled: true,
      invoices: {
        recordType: 'invoice',
        number: 'tranid',
        amountDue: 'foreignamountunpaid',
        currency: 'currency',
        customer: 'entity',
      },
      writeBack: false,
    },
    response: PayConfig,
    handler: (ctx, { body }) => putPayConfig(ctx, body),
  }),
];

const checkoutRoutes = [
  defineRoute('createCheckout', 'POST /pay/checkout', {
    permission: 'payment:create',
    summary: 'Create a checkout for invoices',
    description:
      'Open amounts are read from the ERP, and amounts that other payments have in flight are subtracted, so a customer is never asked for more than is due. Send the payer to `url` before it expires. While the ERP is unavailable the response is 503, unless `allowStale` is true. After `answer_lost` for an `Idempotency-Key`, retrieve the checkout that the error names: if it has a `url`, use it. Without a `url`, and after a 503, the checkout expires by itself within minutes, and its invoices stay in flight until then; then create a new one with a new key.',
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
  defineRoute('getCheckout', 'GET /pay/checkouts/{id}', {
    permission: 'payment:read',
    summary: 'Retrieve a checkout',
    description: 'Includes the status of its payment. `url` is null once the checkout can no longer be paid.',
    params: IdParams,
    response: Checkout,
    handler: (ctx, { params }) => checkouts.getCheckout(ctx, params.id),
  }),
];

const paymentRoutes = [
  defineRoute('listPayments', 'GET /pay/payments', {
    permission: 'payment:read',
    summary: 'List payments',
    description:
      'Newest first unless sorted. `after` and `before` limit `createdAt`. A payment is created with its checkout, so unpaid ones are listed as well. `erpStatus=FAILED` lists payments whose write-back to the ERP needs a person.',
    query: z
      .strictObject({
        ...pageFields,
        ...sortFields(paymentSorts),
        ...spanFields,
        status: z.enum(paymentStatuses).optional(),
        customerId: z.string().max(60).optional(),
        erpStatus: z.enum(erpStatuses).optional(),
      })
      .refine(isSpan, noSpan),
    response: createPageSchema(Payment),
    handler: (ctx, { query: { page, pageSize, ...filter } }) =>
      payments.listPayments(ctx, { page, pageSize }, filter),
  }),
  defineRoute('getPayment', 'GET /pay/payments/{id}', {
    permission: 'payment:read',
    summary: 'Retrieve a payment',
    description: 'Includes its invoices, its refunds and its state in the ERP.',
    params: IdParams,
    response: Payment,
    handler: (ctx, { params }) => payments.getPayment(ctx, params.id),
  }),
  defineRoute('refundPayment', 'POST /pay/payments/{id}/refund', {
    permission: 'payment:update',
    summary: 'Refund a payment',
    description:
      'Refunds a part of the payment, or all that is left of it. A refund that the provider has not confirmed yet is PENDING and is retried; it is never made twice. After `answer_lost` for an `Idempotency-Key` the refund was started and continues: check `refunds` of the payment, and do not send the request again with another key.',
    params: IdParams,
    body: RefundInput,
    example: { amount: '20.00', reason: 'Goods were returned' },
    response: Payment,
    handler: (ctx, { params, body }) => payments.refundPayment(ctx, params.id, body),
  }),
  defineRoute('retryWriteBack', 'POST /pay/payments/{id}/retry-write-back', {
    permission: 'payment:update',
    summary: 'Retry the write-back of a payment',
    description:
      'For payments whose `erp.status` is FAILED, PENDING or PARTLY_APPLIED, after the fix that `erp.problem` names. A payment is never entered in the ERP twice.',
    params: IdParams,
    response: Payment,
    handler: (ctx, { params }) => payments.retryWriteBack(ctx, params.id),
  }),
  defineRoute('endWriteBack', 'POST /pay/payments/{id}/end-write-back', {
    permission: 'payment:update',
    summary: 'End the write-back of a payment',
    description:
      'For payments whose `erp.status` is FAILED, or PENDING while `writeBack` is off. Stuck entries are never sent again: enter them in the ERP by hand. Afterwards `erp.status` is OFF, or that of the payment itself when only a refund was stuck. New checkouts treat the payment as entered only to the extent that the open amounts of its invoices have dropped.',
    params: IdParams,
    response: Payment,
    handler: (ctx, { params }) => payments.endWriteBack(ctx, params.id),
  }),
];

const payoutRoutes = [
  defineRoute('listPayouts', 'GET /pay/payouts', {
    permission: 'payout:read',
    summary: 'List payouts',
    description:
      'Transfers from the provider to the bank, with the payments in them, newest first. `sums` splits the amount into payments, refunds, fees and other; together they add up to `amount`.',
    query: PageQuery,
    response: createPageSchema(Payout),
    handler: (ctx, { query }) => listPayouts(ctx, query),
  }),
  defineRoute('getPayout', 'GET /pay/payouts/{id}', {
    permission: 'payout:read',
    summary: 'Retrieve a payout',
    description: 'Includes its payments, and the refunds that were deducted from it.',
    params: IdParams,
    response: Payout,
    handler: (ctx, { params }) => getPayout(ctx, params.id),
  }),
];

export const payRoutes = inGroup('Pay', [
  ...configRoutes,
  ...checkoutRoutes,
  ...paymentRoutes,
  ...payoutRoutes,
  defineWebhook('takePayEvent', 'POST /pay/webhooks/{provider}/{endpointId}', {
    summary: 'Receive a payment provider event',
    description:
      'The provider signs the bytes of the body. An event is recorded once, and its content is not trusted: the provider is queried for the current state. The address is `webhookUrl` of the payment configuration. A wrong signature is a 400 and an unknown address a 404; both count as failed authentication.',
    params: z.strictObject({ provider: z.string().regex(/^[a-z]{1,20}$/), endpointId: Id }),
    maxBodyBytes: 256 * 1024,
    response: WebhookReceived,
    responseExample: { received: true },
    handler: (ctx, call) => receiveEvent(ctx, call),
  }),
]);

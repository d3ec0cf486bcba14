// Takes what the provider says now of one payment into what is held of it. Monotone: merging the same answer twice changes nothing, and
// an old answer that comes late undoes nothing. So order, repetition and loss of events can't matter.
import type { TenantCtx } from '../../core/ctx.ts';
import { newId } from '../../core/id.ts';
import type { Money } from '../../core/money.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type Failure, type PaymentSnapshot, ProviderError, type RefundSnapshot } from '../../gateways/payments/provider.ts';
import { writesBack } from './config.store.ts';
import { erpStates, queueCameBack, queueErpDocument } from './erp-documents.store.ts';
import { forward, hasSucceeded, refundForward, statusOf } from './payment-state.ts';
import * as store from './payments.store.ts';

type Merging = { readonly tx: Tx; readonly ctx: TenantCtx; readonly payment: store.PaymentRow };

/** A provider's words, without anything long enough to be a card number, as far as the columns hold them. */
const words = (text: string): string => text.replaceAll(/\d(?:[ -]?\d){10,}/g, '…').slice(0, 500);
const last4 = (text: string | null): string | null => (text !== null && /^[0-9A-Za-z]{1,4}$/.test(text) ? text : null);
export const failureColumns = (failure: Failure | null) => ({
  failure_code: failure === null ? null : words(failure.code).slice(0, 100),
  failure_message: failure === null ? null : words(failure.message),
});

const minorOf = ({ payment }: Merging, { amountMinor, currency }: Money): bigint => {
  if (currency !== payment.currency)
    throw new ProviderError('malformed-answer', `the payment is in ${payment.currency}, not in ${currency}`);
  return amountMinor;
};

/** True when this answer is the first to say that the refund succeeded. */
async function mergeRefund(
  merging: Merging,
  told: RefundSnapshot,
  held: store.RefundRow | undefined,
): Promise<{ id: string; first: boolean }> {
  const { tx, ctx, payment } = merging;
  if (held === undefined) {
    const id = newId();
    const made = { id, payment_id: payment.id, amount_minor: String(minorOf(merging, told.amount)), status: told.state };
    await store.insertRefund(tx, ctx.organizationId, { ...made, provider_refund_id: told.id, ...failureColumns(told.failure) });
    return { id, first: told.state === 'SUCCEEDED' };
  }
  // One that was given up here before the provider had a name for it is what the provider says: money that went is never dropped.
  const before = held.provider_refund_id === null ? 'PENDING' : held.status;
  const status = refundForward(before, told.state);
  if (status !== held.status || held.provider_refund_id === null) {
    await store.updateRefund(tx, ctx.organizationId, held.id, {
      status,
      provider_refund_id: told.id,
      ...(status !== held.status && failureColumns(told.failure)),
    });
    if (held.status === 'SUCCEEDED' && status !== 'SUCCEEDED')
      await queueCameBack(tx, { organizationId: ctx.organizationId, paymentId: payment.id, refundId: held.id });
  }
  return { id: held.id, first: status === 'SUCCEEDED' && held.status !== 'SUCCEEDED' };
}

/** Ours by our own id, those of the provider's desk by the provider's. Gives those that have just succeeded. */
async function mergeRefunds(merging: Merging, told: readonly RefundSnapshot[]): Promise<string[]> {
  const { tx, ctx, payment } = merging;
  const succeeded: string[] = [];
  for (const refund of told) {
    const held = await store.listRefunds(tx, ctx.organizationId, [payment.id]);
    const known = held.find(({ provider_refund_id: id }) => id === refund.id) ?? held.find(({ id }) => id === refund.refundId);
    const { id, first } = await mergeRefund(merging, refund, known);
    if (first) succeeded.push(id);
  }
  return succeeded;
}

/** What the refunds add up to, on the payment itself; and what the ERP is owed for all that is new. */
async function settle({ tx, ctx, payment }: Merging, status: store.PaymentRow['status'], newRefunds: readonly string[]): Promise<void> {
  const document = { organizationId: ctx.organizationId, paymentId: payment.id };
  const succeeds = payment.succeeded_at === null && hasSucceeded(status);
  if (succeeds && (await writesBack(tx, ctx.organizationId))) await queueErpDocument(tx, { ...document, refundId: null });
  if (newRefunds.length === 0) return;
  const states = await erpStates(tx, ctx.organizationId, [payment.id]);
  if (!states.has(payment.id)) return;
  for (const refundId of newRefunds) await queueErpDocument(tx, { ...document, refundId });
}

async function refundedSum({ tx, ctx, payment }: Merging): Promise<bigint> {
  const refunds = await store.listRefunds(tx, ctx.organizationId, [payment.id]);
  return refunds.filter(({ status }) => status === 'SUCCEEDED').reduce((sum, { amount_minor: amount }) => sum + BigInt(amount), 0n);
}

function changesOf(
  merging: Merging,
  told: PaymentSnapshot,
  refunded: bigint,
): { status: store.PaymentRow['status']; change: Partial<store.PaymentRow> } {
  const { payment } = merging;
  const told_received = minorOf(merging, told.received);
  const received = told_received > BigInt(payment.received_minor) ? told_received : BigInt(payment.received_minor);
  const status = forward(payment.status, statusOf(told.state, received, refunded));
  // A declined attempt shows while the payer may try again; success leaves nothing of it.
  const failure = hasSucceeded(status) ? null : (told.failure ?? undefined);
  return {
    status,
    change: {
      status,
      received_minor: String(received),
      refunded_minor: String(refunded),
      session_id: payment.session_id ?? told.sessionId,
      provider_payment_id: payment.provider_payment_id ?? told.providerPaymentId,
      ...(told.method !== null && { method_type: words(told.method.type).slice(0, 60), method_last4: last4(told.method.last4) }),
      ...(failure !== undefined && failureColumns(failure)),
    },
  };
}

const differs = (row: store.PaymentRow, change: Partial<store.PaymentRow>): boolean =>
  Object.entries(change).some(([column, value]) => row[column as keyof store.PaymentRow] !== value);

/** The payment as it is afterwards; undefined where the account has no such payment. Throws ProviderError for an answer in another currency. */
export const mergePayment = (ctx: TenantCtx, accountId: string, told: PaymentSnapshot): Promise<store.PaymentRow | undefined> =>
  inTransaction(ctx, async (tx) => {
    const payment = await store.lockPayment(tx, ctx.organizationId, told.paymentId);
    if (payment === undefined || payment.account_id !== accountId) return undefined;
    const merging = { tx, ctx, payment };
    const newRefunds = await mergeRefunds(merging, told.refunds);
    const { status, change } = changesOf(merging, told, await refundedSum(merging));
    if (differs(payment, change))
      await store.updatePayment(tx, ctx.organizationId, payment.id, change, payment.succeeded_at === null && hasSucceeded(status));
    await settle(merging, status, newRefunds);
    if (status !== payment.status)
      ctx.log.info({ organizationId: ctx.organizationId, paymentId: payment.id, from: payment.status, to: status }, 'payment');
    return store.findPayment(tx, ctx.organizationId, payment.id);
  });

/** What the provider answered to one refund; the payment follows. */
export const mergeRefundOf = (ctx: TenantCtx, paymentId: string, told: RefundSnapshot): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const payment = await store.lockPayment(tx, ctx.organizationId, paymentId);
    if (payment === undefined) return;
    const merging = { tx, ctx, payment };
    const newRefunds = await mergeRefunds(merging, [told]);
    const refunded = await refundedSum(merging);
    const status = forward(payment.status, statusOf('SUCCEEDED', BigInt(payment.received_minor), refunded));
    await store.updatePayment(tx, ctx.organizationId, payment.id, { status, refunded_minor: String(refunded) }, false);
    await settle(merging, status, newRefunds);
  });

/** The provider refused: nothing was made and nothing will be. */
export const failRefund = (ctx: TenantCtx, paymentId: string, refundId: string, failure: Failure): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await store.lockPayment(tx, ctx.organizationId, paymentId);
    const held = (await store.listRefunds(tx, ctx.organizationId, [paymentId])).find(({ id }) => id === refundId);
    if (held?.status !== 'PENDING' || held.provider_refund_id !== null) return;
    await store.updateRefund(tx, ctx.organizationId, refundId, { status: 'FAILED', ...failureColumns(failure) });
  });

/** The same of a checkout: nobody can ever pay it. */
export const failPayment = (ctx: TenantCtx, paymentId: string, failure: Failure): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const payment = await store.lockPayment(tx, ctx.organizationId, paymentId);
    if (payment?.status !== 'PENDING' || payment.session_id !== null) return;
    await store.updatePayment(tx, ctx.organizationId, paymentId, { status: 'FAILED', ...failureColumns(failure) }, false);
  });

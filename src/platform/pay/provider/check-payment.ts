// Reads one payment from its provider, merges the result, and completes unfinished work: expires a checkout
// that was abandoned or has expired, and requests refunds again that got no response. Every step is
// idempotent by our own ids, so it is safe to repeat after a crash.
import type { TenantCtx } from '../../../core/ctx.ts';
import { inTransaction } from '../../../db/transaction.ts';
import {
  type PaymentProvider,
  type PaymentSnapshot,
  ProviderError,
} from '../../../gateways/payments/provider.ts';
import { databaseTime } from '../ledger/database-time.ts';
import * as store from '../ledger/payments.store.ts';
import { getProvider, isProviderRefusal, providerSignal } from './accounts.ts';
import { toCheckoutOrder } from './checkout-order.ts';
import { recordEventOutcome } from './events.store.ts';
import { failPayment, failRefund, mergePayment, mergeRefundSnapshot } from './merge.ts';

const hourMs = 3_600_000;
/** How often an open payment is polled when the provider sends no event. */
const paymentPollIntervalMs = 300_000;
/** The poll interval grows with the age of a payment in progress, up to this. */
const maxPollIntervalMs = 6 * hourMs;

type StoredPayment = {
  readonly payment: store.PaymentRow;
  readonly checkout: store.CheckoutRow;
  readonly invoices: readonly store.InvoiceRow[];
  readonly at: Date;
};

const readStoredPayment = (ctx: TenantCtx, paymentId: string): Promise<StoredPayment | undefined> =>
  inTransaction(ctx, async (tx) => {
    const payment = await store.findPayment(tx, ctx.organizationId, paymentId);
    const checkout = await store.findCheckout(tx, ctx.organizationId, { payment_id: paymentId });
    if (payment === undefined || checkout === undefined) return undefined;
    const at = await databaseTime(tx);
    return { payment, checkout, invoices: await store.listInvoices(tx, ctx.organizationId, [paymentId]), at };
  });

/**
 * No payer was ever sent to this checkout. It is created at the provider (idempotent), so that its session id
 * is known, and expired. Null when the provider refuses to create it.
 */
async function expireAbandoned(
  ctx: TenantCtx,
  provider: PaymentProvider,
  stored: StoredPayment,
  stop: AbortSignal,
): Promise<PaymentSnapshot | null> {
  try {
    const session = await provider.createCheckout(
      toCheckoutOrder(stored.payment, stored.checkout, stored.invoices),
      providerSignal(stop),
    );
    return await provider.expireCheckout(session.id, providerSignal(stop));
  } catch (error) {
    if (!(error instanceof ProviderError) || error.kind !== 'rejected') throw error;
    await failPayment(ctx, stored.payment.id, { code: error.kind, message: error.message });
    return null;
  }
}

async function fetchSnapshot(
  ctx: TenantCtx,
  provider: PaymentProvider,
  stored: StoredPayment,
  stop: AbortSignal,
): Promise<PaymentSnapshot | null> {
  const { payment, checkout } = stored;
  const { session_id: sessionId } = payment;
  if (sessionId === null)
    return payment.status === 'PENDING' ? expireAbandoned(ctx, provider, stored, stop) : null;
  const isExpired = payment.status === 'PENDING' && checkout.expires_at <= ctx.clock.now();
  const snapshot = isExpired
    ? await provider.expireCheckout(sessionId, providerSignal(stop))
    : await provider.findPayment({ sessionId }, providerSignal(stop));
  if (snapshot === null)
    throw new ProviderError('malformed-answer', 'The provider does not know a session that it created');
  return snapshot;
}

/** Call after the provider's list of refunds was merged, so that none that it made is requested again. */
async function requestMissingRefunds(
  ctx: TenantCtx,
  provider: PaymentProvider,
  payment: store.PaymentRow,
  stop: AbortSignal,
): Promise<void> {
  const refunds = await inTransaction(ctx, (tx) => store.listRefunds(tx, ctx.organizationId, [payment.id]));
  const unsent = refunds.filter(({ status, provider_refund_id: id }) => status === 'PENDING' && id === null);
  for (const { id: refundId, amount_minor: minor, reason } of unsent) {
    const amount = { amountMinor: BigInt(minor), currency: payment.currency };
    const order = { refundId, providerPaymentId: payment.provider_payment_id ?? '', amount, reason };
    try {
      await mergeRefundSnapshot(ctx, payment.id, await provider.createRefund(order, providerSignal(stop)));
    } catch (error) {
      if (!isProviderRefusal(error) || error.kind === 'refused-credentials') throw error;
      await failRefund(ctx, payment.id, refundId, { code: error.kind, message: error.message });
    }
  }
}

/** Delay in ms until the next check; null when only an event of the provider can change the payment. */
async function nextCheckDelayMs(ctx: TenantCtx, paymentId: string): Promise<number | null> {
  const { payment, checkout, refunds } = await inTransaction(ctx, async (tx) => ({
    payment: await store.findPayment(tx, ctx.organizationId, paymentId),
    checkout: await store.findCheckout(tx, ctx.organizationId, { payment_id: paymentId }),
    refunds: await store.listRefunds(tx, ctx.organizationId, [paymentId]),
  }));
  if (payment === undefined || checkout === undefined) return null;
  const now = ctx.clock.now().getTime();
  const backoffMs = (since: Date): number =>
    Math.min(maxPollIntervalMs, Math.max(paymentPollIntervalMs, (now - since.getTime()) / 4));
  if (payment.status === 'PENDING')
    return Math.max(1_000, Math.min(paymentPollIntervalMs, checkout.expires_at.getTime() - now + 1_000));
  if (payment.status === 'PROCESSING') return backoffMs(payment.created_at);
  const open = refunds.filter(({ status }) => status === 'PENDING').at(-1);
  return open === undefined ? null : backoffMs(open.created_at);
}

/**
 * Returns the delay in ms until the next check, or null. Throws ProviderError when the provider fails,
 * rejects or sends a malformed response, and Error when the account is missing.
 */
export async function checkPayment(ctx: TenantCtx, accountId: string, paymentId: string, stop: AbortSignal) {
  const stored = await readStoredPayment(ctx, paymentId);
  if (stored === undefined) return null;
  const provider = await getProvider(ctx, accountId);
  const snapshot = await fetchSnapshot(ctx, provider, stored, stop);
  if (snapshot !== null) {
    // Without this check the snapshot would be merged into another payment.
    if (snapshot.paymentId !== paymentId)
      throw new ProviderError('malformed-answer', 'The provider returned another payment');
    const payment = await mergePayment(ctx, accountId, snapshot);
    if (payment !== undefined) await requestMissingRefunds(ctx, provider, payment, stop);
    const subjects = [
      `session:${snapshot.sessionId}`,
      ...(snapshot.providerPaymentId === null ? [] : [`payment:${snapshot.providerPaymentId}`]),
    ];
    await inTransaction(ctx, (tx) =>
      recordEventOutcome(tx, ctx.organizationId, accountId, subjects, 'merged', stored.at),
    );
  }
  return nextCheckDelayMs(ctx, paymentId);
}

// Asks the provider about one payment, takes in what it says, and does what was left undone: ends a checkout that was abandoned or is
// over, asks again for refunds without an answer. Every step is idempotent by our own ids, so a crash anywhere is repeated here.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import { type PaymentProvider, type PaymentSnapshot, ProviderError } from '../../gateways/payments/provider.ts';
import { isRefusal, openAccountOf, providerSignal } from './accounts.ts';
import { lookEveryMs, orderOf } from './checkouts.service.ts';
import { settleEvents } from './events.store.ts';
import { failPayment, failRefund, mergePayment, mergeRefundOf } from './merge.ts';
import * as store from './payments.store.ts';

const hourMs = 3_600_000;
/** Money under way for days is asked for less often. */
const slowestLookMs = 6 * hourMs;

type Held = {
  readonly payment: store.PaymentRow;
  readonly checkout: store.CheckoutRow;
  readonly invoices: readonly store.InvoiceRow[];
  readonly at: Date;
};

const readHeld = (ctx: TenantCtx, paymentId: string): Promise<Held | undefined> =>
  inTransaction(ctx, async (tx) => {
    const payment = await store.findPayment(tx, ctx.organizationId, paymentId);
    const checkout = await store.findCheckout(tx, ctx.organizationId, { payment_id: paymentId });
    if (payment === undefined || checkout === undefined) return undefined;
    const { rows } = await tx.raw<{ rows: { at: Date }[] }>('select clock_timestamp() as at');
    return { payment, checkout, invoices: await store.listInvoices(tx, ctx.organizationId, [paymentId]), at: rows[0]?.at ?? new Date(0) };
  });

/** Nobody was ever sent to it: it is made, so that it has a name, and ended. Null when the provider refuses to make it. */
async function endAbandoned(ctx: TenantCtx, provider: PaymentProvider, held: Held, stop: AbortSignal): Promise<PaymentSnapshot | null> {
  try {
    const session = await provider.createCheckout(orderOf(held.payment, held.checkout, held.invoices), providerSignal(stop));
    return await provider.expireCheckout(session.id, providerSignal(stop));
  } catch (error) {
    if (!(error instanceof ProviderError) || error.kind !== 'rejected') throw error;
    await failPayment(ctx, held.payment.id, { code: error.kind, message: error.message });
    return null;
  }
}

async function askFor(ctx: TenantCtx, provider: PaymentProvider, held: Held, stop: AbortSignal): Promise<PaymentSnapshot | null> {
  const { payment, checkout } = held;
  const { session_id: sessionId } = payment;
  if (sessionId === null) return payment.status === 'PENDING' ? endAbandoned(ctx, provider, held, stop) : null;
  const isOver = payment.status === 'PENDING' && checkout.expires_at <= ctx.clock.now();
  const told = isOver
    ? await provider.expireCheckout(sessionId, providerSignal(stop))
    : await provider.payment({ sessionId }, providerSignal(stop));
  if (told === null) throw new ProviderError('malformed-answer', 'the provider does not know a session that it made');
  return told;
}

/** After the provider's own list of refunds was taken in, so that one that it made is not asked for again. */
async function askForRefunds(ctx: TenantCtx, provider: PaymentProvider, payment: store.PaymentRow, stop: AbortSignal): Promise<void> {
  const refunds = await inTransaction(ctx, (tx) => store.listRefunds(tx, ctx.organizationId, [payment.id]));
  const unasked = refunds.filter(({ status, provider_refund_id: id }) => status === 'PENDING' && id === null);
  for (const { id: refundId, amount_minor: minor, reason } of unasked) {
    const amount = { amountMinor: BigInt(minor), currency: payment.currency };
    const order = { refundId, providerPaymentId: payment.provider_payment_id ?? '', amount, reason };
    try {
      await mergeRefundOf(ctx, payment.id, await provider.refund(order, providerSignal(stop)));
    } catch (error) {
      if (!isRefusal(error) || error.kind === 'refused-credentials') throw error;
      await failRefund(ctx, payment.id, refundId, { code: error.kind, message: error.message });
    }
  }
}

/** When to ask again; null when nothing can come any more but by a word of the provider. */
async function nextLook(ctx: TenantCtx, paymentId: string): Promise<number | null> {
  const { payment, checkout, refunds } = await inTransaction(ctx, async (tx) => ({
    payment: await store.findPayment(tx, ctx.organizationId, paymentId),
    checkout: await store.findCheckout(tx, ctx.organizationId, { payment_id: paymentId }),
    refunds: await store.listRefunds(tx, ctx.organizationId, [paymentId]),
  }));
  if (payment === undefined || checkout === undefined) return null;
  const now = ctx.clock.now().getTime();
  const waited = (since: Date): number => Math.min(slowestLookMs, Math.max(lookEveryMs, (now - since.getTime()) / 4));
  if (payment.status === 'PENDING') return Math.max(1_000, Math.min(lookEveryMs, checkout.expires_at.getTime() - now + 1_000));
  if (payment.status === 'PROCESSING') return waited(payment.created_at);
  const open = refunds.filter(({ status }) => status === 'PENDING').at(-1);
  return open === undefined ? null : waited(open.created_at);
}

/** Says in how many ms to ask again, or null. Throws what the provider did, or ProviderError. */
export async function checkPayment(ctx: TenantCtx, accountId: string, paymentId: string, stop: AbortSignal): Promise<number | null> {
  const held = await readHeld(ctx, paymentId);
  if (held === undefined) return null;
  const provider = await openAccountOf(ctx, accountId);
  const told = await askFor(ctx, provider, held, stop);
  if (told !== null) {
    // Told of another payment, it would be merged into that one.
    if (told.paymentId !== paymentId) throw new ProviderError('malformed-answer', 'the provider told of another payment');
    const payment = await mergePayment(ctx, accountId, told);
    if (payment !== undefined) await askForRefunds(ctx, provider, payment, stop);
    const subjects = [`session:${told.sessionId}`, ...(told.providerPaymentId === null ? [] : [`payment:${told.providerPaymentId}`])];
    await inTransaction(ctx, (tx) => settleEvents(tx, ctx.organizationId, accountId, subjects, 'merged', held.at));
  }
  return nextLook(ctx, paymentId);
}

// Payments as API callers see them, and refunds.
import type { RequestCtx } from '../../core/ctx.ts';
import { type AppError, invalid, notFound, orNotFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { formatAmount, parseAmount } from '../../core/text/money.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import type { ProviderName } from '../../gateways/payments/providers.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { type ErpState, listErpStates } from './ledger/erp-states.store.ts';
import * as store from './ledger/payments.store.ts';
import { listShownInvoices } from './ledger/shown-invoices.ts';
import type { Payment, RefundInput } from './pay.schemas.ts';
import { assertChecked } from './provider/accounts.store.ts';
import {
  getProvider,
  isProviderRefusal,
  providerErrorToAppError,
  providerSignal,
} from './provider/accounts.ts';
import { failRefund, mergeRefundSnapshot } from './provider/merge.ts';
import { enqueueTask } from './provider/tasks.store.ts';
import * as writeBack from './write-back/write-back.service.ts';

const toFailure = ({
  failure_code: code,
  failure_message: message,
}: {
  failure_code: string | null;
  failure_message: string | null;
}) => (code === null ? null : { code, message: message ?? '' });

type Parts = {
  readonly invoices: readonly store.InvoiceRow[];
  readonly refunds: readonly store.RefundRow[];
  readonly erp: ErpState | undefined;
  readonly provider: ProviderName;
  readonly checkoutId: string;
};

function toPayment(row: store.PaymentRow, { invoices, refunds, erp, provider, checkoutId }: Parts): Payment {
  const amount = (minor: string | bigint): string =>
    formatAmount({ amountMinor: BigInt(minor), currency: row.currency });
  return {
    id: row.id,
    checkoutId,
    status: row.status,
    amount: amount(row.amount_minor),
    receivedAmount: amount(row.received_minor),
    refundedAmount: amount(row.refunded_minor),
    currency: row.currency,
    customerId: row.customer_id,
    visitor: row.visitor?.email ?? null,
    invoices: invoices.map(({ record_id: recordId, number, amount_minor: minor }) => ({
      recordId,
      number,
      amount: amount(minor),
    })),
    method: row.method_type === null ? null : { type: row.method_type, last4: row.method_last4 },
    provider,
    providerPaymentId: row.provider_payment_id,
    failure: toFailure(row),
    refunds: refunds.map((refund) => ({
      id: refund.id,
      status: refund.status,
      amount: amount(refund.amount_minor),
      reason: refund.reason,
      providerRefundId: refund.provider_refund_id,
      failure: toFailure(refund),
      createdAt: instant(refund.created_at),
    })),
    erp: {
      status: erp?.status ?? 'OFF',
      recordId: erp?.recordId ?? null,
      problem: erp?.problem ?? null,
      unappliedAmount: amount(erp?.unappliedMinor ?? 0n),
    },
    createdAt: instant(row.created_at),
    updatedAt: instant(row.updated_at),
    succeededAt: instantOrNull(row.succeeded_at),
  };
}

/** Adds everything that belongs to the payments, with one query per table. */
async function toPayments(
  tx: Tx,
  { organizationId, principal }: RequestCtx,
  rows: readonly store.PaymentRow[],
): Promise<Payment[]> {
  const ids = rows.map(({ id }) => id);
  const invoices = Map.groupBy(
    await listShownInvoices(tx, organizationId, ids, principal.reads),
    ({ payment_id: id }) => id,
  );
  const refunds = Map.groupBy(await store.listRefunds(tx, organizationId, ids), ({ payment_id: id }) => id);
  const origins = await store.listOrigins(tx, organizationId, ids);
  const erp = await listErpStates(tx, organizationId, ids);
  return rows.map((row) => {
    const origin = origins.find(({ payment_id: id }) => id === row.id);
    if (origin === undefined) throw new Error('The payment has no checkout');
    const { provider, checkout_id: checkoutId } = origin;
    return toPayment(row, {
      invoices: invoices.get(row.id) ?? [],
      refunds: refunds.get(row.id) ?? [],
      erp: erp.get(row.id),
      provider,
      checkoutId,
    });
  });
}

export const listPayments = (ctx: RequestCtx, page: PageQuery, filter: store.PaymentFilter) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listPayments(tx, ctx.organizationId, page, filter);
    return toPage(await toPayments(tx, ctx, rows), total, page);
  });

/** Throws 404 when the organization has no such payment. */
export const getPayment = (ctx: RequestCtx, id: string): Promise<Payment> =>
  inTransaction(ctx, async (tx) => {
    const row = await store.findPayment(tx, ctx.organizationId, id);
    const [view] = row === undefined ? [] : await toPayments(tx, ctx, [row]);
    if (view === undefined) throw notFound('Payment');
    return view;
  });

const invalidRefund = (code: string, message: string): AppError =>
  invalid("This amount can't be refunded", [{ path: 'amount', code, message }]);

/**
 * The amount to refund in minor units: the requested one, or all that is left, which is what was received
 * less pending and succeeded refunds. Throws 422 `nothing_left`, `invalid_amount` or `more_than_left`.
 */
async function refundableMinor(
  tx: Tx,
  ctx: RequestCtx,
  payment: store.PaymentRow,
  requested: string | undefined,
): Promise<bigint> {
  const { currency } = payment;
  const refunds = await store.listRefunds(tx, ctx.organizationId, [payment.id]);
  const counted = refunds.filter(({ status }) => status === 'PENDING' || status === 'SUCCEEDED');
  const left = counted.reduce(
    (rest, { amount_minor: minor }) => rest - BigInt(minor),
    BigInt(payment.received_minor),
  );
  if (payment.provider_payment_id === null || left <= 0n)
    throw invalidRefund('nothing_left', 'Nothing is left to refund');
  if (requested === undefined) return left;
  const amount = parseAmount(requested, currency);
  if (amount === undefined || amount <= 0n)
    throw invalidRefund(
      'invalid_amount',
      `Must be a positive amount in ${currency} with no more decimals than the currency has`,
    );
  if (amount > left)
    throw invalidRefund(
      'more_than_left',
      `At most ${formatAmount({ amountMinor: left, currency })} ${currency} is left to refund`,
    );
  return amount;
}

type Refund = {
  readonly id: string;
  readonly payment: store.PaymentRow;
  readonly amountMinor: bigint;
  readonly reason: string | null;
};
/** A refund without a response by then is requested again by the queue, with the same id. */
const retryAfterMs = 120_000;

const insertRefund = (ctx: RequestCtx, paymentId: string, { amount, reason }: RefundInput): Promise<Refund> =>
  inTransaction(ctx, async (tx) => {
    const payment = orNotFound(await store.lockPayment(tx, ctx.organizationId, paymentId), 'Payment');
    await assertChecked(tx, ctx.organizationId, payment.account_id);
    const amountMinor = await refundableMinor(tx, ctx, payment, amount);
    const refund = { id: createId(), payment, amountMinor, reason: reason ?? null };
    await store.insertRefund(tx, ctx.organizationId, {
      id: refund.id,
      payment_id: paymentId,
      amount_minor: String(amountMinor),
      reason: refund.reason,
    });
    await enqueueTask(
      tx,
      ctx.organizationId,
      { accountId: payment.account_id, kind: 'payment', subject: paymentId },
      retryAfterMs,
    );
    const { currency } = payment;
    const changes = {
      refundId: refund.id,
      amount: formatAmount({ amountMinor, currency }),
      currency,
      reason: refund.reason,
    };
    await writeAudit(tx, ctx, 'payment.refund', ['payment', paymentId], changes);
    return refund;
  });

/**
 * Refunds a payment. When the provider does not respond, the refund is PENDING in the response and the queue
 * keeps trying. Throws 404 for an unknown payment, 503 when refunds may be missing after a failover or
 * restore, and 422 when the amount can't be refunded or the provider rejects it.
 */
export async function refundPayment(
  ctx: RequestCtx,
  paymentId: string,
  input: RefundInput,
): Promise<Payment> {
  const { id: refundId, payment, amountMinor, reason } = await insertRefund(ctx, paymentId, input);
  const order = {
    refundId,
    providerPaymentId: payment.provider_payment_id ?? '',
    amount: { amountMinor, currency: payment.currency },
    reason,
  };
  try {
    const provider = await getProvider(ctx, payment.account_id);
    await mergeRefundSnapshot(ctx, paymentId, await provider.createRefund(order, providerSignal()));
  } catch (error) {
    if (isProviderRefusal(error))
      await failRefund(ctx, paymentId, refundId, { code: error.kind, message: error.message });
    // Check now: the provider may know more refunds than are stored here, or may respond again.
    await inTransaction(ctx, (tx) =>
      enqueueTask(tx, ctx.organizationId, {
        accountId: payment.account_id,
        kind: 'payment',
        subject: paymentId,
      }),
    );
    if (isProviderRefusal(error)) throw providerErrorToAppError(error, 'amount');
    ctx.log.warn(
      { err: error, organizationId: ctx.organizationId, paymentId, refundId },
      'a refund is pending because the provider did not respond',
    );
  }
  return getPayment(ctx, paymentId);
}

/** Throws 404 for an unknown payment and 422 `nothing_to_retry`. */
export async function retryWriteBack(ctx: RequestCtx, id: string): Promise<Payment> {
  await writeBack.retryPaymentWriteBack(ctx, id);
  return getPayment(ctx, id);
}

/** Throws 404 for an unknown payment and 422 `nothing_to_end`. */
export async function endWriteBack(ctx: RequestCtx, id: string): Promise<Payment> {
  await writeBack.endPaymentWriteBack(ctx, id);
  return getPayment(ctx, id);
}

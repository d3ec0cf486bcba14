// Payments as callers see them, and giving money back.
import type { RequestCtx } from '../../core/ctx.ts';
import { type AppError, invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { formatAmount, parseAmount } from '../../core/money.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import type { ProviderName } from '../../gateways/payments/provider.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { asAnswer, isRefusal, openAccountOf, providerSignal } from './accounts.ts';
import { type ErpState, erpStates } from './erp-documents.store.ts';
import { failRefund, mergeRefundOf } from './merge.ts';
import type { PaymentView, RefundInput } from './pay.schemas.ts';
import * as store from './payments.store.ts';
import { wake } from './tasks.store.ts';
import * as writeBack from './write-back.service.ts';

const failureOf = ({ failure_code: code, failure_message: message }: { failure_code: string | null; failure_message: string | null }) =>
  code === null ? null : { code, message: message ?? '' };

type Parts = {
  readonly invoices: readonly store.InvoiceRow[];
  readonly refunds: readonly store.RefundRow[];
  readonly erp: ErpState | undefined;
  readonly provider: ProviderName;
  readonly checkoutId: string;
};

function shown(row: store.PaymentRow, { invoices, refunds, erp, provider, checkoutId }: Parts): PaymentView {
  const amount = (minor: string | bigint): string => formatAmount({ amountMinor: BigInt(minor), currency: row.currency });
  return {
    id: row.id,
    checkoutId,
    status: row.status,
    amount: amount(row.amount_minor),
    receivedAmount: amount(row.received_minor),
    refundedAmount: amount(row.refunded_minor),
    currency: row.currency,
    customerId: row.customer_id,
    invoices: invoices.map(({ record_id: recordId, number, amount_minor: minor }) => ({ recordId, number, amount: amount(minor) })),
    method: row.method_type === null ? null : { type: row.method_type, last4: row.method_last4 },
    provider,
    providerPaymentId: row.provider_payment_id,
    failure: failureOf(row),
    refunds: refunds.map((refund) => ({
      id: refund.id,
      status: refund.status,
      amount: amount(refund.amount_minor),
      reason: refund.reason,
      providerRefundId: refund.provider_refund_id,
      failure: failureOf(refund),
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

/** With everything that belongs to them, in few questions however many they are. */
async function showAll(tx: Tx, { organizationId }: RequestCtx, rows: readonly store.PaymentRow[]): Promise<PaymentView[]> {
  const ids = rows.map(({ id }) => id);
  const invoices = Map.groupBy(await store.listInvoices(tx, organizationId, ids), ({ payment_id: id }) => id);
  const refunds = Map.groupBy(await store.listRefunds(tx, organizationId, ids), ({ payment_id: id }) => id);
  const origins = await store.listOrigins(tx, organizationId, ids);
  const erp = await erpStates(tx, organizationId, ids);
  return rows.map((row) => {
    const origin = origins.find(({ payment_id: id }) => id === row.id);
    if (origin === undefined) throw new Error('the payment has no checkout');
    const { provider, checkout_id: checkoutId } = origin;
    return shown(row, {
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
    return toPage(await showAll(tx, ctx, rows), total, page);
  });

export const getPayment = (ctx: RequestCtx, id: string): Promise<PaymentView> =>
  inTransaction(ctx, async (tx) => {
    const row = await store.findPayment(tx, ctx.organizationId, id);
    const [view] = row === undefined ? [] : await showAll(tx, ctx, [row]);
    if (view === undefined) throw notFound('Payment');
    return view;
  });

const refusal = (code: string, message: string): AppError => invalid("That can't be given back", [{ path: 'amount', code, message }]);

/** What is to be given back, of what is left: received, less all refunds that may still come to something. */
async function refundable(tx: Tx, ctx: RequestCtx, payment: store.PaymentRow, asked: string | undefined): Promise<bigint> {
  const { currency } = payment;
  const refunds = await store.listRefunds(tx, ctx.organizationId, [payment.id]);
  const spoken = refunds.filter(({ status }) => status === 'PENDING' || status === 'SUCCEEDED');
  const left = spoken.reduce((rest, { amount_minor: minor }) => rest - BigInt(minor), BigInt(payment.received_minor));
  if (payment.provider_payment_id === null || left <= 0n) throw refusal('nothing_left', 'Nothing is left to give back');
  if (asked === undefined) return left;
  const amount = parseAmount(asked, currency);
  if (amount === undefined || amount <= 0n)
    throw refusal('invalid_amount', `It must be a positive amount of ${currency}, with no more digits than it has`);
  if (amount > left) throw refusal('more_than_left', `At most ${formatAmount({ amountMinor: left, currency })} ${currency} is left`);
  return amount;
}

type Refund = { readonly id: string; readonly payment: store.PaymentRow; readonly amountMinor: bigint; readonly reason: string | null };
/** A refund without an answer by then is asked for again by the queue, with the same id. */
const askedAgainAfterMs = 120_000;

const placeRefund = (ctx: RequestCtx, paymentId: string, { amount, reason }: RefundInput): Promise<Refund> =>
  inTransaction(ctx, async (tx) => {
    const payment = await store.lockPayment(tx, ctx.organizationId, paymentId);
    if (payment === undefined) throw notFound('Payment');
    const amountMinor = await refundable(tx, ctx, payment, amount);
    const refund = { id: newId(), payment, amountMinor, reason: reason ?? null };
    await store.insertRefund(tx, ctx.organizationId, {
      id: refund.id,
      payment_id: paymentId,
      amount_minor: String(amountMinor),
      reason: refund.reason,
    });
    await wake(tx, ctx.organizationId, { accountId: payment.account_id, kind: 'payment', subject: paymentId }, askedAgainAfterMs);
    const { currency } = payment;
    const changes = { refundId: refund.id, amount: formatAmount({ amountMinor, currency }), currency, reason: refund.reason };
    await writeAudit(tx, ctx, { action: 'payment.refund', target: { type: 'payment', id: paymentId }, changes });
    return refund;
  });

/** The refund is PENDING in the answer when the provider does not answer; the queue goes on asking. */
export async function refundPayment(ctx: RequestCtx, paymentId: string, input: RefundInput): Promise<PaymentView> {
  const { id: refundId, payment, amountMinor, reason } = await placeRefund(ctx, paymentId, input);
  const order = {
    refundId,
    providerPaymentId: payment.provider_payment_id ?? '',
    amount: { amountMinor, currency: payment.currency },
    reason,
  };
  try {
    const provider = await openAccountOf(ctx, payment.account_id);
    await mergeRefundOf(ctx, paymentId, await provider.refund(order, providerSignal()));
  } catch (error) {
    if (isRefusal(error)) await failRefund(ctx, paymentId, refundId, { code: error.kind, message: error.message });
    // Soon: the provider may know of more than is held here, or may answer again.
    await inTransaction(ctx, (tx) => wake(tx, ctx.organizationId, { accountId: payment.account_id, kind: 'payment', subject: paymentId }));
    if (isRefusal(error)) throw asAnswer(error, 'amount');
    ctx.log.warn({ err: error, organizationId: ctx.organizationId, paymentId, refundId }, 'a refund waits for the provider');
  }
  return getPayment(ctx, paymentId);
}

export async function retryWriteBack(ctx: RequestCtx, id: string): Promise<PaymentView> {
  await writeBack.retryErpDocument(ctx, id);
  return getPayment(ctx, id);
}

export async function endWriteBack(ctx: RequestCtx, id: string): Promise<PaymentView> {
  await writeBack.endWriteBack(ctx, id);
  return getPayment(ctx, id);
}

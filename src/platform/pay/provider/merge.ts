// Merges the provider's current state of a payment into the stored payment. The merge is monotonic: merging
// the same snapshot twice changes nothing, and an old snapshot that arrives late undoes nothing. So the
// order, repetition and loss of events don't matter.
import type { TenantCtx } from '../../../core/ctx.ts';
import { deriveId } from '../../../core/id.ts';
import type { Money } from '../../../core/text/money.ts';
import { enqueueJob } from '../../../db/jobs.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import {
  type Failure,
  type PaymentSnapshot,
  ProviderError,
  type RefundSnapshot,
} from '../../../gateways/payments/provider.ts';
import { isWriteBackEnabled } from '../ledger/config.store.ts';
import { listErpStates } from '../ledger/erp-states.store.ts';
import {
  advanceRefundState,
  advanceStatus,
  computePaymentStatus,
  hasSucceeded,
} from '../ledger/payment-state.ts';
import * as store from '../ledger/payments.store.ts';
import { enqueueErpDocument, enqueueReturnedRefund } from '../write-back/erp-documents.store.ts';
import { announcePayment, announceRefund } from './announce-payment.ts';
import { enterLostPayment } from './payment-record.ts';

type MergeContext = { readonly tx: Tx; readonly ctx: TenantCtx; readonly payment: store.PaymentRow };

/** Text from a provider without anything long enough to be a card number, cut to the length of the column. */
const sanitize = (text: string): string => text.replaceAll(/\d(?:[ -]?\d){10,}/g, '…').slice(0, 500);
const last4 = (text: string | null) => (text !== null && /^[0-9A-Za-z]{1,4}$/.test(text) ? text : null);
export const failureColumns = (failure: Failure | null) => ({
  failure_code: failure === null ? null : sanitize(failure.code).slice(0, 100),
  failure_message: failure === null ? null : sanitize(failure.message),
});

const getAmountMinor = ({ payment }: MergeContext, { amountMinor, currency }: Money): bigint => {
  if (currency !== payment.currency)
    throw new ProviderError(
      'malformed-answer',
      `The payment is in ${payment.currency}, but the provider reports ${currency}`,
    );
  return amountMinor;
};

const announceOutcome = async (
  { tx, ctx, payment }: MergeContext,
  refund: Pick<store.RefundRow, 'id' | 'amount_minor' | 'status'>,
  before: store.RefundRow['status'],
): Promise<void> => {
  if (refund.status === before) return;
  if (refund.status === 'SUCCEEDED' || refund.status === 'FAILED')
    await announceRefund(
      tx,
      ctx.organizationId,
      payment,
      refund,
      refund.status === 'FAILED' ? 'failed' : 'succeeded',
    );
};

/** Inserts or updates one refund. `first`: this snapshot is the first to report that it succeeded. */
async function mergeRefund(
  context: MergeContext,
  snapshot: RefundSnapshot,
  stored: store.RefundRow | undefined,
): Promise<{ id: string; first: boolean }> {
  const { tx, ctx, payment } = context;
  if (stored === undefined) {
    // The same id again after this row was lost: the ERP may have the refund under it.
    const id = snapshot.refundId ?? deriveId(payment.account_id, snapshot.id);
    const row: Pick<store.RefundRow, 'id' | 'payment_id' | 'amount_minor' | 'status'> = {
      id,
      payment_id: payment.id,
      amount_minor: String(getAmountMinor(context, snapshot.amount)),
      status: snapshot.state,
    };
    await store.insertRefund(tx, ctx.organizationId, {
      ...row,
      provider_refund_id: snapshot.id,
      ...failureColumns(snapshot.failure),
    });
    await announceOutcome(context, row, 'PENDING');
    return { id, first: snapshot.state === 'SUCCEEDED' };
  }
  // A refund that failed before it had a provider id takes the provider's state: no paid money is dropped.
  const before = stored.provider_refund_id === null ? 'PENDING' : stored.status;
  const status = advanceRefundState(before, snapshot.state);
  if (status !== stored.status || stored.provider_refund_id === null) {
    await store.updateRefund(tx, ctx.organizationId, stored.id, {
      status,
      provider_refund_id: snapshot.id,
      ...(status !== stored.status && failureColumns(snapshot.failure)),
    });
    await announceOutcome(context, { ...stored, status }, stored.status);
    if (stored.status === 'SUCCEEDED' && status !== 'SUCCEEDED')
      await enqueueReturnedRefund(tx, {
        organizationId: ctx.organizationId,
        paymentId: payment.id,
        refundId: stored.id,
      });
  }
  return { id: stored.id, first: status === 'SUCCEEDED' && stored.status !== 'SUCCEEDED' };
}

/**
 * Matches refunds by the provider's id, then by ours; refunds made in the provider's dashboard have no id of
 * ours. Returns the ids of those that newly succeeded.
 */
async function mergeRefunds(context: MergeContext, snapshots: readonly RefundSnapshot[]): Promise<string[]> {
  const { tx, ctx, payment } = context;
  const succeeded: string[] = [];
  for (const refund of snapshots) {
    const stored = await store.listRefunds(tx, ctx.organizationId, [payment.id]);
    const known =
      stored.find(({ provider_refund_id: id }) => id === refund.id) ??
      stored.find(({ id }) => id === refund.refundId);
    const { id, first } = await mergeRefund(context, refund, known);
    if (first) succeeded.push(id);
  }
  return succeeded;
}

/** Enqueues the receipt and the ERP document of a payment that newly succeeded, and the documents of its newly succeeded refunds. */
async function enqueueDocuments(
  { tx, ctx, payment }: MergeContext,
  status: store.PaymentRow['status'],
  newRefunds: readonly string[],
): Promise<void> {
  const document = { organizationId: ctx.organizationId, paymentId: payment.id };
  const succeeds = payment.succeeded_at === null && hasSucceeded(status);
  if (succeeds && payment.visitor !== null)
    await enqueueJob(tx, { kind: 'receipts', organizationId: ctx.organizationId, key: payment.id });
  if (succeeds && (await isWriteBackEnabled(tx, ctx.organizationId)))
    await enqueueErpDocument(tx, { ...document, refundId: null });
  if (newRefunds.length === 0) return;
  const states = await listErpStates(tx, ctx.organizationId, [payment.id]);
  if (!states.has(payment.id)) return;
  for (const refundId of newRefunds) await enqueueErpDocument(tx, { ...document, refundId });
}

async function refundedSum({ tx, ctx, payment }: MergeContext): Promise<bigint> {
  const refunds = await store.listRefunds(tx, ctx.organizationId, [payment.id]);
  return refunds
    .filter(({ status }) => status === 'SUCCEEDED')
    .reduce((sum, { amount_minor: amount }) => sum + BigInt(amount), 0n);
}

function toChange(
  context: MergeContext,
  snapshot: PaymentSnapshot,
  refunded: bigint,
): { status: store.PaymentRow['status']; change: Partial<store.PaymentRow> } {
  const { payment } = context;
  const reported = getAmountMinor(context, snapshot.received);
  const received = reported > BigInt(payment.received_minor) ? reported : BigInt(payment.received_minor);
  const status = advanceStatus(payment.status, computePaymentStatus(snapshot.state, received, refunded));
  // A declined attempt is shown while the payer may try again; success clears it.
  const failure = hasSucceeded(status) ? null : (snapshot.failure ?? undefined);
  return {
    status,
    change: {
      status,
      received_minor: String(received),
      refunded_minor: String(refunded),
      session_id: payment.session_id ?? snapshot.sessionId,
      provider_payment_id: payment.provider_payment_id ?? snapshot.providerPaymentId,
      ...(snapshot.method !== null && {
        method_type: sanitize(snapshot.method.type).slice(0, 60),
        method_last4: last4(snapshot.method.last4),
      }),
      ...(failure !== undefined && failureColumns(failure)),
    },
  };
}

const differs = (row: store.PaymentRow, change: Partial<store.PaymentRow>): boolean =>
  Object.entries(change).some(([column, value]) => row[column as keyof store.PaymentRow] !== value);

/**
 * Returns the updated payment, which is entered again when it was lost and the provider has its record;
 * undefined when the account has no such payment. Throws ProviderError for a snapshot in another currency.
 */
export const mergePayment = (ctx: TenantCtx, accountId: string, snapshot: PaymentSnapshot) =>
  inTransaction(ctx, async (tx) => {
    const payment =
      (await store.lockPayment(tx, ctx.organizationId, snapshot.paymentId)) ??
      (await enterLostPayment(tx, ctx, accountId, snapshot));
    if (payment === undefined || payment.account_id !== accountId) return undefined;
    const context = { tx, ctx, payment };
    const newRefunds = await mergeRefunds(context, snapshot.refunds);
    const { status, change } = toChange(context, snapshot, await refundedSum(context));
    if (differs(payment, change))
      await store.updatePayment(
        tx,
        ctx.organizationId,
        payment.id,
        change,
        payment.succeeded_at === null && hasSucceeded(status),
      );
    await enqueueDocuments(context, status, newRefunds);
    const isNews = status !== payment.status;
    if (isNews && status === 'FAILED') await announcePayment(tx, ctx.organizationId, payment, 'failed');
    if (payment.succeeded_at === null && hasSucceeded(status))
      await announcePayment(tx, ctx.organizationId, payment, 'succeeded');
    if (isNews)
      ctx.log.info(
        { organizationId: ctx.organizationId, paymentId: payment.id, from: payment.status, to: status },
        'payment status changed',
      );
    return store.findPayment(tx, ctx.organizationId, payment.id);
  });

/** Merges a refund's snapshot, and updates the payment. Throws ProviderError for one in another currency. */
export const mergeRefundSnapshot = (ctx: TenantCtx, paymentId: string, snapshot: RefundSnapshot) =>
  inTransaction(ctx, async (tx) => {
    const payment = await store.lockPayment(tx, ctx.organizationId, paymentId);
    if (payment === undefined) return;
    const context = { tx, ctx, payment };
    const newRefunds = await mergeRefunds(context, [snapshot]);
    const refunded = await refundedSum(context);
    const status = advanceStatus(
      payment.status,
      computePaymentStatus('SUCCEEDED', BigInt(payment.received_minor), refunded),
    );
    await store.updatePayment(
      tx,
      ctx.organizationId,
      payment.id,
      { status, refunded_minor: String(refunded) },
      false,
    );
    await enqueueDocuments(context, status, newRefunds);
  });

/** For a refund that the provider rejected. No effect once the provider knows it or it isn't pending. */
export const failRefund = (ctx: TenantCtx, paymentId: string, refundId: string, failure: Failure) =>
  inTransaction(ctx, async (tx) => {
    await store.lockPayment(tx, ctx.organizationId, paymentId);
    const stored = (await store.listRefunds(tx, ctx.organizationId, [paymentId])).find(
      ({ id }) => id === refundId,
    );
    if (stored?.status !== 'PENDING' || stored.provider_refund_id !== null) return;
    await store.updateRefund(tx, ctx.organizationId, refundId, {
      status: 'FAILED',
      ...failureColumns(failure),
    });
    const payment = await store.findPayment(tx, ctx.organizationId, paymentId);
    if (payment !== undefined) await announceRefund(tx, ctx.organizationId, payment, stored, 'failed');
  });

/** For a rejected checkout, so that the payment can never be paid. No effect once it has a session. */
export const failPayment = (ctx: TenantCtx, paymentId: string, failure: Failure): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const payment = await store.lockPayment(tx, ctx.organizationId, paymentId);
    if (payment?.status !== 'PENDING' || payment.session_id !== null) return;
    await store.updatePayment(
      tx,
      ctx.organizationId,
      paymentId,
      { status: 'FAILED', ...failureColumns(failure) },
      false,
    );
    await announcePayment(tx, ctx.organizationId, payment, 'failed');
  });

// Actions of people on the write-back: enabling, retrying a payment, taking a stuck one over by hand.
import type { Connector } from '../../../connectors/connector.ts';
import type { RequestCtx, TenantCtx } from '../../../core/ctx.ts';
import { invalid, notFound } from '../../../core/errors.ts';
import { inTransaction } from '../../../db/transaction.ts';
import { writeAudit } from '../../../identity/audit.store.ts';
import { type ConnectionName, createTenantConnector } from '../../../sync/index.ts';
import { findPayment } from '../ledger/payments.store.ts';
import { deleteStuckErpDocuments, retryErpDocuments } from './erp-documents.store.ts';

/** Throws 422 `no_connection` without an ERP connection, `not_supported` when its ERP takes no payments. */
export async function assertPaymentWriter(
  ctx: TenantCtx,
  connection: ConnectionName,
  createConnector: (ctx: TenantCtx, connection: ConnectionName) => Promise<Connector> = createTenantConnector,
): Promise<void> {
  const { payments } = await createConnector(ctx, connection);
  if (payments === undefined) {
    const message = 'Payments cannot be written to this ERP: set writeBack to false';
    throw invalid('This ERP connection does not support payments', [
      { path: 'writeBack', code: 'not_supported', message },
    ]);
  }
}

/**
 * Retries every document of the payment that is not fully in the ERP. Throws 404 for an unknown payment and
 * 422 `nothing_to_retry`; writes an audit row.
 */
export const retryPaymentWriteBack = (ctx: RequestCtx, paymentId: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    if ((await findPayment(tx, ctx.organizationId, paymentId)) === undefined) throw notFound('Payment');
    if ((await retryErpDocuments(tx, ctx.organizationId, paymentId)) === 0) {
      const message =
        'The payment and its refunds are already in the ERP, or the payment is not written back';
      throw invalid('This payment has nothing to retry', [{ path: '', code: 'nothing_to_retry', message }]);
    }
    await writeAudit(tx, ctx, 'payment.retry-write-back', ['payment', paymentId]);
  });

/**
 * Leaves the stuck documents of the payment to people: from now on they count as entered by hand. Throws 404
 * for an unknown payment and 422 `nothing_to_end`; writes an audit row.
 */
export const endPaymentWriteBack = (ctx: RequestCtx, paymentId: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    if ((await findPayment(tx, ctx.organizationId, paymentId)) === undefined) throw notFound('Payment');
    const externalIds = await deleteStuckErpDocuments(tx, ctx.organizationId, paymentId);
    if (externalIds.length === 0) {
      const message = 'Only a write-back that is FAILED, or PENDING while `writeBack` is off, can be ended';
      throw invalid('This payment has nothing to end', [{ path: '', code: 'nothing_to_end', message }]);
    }
    const target = ['payment', paymentId] as const;
    await writeAudit(tx, ctx, 'payment.end-write-back', target, { externalIds });
  });

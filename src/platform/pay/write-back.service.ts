// What a person decides about the write-back: whether it can be switched on, and when it is tried again.
import type { Connector } from '../../connectors/connector.ts';
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { openConnectorOf } from '../../sync/index.ts';
import { endErpDocuments, queueAgain } from './erp-documents.store.ts';
import { findPayment } from './payments.store.ts';

/** Throws 422 where the organization has no ERP connection, or one to an ERP that takes no payments. */
export async function requirePaymentWriter(ctx: TenantCtx, open: (ctx: TenantCtx) => Promise<Connector> = openConnectorOf): Promise<void> {
  const { payments } = await open(ctx);
  if (payments === undefined)
    throw invalid('The ERP connection takes no payments', [
      { path: 'writeBack', code: 'not_supported', message: 'Payments can not be written into this ERP: send false' },
    ]);
}

/** Tries at once again what is not in the ERP, or not as it was meant. Throws 404, or 422 where there is no such thing; writes the audit row. */
export const retryErpDocument = (ctx: RequestCtx, paymentId: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    if ((await findPayment(tx, ctx.organizationId, paymentId)) === undefined) throw notFound('Payment');
    if ((await queueAgain(tx, ctx.organizationId, paymentId)) === 0)
      throw invalid('Nothing of this payment waits to be written into the ERP', [
        {
          path: '',
          code: 'nothing_to_retry',
          message: 'It is in the ERP with everything that was refunded of it, or it is not written back',
        },
      ]);
    await writeAudit(tx, ctx, { action: 'payment.retry-write-back', target: { type: 'payment', id: paymentId } });
  });

/**
 * What is stuck is left to people from now on: for this service it was entered by hand. Throws 404, or 422 where nothing is stuck; writes
 * the audit row.
 */
export const endWriteBack = (ctx: RequestCtx, paymentId: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    if ((await findPayment(tx, ctx.organizationId, paymentId)) === undefined) throw notFound('Payment');
    const externalIds = await endErpDocuments(tx, ctx.organizationId, paymentId);
    if (externalIds.length === 0)
      throw invalid('Nothing of this payment is stuck on its way into the ERP', [
        {
          path: '',
          code: 'nothing_to_end',
          message: 'Only what has FAILED, or waits while `writeBack` is off, is left to people',
        },
      ]);
    const target = { type: 'payment', id: paymentId };
    await writeAudit(tx, ctx, { action: 'payment.end-write-back', target, changes: { externalIds } });
  });

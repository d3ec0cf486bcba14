// Which documents the ERP is owed for payments and refunds. A stand-in until the write-back is here: it owes the ERP nothing.
import type { RequestCtx } from '../../core/ctx.ts';
import type { Tx } from '../../db/transaction.ts';

/** `OFF`: nothing is written back for it. Amounts in minor units of the payment's currency. */
export type ErpState = {
  readonly status: 'OFF' | 'PENDING' | 'LANDED' | 'PARTLY_APPLIED' | 'FAILED';
  readonly recordId: string | null;
  readonly problem: { readonly code: string; readonly message: string; readonly fix: string } | null;
  readonly unappliedMinor: bigint;
  /** When the payment's own document was known to be in the ERP, by the database's clock; null before. */
  readonly landedAt: Date | null;
};

/**
 * Called in the transaction in which a payment (`refundId` null) or a refund of it first succeeds, with the organization's write-back
 * switched on at that time, or with a document of the payment there already. Called again for the same one it does nothing.
 */
export async function queueErpDocument(
  _tx: Tx,
  _document: { readonly organizationId: string; readonly paymentId: string; readonly refundId: string | null },
): Promise<void> {}

/** By payment; one that is absent is `OFF`. */
export const erpStates = async (_tx: Tx, _organizationId: string, _paymentIds: readonly string[]): Promise<ReadonlyMap<string, ErpState>> =>
  new Map();

/** POST /pay/payments/{id}/retry-write-back: tries at once again. Throws 422 where nothing waits for it; writes the audit row. */
export async function retryErpDocument(_ctx: RequestCtx, _paymentId: string): Promise<void> {}

// Current content of an ERP document: payment, invoices, a refund, and the organization's settings.
import { ErpError } from '../../../connectors/connector.ts';
import type { Tx } from '../../../db/transaction.ts';
import { WriteBack } from '../ledger/config.schemas.ts';
import { findPayConfig } from '../ledger/config.store.ts';
import { findErpAccount } from '../ledger/payments.store.ts';
import type { DueDocument } from './erp-documents.store.ts';
import type { PaymentTask, RefundTask } from './write-document.ts';

export type WriteBackTask =
  | { readonly kind: 'payment'; readonly task: PaymentTask }
  | { readonly kind: 'refund'; readonly task: RefundTask };

/**
 * Throws ErpError `OTHER_ERP_ACCOUNT` when the organization is now connected to another account of the ERP,
 * where the same ids name other customers and payments.
 */
export async function assertSameErpAccount(tx: Tx, organizationId: string, paymentId: string): Promise<void> {
  const row = await tx('pay_payments')
    .where({ organization_id: organizationId, id: paymentId })
    .first<{ erp_account: string | null } | undefined>('erp_account');
  const own = row?.erp_account ?? null;
  const connected = await findErpAccount(tx, organizationId);
  if (own === null || own === connected) return;
  throw new ErpError(
    'query',
    'OTHER_ERP_ACCOUNT',
    `The payment is for invoices of the ERP account ${own}, but another account is connected`,
    {
      fix: `Enter it in ${own} by hand and confirm with end-write-back; or connect ${own} again, then retry.`,
    },
  );
}

type PaymentRow = {
  customer_id: string;
  currency: string;
  received_minor: string;
  provider_payment_id: string | null;
};

function findPayment(tx: Tx, organizationId: string, id: string): Promise<PaymentRow | undefined> {
  return tx('pay_payments')
    .where({ organization_id: organizationId, id })
    .first<PaymentRow | undefined>(
      'customer_id',
      'currency',
      'provider_payment_id',
      tx.raw('received_minor::text'),
    );
}

/** Undefined when there is nothing to write, because the write-back was disabled in the meantime. */
export async function findWriteBackTask(
  tx: Tx,
  organizationId: string,
  due: DueDocument,
): Promise<WriteBackTask | undefined> {
  const ofOrganization = { organization_id: organizationId };
  const settings = WriteBack.parse((await findPayConfig(tx, organizationId))?.write_back ?? false);
  const payment = await findPayment(tx, organizationId, due.payment_id);
  if (settings === false || payment === undefined) return undefined;
  const rows: { record_id: string; amount_minor: string }[] = await tx('pay_payment_invoices')
    .where({ ...ofOrganization, payment_id: due.payment_id })
    .orderBy('position')
    .select('record_id', tx.raw('amount_minor::text'));
  const { customer_id: customerId, currency, provider_payment_id: reference } = payment;
  const invoices = rows.map((row) => ({ recordId: row.record_id, amountMinor: BigInt(row.amount_minor) }));
  const order = { externalId: due.external_id, customerId, currency, invoices };
  const paid = `Online payment ${due.payment_id}${reference === null ? '' : `, ${reference}`}`;
  if (due.kind === 'payment')
    return {
      kind: 'payment',
      task: { ...order, amountMinor: BigInt(payment.received_minor), memo: paid, account: settings.account },
    };
  const refund = await tx('pay_refunds')
    .where({ ...ofOrganization, id: due.refund_id })
    .first<{ amount_minor: string; status: string } | undefined>('status', tx.raw('amount_minor::text'));
  if (refund === undefined || due.payment_record_id === null) return undefined;
  const from = { account: settings.refundAccount ?? settings.account, method: settings.refundMethod };
  const amountMinor = BigInt(refund.amount_minor);
  const wasReturned = refund.status !== 'SUCCEEDED';
  return {
    kind: 'refund',
    task: {
      ...order,
      ...from,
      amountMinor,
      wasReturned,
      memo: `Refund of: ${paid}`,
      paymentRecordId: due.payment_record_id,
    },
  };
}

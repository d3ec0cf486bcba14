// What a document in the ERP is made of, as it stands now: the payment, its invoices, a refund, and how the organization writes back.
import { ErpError } from '../../connectors/connector.ts';
import type { Tx } from '../../db/transaction.ts';
import { findConfig } from './config.store.ts';
import type { DueDocument } from './erp-documents.store.ts';
import { WriteBack } from './pay.schemas.ts';
import { erpAccount } from './payments.store.ts';
import type { PaymentTask, RefundTask } from './write-document.ts';

export type Task = { readonly kind: 'payment'; readonly task: PaymentTask } | { readonly kind: 'refund'; readonly task: RefundTask };

/**
 * Throws ErpError where the connection is one to another account of the ERP by now: there the same ids are other customers and other
 * payments.
 */
export async function requireSameAccount(tx: Tx, organizationId: string, paymentId: string): Promise<void> {
  const row = await tx('pay_payments')
    .where({ organization_id: organizationId, id: paymentId })
    .first<{ erp_account: string | null } | undefined>('erp_account');
  const own = row?.erp_account ?? null;
  const connected = await erpAccount(tx, organizationId);
  if (own === null || own === connected) return;
  throw new ErpError('query', 'OTHER_ERP_ACCOUNT', `The payment is of invoices of the ERP account ${own}, and another one is connected`, {
    fix: `Enter it in ${own} by hand, then say so with end-write-back; or connect ${own} again, then try again.`,
  });
}

type PaymentRow = { customer_id: string; currency: string; received_minor: string; provider_payment_id: string | null };

/** Undefined when nothing is to be written: the write-back was switched off meanwhile. */
export async function findTask(tx: Tx, organizationId: string, due: DueDocument): Promise<Task | undefined> {
  const mine = { organization_id: organizationId };
  const settings = WriteBack.parse((await findConfig(tx, organizationId))?.write_back ?? false);
  const payment = await tx('pay_payments')
    .where({ ...mine, id: due.payment_id })
    .first<PaymentRow | undefined>('customer_id', 'currency', 'provider_payment_id', tx.raw('received_minor::text'));
  if (settings === false || payment === undefined) return undefined;
  const rows: { record_id: string; amount_minor: string }[] = await tx('pay_payment_invoices')
    .where({ ...mine, payment_id: due.payment_id })
    .orderBy('position')
    .select('record_id', tx.raw('amount_minor::text'));
  const { customer_id: customerId, currency, provider_payment_id: reference } = payment;
  const invoices = rows.map((row) => ({ recordId: row.record_id, amountMinor: BigInt(row.amount_minor) }));
  const order = { externalId: due.external_id, customerId, currency, invoices };
  const paid = `Online payment ${due.payment_id}${reference === null ? '' : `, ${reference}`}`;
  if (due.kind === 'payment')
    return { kind: 'payment', task: { ...order, amountMinor: BigInt(payment.received_minor), memo: paid, account: settings.account } };
  const refund = await tx('pay_refunds')
    .where({ ...mine, id: due.refund_id })
    .first<{ amount_minor: string; status: string } | undefined>('status', tx.raw('amount_minor::text'));
  if (refund === undefined || due.payment_record_id === null) return undefined;
  const from = { account: settings.refundAccount ?? settings.account, method: settings.refundMethod };
  const amountMinor = BigInt(refund.amount_minor);
  const cameBack = refund.status !== 'SUCCEEDED';
  return {
    kind: 'refund',
    task: { ...order, ...from, amountMinor, cameBack, memo: `Refund of: ${paid}`, paymentRecordId: due.payment_record_id },
  };
}

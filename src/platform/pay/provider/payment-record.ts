// The record of a payment that its provider keeps. When the database lost the payment, after a failover or a
// restore, it is entered again from the record under the same ids, so that the ERP finds what it already has.
import { z } from 'zod';
import type { TenantCtx } from '../../../core/ctx.ts';
import { formatAmount } from '../../../core/text/money.ts';
import type { Tx } from '../../../db/transaction.ts';
import type { PaymentSnapshot } from '../../../gateways/payments/provider.ts';
import { systemAuthor, writeAudit } from '../../../identity/audit.store.ts';
import * as store from '../ledger/payments.store.ts';

const minor = z.string().regex(/^[1-9]\d{0,17}$/);
const PaymentRecord = z.object({
  checkout: z.uuid(),
  customer: z.string(),
  erp: z.string().min(1).nullable(),
  title: z.string(),
  expires: z.coerce.date(),
  read: z.coerce.date(),
  /** Id in the ERP, number, amount to pay and amount due, in the order of the checkout. */
  invoices: z.array(z.tuple([z.string(), z.string(), minor, minor])).min(1),
});

/** The same text each time for the same checkout: the provider compares repeated requests. */
export const toPaymentRecord = (
  payment: store.PaymentRow,
  checkout: store.CheckoutRow,
  invoices: readonly store.InvoiceRow[],
): string =>
  JSON.stringify({
    checkout: checkout.id,
    customer: payment.customer_id,
    erp: payment.erp_account,
    title: checkout.title,
    expires: checkout.expires_at,
    read: invoices[0]?.read_at,
    invoices: invoices.map((row) => [row.record_id, row.number, row.amount_minor, row.due_minor]),
  } satisfies z.input<typeof PaymentRecord>);

function parsePaymentRecord(text: string | null): z.output<typeof PaymentRecord> | undefined {
  try {
    return PaymentRecord.safeParse(JSON.parse(text ?? 'null')).data;
  } catch {
    return undefined;
  }
}

/** Inserts payment, checkout and invoices. Undefined when the provider has no record that can be read. */
export async function enterLostPayment(tx: Tx, ctx: TenantCtx, accountId: string, snapshot: PaymentSnapshot) {
  const record = parsePaymentRecord(snapshot.record);
  if (record === undefined) return undefined;
  const { organizationId } = ctx;
  const { currency } = snapshot.received;
  const { paymentId: id } = snapshot;
  const amountMinor = record.invoices.reduce((sum, [, , amount]) => sum + BigInt(amount), 0n);
  const row = {
    id,
    account_id: accountId,
    customer_id: record.customer,
    currency,
    amount_minor: String(amountMinor),
    erp_account: record.erp,
  };
  if (await store.insertLostPayment(tx, organizationId, row)) {
    const checkout = {
      id: record.checkout,
      payment_id: id,
      title: record.title,
      expires_at: record.expires,
      record_kept: true,
    };
    // The payer has the page already: its addresses are needed no more.
    await store.insertCheckout(tx, organizationId, { ...checkout, success_url: '', cancel_url: '' });
    const invoices = record.invoices.map(([recordId, number, amount, due], position) => ({
      payment_id: id,
      position,
      record_id: recordId,
      number,
      amount_minor: amount,
      due_minor: due,
      read_at: record.read,
    }));
    await store.insertInvoices(tx, organizationId, invoices);
    const changes = {
      amount: formatAmount({ amountMinor, currency }),
      currency,
      customerId: record.customer,
    };
    await writeAudit(tx, systemAuthor(organizationId), 'payment.restore', ['payment', id], changes);
    ctx.log.warn({ organizationId, paymentId: id }, 'a payment that the database had lost was entered again');
  }
  return store.lockPayment(tx, organizationId, id);
}

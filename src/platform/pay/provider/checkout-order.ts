import type { CheckoutOrder } from '../../../gateways/payments/provider.ts';
import type * as store from '../ledger/payments.store.ts';
import { toPaymentRecord } from './payment-record.ts';

/** The order for the provider: one item per invoice. The items add up to the payment's amount. */
export const toCheckoutOrder = (
  payment: store.PaymentRow,
  checkout: store.CheckoutRow,
  invoices: readonly store.InvoiceRow[],
): CheckoutOrder => {
  const money = (minor: string) => ({ amountMinor: BigInt(minor), currency: payment.currency });
  return {
    checkoutId: checkout.id,
    paymentId: payment.id,
    amount: money(payment.amount_minor),
    title: checkout.title,
    items: invoices.map(({ number, amount_minor: minor }) => ({
      label: `Invoice ${number}`,
      amount: money(minor),
    })),
    successUrl: checkout.success_url,
    cancelUrl: checkout.cancel_url,
    expiresAt: checkout.expires_at,
    record: checkout.record_kept ? toPaymentRecord(payment, checkout, invoices) : null,
  };
};

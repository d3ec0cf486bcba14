// What webhooks report of payments and refunds, once for each outcome.
import { formatAmount } from '../../../core/text/money.ts';
import type { Tx } from '../../../db/transaction.ts';
import { announce } from '../../../webhooks/index.ts';
import type { PaymentRow } from '../ledger/payments.store.ts';

type Paid = Pick<PaymentRow, 'id' | 'customer_id' | 'currency' | 'amount_minor'>;

const moneyOf = (minor: string, currency: string) => ({
  amount: formatAmount({ amountMinor: BigInt(minor), currency }),
  currency,
});

export const announcePayment = (
  tx: Tx,
  organizationId: string,
  { id, customer_id: customerId, currency, amount_minor: minor }: Paid,
  outcome: 'succeeded' | 'failed',
): Promise<void> =>
  announce(tx, organizationId, `payment.${outcome}`, {
    ...{ paymentId: id, customerId },
    ...moneyOf(minor, currency),
  });

/** A refund that the bank returned has failed after it succeeded. */
export const announceRefund = (
  tx: Tx,
  organizationId: string,
  { id: paymentId, customer_id: customerId, currency }: Paid,
  refund: { readonly id: string; readonly amount_minor: string },
  outcome: 'succeeded' | 'failed',
): Promise<void> =>
  announce(tx, organizationId, `refund.${outcome}`, {
    ...{ refundId: refund.id, paymentId, customerId },
    ...moneyOf(refund.amount_minor, currency),
  });

// The states of payments and refunds, which only move forward. An old snapshot from a provider never undoes a
// newer one, and money that arrives after a failure is never dropped.
import type { PaymentSnapshot, RefundState } from '../../../gateways/payments/provider.ts';

export const paymentStatuses = [
  'PENDING',
  'PROCESSING',
  'FAILED',
  'CANCELED',
  'SUCCEEDED',
  'PARTIALLY_REFUNDED',
  'REFUNDED',
] as const;
export type PaymentStatus = (typeof paymentStatuses)[number];

/** A payment only moves to a higher rank; between equal ranks it keeps its status. */
export const paymentRanks: Readonly<Record<PaymentStatus, number>> = {
  PENDING: 0,
  PROCESSING: 1,
  FAILED: 2,
  CANCELED: 2,
  SUCCEEDED: 3,
  PARTIALLY_REFUNDED: 4,
  REFUNDED: 5,
};

/** A refund that succeeded may still fail weeks later, when the bank returns it. */
export const refundRanks: Readonly<Record<RefundState, number>> = {
  PENDING: 0,
  SUCCEEDED: 1,
  FAILED: 2,
  CANCELED: 2,
};

export const advanceStatus = (current: PaymentStatus, reported: PaymentStatus): PaymentStatus =>
  paymentRanks[reported] > paymentRanks[current] ? reported : current;
export const advanceRefundState = (current: RefundState, reported: RefundState): RefundState =>
  refundRanks[reported] > refundRanks[current] ? reported : current;

const withoutMoney: Readonly<Record<Exclude<PaymentSnapshot['state'], 'SUCCEEDED'>, PaymentStatus>> = {
  OPEN: 'PENDING',
  PROCESSING: 'PROCESSING',
  FAILED: 'FAILED',
  CANCELED: 'CANCELED',
};

/** What the provider's state and amounts amount to, whatever status is stored. Amounts in minor units. */
export function computePaymentStatus(
  state: PaymentSnapshot['state'],
  received: bigint,
  refunded: bigint,
): PaymentStatus {
  if (received > 0n)
    return refunded === 0n ? 'SUCCEEDED' : refunded < received ? 'PARTIALLY_REFUNDED' : 'REFUNDED';
  return state === 'SUCCEEDED' ? 'PROCESSING' : withoutMoney[state];
}

/** The payer may still pay, or the payment is being processed. */
export const isOpen = (status: PaymentStatus): boolean => paymentRanks[status] < paymentRanks.FAILED;
export const hasSucceeded = (status: PaymentStatus) => paymentRanks[status] >= paymentRanks.SUCCEEDED;

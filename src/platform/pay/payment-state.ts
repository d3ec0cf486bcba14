// The states of payments and refunds, and that they only move forward. What an old answer of a provider says never undoes what a newer
// one said; money that came after all is never dropped.
import type { PaymentSnapshot, RefundState } from '../../gateways/payments/provider.ts';

export const paymentStatuses = ['PENDING', 'PROCESSING', 'FAILED', 'CANCELED', 'SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED'] as const;
export type PaymentStatus = (typeof paymentStatuses)[number];

/** A payment moves to a higher rank alone; between equals it stays where it is. */
export const paymentRanks: Readonly<Record<PaymentStatus, number>> = {
  PENDING: 0,
  PROCESSING: 1,
  FAILED: 2,
  CANCELED: 2,
  SUCCEEDED: 3,
  PARTIALLY_REFUNDED: 4,
  REFUNDED: 5,
};

/** A refund that succeeded may still come back weeks later: the bank did not take it. */
export const refundRanks: Readonly<Record<RefundState, number>> = { PENDING: 0, SUCCEEDED: 1, FAILED: 2, CANCELED: 2 };

export const forward = (held: PaymentStatus, told: PaymentStatus): PaymentStatus => (paymentRanks[told] > paymentRanks[held] ? told : held);
export const refundForward = (held: RefundState, told: RefundState): RefundState => (refundRanks[told] > refundRanks[held] ? told : held);

const withoutMoney: Readonly<Record<Exclude<PaymentSnapshot['state'], 'SUCCEEDED'>, PaymentStatus>> = {
  OPEN: 'PENDING',
  PROCESSING: 'PROCESSING',
  FAILED: 'FAILED',
  CANCELED: 'CANCELED',
};

/** What a payment is by what the provider says, whatever it was. Amounts in minor units. */
export function statusOf(state: PaymentSnapshot['state'], received: bigint, refunded: bigint): PaymentStatus {
  if (received > 0n) return refunded === 0n ? 'SUCCEEDED' : refunded < received ? 'PARTIALLY_REFUNDED' : 'REFUNDED';
  return state === 'SUCCEEDED' ? 'PROCESSING' : withoutMoney[state];
}

/** It may still be paid, or is being paid. */
export const isOpen = (status: PaymentStatus): boolean => paymentRanks[status] < paymentRanks.FAILED;
export const hasSucceeded = (status: PaymentStatus): boolean => paymentRanks[status] >= paymentRanks.SUCCEEDED;

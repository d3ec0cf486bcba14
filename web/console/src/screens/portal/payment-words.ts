// States of payments, refunds, payouts and of the write-back to the ERP, in words.
import type { Answer, Item } from '../../api.ts';
import type { States } from '../../parts/detail.tsx';

export type Payment = Answer<'/pay/payments/{id}'>;
export type Payout = Item<'/pay/payouts'>;

export const paymentStates: States<Payment['status']> = {
  PENDING: ['calm', 'Not paid yet'],
  PROCESSING: ['busy', 'Processing'],
  FAILED: ['bad', 'Failed'],
  CANCELED: ['calm', 'Cancelled'],
  SUCCEEDED: ['good', 'Paid'],
  PARTIALLY_REFUNDED: ['warn', 'Partly refunded'],
  REFUNDED: ['calm', 'Refunded'],
};
export const erpStates: States<Payment['erp']['status']> = {
  OFF: ['calm', 'Not written back'],
  PENDING: ['busy', 'Waiting'],
  LANDED: ['good', 'In the ERP'],
  PARTLY_APPLIED: ['warn', 'In the ERP, partly applied'],
  FAILED: ['bad', 'Stuck'],
};
export const refundStates: States<Payment['refunds'][number]['status']> = {
  PENDING: ['busy', 'Waiting for the provider'],
  SUCCEEDED: ['good', 'Refunded'],
  FAILED: ['bad', 'Failed'],
  CANCELED: ['calm', 'Cancelled'],
};
export const payoutStates: States<Payout['status']> = {
  PENDING: ['calm', 'Planned'],
  IN_TRANSIT: ['busy', 'On its way'],
  PAID: ['good', 'Paid out'],
  FAILED: ['bad', 'Failed'],
  CANCELED: ['calm', 'Cancelled'],
};

/**
 * What is left of `amount` after `less`, decimal texts of one currency. Exact below 10^13; the service checks
 * the amount.
 */
export const subtract = (amount: string, less: string): string =>
  (Number(amount) - Number(less)).toFixed(amount.split('.')[1]?.length ?? 0);

import { describe, expect, it } from 'vitest';
import {
  advanceRefundState,
  advanceStatus,
  computePaymentStatus,
  paymentRanks,
  paymentStatuses,
} from '../../../../src/platform/pay/ledger/payment-state.ts';

describe('the status of a payment', () => {
  it('only moves to a higher rank, whatever is reported in whatever order', () => {
    for (const current of paymentStatuses) {
      for (const reported of paymentStatuses) {
        const next = advanceStatus(current, reported);
        expect([
          current,
          reported,
          paymentRanks[next] >= paymentRanks[current],
          next === current || next === reported,
        ]).toEqual([current, reported, true, true]);
        if (paymentRanks[reported] === paymentRanks[current]) expect(next).toBe(current);
        // The same two statuses in the opposite order end at the same rank.
        expect(paymentRanks[advanceStatus(advanceStatus('PENDING', current), reported)]).toBe(
          paymentRanks[advanceStatus(advanceStatus('PENDING', reported), current)],
        );
      }
    }
  });

  it('never loses money that arrives after a failure', () => {
    expect([
      advanceStatus('FAILED', 'SUCCEEDED'),
      advanceStatus('CANCELED', 'REFUNDED'),
      advanceStatus('SUCCEEDED', 'FAILED'),
    ]).toEqual(['SUCCEEDED', 'REFUNDED', 'SUCCEEDED']);
  });

  it('follows the received amount, not the reported state', () => {
    expect(computePaymentStatus('CANCELED', 500n, 0n)).toBe('SUCCEEDED');
    expect(computePaymentStatus('SUCCEEDED', 0n, 0n)).toBe('PROCESSING');
    expect(computePaymentStatus('OPEN', 0n, 0n)).toBe('PENDING');
    expect([
      computePaymentStatus('SUCCEEDED', 500n, 499n),
      computePaymentStatus('SUCCEEDED', 500n, 500n),
    ]).toEqual(['PARTIALLY_REFUNDED', 'REFUNDED']);
  });

  it('of a refund may change from SUCCEEDED to FAILED, but never back', () => {
    expect([
      advanceRefundState('SUCCEEDED', 'FAILED'),
      advanceRefundState('FAILED', 'SUCCEEDED'),
      advanceRefundState('SUCCEEDED', 'PENDING'),
    ]).toEqual(['FAILED', 'FAILED', 'SUCCEEDED']);
  });
});

// What is decided without a database: how a payment moves on, and how much of an invoice is in flight.
import { describe, expect, it } from 'vitest';
import { inFlight, type Share } from '../../../src/platform/pay/in-flight.ts';
import { forward, paymentRanks, paymentStatuses, refundForward, statusOf } from '../../../src/platform/pay/payment-state.ts';

describe('the status of a payment', () => {
  it('moves to a higher rank alone, whatever is told in whatever order', () => {
    for (const held of paymentStatuses) {
      for (const told of paymentStatuses) {
        const next = forward(held, told);
        expect([held, told, paymentRanks[next] >= paymentRanks[held], next === held || next === told]).toEqual([held, told, true, true]);
        if (paymentRanks[told] === paymentRanks[held]) expect(next).toBe(held);
        // The same two answers the other way round end at the same rank.
        expect(paymentRanks[forward(forward('PENDING', held), told)]).toBe(paymentRanks[forward(forward('PENDING', told), held)]);
      }
    }
  });

  it('never loses money that came after all', () => {
    expect([forward('FAILED', 'SUCCEEDED'), forward('CANCELED', 'REFUNDED'), forward('SUCCEEDED', 'FAILED')]).toEqual([
      'SUCCEEDED',
      'REFUNDED',
      'SUCCEEDED',
    ]);
  });

  it('follows the money, not the word', () => {
    expect(statusOf('CANCELED', 500n, 0n)).toBe('SUCCEEDED');
    expect(statusOf('SUCCEEDED', 0n, 0n)).toBe('PROCESSING');
    expect(statusOf('OPEN', 0n, 0n)).toBe('PENDING');
    expect([statusOf('SUCCEEDED', 500n, 499n), statusOf('SUCCEEDED', 500n, 500n)]).toEqual(['PARTIALLY_REFUNDED', 'REFUNDED']);
  });

  it('of a refund may end badly after it had ended well, and never the other way', () => {
    expect([refundForward('SUCCEEDED', 'FAILED'), refundForward('FAILED', 'SUCCEEDED'), refundForward('SUCCEEDED', 'PENDING')]).toEqual([
      'FAILED',
      'FAILED',
      'SUCCEEDED',
    ]);
  });
});

const at = (minute: number) => new Date(Date.UTC(2026, 2, 2, 10, minute));
const share = (status: Share['status'], amountMinor: bigint, more: Partial<Share> = {}): Share => ({
  status,
  amountMinor,
  dueMinor: 100n,
  readAt: at(0),
  givenBackMinor: 0n,
  erp: null,
  ...more,
});
const landedAt = (minute: number) => ({ erp: { landedAt: at(minute) } });
const waiting = { erp: { landedAt: null } };
const now = (dueMinor: bigint) => ({ dueMinor, readAt: at(30) });

describe('in flight', () => {
  it.each<[string, Share[], bigint, bigint]>([
    ['what may still be paid', [share('PENDING', 30n), share('PROCESSING', 20n)], 100n, 50n],
    ['nothing of what came to nothing', [share('FAILED', 30n), share('CANCELED', 20n)], 100n, 0n],
    ['what the ERP was not told yet', [share('SUCCEEDED', 40n, waiting)], 100n, 40n],
    ['what it was told after the amount was read', [share('SUCCEEDED', 40n, landedAt(31))], 100n, 40n],
    ['what it was told in the moment of reading', [share('SUCCEEDED', 40n, landedAt(30))], 100n, 40n],
    ['nothing of what it shows', [share('SUCCEEDED', 40n, landedAt(29))], 60n, 0n],
    ['what was given back before the ERP was told of the payment', [share('REFUNDED', 40n, waiting)], 100n, 40n],
    ['what nobody has entered by hand', [share('SUCCEEDED', 40n)], 100n, 40n],
    ['nothing of what somebody entered', [share('SUCCEEDED', 40n)], 60n, 0n],
    ['the rest of what somebody entered in part', [share('SUCCEEDED', 40n), share('SUCCEEDED', 60n, { readAt: at(1) })], 40n, 40n],
    ['all of it where the open amount has risen', [share('SUCCEEDED', 40n)], 150n, 40n],
    ['nothing of what was given back by hand', [share('REFUNDED', 40n, { givenBackMinor: 40n })], 100n, 0n],
    ['all of what was given back and came back from the bank', [share('REFUNDED', 40n)], 100n, 40n],
    ['what is left of what was given back in part', [share('PARTIALLY_REFUNDED', 40n, { givenBackMinor: 15n })], 100n, 25n],
    ['nothing where that was entered', [share('PARTIALLY_REFUNDED', 40n, { givenBackMinor: 15n })], 75n, 0n],
    [
      'by hand beside written back: a fall that the ERP owes to the latter explains no entry',
      [share('SUCCEEDED', 40n), share('SUCCEEDED', 30n, landedAt(10))],
      70n,
      40n,
    ],
  ])('%s', (_name, shares, due, expected) => expect(inFlight(shares, now(due))).toBe(expected));
});

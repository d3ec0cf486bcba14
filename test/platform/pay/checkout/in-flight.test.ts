import { expect, it } from 'vitest';
import { amountInFlight, type Share } from '../../../../src/platform/pay/checkout/in-flight.ts';

const at = (minute: number) => new Date(Date.UTC(2026, 2, 2, 10, minute));
const share = (status: Share['status'], amountMinor: bigint, more: Partial<Share> = {}): Share => ({
  ...{ status, amountMinor, dueMinor: 100n, readAt: at(0) },
  ...{ refundedMinor: 0n, erp: null, ...more },
});
const writtenAt = (minute: number) => ({ erp: { writtenAt: at(minute) } });
const landed = (minute: number) => share('SUCCEEDED', 40n, writtenAt(minute));
const partlyRefunded = share('PARTIALLY_REFUNDED', 40n, { refundedMinor: 15n });
const inPart = [share('SUCCEEDED', 40n), share('SUCCEEDED', 60n, { readAt: at(1) })];
const byHandAndWritten = [share('SUCCEEDED', 40n), share('SUCCEEDED', 30n, writtenAt(10))];
const waiting = { erp: { writtenAt: null } };
const now = (dueMinor: bigint) => ({ dueMinor, readAt: at(30) });

it.each<[string, Share[], bigint, bigint]>([
  ['counts payments that may still be paid', [share('PENDING', 30n), share('PROCESSING', 20n)], 100n, 50n],
  ['ignores failed and canceled payments', [share('FAILED', 30n), share('CANCELED', 20n)], 100n, 0n],
  ['counts a payment that is not in the ERP yet', [share('SUCCEEDED', 40n, waiting)], 100n, 40n],
  ['counts a payment that landed after the amount was read', [landed(31)], 100n, 40n],
  ['counts a payment that landed at the moment of reading', [landed(30)], 100n, 40n],
  ['ignores a payment that the ERP already shows', [landed(29)], 60n, 0n],
  ['counts a refunded payment that is not in the ERP yet', [share('REFUNDED', 40n, waiting)], 100n, 40n],
  ['counts a payment that was not entered by hand yet', [share('SUCCEEDED', 40n)], 100n, 40n],
  ['ignores a payment that was entered by hand', [share('SUCCEEDED', 40n)], 60n, 0n],
  ['counts the rest of payments entered only in part', inPart, 40n, 40n],
  ['counts everything when the open amount has risen', [share('SUCCEEDED', 40n)], 150n, 40n],
  ['ignores a payment that was refunded by hand', [share('REFUNDED', 40n, { refundedMinor: 40n })], 100n, 0n],
  ['counts all of a refund that the bank returned', [share('REFUNDED', 40n)], 100n, 40n],
  ['counts the rest of a partly refunded payment', [partlyRefunded], 100n, 25n],
  ['ignores that rest once it was entered by hand', [partlyRefunded], 75n, 0n],
  ['does not take the effect of a written-back payment for an entry by hand', byHandAndWritten, 70n, 40n],
])('amountInFlight %s', (_name, shares, due, expected) =>
  expect(amountInFlight(shares, now(due))).toBe(expected),
);

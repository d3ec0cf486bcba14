// How much of an invoice's open amount is covered by payments that the ERP doesn't show yet. Pure. In doubt
// the larger amount counts: a payer may have to wait, but never pays an invoice twice.
import { hasSucceeded, isOpen, type PaymentStatus } from '../ledger/payment-state.ts';

/** The part of one payment that goes, or may go, to one invoice. Amounts in minor units. */
export type Share = {
  readonly status: PaymentStatus;
  readonly amountMinor: bigint;
  /** The refunded part of `amountMinor`. A refund that the bank returned counts as 0. */
  readonly refundedMinor: bigint;
  /** The invoice's open amount at that payment's checkout, read from the ERP no earlier than `readAt`. */
  readonly dueMinor: bigint;
  readonly readAt: Date;
  /** The payment's document in the ERP; null when it is not written back: a person enters it by hand. */
  readonly erp: { readonly writtenAt: Date | null } | null;
};

/** The invoice's open amount in the ERP, read no earlier than `readAt`. */
export type CurrentDue = { readonly dueMinor: bigint; readonly readAt: Date };

const sum = (shares: readonly Share[]) => shares.reduce((total, { amountMinor }) => total + amountMinor, 0n);

/**
 * Payments that people enter by hand, and that the ERP doesn't show yet. No one reports when they are
 * entered: they count as entered as far as the open amount has fallen since the first of them was created, by
 * more than the written-back payments explain. Their refunded parts count neither as due nor as in flight.
 */
function notYetEnteredByHand(shares: readonly Share[], written: readonly Share[], now: CurrentDue): bigint {
  const byHand = shares.filter(
    ({ erp, status, amountMinor, refundedMinor }) =>
      erp === null && hasSucceeded(status) && refundedMinor < amountMinor,
  );
  const [first] = byHand.toSorted((a, b) => a.readAt.getTime() - b.readAt.getTime());
  if (first === undefined) return 0n;
  const writtenSinceFirst = written.filter(
    ({ erp }) => erp?.writtenAt != null && erp.writtenAt >= first.readAt,
  );
  const enteredMinor = first.dueMinor - now.dueMinor - sum(writtenSinceFirst);
  const total = byHand.reduce((all, { amountMinor, refundedMinor }) => all + amountMinor - refundedMinor, 0n);
  return enteredMinor <= 0n ? total : enteredMinor >= total ? 0n : total - enteredMinor;
}

/** The part of the invoice's open amount that is not available for another checkout, in minor units. */
export function amountInFlight(shares: readonly Share[], now: CurrentDue): bigint {
  const open = shares.filter(({ status }) => isOpen(status));
  const written = shares.filter(({ erp, status }) => erp !== null && hasSucceeded(status));
  const notShown = written.filter(({ erp }) => erp?.writtenAt == null || erp.writtenAt >= now.readAt);
  return sum(open) + sum(notShown) + notYetEnteredByHand(shares, written, now);
}

// How much of an invoice is spoken for by payments that the ERP doesn't show yet. Pure. Where it can't be sure it takes the larger
// amount: a payer may be made to wait, and never pays an invoice twice.
import { hasSucceeded, isOpen, type PaymentStatus } from './payment-state.ts';

/** What one payment has, or may yet have, for one invoice. Amounts in minor units. */
export type Share = {
  readonly status: PaymentStatus;
  readonly amountMinor: bigint;
  /** Of `amountMinor`, as the amounts say: a refund that came back from the bank has given nothing back. */
  readonly givenBackMinor: bigint;
  /** Open at that payment's checkout, read from the ERP no earlier than `readAt`. */
  readonly dueMinor: bigint;
  readonly readAt: Date;
  /** The payment's document in the ERP; null where nothing is written back for it and a person enters it by hand. */
  readonly erp: { readonly landedAt: Date | null } | null;
};

/** What the ERP says now: read no earlier than `readAt`. */
export type DueNow = { readonly dueMinor: bigint; readonly readAt: Date };

const sum = (shares: readonly Share[]): bigint => shares.reduce((total, { amountMinor }) => total + amountMinor, 0n);

/**
 * Of those that people enter by hand nobody says when. They are taken for entered as far as the open amount has fallen since the first
 * of them was made, by more than written-back payments explain. What was given back of them is neither owed nor awaited.
 */
function enteredByHand(shares: readonly Share[], written: readonly Share[], now: DueNow): bigint {
  const byHand = shares.filter(
    ({ erp, status, amountMinor, givenBackMinor }) => erp === null && hasSucceeded(status) && givenBackMinor < amountMinor,
  );
  const [first] = byHand.toSorted((a, b) => a.readAt.getTime() - b.readAt.getTime());
  if (first === undefined) return 0n;
  const landedSince = written.filter(({ erp }) => erp?.landedAt != null && erp.landedAt >= first.readAt);
  const entered = first.dueMinor - now.dueMinor - sum(landedSince);
  const total = byHand.reduce((all, { amountMinor, givenBackMinor }) => all + amountMinor - givenBackMinor, 0n);
  return entered <= 0n ? total : entered >= total ? 0n : total - entered;
}

/** The part of the invoice's open amount that is not free for another checkout. */
export function inFlight(shares: readonly Share[], now: DueNow): bigint {
  const open = shares.filter(({ status }) => isOpen(status));
  const written = shares.filter(({ erp, status }) => erp !== null && hasSucceeded(status));
  const notShown = written.filter(({ erp }) => erp?.landedAt == null || erp.landedAt >= now.readAt);
  return sum(open) + sum(notShown) + enteredByHand(shares, written, now);
}

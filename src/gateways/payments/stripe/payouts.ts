// Builds the snapshot of a payout and its entries: the balance transactions that Stripe settled with it, in
// the payout's currency.
import type Stripe from 'stripe';
import type { PayoutSnapshot, PayoutState } from '../provider.ts';
import { ProviderError } from '../provider.ts';
import { fromStripeAmount } from './amounts.ts';
import { expanded, ourPaymentId, toId } from './snapshots.ts';

type Entry = PayoutSnapshot['entries'][number];
/** Our id of the payment that a payment intent belongs to; null when this service didn't create it. */
export type FindPaymentId = (paymentIntentId: string) => Promise<string | null>;

const states: Readonly<Record<string, PayoutState>> = {
  pending: 'PENDING',
  in_transit: 'IN_TRANSIT',
  paid: 'PAID',
  failed: 'FAILED',
  canceled: 'CANCELED',
};
const payments = new Set(['charge', 'payment']);
const refunds = new Set(['refund', 'payment_refund']);
const fees = new Set(['stripe_fee', 'stripe_fx_fee', 'tax_fee']);

const day = (seconds: number): string => new Date(seconds * 1_000).toISOString().slice(0, 10);

/**
 * `transactions` are those of the payout, with their sources expanded; empty for a manual payout, for which
 * Stripe lists none. What they don't account for becomes an entry of kind `other`. Rejects with
 * ProviderError('malformed-answer') for an unknown state or an amount that is no whole number of minor units.
 */
export async function payoutSnapshot(
  payout: Stripe.Payout,
  transactions: readonly Stripe.BalanceTransaction[],
  accountId: string,
  findPayment: FindPaymentId,
): Promise<PayoutSnapshot> {
  const state = states[payout.status];
  if (state === undefined)
    throw new ProviderError('malformed-answer', 'Stripe returned an unknown payout status');
  const amount = fromStripeAmount(payout.amount, payout.currency);
  const entries: Entry[] = [];
  for (const transaction of transactions)
    entries.push(...(await toEntries(transaction, accountId, findPayment)));
  const rest = entries.reduce((left, entry) => left - entry.amount.amountMinor, amount.amountMinor);
  if (rest !== 0n) entries.push({ ...unrelated, kind: 'other', amount: { ...amount, amountMinor: rest } });
  return {
    id: payout.id,
    state,
    amount,
    arrivalDate: day(payout.arrival_date),
    createdAt: new Date(payout.created * 1_000),
    entries,
    failure:
      payout.failure_code === null
        ? null
        : { code: payout.failure_code, message: payout.failure_message ?? 'The bank refused the payout' },
  };
}

const unrelated = { paymentId: null, providerRefundId: null } as const;

/** Empty for the payout's own transaction, which debits from the balance what the others credited. */
async function toEntries(
  transaction: Stripe.BalanceTransaction,
  accountId: string,
  findPayment: FindPaymentId,
): Promise<Entry[]> {
  const { type, amount, fee, net, currency } = transaction;
  if (type === 'payout') return [];
  const money = (value: number) => fromStripeAmount(value, currency);
  const source = expanded(transaction.source);
  if (payments.has(type) && source?.object === 'charge') {
    const paymentId = ourPaymentId(source, accountId);
    if (paymentId !== null)
      return withFee(
        { kind: 'payment', paymentId, providerRefundId: null, amount: money(amount) },
        money(-fee),
      );
  }
  if (refunds.has(type) && source?.object === 'refund') {
    const intentId = toId(source.payment_intent);
    const paymentId =
      ourPaymentId(source, accountId) ?? (intentId === null ? null : await findPayment(intentId));
    if (paymentId !== null)
      return withFee(
        { kind: 'refund', paymentId, providerRefundId: source.id, amount: money(amount) },
        money(-fee),
      );
  }
  return [{ ...unrelated, kind: fees.has(type) && net < 0 ? 'fee' : 'other', amount: money(net) }];
}

const withFee = (entry: Entry, fee: Entry['amount']): Entry[] =>
  fee.amountMinor === 0n
    ? [entry]
    : [entry, { kind: 'fee', paymentId: entry.paymentId, providerRefundId: null, amount: fee }];

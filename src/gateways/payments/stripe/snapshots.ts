// Reads what Stripe holds of one payment into the service's words. A checkout session tells whether it may still be paid; whether money
// came is told by its payment intent alone.
import type Stripe from 'stripe';
import { isId } from '../../../core/id.ts';
import type { Failure, PaymentSnapshot, RefundSnapshot, RefundState } from '../provider.ts';
import { ProviderError } from '../provider.ts';
import { fromStripeAmount } from './amounts.ts';

/** What this service writes on Stripe's objects, so that it knows its own on an account that others use as well. */
export const marks = {
  account: 'portal_account',
  payment: 'portal_payment',
  checkout: 'portal_checkout',
  refund: 'portal_refund',
} as const;

type Marked = { readonly metadata?: Stripe.Metadata | null };

/** Our id of the payment; null for what another program, or another organization, made on the same account. */
export const ourPaymentId = (marked: Marked, accountId: string): string | null => ourMark(marked, accountId, marks.payment);

/** Null too for what somebody changed at Stripe's own desk into no id. */
function ourMark({ metadata }: Marked, accountId: string, mark: string): string | null {
  const id = metadata?.[marks.account] === accountId ? metadata[mark] : undefined;
  return id !== undefined && isId(id) ? id : null;
}

/** The object itself where it was asked for. */
export const expanded = <T extends object>(value: string | T | null | undefined): T | null =>
  typeof value === 'object' && value !== null ? value : null;
export const idOf = (value: string | { readonly id: string } | null | undefined): string | null =>
  typeof value === 'string' ? value : (value?.id ?? null);

const longestText = 300;
const failureOf = (code: string | null | undefined, message: string | null | undefined, otherwise: string): Failure => ({
  code: code ?? 'unknown',
  message: (message ?? otherwise).slice(0, longestText),
});

const refundStates: Readonly<Record<string, RefundState>> = {
  pending: 'PENDING',
  requires_action: 'PENDING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  canceled: 'CANCELED',
};

export function refundSnapshot(refund: Stripe.Refund, accountId: string): RefundSnapshot {
  const state = refundStates[refund.status ?? ''];
  if (state === undefined) throw new ProviderError('malformed-answer', 'Stripe told a state of a refund that is not known here');
  return {
    id: refund.id,
    refundId: ourMark(refund, accountId, marks.refund),
    amount: fromStripeAmount(refund.amount, refund.currency),
    state,
    failure: state === 'FAILED' ? failureOf(refund.failure_reason, null, `The refund failed: ${refund.failure_reason ?? 'unknown'}`) : null,
  };
}

function stateOf(session: Stripe.Checkout.Session, intent: Stripe.PaymentIntent | null): PaymentSnapshot['state'] {
  if (intent?.status === 'succeeded') return 'SUCCEEDED';
  // Under way at a bank, which may take days: also after the session ended.
  if (intent?.status === 'processing' || intent?.status === 'requires_capture') return 'PROCESSING';
  if (session.status === 'open') return 'OPEN';
  if (session.status === 'expired') return 'CANCELED';
  if (session.status !== 'complete') throw new ProviderError('malformed-answer', 'Stripe told a state of a session that is not known here');
  if (intent?.status === 'canceled') return 'CANCELED';
  // A completed session can't be tried again: what asks for another method now is a debit that the bank refused.
  if (intent?.status === 'requires_payment_method') return 'FAILED';
  return 'PROCESSING';
}

function methodOf(charge: Stripe.Charge | null): PaymentSnapshot['method'] {
  const details = charge?.payment_method_details;
  if (!details) return null;
  const own: unknown = Object.entries(details).find(([name]) => name === details.type)?.[1];
  const last4 = typeof own === 'object' && own !== null && 'last4' in own && typeof own.last4 === 'string' ? own.last4 : null;
  return { type: details.type, last4: last4 !== null && /^\w{1,4}$/.test(last4) ? last4 : null };
}

/** `session` with its payment intent and that one's latest charge expanded; `refunds` all of the payment's. Null when it is none of ours. */
export function paymentSnapshot(
  session: Stripe.Checkout.Session,
  refunds: readonly Stripe.Refund[],
  accountId: string,
): PaymentSnapshot | null {
  const paymentId = ourPaymentId(session, accountId);
  if (paymentId === null) return null;
  const intent = expanded(session.payment_intent);
  const state = stateOf(session, intent);
  const currency = intent?.currency ?? session.currency;
  if (currency === null) throw new ProviderError('malformed-answer', 'Stripe told no currency of a payment');
  const declined = state === 'SUCCEEDED' || state === 'PROCESSING' ? null : intent?.last_payment_error;
  return {
    paymentId,
    sessionId: session.id,
    providerPaymentId: intent?.id ?? null,
    state,
    received: fromStripeAmount(intent?.amount_received ?? 0, currency),
    refunds: refunds.map((refund) => refundSnapshot(refund, accountId)),
    method: methodOf(expanded(intent?.latest_charge)),
    failure: declined ? failureOf(declined.decline_code ?? declined.code, declined.message, 'The payment was declined') : null,
  };
}

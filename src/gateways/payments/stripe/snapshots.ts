// Builds payment and refund snapshots from Stripe's objects. The checkout session shows whether it may still
// be paid; only its payment intent shows whether money was received.
import type Stripe from 'stripe';
import { isId } from '../../../core/id.ts';
import type { Failure, PaymentSnapshot, RefundSnapshot, RefundState } from '../provider.ts';
import { ProviderError } from '../provider.ts';
import { fromStripeAmount } from './amounts.ts';

/**
 * The metadata keys by which this service recognizes its own objects on a Stripe account that other programs
 * may use as well.
 */
export const metadataKeys = {
  account: 'portal_account',
  payment: 'portal_payment',
  checkout: 'portal_checkout',
  refund: 'portal_refund',
} as const;

type Marked = { readonly metadata?: Stripe.Metadata | null };

/** Our id of the payment; null for an object that another program created on the same Stripe account. */
export const ourPaymentId = (marked: Marked, accountId: string): string | null =>
  readOurId(marked, accountId, metadataKeys.payment);

/** Null also when someone changed the metadata in Stripe's dashboard to something that isn't an id. */
function readOurId({ metadata }: Marked, accountId: string, mark: string): string | null {
  const id = metadata?.[metadataKeys.account] === accountId ? metadata[mark] : undefined;
  return id !== undefined && isId(id) ? id : null;
}

/** The object where it was expanded; null where there is only its id. */
export const expanded = <T extends object>(value: string | T | null | undefined): T | null =>
  typeof value === 'object' && value !== null ? value : null;
export const toId = (value: string | { readonly id: string } | null | undefined): string | null =>
  typeof value === 'string' ? value : (value?.id ?? null);

const maxFailureLength = 300;
/** Stripe's own limits of metadata, less the keys above. */
const maxValueLength = 500;
const maxRecordKeys = 40;
const recordKey = (index: number): string => `portal_record_${index}`;

/** The record as metadata, in parts; without it when it is longer than Stripe allows. */
export function recordMetadata(record: string | null): Record<string, string> {
  const parts = record?.match(new RegExp(`[^]{1,${maxValueLength}}`, 'gu')) ?? [];
  return parts.length > maxRecordKeys
    ? {}
    : Object.fromEntries(parts.map((part, index) => [recordKey(index), part]));
}

function readRecord({ metadata }: Marked): string | null {
  const parts: string[] = [];
  for (let part = metadata?.[recordKey(0)]; part !== undefined; part = metadata?.[recordKey(parts.length)])
    parts.push(part);
  return parts.length === 0 ? null : parts.join('');
}

const toFailure = (
  code: string | null | undefined,
  message: string | null | undefined,
  otherwise: string,
): Failure => ({ code: code ?? 'unknown', message: (message ?? otherwise).slice(0, maxFailureLength) });

const refundStates: Readonly<Record<string, RefundState>> = {
  pending: 'PENDING',
  requires_action: 'PENDING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  canceled: 'CANCELED',
};

/** Throws ProviderError('malformed-answer') for an unknown status. */
export function refundSnapshot(refund: Stripe.Refund, accountId: string): RefundSnapshot {
  const state = refundStates[refund.status ?? ''];
  if (state === undefined)
    throw new ProviderError('malformed-answer', 'Stripe returned an unknown refund status');
  return {
    id: refund.id,
    refundId: readOurId(refund, accountId, metadataKeys.refund),
    amount: fromStripeAmount(refund.amount, refund.currency),
    state,
    failure:
      state === 'FAILED'
        ? toFailure(refund.failure_reason, null, `The refund failed: ${refund.failure_reason ?? 'unknown'}`)
        : null,
  };
}

function computeState(session: Stripe.Checkout.Session, intent: Stripe.PaymentIntent | null) {
  if (intent?.status === 'succeeded') return 'SUCCEEDED';
  // A bank is processing it, which may take days and outlast the session.
  if (intent?.status === 'processing' || intent?.status === 'requires_capture') return 'PROCESSING';
  if (session.status === 'open') return 'OPEN';
  if (session.status === 'expired') return 'CANCELED';
  if (session.status !== 'complete')
    throw new ProviderError('malformed-answer', 'Stripe returned an unknown session status');
  if (intent?.status === 'canceled') return 'CANCELED';
  // A completed session can't be paid again: an intent that requires another method now is a debit that the
  // bank refused.
  if (intent?.status === 'requires_payment_method') return 'FAILED';
  return 'PROCESSING';
}

function toMethod(charge: Stripe.Charge | null): PaymentSnapshot['method'] {
  const details = charge?.payment_method_details;
  if (!details) return null;
  const own: unknown = Object.entries(details).find(([name]) => name === details.type)?.[1];
  const last4 =
    typeof own === 'object' && own !== null && 'last4' in own && typeof own.last4 === 'string'
      ? own.last4
      : null;
  return { type: details.type, last4: last4 !== null && /^\w{1,4}$/.test(last4) ? last4 : null };
}

/**
 * `session` must have its payment intent and that intent's latest charge expanded; `refunds` are all refunds
 * of the payment. Null when this service didn't create it for the account. Throws
 * ProviderError('malformed-answer') for an unknown state or a missing currency.
 */
export function paymentSnapshot(
  session: Stripe.Checkout.Session,
  refunds: readonly Stripe.Refund[],
  accountId: string,
): PaymentSnapshot | null {
  const paymentId = ourPaymentId(session, accountId);
  if (paymentId === null) return null;
  const intent = expanded(session.payment_intent);
  const state = computeState(session, intent);
  const currency = intent?.currency ?? session.currency;
  if (currency === null)
    throw new ProviderError('malformed-answer', 'Stripe returned a payment without a currency');
  const declined = state === 'SUCCEEDED' || state === 'PROCESSING' ? null : intent?.last_payment_error;
  return {
    paymentId,
    sessionId: session.id,
    providerPaymentId: intent?.id ?? null,
    state,
    received: fromStripeAmount(intent?.amount_received ?? 0, currency),
    refunds: refunds.map((refund) => refundSnapshot(refund, accountId)),
    method: toMethod(expanded(intent?.latest_charge)),
    failure: declined
      ? toFailure(declined.decline_code ?? declined.code, declined.message, 'The payment was declined')
      : null,
    record: readRecord(session),
  };
}

// Turns what Stripe or its library throws into a ProviderError in plain words. Stripe's own words may quote the request or a part of
// the key: they go to the log as the cause, cleaned, and never into the message.
import Stripe from 'stripe';
import { ProviderError, type ProviderErrorKind } from '../provider.ts';

type Reason = readonly [ProviderErrorKind, string];

const longestCause = 500;

/** Codes of https://docs.stripe.com/error-codes that a person can do something about. */
const rejections: Readonly<Record<string, string>> = {
  amount_too_large: 'The amount is larger than Stripe takes',
  amount_too_small: 'The amount is smaller than Stripe takes',
  charge_disputed: 'The payer disputes this payment, so it can no longer be refunded',
  invalid_charge_amount_no_decimal_compatible: 'Stripe takes whole amounts alone in this currency',
  url_invalid: 'Stripe does not take the addresses to return to',
};

const spent = /greater than (unrefunded|charge) amount|already been refunded/i;

function reasonOf(error: unknown): Reason {
  const { errors } = Stripe;
  if (!(error instanceof errors.StripeError)) return ['unavailable', 'Stripe could not be asked'];
  const { statusCode, code = '', message } = error;
  if (error instanceof errors.StripeConnectionError) return ['unavailable', 'Stripe gave no complete answer'];
  if (error instanceof errors.StripeRateLimitError) return ['rate-limited', 'Stripe asks to slow down'];
  if (error instanceof errors.StripeAuthenticationError) return ['refused-credentials', 'Stripe does not accept the secret key'];
  if (error instanceof errors.StripePermissionError) return ['refused-credentials', 'The key for Stripe lacks a permission'];
  if (statusCode === undefined) return ['malformed-answer', "Stripe sent an answer that can't be read"];
  if (statusCode >= 500 || statusCode === 409) return ['unavailable', `Stripe could not do it now (HTTP ${statusCode})`];
  if (code === 'charge_already_refunded' || spent.test(message))
    return ['too-much-refunded', 'Stripe holds less of this payment than was to be refunded'];
  const known = rejections[code];
  return ['rejected', known ?? `Stripe rejected the request (${code === '' ? `HTTP ${statusCode}` : code})`];
}

/** Seconds; the only form that Stripe sends. */
function retryAfterMs(error: unknown): number | undefined {
  const after = error instanceof Stripe.errors.StripeError ? error.headers?.['retry-after'] : undefined;
  return after !== undefined && /^\d{1,5}$/.test(after) ? Number(after) * 1_000 : undefined;
}

/** One that is a ProviderError already stays what it is. */
export function toProviderError(error: unknown, secrets: readonly string[], signal: AbortSignal): ProviderError {
  if (error instanceof ProviderError) return error;
  if (signal.aborted) return new ProviderError('aborted', 'The question to Stripe was given up');
  const [kind, message] = reasonOf(error);
  const said = secrets.reduce(
    (text, secret) => text.replaceAll(secret, '[secret]'),
    String(error instanceof Error ? error.message : error),
  );
  const cause = new Error(said.replace(/\b(sk|rk|whsec)_\S+/g, '[secret]').slice(0, longestCause));
  const wait = retryAfterMs(error);
  return new ProviderError(kind, message, wait === undefined ? { cause } : { cause, retryAfterMs: wait });
}

/** Whether Stripe knows no such object. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing' && error.param !== 'expand';

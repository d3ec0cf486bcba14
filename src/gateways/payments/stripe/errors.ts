// Converts errors of Stripe or its library to a ProviderError. Stripe's own messages may quote the request or
// a part of the key: with secrets removed they become the cause, for the log, and never the message.
import Stripe from 'stripe';
import { errorMessage } from '../../../core/errors.ts';
import { ProviderError, type ProviderErrorKind } from '../provider.ts';

const maxCauseLength = 500;

/** The codes of https://docs.stripe.com/error-codes that a person can do something about. */
const rejections: Readonly<Record<string, string>> = {
  amount_too_large: 'The amount is larger than Stripe allows',
  amount_too_small: 'The amount is smaller than Stripe allows',
  charge_disputed: 'The payer disputes this payment, so it can no longer be refunded',
  invalid_charge_amount_no_decimal_compatible: 'Stripe allows only whole amounts in this currency',
  url_invalid: 'Stripe does not accept the success or cancel URL',
};

const alreadyRefunded = /greater than (unrefunded|charge) amount|already been refunded/i;

function classifyError(error: unknown): readonly [ProviderErrorKind, string] {
  const { errors } = Stripe;
  if (!(error instanceof errors.StripeError)) return ['unavailable', 'The request to Stripe failed'];
  const { statusCode, code = '', message } = error;
  if (error instanceof errors.StripeConnectionError)
    return ['unavailable', 'Stripe sent no complete response'];
  if (error instanceof errors.StripeRateLimitError)
    return ['rate-limited', 'Stripe is limiting the rate of requests'];
  if (error instanceof errors.StripeAuthenticationError)
    return ['refused-credentials', 'Stripe does not accept the secret key'];
  if (error instanceof errors.StripePermissionError)
    return ['refused-credentials', 'The Stripe secret key lacks a permission'];
  if (statusCode === undefined) return ['malformed-answer', 'Stripe sent a response that cannot be read'];
  if (statusCode >= 500 || statusCode === 409)
    return ['unavailable', `Stripe could not process the request now (HTTP ${statusCode})`];
  if (code === 'charge_already_refunded' || alreadyRefunded.test(message))
    return ['too-much-refunded', 'Less of this payment is left at Stripe than was to be refunded'];
  const known = rejections[code];
  return ['rejected', known ?? `Stripe rejected the request (${code === '' ? `HTTP ${statusCode}` : code})`];
}

/** From Retry-After in seconds, the only form that Stripe sends. */
function retryAfterMs(error: unknown): number | undefined {
  const after = error instanceof Stripe.errors.StripeError ? error.headers?.['retry-after'] : undefined;
  return after !== undefined && /^\d{1,5}$/.test(after) ? Number(after) * 1_000 : undefined;
}

/** A ProviderError is returned unchanged. Removes the secrets from the cause. */
export function toProviderError(
  error: unknown,
  secrets: readonly string[],
  signal: AbortSignal,
): ProviderError {
  if (error instanceof ProviderError) return error;
  if (signal.aborted) return new ProviderError('aborted', 'The request to Stripe was aborted');
  const [kind, message] = classifyError(error);
  const text = secrets.reduce(
    (cleaned, secret) => cleaned.replaceAll(secret, '[secret]'),
    errorMessage(error),
  );
  const cause = new Error(text.replace(/\b(sk|rk|whsec)_\S+/g, '[secret]').slice(0, maxCauseLength));
  const delayMs = retryAfterMs(error);
  return new ProviderError(
    kind,
    message,
    delayMs === undefined ? { cause } : { cause, retryAfterMs: delayMs },
  );
}

/** Whether Stripe reports that the object doesn't exist. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeInvalidRequestError &&
  error.code === 'resource_missing' &&
  error.param !== 'expand';

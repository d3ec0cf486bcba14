// The contract between the service and a payment provider. The provider is the source of truth for payments,
// refunds and payouts: whatever an event claims, the service fetches the current state and trusts only that.
// Each provider implements it in a folder of its own, and nothing outside that folder depends on the
// provider's API. providers.ts names them all.
//
// Errors: every method that takes a signal rejects with `ProviderError` for anything the provider or the
// network did, and with `ProviderError('aborted')` once its signal is aborted. Providers may retry a request
// a few times within the signal; the service retries failed checks itself, with backoff.
//
// Money is in minor units (`amountMinor`, a bigint) of an ISO 4217 currency.
import type { ZodObject } from 'zod';
import type { TenantCtx } from '../../core/ctx.ts';
import type { Settings } from '../../core/settings.ts';
import type { Money } from '../../core/text/money.ts';

/** Why it failed. `code` is the provider's own or `unknown`; `message` is shown to users. */
export type Failure = { readonly code: string; readonly message: string };

export type CheckoutOrder = {
  /** Our id of the checkout: the idempotency key of `createCheckout`. */
  readonly checkoutId: string;
  /** Our id of the payment: every snapshot of it must carry it. */
  readonly paymentId: string;
  readonly amount: Money;
  readonly title: string;
  /** They add up to `amount`. A provider that allows fewer items may show a single one instead. */
  readonly items: readonly { readonly label: string; readonly amount: Money }[];
  /** Where the provider's page sends the payer afterwards. */
  readonly successUrl: string;
  readonly cancelUrl: string;
  /** The service expires the session itself at this time; the provider may keep it open a while longer. */
  readonly expiresAt: Date;
  /** This service's record of the payment, which the provider keeps if it can. Null: none. */
  readonly record: string | null;
};
/** The provider's page for one payment. `id` is the provider's, `url` is where the payer is sent. */
export type CheckoutSession = { readonly id: string; readonly url: string; readonly expiresAt: Date };

export const refundStates = ['PENDING', 'SUCCEEDED', 'FAILED', 'CANCELED'] as const;
export type RefundState = (typeof refundStates)[number];
export type RefundSnapshot = {
  readonly id: string;
  /** Our id if this service created the refund; null if the provider's dashboard or a bank did. */
  readonly refundId: string | null;
  readonly amount: Money;
  readonly state: RefundState;
  readonly failure: Failure | null;
};

/** The current state of one payment at the provider, from its checkout session on. */
export type PaymentSnapshot = {
  /** Our id of the payment. */
  readonly paymentId: string;
  readonly sessionId: string;
  /** The provider's id of the payment; null until the provider has created it. */
  readonly providerPaymentId: string | null;
  /** OPEN: may still be paid. PROCESSING: paid, but the bank may still refuse it. The others are final. */
  readonly state: 'OPEN' | 'PROCESSING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';
  /** The amount that was received before refunds; zero until it was. */
  readonly received: Money;
  /** All refunds, including those created in the provider's own dashboard. */
  readonly refunds: readonly RefundSnapshot[];
  /**
   * How it was paid: the provider's name of the method, such as `card`, and the last four characters of the
   * card or account number.
   */
  readonly method: { readonly type: string; readonly last4: string | null } | null;
  /** Why it failed or was canceled, or why the last attempt of an open one was declined. */
  readonly failure: Failure | null;
  /** The `record` of the order; null when there was none, or when the provider doesn't keep it. */
  readonly record: string | null;
};

export const payoutStates = ['PENDING', 'IN_TRANSIT', 'PAID', 'FAILED', 'CANCELED'] as const;
export type PayoutState = (typeof payoutStates)[number];
/**
 * A transfer from the provider to the organization's bank account. `entries` add up to `amount`: payments are
 * positive, refunds and fees negative. `other` is the rest, such as other programs' payments of the account.
 */
export type PayoutSnapshot = {
  readonly id: string;
  readonly state: PayoutState;
  readonly amount: Money;
  /** When the bank should have it: YYYY-MM-DD. */
  readonly arrivalDate: string;
  readonly createdAt: Date;
  readonly entries: readonly {
    readonly kind: 'payment' | 'refund' | 'fee' | 'other';
    /** Our id of the payment; null where the entry belongs to no payment of this service. */
    readonly paymentId: string | null;
    readonly providerRefundId: string | null;
    readonly amount: Money;
  }[];
  readonly failure: Failure | null;
};

/**
 * An object by the provider's own id. `session` and `payment` both identify a payment: providers use
 * whichever id they have at hand.
 */
export type ProviderObject = { readonly kind: 'session' | 'payment' | 'payout'; readonly id: string };

/**
 * A hint that an object changed. `concerns` is null for irrelevant events. `id` is the event's own and the
 * same for each delivery.
 */
export type ProviderEvent = {
  readonly id: string;
  readonly type: string;
  readonly concerns: ProviderObject | null;
};

export type ProviderRefundOrder = {
  /** Our id of the refund: the idempotency key of `createRefund`. */
  readonly refundId: string;
  readonly providerPaymentId: string;
  /** Positive, in the currency of the payment. */
  readonly amount: Money;
  readonly reason: string | null;
};

/** One organization's account at a provider. The errors of its methods: see the top of this file. */
export type PaymentProvider = {
  /**
   * Makes a request to verify the credentials. Rejects with `refused-credentials` when the provider refuses
   * them or a permission is missing.
   */
  checkCredentials(signal: AbortSignal): Promise<void>;
  /**
   * Creates the page on which the order is paid. Idempotent by `checkoutId`: repeated with the same order it
   * resolves to the same session. Rejects with `rejected` when the provider can't charge the order, such as
   * an amount out of its range, or when the checkout has a session with another order.
   */
  createCheckout(order: CheckoutOrder, signal: AbortSignal): Promise<CheckoutSession>;
  /**
   * Expires the session, so that it can no longer be paid, and resolves to the payment's state. A session
   * that is no longer open is left as it is: its snapshot shows whether it was paid. Rejects with `rejected`
   * for an unknown session.
   */
  expireCheckout(sessionId: string, signal: AbortSignal): Promise<PaymentSnapshot>;
  /** Null when the provider has no such payment, or when this service didn't create it for this account. */
  findPayment(
    ref: { readonly sessionId: string } | { readonly providerPaymentId: string },
    signal: AbortSignal,
  ): Promise<PaymentSnapshot | null>;
  /**
   * Refunds part or all of a payment. Idempotent by `refundId`, however much later it is repeated. Rejects
   * with `too-much-refunded` when less than the amount is left of the payment, and with `rejected` when the
   * payment can't be refunded.
   */
  createRefund(order: ProviderRefundOrder, signal: AbortSignal): Promise<RefundSnapshot>;
  /** Null when the provider has no such payout. */
  findPayout(id: string, signal: AbortSignal): Promise<PayoutSnapshot | null>;
  /**
   * Yields the sessions (or payments) and payouts that were created or changed since then, oldest change
   * first; the caller fetches each. May yield objects that didn't change, but must not miss one. The iterator
   * throws `ProviderError`.
   */
  listChangedSince(since: Date, signal: AbortSignal): AsyncIterable<ProviderObject>;
  /**
   * Parses a webhook request after verifying the signature over the raw body and that it is recent. Header
   * names are in lower case. Throws `ProviderError('bad-signature')`, or `ProviderError('malformed-answer')`
   * for a signed body that can't be parsed.
   */
  parseEvent(rawBody: Buffer, headers: Readonly<Record<string, string | undefined>>): ProviderEvent;
};

/** Shown to users and stored: don't rename. */
export type ProviderErrorKind =
  /** The credentials are invalid or lack a permission: nothing was done. */
  | 'refused-credentials'
  /** The provider refuses the request itself: nothing was done, and repeating it can't help. */
  | 'rejected'
  /** No response, a 5xx, a broken connection: whether something was done is unknown. */
  | 'unavailable'
  /** Too many requests: nothing was done. */
  | 'rate-limited'
  /** The response, or a signed event, can't be understood: whether something was done is unknown. */
  | 'malformed-answer'
  /** Only from `parseEvent`. */
  | 'bad-signature'
  /** The signal was aborted: whether something was done is unknown. */
  | 'aborted'
  /** Only from `createRefund`: nothing was done. */
  | 'too-much-refunded';

/** `message` is plain text for users and operators: no secrets, and no provider text that may quote one. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly kind: ProviderErrorKind;
  /** The minimum time before the next attempt, if the provider asked for one. */
  readonly retryAfterMs: number | null;
  constructor(
    kind: ProviderErrorKind,
    message: string,
    options: { readonly retryAfterMs?: number; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/**
 * An organization's account at a provider. `id` is ours and the last segment of its webhook's address,
 * `secrets` are the decrypted output of `ProviderKind.secrets`, `publicUrl` is the origin of this service.
 */
export type ProviderAccount = { readonly id: string; readonly secrets: unknown; readonly publicUrl: string };

/** Each provider's folder exports one of these. */
export type ProviderKind = {
  /**
   * The schema of `secrets` in PUT /pay/config: a strict object of texts of 1 to 500 characters, empty for a
   * provider without credentials. The last four characters of the first one are a shown hint if it has 16.
   */
  readonly secrets: ZodObject;
  /**
   * Null where this installation takes new payments at the provider; otherwise the reason, for the person who
   * sets up payments.
   */
  unavailableReason(settings: Settings): string | null;
  /**
   * Creates the provider for an account; may import its library. Makes no request. Throws a ZodError for
   * secrets of another shape.
   */
  create(ctx: TenantCtx, account: ProviderAccount): PaymentProvider | Promise<PaymentProvider>;
};

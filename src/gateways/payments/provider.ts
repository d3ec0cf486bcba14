// What a payment provider is to the service. It holds the truth about money taken and given back: whatever an event claims, the service
// asks for the present state and believes that alone. One file per provider answers these questions; nothing else knows its words.
import type { ZodType } from 'zod';
import type { TenantCtx } from '../../core/ctx.ts';
import type { Money } from '../../core/money.ts';
import type { Settings } from '../../core/settings.ts';

export const providerNames = ['sandbox', 'stripe'] as const;
export type ProviderName = (typeof providerNames)[number];

export type Failure = { readonly code: string; readonly message: string };

export type CheckoutOrder = {
  readonly checkoutId: string;
  readonly paymentId: string;
  readonly amount: Money;
  readonly title: string;
  /** They add up to `amount`. */
  readonly items: readonly { readonly label: string; readonly amount: Money }[];
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly expiresAt: Date;
};
export type CheckoutSession = { readonly id: string; readonly url: string; readonly expiresAt: Date };

export type RefundState = 'PENDING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';
export type RefundSnapshot = {
  readonly id: string;
  /** Ours, if we asked for it; null when it was made at the provider's own desk. */
  readonly refundId: string | null;
  readonly amount: Money;
  readonly state: RefundState;
  readonly failure: Failure | null;
};

/** What the provider says now of one payment: a checkout of ours, whatever became of it. */
export type PaymentSnapshot = {
  /** Ours. */
  readonly paymentId: string;
  readonly sessionId: string;
  readonly providerPaymentId: string | null;
  /** OPEN: may still be paid. The last three are final. */
  readonly state: 'OPEN' | 'PROCESSING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';
  readonly received: Money;
  /** All of them, also those made at the provider's own desk. */
  readonly refunds: readonly RefundSnapshot[];
  readonly method: { readonly type: string; readonly last4: string | null } | null;
  readonly failure: Failure | null;
};

export type PayoutState = 'PENDING' | 'IN_TRANSIT' | 'PAID' | 'FAILED' | 'CANCELED';
/** `entries` add up to `amount`: payments positive, refunds and fees negative; what is none of ours is 'other'. */
export type PayoutSnapshot = {
  readonly id: string;
  readonly state: PayoutState;
  readonly amount: Money;
  /** YYYY-MM-DD */
  readonly arrivalDate: string;
  readonly createdAt: Date;
  readonly entries: readonly {
    readonly kind: 'payment' | 'refund' | 'fee' | 'other';
    /** Ours; null where it concerns no payment of ours. */
    readonly paymentId: string | null;
    readonly providerRefundId: string | null;
    readonly amount: Money;
  }[];
  readonly failure: Failure | null;
};

/** An object by the provider's own id. `session` and `payment` are two names for one payment; whichever the provider has at hand. */
export type ProviderObject = { readonly kind: 'session' | 'payment' | 'payout'; readonly id: string };

/** A hint that an object changed; null for events that mean nothing here. `id` is the event's own, the same at each delivery. */
export type ProviderEvent = { readonly id: string; readonly type: string; readonly concerns: ProviderObject | null };

export type PaymentProvider = {
  readonly name: ProviderName;
  /** The credentials work. Throws ProviderError. */
  check(signal: AbortSignal): Promise<void>;
  /** Idempotent by `checkoutId`: asked again with the same order it answers the same session. */
  createCheckout(order: CheckoutOrder, signal: AbortSignal): Promise<CheckoutSession>;
  /** Ends the session, so that nobody can pay it any more; one that was paid or is being paid says so by its snapshot. */
  expireCheckout(sessionId: string, signal: AbortSignal): Promise<PaymentSnapshot>;
  /** Null when the provider knows no such payment, or it is none of ours. */
  payment(
    ref: { readonly sessionId: string } | { readonly providerPaymentId: string },
    signal: AbortSignal,
  ): Promise<PaymentSnapshot | null>;
  /** Idempotent by `refundId`. */
  refund(
    order: { readonly refundId: string; readonly providerPaymentId: string; readonly amount: Money; readonly reason: string | null },
    signal: AbortSignal,
  ): Promise<RefundSnapshot>;
  payout(id: string, signal: AbortSignal): Promise<PayoutSnapshot | null>;
  /** Sessions (or payments) and payouts that were made or changed since then, oldest first; the caller fetches each. May name too many. */
  changedSince(since: Date, signal: AbortSignal): AsyncIterable<ProviderObject>;
  /** Checks the signature over the raw body, and that it is recent by the clock. Throws ProviderError('bad-signature'). */
  readEvent(rawBody: Buffer, headers: Readonly<Record<string, string | undefined>>): ProviderEvent;
};

export type ProviderErrorKind =
  | 'refused-credentials'
  /** The provider refuses the question itself: nothing was done, and asking again can't help. */
  | 'rejected'
  /** No answer, a 5xx, a cut connection: whether something was done is unknown. */
  | 'unavailable'
  | 'rate-limited'
  | 'malformed-answer'
  | 'bad-signature'
  | 'aborted'
  | 'too-much-refunded';

/** `message` is plain text for operators, without secrets. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly kind: ProviderErrorKind;
  readonly retryAfterMs: number | null;
  constructor(kind: ProviderErrorKind, message: string, options: { readonly retryAfterMs?: number; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** An organization's account at a provider. `id` is also the end of its webhook's address. */
export type ProviderAccount = { readonly id: string; readonly secrets: unknown; readonly publicUrl: string };

/** One file per provider exports one of these; providers.ts lists them. */
export type ProviderKind = {
  readonly name: ProviderName;
  /** The write-only part of PUT /pay/config; `ProviderAccount.secrets` is what it gives. One that takes nothing is an empty object. */
  readonly secrets: ZodType;
  /** Null where checkouts may be made at it here; else why not, in words for whoever sets up payments. */
  refusedHere(settings: Settings): string | null;
  /** May load what stands behind it. Asks the provider nothing. */
  open(ctx: TenantCtx, account: ProviderAccount): PaymentProvider | Promise<PaymentProvider>;
};

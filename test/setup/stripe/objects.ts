// Stripe's API objects, as far as this service uses them: https://docs.stripe.com/api, version
// 2026-10-28.endive. Expandable fields contain ids.

export type Metadata = Record<string, string>;
type Base<Kind extends string> = {
  readonly id: string;
  readonly object: Kind;
  readonly created: number;
  readonly livemode: false;
};

export type Session = Base<'checkout.session'> & {
  readonly mode: 'payment';
  readonly amount_total: number;
  readonly currency: string;
  readonly client_reference_id: string | null;
  readonly metadata: Metadata;
  /** For the payment intent, which is created with the first payment attempt. */
  readonly intent_data: { readonly metadata: Metadata; readonly description: string | null };
  readonly line_items_count: number;
  readonly success_url: string;
  readonly cancel_url: string | null;
  readonly expires_at: number;
  url: string | null;
  status: 'open' | 'complete' | 'expired';
  payment_status: 'paid' | 'unpaid';
  payment_intent: string | null;
};

export type Intent = Base<'payment_intent'> & {
  readonly amount: number;
  readonly currency: string;
  readonly metadata: Metadata;
  amount_received: number;
  status: 'requires_payment_method' | 'requires_action' | 'processing' | 'succeeded' | 'canceled';
  latest_charge: string | null;
  last_payment_error: { code: string; decline_code?: string; message: string; type: 'card_error' } | null;
};

export type Charge = Base<'charge'> & {
  readonly amount: number;
  readonly currency: string;
  readonly metadata: Metadata;
  readonly payment_intent: string;
  readonly payment_method_details: { readonly type: string; readonly [method: string]: unknown };
  status: 'succeeded' | 'pending' | 'failed';
  amount_refunded: number;
};

export type Refund = Base<'refund'> & {
  readonly amount: number;
  readonly currency: string;
  readonly charge: string;
  readonly payment_intent: string;
  readonly metadata: Metadata;
  status: 'pending' | 'succeeded' | 'failed' | 'canceled';
  failure_reason?: string;
};

export type Transaction = Base<'balance_transaction'> & {
  readonly type: 'charge' | 'refund' | 'refund_failure' | 'payout' | 'stripe_fee' | 'adjustment';
  readonly amount: number;
  readonly fee: number;
  readonly net: number;
  readonly currency: string;
  readonly source: string | null;
  /** Not part of the response; only a filter of lists. */
  payout: string | null;
};

export type Payout = Base<'payout'> & {
  readonly amount: number;
  readonly currency: string;
  readonly arrival_date: number;
  readonly automatic: boolean;
  readonly metadata: Metadata;
  reconciliation_status: 'completed' | 'in_progress' | 'not_applicable';
  status: 'pending' | 'in_transit' | 'paid' | 'failed' | 'canceled';
  failure_code: string | null;
  failure_message: string | null;
};

export type StripeObject = Session | Intent | Charge | Refund | Transaction | Payout;

export type StripeEvent = {
  readonly id: string;
  readonly object: 'event';
  readonly type: string;
  readonly created: number;
  readonly api_version: string;
  readonly livemode: false;
  readonly pending_webhooks: number;
  readonly request: { readonly id: null; readonly idempotency_key: null };
  readonly data: { readonly object: Record<string, unknown> };
};

/**
 * An error response of Stripe. `stored`: whether the endpoint had started, so that the response is stored
 * under the idempotency key.
 */
export class StripeRefusal extends Error {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly stored: boolean;
  constructor(status: number, body: Record<string, unknown>, stored = false) {
    super(String(body['message']));
    this.status = status;
    this.body = body;
    this.stored = stored;
  }
}
export const invalid = (message: string, more: Record<string, unknown> = {}, stored = false): StripeRefusal =>
  new StripeRefusal(400, { type: 'invalid_request_error', message, ...more }, stored);
export const missing = (what: string, id: string): StripeRefusal =>
  new StripeRefusal(404, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    param: 'id',
    message: `No such ${what}: '${id}'`,
  });

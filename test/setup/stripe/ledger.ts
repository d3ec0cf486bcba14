// The state of a Stripe account and its changes. Every penny is recorded as a charge or a refund, and none is
// ever deleted. According to Stripe's documentation: a session creates its payment intent with the first
// payment attempt; a declined card leaves it open; a bank debit completes it while the intent is processing;
// a refund may fail after it succeeded; the metadata of an intent are copied to its charge; sessions last
// from half an hour to a day.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../src/core/clock.ts';
import {
  type Charge,
  type Intent,
  invalid,
  type Metadata,
  type Payout,
  type Refund,
  type Session,
  type StripeEvent,
  type StripeObject,
  type Transaction,
} from './objects.ts';

export const apiVersion = '2026-10-28.endive';
export type Outcome = 'succeeds' | 'declines' | 'processes';
export type NewSession = Pick<
  Session,
  'amount_total' | 'currency' | 'client_reference_id' | 'metadata' | 'intent_data'
> &
  Pick<Session, 'success_url' | 'cancel_url' | 'expires_at' | 'line_items_count'>;
export type NewRefund = {
  readonly payment_intent: string;
  readonly amount?: number;
  readonly metadata?: Metadata;
};

const halfAnHour = 30 * 60;
const day = 24 * 60 * 60;
const withThreeDigits = new Set(['bhd', 'jod', 'kwd', 'omr', 'tnd']);
const wholeAlone = new Set(['isk', 'ugx']);
const smallest = 30;

const card = { type: 'card', card: { brand: 'visa', last4: '4242' } };
const debit = { type: 'sepa_debit', sepa_debit: { last4: '3000' } };
const declined = {
  code: 'card_declined',
  decline_code: 'insufficient_funds',
  message: 'Your card has insufficient funds.',
};
const refused = { code: 'payment_intent_payment_attempt_failed', message: 'The bank refused the debit.' };

/** `pageUrl`: the URL of the payment pages; nothing listens there. */
export class Ledger {
  private readonly clock: Clock;
  private readonly pageUrl: string;
  private readonly open = new Set<Session>();
  readonly objects = new Map<string, StripeObject>();
  readonly events: StripeEvent[] = [];
  /** Whether new refunds are pending until `completeRefund`. */
  readonly refunds = { pend: false };
  constructor(clock: Clock, pageUrl: string) {
    this.clock = clock;
    this.pageUrl = pageUrl;
  }

  private seconds(): number {
    return Math.floor(this.clock.now().getTime() / 1_000);
  }
  private base<Kind extends string>(prefix: string, object: Kind) {
    return {
      id: `${prefix}_${randomBytes(9).toString('hex')}`,
      object,
      created: this.seconds(),
      livemode: false as const,
    };
  }
  private keep<T extends StripeObject>(made: T): T {
    this.objects.set(made.id, made);
    return made;
  }
  private tell(type: string, object: StripeObject): void {
    const base = this.base('evt', 'event');
    const request = { id: null, idempotency_key: null };
    const shown = structuredClone(object) as Record<string, unknown>;
    const version = { api_version: apiVersion, pending_webhooks: 1 };
    this.events.push({ ...base, type, ...version, request, data: { object: shown } });
  }
  all<T extends StripeObject>(kind: T['object']): T[] {
    return [...this.objects.values()].filter((object): object is T => object.object === kind);
  }
  get<T extends StripeObject>(kind: T['object'], id: string): T {
    const found = this.objects.get(id);
    if (found?.object !== kind) throw new Error(`the test asks for ${kind} ${id}, which isn't there`);
    return found as T;
  }
  transact(
    type: Transaction['type'],
    amount: number,
    fee: number,
    currency: string,
    source: string | null,
  ): Transaction {
    const base = this.base('txn', 'balance_transaction');
    return this.keep({ ...base, type, amount, fee, net: amount - fee, currency, source, payout: null });
  }

  /** Expires the sessions whose time is over. */
  expireOld(): void {
    for (const session of this.open) if (session.expires_at <= this.seconds()) this.end(session);
  }
  private end(session: Session): void {
    this.open.delete(session);
    session.status = 'expired';
    session.url = null;
    this.tell('checkout.session.expired', session);
  }

  createSession(given: NewSession): Session {
    const lasts = given.expires_at - this.seconds();
    if (lasts < halfAnHour)
      throw invalid(
        'The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation.',
        { param: 'expires_at' },
      );
    if (lasts > day)
      throw invalid('The `expires_at` timestamp must be less than 24 hours from Checkout Session creation.');
    const step = withThreeDigits.has(given.currency) ? 10 : wholeAlone.has(given.currency) ? 100 : 1;
    if (given.amount_total % step !== 0)
      throw invalid('Invalid amount.', { code: 'invalid_charge_amount_no_decimal_compatible' }, true);
    if (given.amount_total < smallest)
      throw invalid('The total amount is too small.', { code: 'amount_too_small' }, true);
    const made = this.base('cs_test', 'checkout.session');
    const state = {
      mode: 'payment',
      url: `${this.pageUrl}/c/pay/${made.id}`,
      status: 'open',
      payment_status: 'unpaid',
    } as const;
    const session: Session = this.keep({ ...made, ...given, ...state, payment_intent: null });
    this.open.add(session);
    return session;
  }

  expireSession(session: Session): Session {
    if (session.status !== 'open')
      throw invalid(`This Session is ${session.status}: only those that are open can be expired.`, {}, true);
    this.end(session);
    return session;
  }

  private ensureIntent(session: Session): Intent {
    if (session.payment_intent !== null) return this.get<Intent>('payment_intent', session.payment_intent);
    const { amount_total: amount, currency, intent_data } = session;
    const state = {
      amount_received: 0,
      status: 'requires_payment_method',
      latest_charge: null,
      last_payment_error: null,
    } as const;
    const intent: Intent = this.keep({
      ...this.base('pi', 'payment_intent'),
      amount,
      currency,
      metadata: intent_data.metadata,
      ...state,
    });
    session.payment_intent = intent.id;
    return intent;
  }

  private charge(
    intent: Intent,
    details: Charge['payment_method_details'],
    status: Charge['status'],
  ): Charge {
    const { amount, currency, metadata } = intent;
    const state = {
      amount,
      currency,
      metadata: { ...metadata },
      payment_intent: intent.id,
      payment_method_details: details,
    };
    const made: Charge = this.keep({ ...this.base('ch', 'charge'), ...state, status, amount_refunded: 0 });
    intent.latest_charge = made.id;
    return made;
  }

  private receive(session: Session, intent: Intent, taken: Charge): void {
    taken.status = 'succeeded';
    intent.status = 'succeeded';
    intent.amount_received = intent.amount;
    intent.last_payment_error = null;
    session.payment_status = 'paid';
    this.transact('charge', intent.amount, Math.round(intent.amount * 0.015) + 20, intent.currency, taken.id);
    this.tell('charge.succeeded', taken);
    this.tell('payment_intent.succeeded', intent);
  }

  /** A payment attempt on Stripe's page. False when the session is no longer open. */
  pay(sessionId: string, outcome: Outcome): boolean {
    this.expireOld();
    const session = this.get<Session>('checkout.session', sessionId);
    if (session.status !== 'open') return false;
    const intent = this.ensureIntent(session);
    if (outcome === 'declines') {
      this.charge(intent, card, 'failed');
      intent.last_payment_error = { ...declined, type: 'card_error' };
      this.tell('payment_intent.payment_failed', intent);
      return true;
    }
    this.open.delete(session);
    session.status = 'complete';
    session.url = null;
    intent.last_payment_error = null;
    if (outcome === 'processes') {
      this.charge(intent, debit, 'pending');
      intent.status = 'processing';
      this.tell('payment_intent.processing', intent);
    } else this.receive(session, intent, this.charge(intent, card, 'pending'));
    this.tell('checkout.session.completed', session);
    return true;
  }

  /** The bank's decision on a debit. False when none is in progress. */
  completeDebit(sessionId: string, outcome: 'succeeds' | 'fails'): boolean {
    const session = this.get<Session>('checkout.session', sessionId);
    const intent =
      session.payment_intent === null ? null : this.get<Intent>('payment_intent', session.payment_intent);
    if (intent?.status !== 'processing' || intent.latest_charge === null) return false;
    const waiting = this.get<Charge>('charge', intent.latest_charge);
    if (outcome === 'succeeds') {
      this.receive(session, intent, waiting);
      this.tell('checkout.session.async_payment_succeeded', session);
    } else {
      waiting.status = 'failed';
      intent.status = 'requires_payment_method';
      intent.last_payment_error = { ...refused, type: 'card_error' };
      this.tell('payment_intent.payment_failed', intent);
      this.tell('checkout.session.async_payment_failed', session);
    }
    return true;
  }

  /**
   * A refund through the API or in Stripe's dashboard. Throws StripeRefusal when it is more than what remains
   * of the charge.
   */
  refund({ payment_intent, amount, metadata = {} }: NewRefund): Refund {
    const found = this.objects.get(payment_intent);
    const taken =
      found?.object === 'payment_intent' && found.latest_charge !== null
        ? this.get<Charge>('charge', found.latest_charge)
        : null;
    if (taken?.status !== 'succeeded') throw invalid('Nothing to refund.', {}, true);
    const left = taken.amount - taken.amount_refunded;
    const charged = { code: 'charge_already_refunded' };
    if (left === 0) throw invalid(`Charge ${taken.id} has already been refunded.`, charged, true);
    const asked = amount ?? left;
    if (asked > left)
      throw invalid(
        `Refund amount (${asked}) is greater than unrefunded amount on charge (${left})`,
        { param: 'amount' },
        true,
      );
    taken.amount_refunded += asked;
    const of = { amount: asked, currency: taken.currency, charge: taken.id, payment_intent, metadata };
    const made: Refund = this.keep({
      ...this.base('re', 'refund'),
      ...of,
      status: this.refunds.pend ? 'pending' : 'succeeded',
    });
    this.transact('refund', -asked, 0, taken.currency, made.id);
    this.tell('refund.created', made);
    this.tell('charge.refunded', taken);
    return made;
  }

  /** The bank's decision on a refund; a succeeded one may still fail later. False when nothing changes. */
  completeRefund(id: string, status: 'succeeded' | 'failed'): boolean {
    const refund = this.get<Refund>('refund', id);
    if (refund.status === status || refund.status === 'failed') return false;
    refund.status = status;
    if (status === 'failed') {
      refund.failure_reason = 'expired_or_canceled_card';
      this.get<Charge>('charge', refund.charge).amount_refunded -= refund.amount;
      this.transact('refund_failure', refund.amount, 0, refund.currency, refund.id);
      this.tell('refund.failed', refund);
    }
    this.tell('refund.updated', refund);
    return true;
  }

  /** Pays the balance in that currency out to the bank. Null when there is none. */
  payOut(currency: string, automatic = true): Payout | null {
    const settled = this.all<Transaction>('balance_transaction').filter(
      (one) => one.payout === null && one.currency === currency,
    );
    const amount = settled.reduce((sum, { net }) => sum + net, 0);
    if (amount <= 0) return null;
    const state = {
      automatic,
      metadata: {},
      status: 'pending',
      failure_code: null,
      failure_message: null,
    } as const;
    const reconciliation_status = automatic ? 'completed' : 'not_applicable';
    const arrival_date = this.seconds() + 2 * day;
    const made: Payout = this.keep({
      ...this.base('po', 'payout'),
      amount,
      currency,
      arrival_date,
      reconciliation_status,
      ...state,
    });
    for (const one of [...settled, this.transact('payout', -amount, 0, currency, made.id)])
      one.payout = made.id;
    this.tell('payout.created', made);
    return made;
  }

  movePayout(id: string, status: Payout['status']): void {
    const payout = this.get<Payout>('payout', id);
    payout.status = status;
    if (status === 'failed') {
      payout.failure_code = 'account_closed';
      payout.failure_message = 'The bank account has been closed.';
    }
    this.tell(
      status === 'in_transit' || status === 'pending' ? 'payout.updated' : `payout.${status}`,
      payout,
    );
  }

  /** Per payment of the service: amount received, number of charges, amount refunded. In Stripe's units. */
  books(): Map<string, { received: number; charges: number; refunded: number }> {
    const found = new Map<string, { received: number; charges: number; refunded: number }>();
    for (const session of this.all<Session>('checkout.session')) {
      const line = found.get(session.client_reference_id ?? '') ?? { received: 0, charges: 0, refunded: 0 };
      const mine = (one: { payment_intent: string }): boolean =>
        one.payment_intent === session.payment_intent;
      const taken = this.all<Charge>('charge').filter((one) => mine(one) && one.status === 'succeeded');
      const given = this.all<Refund>('refund').filter((one) => mine(one) && one.status === 'succeeded');
      found.set(session.client_reference_id ?? '', {
        received: line.received + taken.reduce((sum, { amount }) => sum + amount, 0),
        charges: line.charges + taken.length,
        refunded: line.refunded + given.reduce((sum, { amount }) => sum + amount, 0),
      });
    }
    return found;
  }
}

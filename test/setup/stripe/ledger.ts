// What an account at Stripe holds, and what happens in it. Its books never lie: each penny is a charge or a refund that is kept for
// ever. Taken from Stripe's documentation: a session makes its payment intent when somebody first pays; a declined card leaves it open;
// a bank debit completes it while the intent is processing; a refund may fail after it succeeded; metadata of an intent are copied to its
// charge; sessions last from half an hour to a day.
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
  StripeRefusal,
  type Transaction,
} from './objects.ts';

export const apiVersion = '2026-10-28.endive';
export type Outcome = 'succeeds' | 'declines' | 'processes';
export type NewSession = Pick<Session, 'amount_total' | 'currency' | 'client_reference_id' | 'metadata' | 'intent_data'> &
  Pick<Session, 'success_url' | 'cancel_url' | 'expires_at' | 'line_items_count'>;
export type NewRefund = { readonly payment_intent: string; readonly amount?: number; readonly metadata?: Metadata };

export type Ledger = ReturnType<typeof openLedger>;

const halfAnHour = 30 * 60;
const day = 24 * 60 * 60;
const withThreeDigits = new Set(['bhd', 'jod', 'kwd', 'omr', 'tnd']);
const wholeAlone = new Set(['isk', 'ugx']);
const smallest = 30;

/** `pageUrl`: where payers are sent; nobody listens there. */
export function openLedger(clock: Clock, pageUrl: string) {
  const objects = new Map<string, StripeObject>();
  const events: StripeEvent[] = [];
  /** Whether new refunds wait for the bank. */
  const refunds = { pend: false };
  const seconds = (): number => Math.floor(clock.now().getTime() / 1_000);
  const base = <Kind extends string>(prefix: string, object: Kind) => ({
    id: `${prefix}_${randomBytes(9).toString('hex')}`,
    object,
    created: seconds(),
    livemode: false as const,
  });
  const keep = <T extends StripeObject>(made: T): T => {
    objects.set(made.id, made);
    return made;
  };
  const tell = (type: string, object: StripeObject): void => {
    const { id, created } = base('evt', 'event');
    const request = { id: null, idempotency_key: null };
    const shown = structuredClone(object) as Record<string, unknown>;
    const head = { id, object: 'event' as const, type, created, api_version: apiVersion, livemode: false as const };
    events.push({ ...head, pending_webhooks: 1, request, data: { object: shown } });
  };
  const all = <T extends StripeObject>(kind: T['object']): T[] =>
    [...objects.values()].filter((object): object is T => object.object === kind);
  const get = <T extends StripeObject>(kind: T['object'], id: string): T => {
    const found = objects.get(id);
    if (found?.object !== kind) throw new Error(`the test asks for ${kind} ${id}, which isn't there`);
    return found as T;
  };
  const transact = (type: Transaction['type'], amount: number, fee: number, currency: string, source: string | null): Transaction =>
    keep({ ...base('txn', 'balance_transaction'), type, amount, fee, net: amount - fee, currency, source, payout: null });

  /** Sessions end by themselves. */
  const expireOld = (): void => {
    for (const session of all<Session>('checkout.session')) if (session.status === 'open' && session.expires_at <= seconds()) end(session);
  };
  const end = (session: Session): void => {
    session.status = 'expired';
    session.url = null;
    tell('checkout.session.expired', session);
  };

  function createSession(given: NewSession): Session {
    const lasts = given.expires_at - seconds();
    if (lasts < halfAnHour)
      throw invalid('The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation.', { param: 'expires_at' });
    if (lasts > day) throw invalid('The `expires_at` timestamp must be less than 24 hours from Checkout Session creation.');
    const step = withThreeDigits.has(given.currency) ? 10 : wholeAlone.has(given.currency) ? 100 : 1;
    if (given.amount_total % step !== 0) throw invalid('Invalid amount.', { code: 'invalid_charge_amount_no_decimal_compatible' }, true);
    if (given.amount_total < smallest) throw invalid('The total amount is too small.', { code: 'amount_too_small' }, true);
    const made = base('cs_test', 'checkout.session');
    const state = { mode: 'payment', url: `${pageUrl}/c/pay/${made.id}`, status: 'open', payment_status: 'unpaid' } as const;
    return keep({ ...made, ...given, ...state, payment_intent: null });
  }

  function expireSession(session: Session): Session {
    if (session.status !== 'open') throw invalid(`This Session is ${session.status}: only those that are open can be expired.`, {}, true);
    end(session);
    return session;
  }

  function intentOf(session: Session): Intent {
    if (session.payment_intent !== null) return get<Intent>('payment_intent', session.payment_intent);
    const { amount_total: amount, currency, intent_data } = session;
    const state = { amount_received: 0, status: 'requires_payment_method', latest_charge: null, last_payment_error: null } as const;
    const intent: Intent = keep({ ...base('pi', 'payment_intent'), amount, currency, metadata: intent_data.metadata, ...state });
    session.payment_intent = intent.id;
    return intent;
  }

  function charge(intent: Intent, details: Charge['payment_method_details'], status: Charge['status']): Charge {
    const { amount, currency, metadata } = intent;
    const state = { amount, currency, metadata: { ...metadata }, payment_intent: intent.id, payment_method_details: details };
    const made: Charge = keep({ ...base('ch', 'charge'), ...state, status, amount_refunded: 0 });
    intent.latest_charge = made.id;
    return made;
  }

  function receive(session: Session, intent: Intent, taken: Charge): void {
    taken.status = 'succeeded';
    intent.status = 'succeeded';
    intent.amount_received = intent.amount;
    intent.last_payment_error = null;
    session.payment_status = 'paid';
    transact('charge', intent.amount, Math.round(intent.amount * 0.015) + 20, intent.currency, taken.id);
    tell('charge.succeeded', taken);
    tell('payment_intent.succeeded', intent);
  }

  const card = { type: 'card', card: { brand: 'visa', last4: '4242' } };
  const debit = { type: 'sepa_debit', sepa_debit: { last4: '3000' } };
  const declined = { code: 'card_declined', decline_code: 'insufficient_funds', message: 'Your card has insufficient funds.' };
  const refused = { code: 'payment_intent_payment_attempt_failed', message: 'The bank refused the debit.' };

  /** What a payer does on Stripe's page. False when the page no longer takes it. */
  function pay(sessionId: string, outcome: Outcome): boolean {
    expireOld();
    const session = get<Session>('checkout.session', sessionId);
    if (session.status !== 'open') return false;
    const intent = intentOf(session);
    if (outcome === 'declines') {
      charge(intent, card, 'failed');
      intent.last_payment_error = { ...declined, type: 'card_error' };
      tell('payment_intent.payment_failed', intent);
      return true;
    }
    session.status = 'complete';
    session.url = null;
    intent.last_payment_error = null;
    if (outcome === 'processes') {
      charge(intent, debit, 'pending');
      intent.status = 'processing';
      tell('payment_intent.processing', intent);
    } else receive(session, intent, charge(intent, card, 'pending'));
    tell('checkout.session.completed', session);
    return true;
  }

  /** The bank's answer to a debit. False when none is under way. */
  function settle(sessionId: string, outcome: 'succeeds' | 'fails'): boolean {
    const session = get<Session>('checkout.session', sessionId);
    const intent = session.payment_intent === null ? null : get<Intent>('payment_intent', session.payment_intent);
    if (intent?.status !== 'processing' || intent.latest_charge === null) return false;
    const waiting = get<Charge>('charge', intent.latest_charge);
    if (outcome === 'succeeds') {
      receive(session, intent, waiting);
      tell('checkout.session.async_payment_succeeded', session);
    } else {
      waiting.status = 'failed';
      intent.status = 'requires_payment_method';
      intent.last_payment_error = { ...refused, type: 'card_error' };
      tell('payment_intent.payment_failed', intent);
      tell('checkout.session.async_payment_failed', session);
    }
    return true;
  }

  /** Also what somebody does at Stripe's own desk. Throws StripeRefusal for more than is left. */
  function refund({ payment_intent, amount, metadata = {} }: NewRefund): Refund {
    const found = objects.get(payment_intent);
    const taken = found?.object === 'payment_intent' && found.latest_charge !== null ? get<Charge>('charge', found.latest_charge) : null;
    if (taken?.status !== 'succeeded') throw new StripeRefusal(400, { type: 'invalid_request_error', message: 'Nothing to refund.' }, true);
    const left = taken.amount - taken.amount_refunded;
    if (left === 0) throw invalid(`Charge ${taken.id} has already been refunded.`, { code: 'charge_already_refunded' }, true);
    const asked = amount ?? left;
    if (asked > left)
      throw invalid(`Refund amount (${asked}) is greater than unrefunded amount on charge (${left})`, { param: 'amount' }, true);
    taken.amount_refunded += asked;
    const of = { amount: asked, currency: taken.currency, charge: taken.id, payment_intent, metadata };
    const made: Refund = keep({ ...base('re', 'refund'), ...of, status: refunds.pend ? 'pending' : 'succeeded' });
    transact('refund', -asked, 0, taken.currency, made.id);
    tell('refund.created', made);
    tell('charge.refunded', taken);
    return made;
  }

  /** The bank's answer to a refund; one that succeeded may still come back. False when nothing changes. */
  function settleRefund(id: string, status: 'succeeded' | 'failed'): boolean {
    const refund = get<Refund>('refund', id);
    if (refund.status === status || refund.status === 'failed') return false;
    refund.status = status;
    if (status === 'failed') {
      refund.failure_reason = 'expired_or_canceled_card';
      get<Charge>('charge', refund.charge).amount_refunded -= refund.amount;
      transact('refund_failure', refund.amount, 0, refund.currency, refund.id);
      tell('refund.failed', refund);
    }
    tell('refund.updated', refund);
    return true;
  }

  /** Sends what the balance holds in that currency to the bank. Null when that is nothing. */
  function payOut(currency: string, automatic = true): Payout | null {
    const settled = all<Transaction>('balance_transaction').filter((one) => one.payout === null && one.currency === currency);
    const amount = settled.reduce((sum, { net }) => sum + net, 0);
    if (amount <= 0) return null;
    const state = { automatic, metadata: {}, status: 'pending', failure_code: null, failure_message: null } as const;
    const reconciliation_status = automatic ? 'completed' : 'not_applicable';
    const arrival_date = seconds() + 2 * day;
    const made: Payout = keep({ ...base('po', 'payout'), amount, currency, arrival_date, reconciliation_status, ...state });
    for (const one of [...settled, transact('payout', -amount, 0, currency, made.id)]) one.payout = made.id;
    tell('payout.created', made);
    return made;
  }

  function movePayout(id: string, status: Payout['status']): void {
    const payout = get<Payout>('payout', id);
    payout.status = status;
    if (status === 'failed') {
      payout.failure_code = 'account_closed';
      payout.failure_message = 'The bank account has been closed.';
    }
    tell(status === 'in_transit' || status === 'pending' ? 'payout.updated' : `payout.${status}`, payout);
  }

  /** Per payment of ours: what was taken, how often, and what was given back for good. In Stripe's units. */
  function books(): Map<string, { received: number; charges: number; refunded: number }> {
    const found = new Map<string, { received: number; charges: number; refunded: number }>();
    for (const session of all<Session>('checkout.session')) {
      const line = found.get(session.client_reference_id ?? '') ?? { received: 0, charges: 0, refunded: 0 };
      const mine = (one: { payment_intent: string }): boolean => one.payment_intent === session.payment_intent;
      const taken = all<Charge>('charge').filter((one) => mine(one) && one.status === 'succeeded');
      const given = all<Refund>('refund').filter((one) => mine(one) && one.status === 'succeeded');
      found.set(session.client_reference_id ?? '', {
        received: line.received + taken.reduce((sum, { amount }) => sum + amount, 0),
        charges: line.charges + taken.length,
        refunded: line.refunded + given.reduce((sum, { amount }) => sum + amount, 0),
      });
    }
    return found;
  }

  const acts = { createSession, expireSession, pay, settle, refund, settleRefund, payOut, movePayout, books, transact };
  return { objects, events, refunds, all, get, expireOld, ...acts };
}

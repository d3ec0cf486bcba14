// One organization's account at Stripe. Each question fetches the present state; nothing is remembered in between.
import type Stripe from 'stripe';
import type { Clock } from '../../../core/clock.ts';
import type { Ctx } from '../../../core/ctx.ts';
import { type CheckoutOrder, type PaymentProvider, type PaymentSnapshot, ProviderError, type ProviderObject } from '../provider.ts';
import { toStripeAmount } from './amounts.ts';
import { type AskStripe, openClient } from './client.ts';
import { isMissing } from './errors.ts';
import { eventTypes, ourObjectOf, readStripeEvent } from './events.ts';
import { payoutSnapshot } from './payouts.ts';
import { marks, ourPaymentId, paymentSnapshot, refundSnapshot } from './snapshots.ts';
import type { StripeSecrets } from './stripe.ts';

type Account = { readonly id: string; readonly ask: AskStripe };
type Session = Stripe.Checkout.Session;

const whole = ['payment_intent.latest_charge'];
/** Stripe's own bounds. */
const mostItems = 100;
const longestName = 250;
const longestMark = 500;
/** Stripe ends no session sooner than half an hour after it was made. */
const graceMs = 30 * 60_000;
/** Stripe keeps events for thirty days. */
const eventsKeptMs = 29 * 86_400_000;
const pageSize = 100;

export function openStripe(ctx: Pick<Ctx, 'clock' | 'settings'>, accountId: string, secrets: StripeSecrets): PaymentProvider {
  const account: Account = { id: accountId, ask: openClient(ctx.settings.stripe, secrets) };
  return {
    name: 'stripe',
    check: (signal) => check(account, signal),
    createCheckout: (order, signal) => createCheckout(account, order, signal),
    expireCheckout: (sessionId, signal) => expireCheckout(account, sessionId, signal),
    payment: (ref, signal) => findPayment(account, ref, signal),
    refund: (order, signal) => refund(account, order, signal),
    payout: (id, signal) => findPayout(account, id, signal),
    changedSince: (since, signal) => changedSince(account, ctx.clock, since, signal),
    readEvent: (rawBody, headers) =>
      readStripeEvent(rawBody, headers['stripe-signature'], {
        accountId,
        webhookSecret: secrets.webhookSecret,
        nowMs: ctx.clock.now().getTime(),
      }),
  };
}

/** Asks once for each kind of object that is read later, so that a restricted key which lacks one says so now. */
async function check({ ask }: Account, signal: AbortSignal): Promise<void> {
  const one = { limit: 1 };
  await ask(signal, async (stripe) => {
    await stripe.checkout.sessions.list(one);
    await Promise.all([
      stripe.paymentIntents.list(one),
      stripe.refunds.list(one),
      stripe.payouts.list(one),
      stripe.balanceTransactions.list(one),
      stripe.events.list(one),
    ]);
  });
}

/**
 * The session that Stripe holds ends half an hour after the order does, because Stripe allows no shorter one and the same order must
 * always be the same request. The service ends it in time itself.
 */
async function createCheckout({ id, ask }: Account, order: CheckoutOrder, signal: AbortSignal) {
  const metadata = { [marks.account]: id, [marks.payment]: order.paymentId, [marks.checkout]: order.checkoutId };
  const params: Stripe.Checkout.SessionCreateParams = {
    mode: 'payment',
    client_reference_id: order.paymentId,
    line_items: lineItems(order),
    success_url: order.successUrl,
    cancel_url: order.cancelUrl,
    expires_at: Math.ceil((order.expiresAt.getTime() + graceMs) / 1_000),
    metadata,
    // Copied by Stripe to the charge, and so found in payouts.
    payment_intent_data: { metadata, description: order.title.slice(0, longestName) },
    // What is due is due in its own currency, to the last digit.
    adaptive_pricing: { enabled: false },
  };
  const session = await ask(signal, (stripe) =>
    stripe.checkout.sessions.create(params, { idempotencyKey: `checkout-${order.checkoutId}` }),
  );
  if (!session.id || !session.url) throw new ProviderError('malformed-answer', 'Stripe told no address of the payment page');
  return { id: session.id, url: session.url, expiresAt: order.expiresAt };
}

function lineItems({ items, amount, title }: CheckoutOrder): Stripe.Checkout.SessionCreateParams.LineItem[] {
  const shown = items.length > mostItems ? [{ label: title, amount }] : items;
  return shown.map(({ label, amount: price }) => ({
    quantity: 1,
    price_data: {
      currency: price.currency.toLowerCase(),
      unit_amount: toStripeAmount(price),
      product_data: { name: label.slice(0, longestName) },
    },
  }));
}

async function expireCheckout(account: Account, sessionId: string, signal: AbortSignal): Promise<PaymentSnapshot> {
  try {
    await account.ask(signal, (stripe) => stripe.checkout.sessions.expire(sessionId));
  } catch (error) {
    // It is open no more: what became of it is told below.
    if (!(error instanceof ProviderError && error.kind === 'rejected')) throw error;
  }
  const snapshot = await findPayment(account, { sessionId }, signal);
  if (snapshot === null) throw new ProviderError('rejected', 'Stripe knows no such session of this service');
  return snapshot;
}

async function findPayment(
  { id, ask }: Account,
  ref: { readonly sessionId: string } | { readonly providerPaymentId: string },
  signal: AbortSignal,
): Promise<PaymentSnapshot | null> {
  return ask(signal, async (stripe) => {
    const session = await ('sessionId' in ref ? sessionById(stripe, ref.sessionId) : sessionOfIntent(stripe, ref.providerPaymentId));
    if (session === null || ourPaymentId(session, id) === null) return null;
    const intent = session.payment_intent;
    const received = typeof intent === 'object' && intent !== null && intent.amount_received > 0;
    return paymentSnapshot(session, received ? await refundsOf(stripe, intent.id) : [], id);
  });
}

async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

const sessionById = (stripe: Stripe, id: string): Promise<Session | null> =>
  orNull(stripe.checkout.sessions.retrieve(id, { expand: whole }));

async function sessionOfIntent(stripe: Stripe, intentId: string): Promise<Session | null> {
  const expand = whole.map((path) => `data.${path}`);
  const found = await orNull(stripe.checkout.sessions.list({ payment_intent: intentId, limit: 1, expand }));
  return found?.data[0] ?? null;
}

const refundsOf = (stripe: Stripe, intentId: string): Promise<Stripe.Refund[]> =>
  all(stripe.refunds.list({ payment_intent: intentId, limit: pageSize }));

/** Over all pages. */
async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

/** Stripe may forget a key of idempotency after a day, so the refund is looked for first: asked again a week later it isn't made twice. */
async function refund({ id, ask }: Account, order: Parameters<PaymentProvider['refund']>[0], signal: AbortSignal) {
  const { refundId, providerPaymentId, amount, reason } = order;
  const params: Stripe.RefundCreateParams = {
    payment_intent: providerPaymentId,
    amount: toStripeAmount(amount),
    metadata: { [marks.account]: id, [marks.refund]: refundId, ...(reason && { reason: reason.slice(0, longestMark) }) },
  };
  const made = await ask(signal, async (stripe) => {
    const before = (await refundsOf(stripe, providerPaymentId)).find(({ metadata }) => metadata?.[marks.refund] === refundId);
    return before ?? stripe.refunds.create(params, { idempotencyKey: `refund-${refundId}` });
  });
  return refundSnapshot(made, id);
}

async function findPayout({ id, ask }: Account, payoutId: string, signal: AbortSignal) {
  return ask(signal, async (stripe) => {
    const payout = await orNull(stripe.payouts.retrieve(payoutId));
    if (payout === null) return null;
    // Of a payout by hand Stripe doesn't say what it is made of, and of a scheduled one only when it has settled that.
    const told = payout.automatic && payout.reconciliation_status === 'completed';
    const transactions = told
      ? await all(stripe.balanceTransactions.list({ payout: payoutId, limit: pageSize, expand: ['data.source'] }))
      : [];
    const seen = new Map<string, string | null>();
    return payoutSnapshot(payout, transactions, id, async (intentId) => {
      const known = seen.get(intentId);
      if (known !== undefined) return known;
      const intent = await orNull(stripe.paymentIntents.retrieve(intentId));
      const paymentId = intent === null ? null : ourPaymentId(intent, id);
      seen.set(intentId, paymentId);
      return paymentId;
    });
  });
}

/** By Stripe's events, newest first as it lists them, turned round; what is older than these is found by when it was made. */
async function* changedSince({ id, ask }: Account, clock: Clock, since: Date, signal: AbortSignal): AsyncGenerator<ProviderObject> {
  const created = { gte: Math.floor(since.getTime() / 1_000) };
  const found = await ask(signal, async (stripe) => {
    const objects = new Map<string, ProviderObject>();
    const add = (given: unknown): void => {
      const object = ourObjectOf(given as Parameters<typeof ourObjectOf>[0], id);
      if (object !== null && !objects.has(object.id)) objects.set(object.id, object);
    };
    for await (const event of stripe.events.list({ created, types: [...eventTypes], limit: pageSize })) add(event.data.object);
    if (clock.now().getTime() - since.getTime() < eventsKeptMs) return objects;
    for await (const payout of stripe.payouts.list({ created, limit: pageSize })) add(payout);
    for await (const refunded of stripe.refunds.list({ created, limit: pageSize })) add(refunded);
    for await (const session of stripe.checkout.sessions.list({ created, limit: pageSize })) add(session);
    return objects;
  });
  yield* [...found.values()].reverse();
}

// One organization's account at Stripe. Every call fetches the current state; nothing is cached.
import type Stripe from 'stripe';
import type { Clock } from '../../../core/clock.ts';
import type { Ctx } from '../../../core/ctx.ts';
import {
  type CheckoutOrder,
  type PaymentProvider,
  type PaymentSnapshot,
  ProviderError,
  type ProviderObject,
} from '../provider.ts';
import { toStripeAmount } from './amounts.ts';
import { type CallStripe, createStripeClient } from './client.ts';
import { isMissing } from './errors.ts';
import { eventTypes, findOurObject, parseStripeEvent } from './events.ts';
import { payoutSnapshot } from './payouts.ts';
import type { StripeSecrets } from './secrets.ts';
import { metadataKeys, ourPaymentId, paymentSnapshot, recordMetadata, refundSnapshot } from './snapshots.ts';

type Account = { readonly id: string; readonly call: CallStripe };
type Session = Stripe.Checkout.Session;

const expandLatestCharge = ['payment_intent.latest_charge'];
/** Stripe's own limits. */
const maxLineItems = 100;
const maxNameLength = 250;
const maxMetadataLength = 500;
/** Stripe's sessions last at least half an hour. */
const graceMs = 30 * 60_000;
/** Stripe keeps events for thirty days; one day is a safety margin. */
const eventsKeptMs = 29 * 86_400_000;
/** No event reports an unpaid session: sessions are listed too when the last check is this long ago. */
const sessionsListedAfterMs = 3_600_000;
const pageSize = 100;

/** Makes no request. Its methods reject with ProviderError only. */
export function createStripeProvider(
  ctx: Pick<Ctx, 'clock' | 'settings'>,
  accountId: string,
  secrets: StripeSecrets,
): PaymentProvider {
  const account: Account = { id: accountId, call: createStripeClient(ctx.settings.stripe, secrets) };
  return {
    checkCredentials: (signal) => checkCredentials(account, signal),
    createCheckout: (order, signal) => createCheckout(account, order, signal),
    expireCheckout: (sessionId, signal) => expireCheckout(account, sessionId, signal),
    findPayment: (ref, signal) => findPayment(account, ref, signal),
    createRefund: (order, signal) => createRefund(account, order, signal),
    findPayout: (id, signal) => findPayout(account, id, signal),
    listChangedSince: (since, signal) => listChangedSince(account, ctx.clock, since, signal),
    parseEvent: (rawBody, headers) =>
      parseStripeEvent(rawBody, headers['stripe-signature'], {
        accountId,
        webhookSecret: secrets.webhookSecret,
        nowMs: ctx.clock.now().getTime(),
      }),
  };
}

/** Lists each kind of object that is read later, so that a permission that the key lacks shows at once. */
async function checkCredentials({ call }: Account, signal: AbortSignal): Promise<void> {
  const one = { limit: 1 };
  await call(signal, async (stripe) => {
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
 * Stripe's session expires half an hour after the order does: Stripe allows no shorter session, and the same
 * order must always be the same request. The service expires the session itself when the order does.
 */
async function createCheckout({ id, call }: Account, order: CheckoutOrder, signal: AbortSignal) {
  const metadata = {
    [metadataKeys.account]: id,
    [metadataKeys.payment]: order.paymentId,
    [metadataKeys.checkout]: order.checkoutId,
  };
  const params: Stripe.Checkout.SessionCreateParams = {
    mode: 'payment',
    client_reference_id: order.paymentId,
    line_items: lineItems(order),
    success_url: order.successUrl,
    cancel_url: order.cancelUrl,
    expires_at: Math.ceil((order.expiresAt.getTime() + graceMs) / 1_000),
    metadata: { ...metadata, ...recordMetadata(order.record) },
    // Stripe copies the metadata to the charge, where payouts find it.
    payment_intent_data: { metadata, description: order.title.slice(0, maxNameLength) },
    // The amount due must be paid exactly, in its own currency.
    adaptive_pricing: { enabled: false },
  };
  const session = await call(signal, (stripe) =>
    stripe.checkout.sessions.create(params, { idempotencyKey: `checkout-${order.checkoutId}` }),
  );
  if (!session.id || !session.url)
    throw new ProviderError('malformed-answer', 'Stripe returned no address of the payment page');
  return { id: session.id, url: session.url, expiresAt: order.expiresAt };
}

function lineItems({ items, amount, title }: CheckoutOrder): Stripe.Checkout.SessionCreateParams.LineItem[] {
  const shown = items.length > maxLineItems ? [{ label: title, amount }] : items;
  return shown.map(({ label, amount: price }) => ({
    quantity: 1,
    price_data: {
      currency: price.currency.toLowerCase(),
      unit_amount: toStripeAmount(price),
      product_data: { name: label.slice(0, maxNameLength) },
    },
  }));
}

async function expireCheckout(account: Account, sessionId: string, signal: AbortSignal) {
  try {
    await account.call(signal, (stripe) => stripe.checkout.sessions.expire(sessionId));
  } catch (error) {
    // The session is no longer open: the snapshot below shows its state.
    if (!(error instanceof ProviderError && error.kind === 'rejected')) throw error;
  }
  const snapshot = await findPayment(account, { sessionId }, signal);
  if (snapshot === null) throw new ProviderError('rejected', 'Stripe has no such session of this service');
  return snapshot;
}

async function findPayment(
  { id, call }: Account,
  ref: { readonly sessionId: string } | { readonly providerPaymentId: string },
  signal: AbortSignal,
): Promise<PaymentSnapshot | null> {
  return call(signal, async (stripe) => {
    const session = await ('sessionId' in ref
      ? sessionById(stripe, ref.sessionId)
      : sessionOfIntent(stripe, ref.providerPaymentId));
    if (session === null || ourPaymentId(session, id) === null) return null;
    const intent = session.payment_intent;
    const received = typeof intent === 'object' && intent !== null && intent.amount_received > 0;
    return paymentSnapshot(session, received ? await listIntentRefunds(stripe, intent.id) : [], id);
  });
}

async function orNull<T>(request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

const sessionById = (stripe: Stripe, id: string): Promise<Session | null> =>
  orNull(stripe.checkout.sessions.retrieve(id, { expand: expandLatestCharge }));

async function sessionOfIntent(stripe: Stripe, intentId: string): Promise<Session | null> {
  const expand = expandLatestCharge.map((path) => `data.${path}`);
  const found = await orNull(stripe.checkout.sessions.list({ payment_intent: intentId, limit: 1, expand }));
  return found?.data[0] ?? null;
}

const listIntentRefunds = (stripe: Stripe, intentId: string): Promise<Stripe.Refund[]> =>
  collect(stripe.refunds.list({ payment_intent: intentId, limit: pageSize }));

/** The items of all pages. */
async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

/**
 * Stripe may drop an idempotency key after a day, so it looks for an existing refund first: repeated a week
 * later it creates no second one.
 */
async function createRefund(
  { id, call }: Account,
  order: Parameters<PaymentProvider['createRefund']>[0],
  signal: AbortSignal,
) {
  const { refundId, providerPaymentId, amount, reason } = order;
  const params: Stripe.RefundCreateParams = {
    payment_intent: providerPaymentId,
    amount: toStripeAmount(amount),
    metadata: {
      [metadataKeys.account]: id,
      [metadataKeys.refund]: refundId,
      ...(reason && { reason: reason.slice(0, maxMetadataLength) }),
    },
  };
  const created = await call(signal, async (stripe) => {
    const existing = (await listIntentRefunds(stripe, providerPaymentId)).find(
      ({ metadata }) => metadata?.[metadataKeys.refund] === refundId,
    );
    return existing ?? stripe.refunds.create(params, { idempotencyKey: `refund-${refundId}` });
  });
  return refundSnapshot(created, id);
}

async function findPayout({ id, call }: Account, payoutId: string, signal: AbortSignal) {
  return call(signal, async (stripe) => {
    const payout = await orNull(stripe.payouts.retrieve(payoutId));
    if (payout === null) return null;
    // Stripe doesn't list the transactions of a manual payout, and those of an automatic one only when
    // reconciliation has completed.
    const isReconciled = payout.automatic && payout.reconciliation_status === 'completed';
    const transactions = isReconciled
      ? await collect(
          stripe.balanceTransactions.list({ payout: payoutId, limit: pageSize, expand: ['data.source'] }),
        )
      : [];
    const paymentIds = new Map<string, string | null>();
    return payoutSnapshot(payout, transactions, id, async (intentId) => {
      const known = paymentIds.get(intentId);
      if (known !== undefined) return known;
      const intent = await orNull(stripe.paymentIntents.retrieve(intentId));
      const paymentId = intent === null ? null : ourPaymentId(intent, id);
      paymentIds.set(intentId, paymentId);
      return paymentId;
    });
  });
}

/**
 * From Stripe's events, which it lists newest first, reversed. If `since` is an hour ago or more, also the
 * sessions that were created since then; if it is older than the events that Stripe keeps, everything.
 */
async function* listChangedSince(
  { id, call }: Account,
  clock: Clock,
  since: Date,
  signal: AbortSignal,
): AsyncGenerator<ProviderObject> {
  const created = { gte: Math.floor(since.getTime() / 1_000) };
  const found = await call(signal, async (stripe) => {
    const objects = new Map<string, ProviderObject>();
    const add = (given: unknown): void => {
      const object = findOurObject(given as Parameters<typeof findOurObject>[0], id);
      if (object !== null && !objects.has(object.id)) objects.set(object.id, object);
    };
    for await (const event of stripe.events.list({ created, types: [...eventTypes], limit: pageSize }))
      add(event.data.object);
    const sinceMs = clock.now().getTime() - since.getTime();
    if (sinceMs >= eventsKeptMs) {
      for await (const payout of stripe.payouts.list({ created, limit: pageSize })) add(payout);
      for await (const refunded of stripe.refunds.list({ created, limit: pageSize })) add(refunded);
    }
    if (sinceMs < sessionsListedAfterMs) return objects;
    for await (const session of stripe.checkout.sessions.list({ created, limit: pageSize })) add(session);
    return objects;
  });
  yield* [...found.values()].reverse();
}

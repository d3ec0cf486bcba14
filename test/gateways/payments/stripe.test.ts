// The Stripe provider with Stripe's own library, against a server that implements the used part of Stripe's
// API.
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../../src/core/ctx.ts';
import { createId } from '../../../src/core/id.ts';
import { currencyDigits, type Money } from '../../../src/core/money.ts';
import {
  type CheckoutOrder,
  type PaymentProvider,
  type PaymentSnapshot,
  ProviderError,
} from '../../../src/gateways/payments/provider.ts';
import { fromStripeAmount, toStripeAmount } from '../../../src/gateways/payments/stripe/amounts.ts';
import { StripeSecrets } from '../../../src/gateways/payments/stripe/secrets.ts';
import { stripe as stripeKind } from '../../../src/gateways/payments/stripe/stripe.ts';
import { type TestClock, testClock, testSettings } from '../../setup/database.ts';
import type { Refund, Session } from '../../setup/stripe/objects.ts';
import { type Fault, type StripeServer, startStripe } from '../../setup/stripe/server.ts';

const clock: TestClock = testClock();
const signal = new AbortController().signal;
let server: StripeServer;
let provider: PaymentProvider;
let accountId: string;

const open = async (
  id: string,
  secrets: unknown,
  change: Partial<typeof testSettings.stripe> = {},
): Promise<PaymentProvider> => {
  const settings = { ...testSettings, stripe: { ...testSettings.stripe, apiUrl: server.url, ...change } };
  const ctx: Pick<TenantCtx, 'clock' | 'settings'> = { clock, settings };
  return stripeKind.create(ctx as TenantCtx, { id, secrets, publicUrl: settings.publicUrl });
};

beforeAll(async () => {
  server = await startStripe({ clock });
  accountId = createId();
  provider = await open(accountId, server.secrets);
});
afterAll(() => server.stop());
beforeEach(() => {
  server.fault = () => undefined;
  server.requests.length = 0;
});

const pounds = (amountMinor: bigint): Money => ({ amountMinor, currency: 'GBP' });
function orderOf(amounts: readonly bigint[] = [12_50n, 7_50n], currency = 'GBP'): CheckoutOrder {
  const items = amounts.map((amountMinor, index) => ({
    label: `Invoice INV-${index}`,
    amount: { amountMinor, currency },
  }));
  const amount = { amountMinor: amounts.reduce((sum, one) => sum + one, 0n), currency };
  const urls = { successUrl: 'https://shop.example/paid', cancelUrl: 'https://shop.example/back' };
  return {
    checkoutId: createId(),
    paymentId: createId(),
    amount,
    title: 'Two invoices',
    items,
    ...urls,
    expiresAt: new Date(clock.now().getTime() + 1_800_000),
    record: null,
  };
}
async function checkout(order = orderOf()): Promise<{ order: CheckoutOrder; sessionId: string }> {
  return { order, sessionId: (await provider.createCheckout(order, signal)).id };
}
async function snapshotOf(sessionId: string): Promise<PaymentSnapshot> {
  const snapshot = await provider.findPayment({ sessionId }, signal);
  if (snapshot === null) throw new Error('no such payment');
  return snapshot;
}
async function paid(
  order = orderOf(),
): Promise<{ order: CheckoutOrder; sessionId: string; providerPaymentId: string }> {
  const made = await checkout(order);
  server.ledger.pay(made.sessionId, 'succeeds');
  return { ...made, providerPaymentId: (await snapshotOf(made.sessionId)).providerPaymentId ?? '' };
}
const refused = async (work: Promise<unknown>): Promise<ProviderError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProviderError)) throw new Error(`no ProviderError: ${error}`);
  return error;
};
const next = (...faults: Fault[]): void => {
  server.fault = () => faults.shift();
};
const sessions = (): Session[] => server.ledger.all<Session>('checkout.session');

describe('secrets', () => {
  it.each([
    [{ secretKey: 'pk_test_abcdefgh12', webhookSecret: 'whsec_abcdefgh12' }, 'secretKey'],
    [{ secretKey: 'sk_test_abcdefgh12', webhookSecret: 'sk_test_abcdefgh12' }, 'webhookSecret'],
    [{ secretKey: 'sk_test_abcdefgh12', webhookSecret: 'whsec_abcdefgh12', more: 1 }, undefined],
  ])('refuses %o', (given, field) => {
    expect(StripeSecrets.safeParse(given).error?.issues[0]?.path[0]).toBe(field);
  });

  it('may be a restricted key, and are tested for everything that is read', async () => {
    expect(
      StripeSecrets.safeParse({ secretKey: 'rk_live_abcdefgh12', webhookSecret: 'whsec_abcdefgh12' }).success,
    ).toBe(true);
    await provider.checkCredentials(signal);
    for (const path of [
      'checkout/sessions',
      'payment_intents',
      'refunds',
      'payouts',
      'balance_transactions',
      'events',
    ]) {
      server.forbidden.push(`/v1/${path}`);
      expect((await refused(provider.checkCredentials(signal))).kind, path).toBe('refused-credentials');
      server.forbidden.length = 0;
    }
    const other = await open(accountId, { ...server.secrets, secretKey: 'sk_test_somebodyelses' });
    const error = await refused(other.checkCredentials(signal));
    expect(error.kind).toBe('refused-credentials');
    expect(`${error.message} ${String(error.cause)}`).not.toContain('sk_test');
  });
});

describe('a checkout', () => {
  it('is a hosted page for the exact amounts, with our ids as metadata', async () => {
    const { order, sessionId } = await checkout();
    const session = server.ledger.get<Session>('checkout.session', sessionId);
    expect(session).toMatchObject({
      amount_total: 2000,
      currency: 'gbp',
      client_reference_id: order.paymentId,
      line_items_count: 2,
    });
    expect(session.metadata).toEqual({
      portal_account: accountId,
      portal_payment: order.paymentId,
      portal_checkout: order.checkoutId,
    });
    const sent = server.requests[0];
    expect(sent?.form).toMatchObject({ mode: 'payment', adaptive_pricing: { enabled: 'false' } });
    expect(sent?.headers['idempotency-key']).toBe(`checkout-${order.checkoutId}`);
    expect(
      Object.keys(sent?.headers ?? {}).filter(
        (name) => name.includes('telemetry') || name.includes('client-user-agent'),
      ),
    ).toEqual([]);
  });

  it('is created once, however often and late it is requested', async () => {
    const order = orderOf();
    const [first, second] = await Promise.all([
      provider.createCheckout(order, signal),
      provider.createCheckout(order, signal),
    ]);
    clock.advance(29 * 60_000);
    expect(await provider.createCheckout(order, signal)).toEqual(first);
    expect(second).toEqual(first);
    expect(first.expiresAt).toEqual(order.expiresAt);
    expect(
      sessions().filter(({ client_reference_id }) => client_reference_id === order.paymentId),
    ).toHaveLength(1);
    const changed = { ...order, title: 'Other words' };
    expect((await refused(provider.createCheckout(changed, signal))).kind).toBe('rejected');
  });

  it('is not created again when Stripe dropped its idempotency key and it has expired', async () => {
    const order = orderOf();
    await provider.createCheckout(order, signal);
    server.evictIdempotencyKeys();
    clock.advance(2 * 86_400_000);
    expect((await refused(provider.createCheckout(order, signal))).kind).toBe('rejected');
    expect(
      sessions().filter(({ client_reference_id }) => client_reference_id === order.paymentId),
    ).toHaveLength(1);
  });

  it('has a single line item where Stripe allows no more', async () => {
    const { sessionId } = await checkout(orderOf(Array.from({ length: 101 }, () => 1_00n)));
    expect(server.ledger.get<Session>('checkout.session', sessionId)).toMatchObject({
      amount_total: 10_100,
      line_items_count: 1,
    });
  });

  it('has our own message for a refusal by Stripe', async () => {
    const error = await refused(provider.createCheckout(orderOf([1n]), signal));
    expect([error.kind, error.message]).toEqual(['rejected', 'The amount is smaller than Stripe allows']);
  });

  it('can be expired, and returns its state when it is too late', async () => {
    const { sessionId } = await checkout();
    expect(await provider.expireCheckout(sessionId, signal)).toMatchObject({
      state: 'CANCELED',
      received: pounds(0n),
    });
    expect(server.ledger.pay(sessionId, 'succeeds')).toBe(false);
    expect((await provider.expireCheckout(sessionId, signal)).state).toBe('CANCELED');
    const other = await paid();
    expect(await provider.expireCheckout(other.sessionId, signal)).toMatchObject({
      state: 'SUCCEEDED',
      received: pounds(20_00n),
    });
    expect((await refused(provider.expireCheckout('cs_test_unknown', signal))).kind).toBe('rejected');
  });
});

describe('a payment', () => {
  it('is open, declined and still open, then paid, by both of its ids', async () => {
    const { order, sessionId } = await checkout();
    const before = await snapshotOf(sessionId);
    expect(before).toMatchObject({
      paymentId: order.paymentId,
      state: 'OPEN',
      providerPaymentId: null,
      method: null,
      failure: null,
    });
    server.ledger.pay(sessionId, 'declines');
    expect(await snapshotOf(sessionId)).toMatchObject({
      state: 'OPEN',
      received: pounds(0n),
      failure: { code: 'insufficient_funds', message: 'Your card has insufficient funds.' },
    });
    server.ledger.pay(sessionId, 'succeeds');
    const after = await snapshotOf(sessionId);
    expect(after).toMatchObject({ state: 'SUCCEEDED', received: pounds(20_00n), refunds: [], failure: null });
    expect(after.method).toEqual({ type: 'card', last4: '4242' });
    expect(await provider.findPayment({ providerPaymentId: after.providerPaymentId ?? '' }, signal)).toEqual(
      after,
    );
  });

  it.each([
    ['succeeds', 'SUCCEEDED', 20_00n],
    ['fails', 'FAILED', 0n],
  ] as const)('is processing until the bank says that it %s', async (outcome, state, received) => {
    const { sessionId } = await checkout();
    server.ledger.pay(sessionId, 'processes');
    expect(await snapshotOf(sessionId)).toMatchObject({
      state: 'PROCESSING',
      received: pounds(0n),
      failure: null,
    });
    expect((await provider.expireCheckout(sessionId, signal)).state).toBe('PROCESSING');
    server.ledger.completeDebit(sessionId, outcome);
    const after = await snapshotOf(sessionId);
    expect(after).toMatchObject({
      state,
      received: pounds(received),
      method: { type: 'sepa_debit', last4: '3000' },
    });
    expect(after.failure?.code).toBe(
      state === 'FAILED' ? 'payment_intent_payment_attempt_failed' : undefined,
    );
  });

  it.each([1, 500, 501, 20_000])('keeps a record of %i characters', async (length) => {
    const record = 'é'.repeat(length);
    const { sessionId } = await checkout({ ...orderOf(), record });
    expect((await snapshotOf(sessionId)).record).toBe(record);
    const metadata = sessions().at(-1)?.metadata ?? {};
    expect(Math.max(...Object.values(metadata).map((value) => value.length))).toBeLessThanOrEqual(500);
    expect(Object.keys(metadata).length).toBeLessThanOrEqual(50);
  });

  it('keeps a record whose parts would end within a character', async () => {
    const record = `${'x'.repeat(499)}😀${'x'.repeat(499)}`;
    expect((await snapshotOf((await checkout({ ...orderOf(), record })).sessionId)).record).toBe(record);
  });

  it('has no record where there was none, or where it was longer than Stripe allows', async () => {
    for (const record of [null, 'x'.repeat(20_001)])
      expect((await snapshotOf((await checkout({ ...orderOf(), record })).sessionId)).record).toBeNull();
  });

  it('expires at Stripe by itself half an hour after the order', async () => {
    const { sessionId } = await checkout();
    clock.advance(60 * 60_000);
    expect((await snapshotOf(sessionId)).state).toBe('CANCELED');
  });

  it('is not found by another account', async () => {
    const neighbour = await open(createId(), server.secrets);
    const { sessionId, providerPaymentId } = await paid();
    expect(await neighbour.findPayment({ sessionId }, signal)).toBeNull();
    expect(await neighbour.findPayment({ providerPaymentId }, signal)).toBeNull();
    expect(await provider.findPayment({ sessionId: 'cs_test_unknown' }, signal)).toBeNull();
    expect(await provider.findPayment({ providerPaymentId: 'pi_unknown' }, signal)).toBeNull();
  });
});

describe('a refund', () => {
  it('is created once, even when Stripe dropped its idempotency key, in addition to those of the dashboard', async () => {
    const { providerPaymentId, sessionId } = await paid();
    const order = { refundId: createId(), providerPaymentId, amount: pounds(5_00n), reason: 'Damaged' };
    const first = await provider.createRefund(order, signal);
    expect(first).toMatchObject({
      refundId: order.refundId,
      amount: pounds(5_00n),
      state: 'SUCCEEDED',
      failure: null,
    });
    server.evictIdempotencyKeys();
    expect(await provider.createRefund(order, signal)).toEqual(first);
    const desk = server.ledger.refund({ payment_intent: providerPaymentId, amount: 300 });
    const { refunds } = await snapshotOf(sessionId);
    expect(refunds.map(({ id, refundId }) => [id, refundId])).toEqual([
      [desk.id, null],
      [first.id, order.refundId],
    ]);
    const tooMuch = { ...order, refundId: createId(), amount: pounds(12_01n) };
    expect((await refused(provider.createRefund(tooMuch, signal))).kind).toBe('too-much-refunded');
    const rest = { ...order, refundId: createId(), amount: pounds(12_00n) };
    expect(
      await Promise.all([provider.createRefund(rest, signal), provider.createRefund(rest, signal)]),
    ).toHaveLength(2);
    expect((await refused(provider.createRefund({ ...rest, refundId: createId() }, signal))).kind).toBe(
      'too-much-refunded',
    );
    expect(server.ledger.books().get((await snapshotOf(sessionId)).paymentId)).toEqual({
      received: 2000,
      charges: 1,
      refunded: 2000,
    });
  });

  it('may be pending at the bank, and may fail', async () => {
    const { providerPaymentId, sessionId } = await paid();
    server.ledger.refunds.pend = true;
    const made = await provider.createRefund(
      { refundId: createId(), providerPaymentId, amount: pounds(1_00n), reason: null },
      signal,
    );
    server.ledger.refunds.pend = false;
    expect(made.state).toBe('PENDING');
    server.ledger.completeRefund(made.id, 'succeeded');
    expect((await snapshotOf(sessionId)).refunds[0]?.state).toBe('SUCCEEDED');
    server.ledger.completeRefund(made.id, 'failed');
    expect((await snapshotOf(sessionId)).refunds[0]).toMatchObject({
      state: 'FAILED',
      failure: { code: 'expired_or_canceled_card' },
    });
  });
});

describe('a payout', () => {
  it('has entries that add up', async () => {
    server.ledger.payOut('gbp');
    const mine = await paid();
    const neighbour = await open(createId(), server.secrets);
    const other = orderOf([3_00n]);
    server.ledger.pay((await neighbour.createCheckout(other, signal)).id, 'succeeds');
    const desk = server.ledger.refund({ payment_intent: mine.providerPaymentId, amount: 200 });
    server.ledger.transact('stripe_fee', -150, 0, 'gbp', null);
    server.ledger.transact('adjustment', 40, 0, 'gbp', null);
    const made = server.ledger.payOut('gbp');
    const payout = await provider.findPayout(made?.id ?? '', signal);
    const entries = payout?.entries.map(({ kind, paymentId, providerRefundId, amount }) => [
      kind,
      paymentId,
      providerRefundId,
      amount.amountMinor,
    ]);
    expect(entries?.reverse()).toEqual([
      ['fee', mine.order.paymentId, null, -50n],
      ['payment', mine.order.paymentId, null, 2000n],
      ['other', null, null, 275n],
      ['refund', mine.order.paymentId, desk.id, -200n],
      ['fee', null, null, -150n],
      ['other', null, null, 40n],
    ]);
    expect(payout).toMatchObject({ state: 'PENDING', amount: pounds(1915n), failure: null });
    expect(payout?.arrivalDate).toBe(
      new Date(clock.now().getTime() + 2 * 86_400_000).toISOString().slice(0, 10),
    );
    server.ledger.movePayout(made?.id ?? '', 'failed');
    expect(await provider.findPayout(made?.id ?? '', signal)).toMatchObject({
      state: 'FAILED',
      failure: { code: 'account_closed' },
    });
    expect(await provider.findPayout('po_unknown', signal)).toBeNull();
  });

  it('that is manual is one entry, because Stripe lists no transactions for it', async () => {
    await paid();
    const made = server.ledger.payOut('gbp', false);
    const { entries, amount } = (await provider.findPayout(made?.id ?? '', signal)) ?? {};
    expect(entries).toEqual([{ kind: 'other', paymentId: null, providerRefundId: null, amount }]);
  });
});

describe('listChangedSince', () => {
  const changes = async (since: Date): Promise<string[]> => {
    const found: string[] = [];
    for await (const { id } of provider.listChangedSince(since, signal)) found.push(id);
    return found;
  };

  it('yields the oldest change first, over all pages, without objects of others', async () => {
    clock.advance(60_000);
    const since = clock.now();
    const neighbour = await open(createId(), server.secrets);
    server.ledger.pay((await neighbour.createCheckout(orderOf(), signal)).id, 'succeeds');
    const ids: string[] = [];
    for (let made = 0; made < 60; made += 1) ids.push((await paid()).sessionId);
    const payout = server.ledger.payOut('gbp');
    const found = await changes(since);
    expect(found.filter((id) => id.startsWith('cs_'))).toEqual(ids);
    expect(found.at(-1)).toBe(payout?.id);
    expect(found.filter((id) => id.startsWith('pi_'))).toHaveLength(60);
    expect(server.requests.filter(({ path }) => path === '/v1/events').length).toBeGreaterThan(1);
    clock.advance(1_000);
    expect(await changes(clock.now())).toEqual([]);
  });

  it('lists an unpaid checkout, which no event reports, when the last check was an hour ago', async () => {
    clock.advance(2 * 3_600_000);
    const since = clock.now();
    const { sessionId } = await checkout();
    expect(await changes(since)).toEqual([]);
    clock.advance(3_600_000);
    expect(await changes(since)).toContain(sessionId);
  });

  it('lists by creation time where events are no longer kept', async () => {
    clock.advance(60_000);
    const since = clock.now();
    const { sessionId, providerPaymentId } = await paid();
    server.ledger.refund({ payment_intent: providerPaymentId });
    const payout = server.ledger.payOut('gbp');
    clock.advance(40 * 86_400_000);
    server.ledger.events.length = 0;
    // All payments were refunded, so nothing was left to pay out.
    expect(payout).toBeNull();
    expect(await changes(since)).toEqual([sessionId, providerPaymentId]);
  });
});

describe('an event', () => {
  const read = (sent: { body: string; headers: Record<string, string> }) =>
    provider.parseEvent(Buffer.from(sent.body), sent.headers);
  const reason = (sent: { body: string; headers: Record<string, string> }): string => {
    try {
      read(sent);
    } catch (error) {
      return error instanceof ProviderError ? error.kind : String(error);
    }
    return 'taken';
  };

  it('names the object that it concerns', async () => {
    const { sessionId, providerPaymentId } = await paid();
    const desk = server.ledger.refund({ payment_intent: providerPaymentId, amount: 100 });
    const payout = server.ledger.payOut('gbp');
    const events = server.ledger.events
      .slice(-6)
      .map((event) => [event.type, read(server.signed(event)).concerns]);
    const payment = { kind: 'payment', id: providerPaymentId };
    expect(desk.payment_intent).toBe(providerPaymentId);
    expect(events).toEqual([
      ['charge.succeeded', payment],
      ['payment_intent.succeeded', payment],
      ['checkout.session.completed', { kind: 'session', id: sessionId }],
      ['refund.created', payment],
      ['charge.refunded', payment],
      ['payout.created', { kind: 'payout', id: payout?.id }],
    ]);
  });

  it('of a connected account, of another type or without an object is irrelevant; a thin event is not', () => {
    const event = {
      id: 'evt_1',
      object: 'event',
      type: 'payout.paid',
      data: { object: { id: 'po_1', object: 'payout' } },
    };
    expect(read(server.signed(event)).concerns).toEqual({ kind: 'payout', id: 'po_1' });
    expect(read(server.signed({ ...event, account: 'acct_1' })).concerns).toBeNull();
    expect(
      read(server.signed({ ...event, data: { object: { id: 'cus_1', object: 'customer' } } })).concerns,
    ).toBeNull();
    expect(read(server.signed({ ...event, data: undefined })).concerns).toBeNull();
    const thin = {
      id: 'evt_2',
      object: 'v2.core.event',
      type: 'v1.payout.paid',
      related_object: { id: 'po_2', type: 'payout' },
    };
    expect(read(server.signed(thin)).concerns).toEqual({ kind: 'payout', id: 'po_2' });
  });

  it('is irrelevant when it concerns a payment of another program or organization on the account', async () => {
    await paid();
    const stranger = await open(createId(), server.secrets);
    const sent = server.ledger.events.slice(-3).map((event) => server.signed(event));
    for (const { body, headers } of sent)
      expect(stranger.parseEvent(Buffer.from(body), headers).concerns).toBeNull();
    // A refund doesn't show to which organization its payment belongs.
    const refund = {
      id: 'evt_1',
      object: 'event',
      type: 'refund.created',
      data: { object: { id: 're_1', object: 'refund', payment_intent: 'pi_1' } },
    };
    expect(read(server.signed(refund)).concerns).toEqual({ kind: 'payment', id: 'pi_1' });
  });

  it('is accepted with a signature over exactly these bytes that is not older than five minutes', async () => {
    const sent = server.signed({ id: 'evt_1', object: 'event', type: 'payout.paid' }, 299);
    expect(reason(sent)).toBe('taken');
    expect(reason({ ...sent, body: sent.body.replace('evt_1', 'evt_2') })).toBe('bad-signature');
    expect(reason({ ...sent, body: `${sent.body} ` })).toBe('bad-signature');
    expect(reason({ ...sent, body: '' })).toBe('bad-signature');
    expect(reason({ ...sent, headers: {} })).toBe('bad-signature');
    expect(reason({ ...sent, headers: { 'stripe-signature': 't=1,v1=' } })).toBe('bad-signature');
    expect(reason(server.signed({ id: 'evt_1' }, 301))).toBe('bad-signature');
    clock.advance(2_000);
    expect(reason(sent)).toBe('bad-signature');
    const other = await startStripe({ clock });
    expect(reason(other.signed({ id: 'evt_1', type: 'payout.paid' }))).toBe('bad-signature');
    await other.stop();
    expect(reason(server.signed({ id: 7 }))).toBe('malformed-answer');
  });
});

describe('a failure', () => {
  it.each([
    ['rate-limit', 'rate-limited'],
    ['error-before', 'unavailable'],
    ['error-after', 'unavailable'],
    ['cut-before', 'unavailable'],
    ['cut-after', 'unavailable'],
    ['half-answer', 'unavailable'],
    ['not-json', 'malformed-answer'],
    ['empty-object', 'malformed-answer'],
  ] as const)('by %s is called %s, and tells no secret', async (fault, kind) => {
    next(fault);
    const error = await refused(provider.createCheckout(orderOf(), signal));
    expect(error.kind).toBe(kind);
    expect(error.retryAfterMs).toBe(fault === 'rate-limit' ? 7_000 : null);
    expect(`${error.message} ${String(error.cause)}`).not.toMatch(/sk_|whsec_/);
  });

  it('after the effect leaves one session and one refund when the call is repeated', async () => {
    const order = orderOf();
    next('cut-after');
    await refused(provider.createCheckout(order, signal));
    const { id } = await provider.createCheckout(order, signal);
    expect(
      sessions().filter(({ client_reference_id }) => client_reference_id === order.paymentId),
    ).toHaveLength(1);
    server.ledger.pay(id, 'succeeds');
    const providerPaymentId = (await snapshotOf(id)).providerPaymentId ?? '';
    const refund = { refundId: createId(), providerPaymentId, amount: pounds(1_00n), reason: null };
    server.fault = ({ method }) => (method === 'POST' ? 'error-after' : undefined);
    await refused(provider.createRefund(refund, signal));
    expect((await provider.createRefund(refund, signal)).state).toBe('SUCCEEDED');
    expect(
      server.ledger
        .all<Refund>('refund')
        .filter(({ payment_intent }) => payment_intent === providerPaymentId),
    ).toHaveLength(1);
  });

  it('is retried as often as configured, with the same idempotency key', async () => {
    const patient = await open(accountId, server.secrets, { retries: 1 });
    next('cut-after');
    const order = orderOf();
    await patient.createCheckout(order, signal);
    expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(
      Array(2).fill(`checkout-${order.checkoutId}`),
    );
    expect(
      sessions().filter(({ client_reference_id }) => client_reference_id === order.paymentId),
    ).toHaveLength(1);
  });

  it('may be an abort by the caller, or a response that does not come', async () => {
    server.fault = () => 'stall';
    const leaving = new AbortController();
    const asked = refused(provider.checkCredentials(leaving.signal));
    await server.stalled;
    leaving.abort();
    expect((await asked).kind).toBe('aborted');
    const hasty = await open(accountId, server.secrets, { timeoutMs: 50 });
    expect((await refused(hasty.checkCredentials(signal))).kind).toBe('unavailable');
  });
});

describe('amounts', () => {
  it.each([
    ['GBP', 12_50n, 1250],
    ['JPY', 500n, 500],
    ['KWD', 5_120n, 5120],
    ['KWD', 5_124n, undefined],
    ['ISK', 5n, 500],
    ['UGX', 5n, 500],
    ['HUF', 10_45n, 1045],
    ['MGA', 5_00n, 5],
    ['MGA', 5_20n, undefined],
    ['IQD', 1_000n, 100],
    ['GBP', 10n ** 17n, undefined],
  ])('%s %d is %d in Stripe’s units', (currency, amountMinor, expected) => {
    const convert = () => toStripeAmount({ amountMinor, currency });
    if (expected === undefined) expect(convert).toThrow(ProviderError);
    else
      expect([convert(), fromStripeAmount(expected, currency.toLowerCase())]).toEqual([
        expected,
        { amountMinor, currency },
      ]);
  });

  it('survive the conversion to Stripe and back in every currency, or are refused', () => {
    const money = fc.record({
      amountMinor: fc.bigInt(0n, 10n ** 12n),
      currency: fc.constantFrom(...Intl.supportedValuesOf('currency')),
    });
    fc.assert(
      fc.property(money, (given) => {
        // Whole amounts that end in zeros are accepted in every currency.
        const whole = {
          ...given,
          amountMinor: given.amountMinor * 10n ** BigInt(currencyDigits(given.currency)),
        };
        expect(fromStripeAmount(toStripeAmount(whole), whole.currency.toLowerCase())).toEqual(whole);
        try {
          expect(fromStripeAmount(toStripeAmount(given), given.currency.toLowerCase())).toEqual(given);
        } catch (error) {
          expect(error).toBeInstanceOf(ProviderError);
        }
      }),
    );
  });
});

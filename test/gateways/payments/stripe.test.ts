import { describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { StripeSecrets } from '../../../src/gateways/payments/stripe/secrets.ts';
import type { Session } from '../../setup/stripe/objects.ts';
import { pounds, refused, signal, useStripe } from './stripe-fixture.ts';

const site = useStripe();
const { accountId, open, createOrder, checkout, getSnapshot, paid } = site;

describe('secrets', () => {
  it.each([
    [{ secretKey: 'pk_test_abcdefgh12', webhookSecret: 'whsec_abcdefgh12' }, 'secretKey'],
    [{ secretKey: 'sk_test_abcdefgh12', webhookSecret: 'sk_test_abcdefgh12' }, 'webhookSecret'],
    [{ secretKey: 'sk_test_abcdefgh12', webhookSecret: 'whsec_abcdefgh12', more: 1 }, undefined],
  ])('refuses %o', (given, field) => {
    expect(StripeSecrets.safeParse(given).error?.issues[0]?.path[0]).toBe(field);
  });

  it('may be a restricted key, and are tested for everything that is read', async () => {
    const restricted = { secretKey: 'rk_live_abcdefgh12', webhookSecret: 'whsec_abcdefgh12' };
    expect(StripeSecrets.safeParse(restricted).success).toBe(true);
    await site.provider.checkCredentials(signal);
    const lists = 'checkout/sessions payment_intents refunds payouts balance_transactions events';
    for (const path of lists.split(' ')) {
      site.server.forbidden.push(`/v1/${path}`);
      expect((await refused(site.provider.checkCredentials(signal))).kind, path).toBe('refused-credentials');
      site.server.forbidden.length = 0;
    }
    const other = await open(accountId, { ...site.server.secrets, secretKey: 'sk_test_somebodyelses' });
    const error = await refused(other.checkCredentials(signal));
    expect(error.kind).toBe('refused-credentials');
    expect(`${error.message} ${String(error.cause)}`).not.toContain('sk_test');
  });
});

describe('a checkout', () => {
  it('is a hosted page for the exact amounts, with our ids as metadata', async () => {
    const { order, sessionId } = await checkout();
    const session = site.server.ledger.get<Session>('checkout.session', sessionId);
    const { paymentId, checkoutId } = order;
    const amounts = { amount_total: 2000, currency: 'gbp', line_items_count: 2 };
    expect(session).toMatchObject({ ...amounts, client_reference_id: paymentId });
    const ids = { portal_account: accountId, portal_payment: paymentId, portal_checkout: checkoutId };
    expect(session.metadata).toEqual(ids);
    const sent = site.server.requests[0];
    expect(sent?.form).toMatchObject({ mode: 'payment', adaptive_pricing: { enabled: 'false' } });
    expect(sent?.headers['idempotency-key']).toBe(`checkout-${order.checkoutId}`);
    const telling = Object.keys(sent?.headers ?? {}).filter((name) =>
      /telemetry|client-user-agent/.test(name),
    );
    expect(telling).toEqual([]);
  });

  it('is created once, however often and late it is requested', async () => {
    const order = createOrder();
    const [first, second] = await Promise.all([
      site.provider.createCheckout(order, signal),
      site.provider.createCheckout(order, signal),
    ]);
    site.clock.advance(29 * 60_000);
    expect(await site.provider.createCheckout(order, signal)).toEqual(first);
    expect(second).toEqual(first);
    expect(first.expiresAt).toEqual(order.expiresAt);
    expect(site.sessionsOf(order)).toHaveLength(1);
    const changed = { ...order, title: 'Other words' };
    expect((await refused(site.provider.createCheckout(changed, signal))).kind).toBe('rejected');
  });

  it('is not created again when Stripe dropped its idempotency key and it has expired', async () => {
    const order = createOrder();
    await site.provider.createCheckout(order, signal);
    site.server.evictIdempotencyKeys();
    site.clock.advance(2 * 86_400_000);
    expect((await refused(site.provider.createCheckout(order, signal))).kind).toBe('rejected');
    expect(site.sessionsOf(order)).toHaveLength(1);
  });

  it('has a single line item where Stripe allows no more', async () => {
    const { sessionId } = await checkout(createOrder(Array.from({ length: 101 }, () => 1_00n)));
    expect(site.server.ledger.get<Session>('checkout.session', sessionId)).toMatchObject({
      amount_total: 10_100,
      line_items_count: 1,
    });
  });

  it('has our own message for a refusal by Stripe', async () => {
    const error = await refused(site.provider.createCheckout(createOrder([1n]), signal));
    expect([error.kind, error.message]).toEqual(['rejected', 'The amount is smaller than Stripe allows']);
  });

  it('can be expired, and returns its state when it is too late', async () => {
    const { sessionId } = await checkout();
    expect(await site.provider.expireCheckout(sessionId, signal)).toMatchObject({
      state: 'CANCELED',
      received: pounds(0n),
    });
    expect(site.server.ledger.pay(sessionId, 'succeeds')).toBe(false);
    expect((await site.provider.expireCheckout(sessionId, signal)).state).toBe('CANCELED');
    const other = await paid();
    expect(await site.provider.expireCheckout(other.sessionId, signal)).toMatchObject({
      state: 'SUCCEEDED',
      received: pounds(20_00n),
    });
    expect((await refused(site.provider.expireCheckout('cs_test_unknown', signal))).kind).toBe('rejected');
  });
});

describe('a payment', () => {
  it('is open, declined and still open, then paid, by both of its ids', async () => {
    const { order, sessionId } = await checkout();
    const before = await getSnapshot(sessionId);
    expect(before).toMatchObject({
      paymentId: order.paymentId,
      state: 'OPEN',
      providerPaymentId: null,
      method: null,
      failure: null,
    });
    site.server.ledger.pay(sessionId, 'declines');
    expect(await getSnapshot(sessionId)).toMatchObject({
      state: 'OPEN',
      received: pounds(0n),
      failure: { code: 'insufficient_funds', message: 'Your card has insufficient funds.' },
    });
    site.server.ledger.pay(sessionId, 'succeeds');
    const after = await getSnapshot(sessionId);
    expect(after).toMatchObject({ state: 'SUCCEEDED', received: pounds(20_00n), refunds: [], failure: null });
    expect(after.method).toEqual({ type: 'card', last4: '4242' });
    expect(
      await site.provider.findPayment({ providerPaymentId: after.providerPaymentId ?? '' }, signal),
    ).toEqual(after);
  });

  it.each([
    ['succeeds', 'SUCCEEDED', 20_00n],
    ['fails', 'FAILED', 0n],
  ] as const)('is processing until the bank says that it %s', async (outcome, state, received) => {
    const { sessionId } = await checkout();
    site.server.ledger.pay(sessionId, 'processes');
    expect(await getSnapshot(sessionId)).toMatchObject({
      state: 'PROCESSING',
      received: pounds(0n),
      failure: null,
    });
    expect((await site.provider.expireCheckout(sessionId, signal)).state).toBe('PROCESSING');
    site.server.ledger.completeDebit(sessionId, outcome);
    const after = await getSnapshot(sessionId);
    expect(after).toMatchObject({
      state,
      received: pounds(received),
      method: { type: 'sepa_debit', last4: '3000' },
    });
    expect(after.failure?.code).toBe(
      state === 'FAILED' ? 'payment_intent_payment_attempt_failed' : undefined,
    );
  });

  it.each([
    ['1 character', 'é'],
    ['500 characters', 'é'.repeat(500)],
    ['501 characters', 'é'.repeat(501)],
    ['20,000 characters', 'é'.repeat(20_000)],
    ['parts that would end within a character', `${'x'.repeat(499)}😀${'x'.repeat(499)}`],
  ])('keeps a record of %s', async (_what, record) => {
    const { order, sessionId } = await checkout({ ...createOrder(), record });
    expect((await getSnapshot(sessionId)).record).toBe(record);
    const values = Object.values(site.sessionsOf(order)[0]?.metadata ?? {});
    expect(values.length).toBeLessThanOrEqual(50);
    expect(Math.max(...values.map((value) => [...value].length))).toBeLessThanOrEqual(500);
  });

  it('has no record where there was none, or where it was longer than Stripe allows', async () => {
    for (const record of [null, 'x'.repeat(20_001)])
      expect((await getSnapshot((await checkout({ ...createOrder(), record })).sessionId)).record).toBeNull();
  });

  it('expires at Stripe by itself half an hour after the order', async () => {
    const { sessionId } = await checkout();
    site.clock.advance(60 * 60_000);
    expect((await getSnapshot(sessionId)).state).toBe('CANCELED');
  });

  it('is not found by another account', async () => {
    const neighbour = await site.openNeighbour();
    const { sessionId, providerPaymentId } = await paid();
    for (const [provider, payment] of [
      [neighbour, { sessionId }],
      [neighbour, { providerPaymentId }],
      [site.provider, { sessionId: 'cs_test_unknown' }],
      [site.provider, { providerPaymentId: 'pi_unknown' }],
    ] as const)
      expect(await provider.findPayment(payment, signal)).toBeNull();
  });
});

describe('a refund', () => {
  it('is created once, even when Stripe dropped its idempotency key, in addition to those of the dashboard', async () => {
    const { providerPaymentId, sessionId } = await paid();
    const order = { refundId: createId(), providerPaymentId, amount: pounds(5_00n), reason: 'Damaged' };
    const first = await site.provider.createRefund(order, signal);
    expect(first).toMatchObject({
      refundId: order.refundId,
      amount: pounds(5_00n),
      state: 'SUCCEEDED',
      failure: null,
    });
    site.server.evictIdempotencyKeys();
    expect(await site.provider.createRefund(order, signal)).toEqual(first);
    const dashboardRefund = site.server.ledger.refund({ payment_intent: providerPaymentId, amount: 300 });
    const { refunds } = await getSnapshot(sessionId);
    expect(refunds.map(({ id, refundId }) => [id, refundId])).toEqual([
      [dashboardRefund.id, null],
      [first.id, order.refundId],
    ]);
    const tooMuch = { ...order, refundId: createId(), amount: pounds(12_01n) };
    expect((await refused(site.provider.createRefund(tooMuch, signal))).kind).toBe('too-much-refunded');
    const rest = { ...order, refundId: createId(), amount: pounds(12_00n) };
    expect(
      await Promise.all([site.provider.createRefund(rest, signal), site.provider.createRefund(rest, signal)]),
    ).toHaveLength(2);
    expect((await refused(site.provider.createRefund({ ...rest, refundId: createId() }, signal))).kind).toBe(
      'too-much-refunded',
    );
    expect(site.server.ledger.books().get((await getSnapshot(sessionId)).paymentId)).toEqual({
      received: 2000,
      charges: 1,
      refunded: 2000,
    });
  });

  it('may be pending at the bank, and may fail', async () => {
    const { providerPaymentId, sessionId } = await paid();
    site.server.ledger.refunds.pend = true;
    const made = await site.provider.createRefund(
      { refundId: createId(), providerPaymentId, amount: pounds(1_00n), reason: null },
      signal,
    );
    site.server.ledger.refunds.pend = false;
    expect(made.state).toBe('PENDING');
    site.server.ledger.completeRefund(made.id, 'succeeded');
    expect((await getSnapshot(sessionId)).refunds[0]?.state).toBe('SUCCEEDED');
    site.server.ledger.completeRefund(made.id, 'failed');
    expect((await getSnapshot(sessionId)).refunds[0]).toMatchObject({
      state: 'FAILED',
      failure: { code: 'expired_or_canceled_card' },
    });
  });
});

describe('a payout', () => {
  it('has entries that add up', async () => {
    site.server.ledger.payOut('gbp');
    const mine = await paid();
    const neighbour = await site.openNeighbour();
    const other = createOrder([3_00n]);
    site.server.ledger.pay((await neighbour.createCheckout(other, signal)).id, 'succeeds');
    const dashboardRefund = site.server.ledger.refund({
      payment_intent: mine.providerPaymentId,
      amount: 200,
    });
    site.server.ledger.transact('stripe_fee', -150, 0, 'gbp', null);
    site.server.ledger.transact('adjustment', 40, 0, 'gbp', null);
    const made = site.server.ledger.payOut('gbp');
    const payout = await site.provider.findPayout(made?.id ?? '', signal);
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
      ['refund', mine.order.paymentId, dashboardRefund.id, -200n],
      ['fee', null, null, -150n],
      ['other', null, null, 40n],
    ]);
    expect(payout).toMatchObject({ state: 'PENDING', amount: pounds(1915n), failure: null });
    expect(payout?.arrivalDate).toBe(
      new Date(site.clock.now().getTime() + 2 * 86_400_000).toISOString().slice(0, 10),
    );
    site.server.ledger.movePayout(made?.id ?? '', 'failed');
    expect(await site.provider.findPayout(made?.id ?? '', signal)).toMatchObject({
      state: 'FAILED',
      failure: { code: 'account_closed' },
    });
    expect(await site.provider.findPayout('po_unknown', signal)).toBeNull();
  });

  it('that is manual is one entry, because Stripe lists no transactions for it', async () => {
    await paid();
    const made = site.server.ledger.payOut('gbp', false);
    const { entries, amount } = (await site.provider.findPayout(made?.id ?? '', signal)) ?? {};
    expect(entries).toEqual([{ kind: 'other', paymentId: null, providerRefundId: null, amount }]);
  });
});

// Failures of Stripe: what is retried, and that nothing is made twice.
import { describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import type { Refund } from '../../setup/stripe/objects.ts';
import type { Fault } from '../../setup/stripe/server.ts';
import { pounds, refused, signal, useStripe } from './stripe-fixture.ts';

const site = useStripe();
const { accountId, open, createOrder, getSnapshot } = site;
const next = (...faults: Fault[]): void => {
  site.server.fault = () => faults.shift();
};

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
    const error = await refused(site.provider.createCheckout(createOrder(), signal));
    expect(error.kind).toBe(kind);
    expect(error.retryAfterMs).toBe(fault === 'rate-limit' ? 7_000 : null);
    expect(`${error.message} ${String(error.cause)}`).not.toMatch(/sk_|whsec_/);
  });

  it('after the effect leaves one session and one refund when the call is repeated', async () => {
    const order = createOrder();
    next('cut-after');
    await refused(site.provider.createCheckout(order, signal));
    const { id } = await site.provider.createCheckout(order, signal);
    expect(site.sessionsOf(order)).toHaveLength(1);
    site.server.ledger.pay(id, 'succeeds');
    const providerPaymentId = (await getSnapshot(id)).providerPaymentId ?? '';
    const refund = { refundId: createId(), providerPaymentId, amount: pounds(1_00n), reason: null };
    site.server.fault = ({ method }) => (method === 'POST' ? 'error-after' : undefined);
    await refused(site.provider.createRefund(refund, signal));
    expect((await site.provider.createRefund(refund, signal)).state).toBe('SUCCEEDED');
    expect(
      site.server.ledger
        .all<Refund>('refund')
        .filter(({ payment_intent }) => payment_intent === providerPaymentId),
    ).toHaveLength(1);
  });

  it('is retried as often as configured, with the same idempotency key', async () => {
    const patient = await open(accountId, site.server.secrets, { retries: 1 });
    next('cut-after');
    const order = createOrder();
    await patient.createCheckout(order, signal);
    expect(site.server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(
      Array(2).fill(`checkout-${order.checkoutId}`),
    );
    expect(site.sessionsOf(order)).toHaveLength(1);
  });

  it('may be an abort by the caller, or a response that does not come', async () => {
    site.server.fault = () => 'stall';
    const leaving = new AbortController();
    const asked = refused(site.provider.checkCredentials(leaving.signal));
    await site.server.stalled;
    leaving.abort();
    expect((await asked).kind).toBe('aborted');
    const hasty = await open(accountId, site.server.secrets, { timeoutMs: 50 });
    expect((await refused(hasty.checkCredentials(signal))).kind).toBe('unavailable');
  });
});

// Failures of Stripe: what is retried, and that nothing is made twice.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../../src/core/ctx.ts';
import { createId } from '../../../src/core/id.ts';
import type { Money } from '../../../src/core/money.ts';
import {
  type CheckoutOrder,
  type PaymentProvider,
  type PaymentSnapshot,
  ProviderError,
} from '../../../src/gateways/payments/provider.ts';
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
function createOrder(amounts: readonly bigint[] = [12_50n, 7_50n], currency = 'GBP'): CheckoutOrder {
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
async function getSnapshot(sessionId: string): Promise<PaymentSnapshot> {
  const snapshot = await provider.findPayment({ sessionId }, signal);
  if (snapshot === null) throw new Error('no such payment');
  return snapshot;
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
    const error = await refused(provider.createCheckout(createOrder(), signal));
    expect(error.kind).toBe(kind);
    expect(error.retryAfterMs).toBe(fault === 'rate-limit' ? 7_000 : null);
    expect(`${error.message} ${String(error.cause)}`).not.toMatch(/sk_|whsec_/);
  });

  it('after the effect leaves one session and one refund when the call is repeated', async () => {
    const order = createOrder();
    next('cut-after');
    await refused(provider.createCheckout(order, signal));
    const { id } = await provider.createCheckout(order, signal);
    expect(
      sessions().filter(({ client_reference_id }) => client_reference_id === order.paymentId),
    ).toHaveLength(1);
    server.ledger.pay(id, 'succeeds');
    const providerPaymentId = (await getSnapshot(id)).providerPaymentId ?? '';
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
    const order = createOrder();
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

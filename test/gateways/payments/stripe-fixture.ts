// The provider for an account at the simulated Stripe, on a clock that only the test moves.
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { TenantCtx } from '../../../src/core/ctx.ts';
import { createId } from '../../../src/core/id.ts';
import type { Money } from '../../../src/core/text/money.ts';
import {
  type CheckoutOrder,
  type PaymentProvider,
  type PaymentSnapshot,
  ProviderError,
} from '../../../src/gateways/payments/provider.ts';
import { stripe } from '../../../src/gateways/payments/stripe/stripe.ts';
import { testClock, testSettings } from '../../setup/database.ts';
import type { Session } from '../../setup/stripe/objects.ts';
import { type StripeServer, startStripe } from '../../setup/stripe/server.ts';

export const signal = new AbortController().signal;
export const pounds = (amountMinor: bigint): Money => ({ amountMinor, currency: 'GBP' });

/** The error with which a call to the provider fails. */
export async function refused(work: Promise<unknown>): Promise<ProviderError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProviderError)) throw new Error(`no ProviderError: ${error}`);
  return error;
}

/** For the top level of a test file. Before each test there are no faults and no requests. */
export function useStripe() {
  const clock = testClock();
  const accountId = createId();
  const site = {} as { server: StripeServer; provider: PaymentProvider };

  const open = (id: string, secrets: unknown, change: Partial<typeof testSettings.stripe> = {}) => {
    const settings = {
      ...testSettings,
      stripe: { ...testSettings.stripe, apiUrl: site.server.url, ...change },
    };
    const ctx: Pick<TenantCtx, 'clock' | 'settings'> = { clock, settings };
    return stripe.create(ctx as TenantCtx, { id, secrets, publicUrl: settings.publicUrl });
  };
  beforeAll(async () => {
    site.server = await startStripe({ clock });
    site.provider = await open(accountId, site.server.secrets);
  });
  afterAll(() => site.server.stop());
  beforeEach(() => {
    site.server.fault = () => undefined;
    site.server.requests.length = 0;
  });

  function createOrder(amounts: readonly bigint[] = [12_50n, 7_50n]): CheckoutOrder {
    return {
      checkoutId: createId(),
      paymentId: createId(),
      amount: pounds(amounts.reduce((sum, one) => sum + one, 0n)),
      title: 'Two invoices',
      items: amounts.map((amount, index) => ({ label: `Invoice INV-${index}`, amount: pounds(amount) })),
      successUrl: 'https://shop.example/paid',
      cancelUrl: 'https://shop.example/back',
      expiresAt: new Date(clock.now().getTime() + 1_800_000),
      record: null,
    };
  }
  async function checkout(order = createOrder()): Promise<{ order: CheckoutOrder; sessionId: string }> {
    return { order, sessionId: (await site.provider.createCheckout(order, signal)).id };
  }
  async function getSnapshot(sessionId: string): Promise<PaymentSnapshot> {
    const snapshot = await site.provider.findPayment({ sessionId }, signal);
    if (snapshot === null) throw new Error('no such payment');
    return snapshot;
  }
  async function paid(order = createOrder()) {
    const made = await checkout(order);
    site.server.ledger.pay(made.sessionId, 'succeeds');
    return { ...made, providerPaymentId: (await getSnapshot(made.sessionId)).providerPaymentId ?? '' };
  }
  return Object.assign(site, {
    clock,
    accountId,
    open,
    /** Another organization on the same account at Stripe. */
    openNeighbour: () => open(createId(), site.server.secrets),
    createOrder,
    checkout,
    getSnapshot,
    paid,
    /** The sessions at Stripe that belong to an order. */
    sessionsOf: ({ paymentId }: CheckoutOrder): Session[] =>
      site.server.ledger
        .all<Session>('checkout.session')
        .filter(({ client_reference_id }) => client_reference_id === paymentId),
  });
}

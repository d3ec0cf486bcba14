// The sandbox as the service uses it: as a payment provider, through its payment page, its clock and its
// webhook.
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../../src/core/ctx.ts';
import { createId } from '../../../src/core/id.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import type {
  CheckoutOrder,
  PaymentProvider,
  PayoutSnapshot,
} from '../../../src/gateways/payments/provider.ts';
import { findProviderKind } from '../../../src/gateways/payments/providers.ts';
import { startSandboxWork } from '../../../src/gateways/payments/sandbox/deliver-events.ts';
import {
  cancelPaySession,
  findPaySession,
  payByCard,
} from '../../../src/gateways/payments/sandbox/pay-session.ts';
import { nextBankingDay } from '../../../src/gateways/payments/sandbox/payout-days.ts';
import { processDueChanges } from '../../../src/gateways/payments/sandbox/process-due-changes.ts';
import { testCards } from '../../../src/gateways/payments/sandbox/test-cards.ts';
import { testClock, testDatabase, testSettings } from '../../setup/database.ts';
import { makeOrganization } from '../../setup/organization.ts';
import { listenLocally } from '../../setup/sockets.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';

const never = new AbortController().signal;
const later = testSettings.sandbox.delayMs;
const day = testSettings.sandbox.payoutEveryMs;

const clock = testClock(new Date('2026-03-06T10:00:00Z')); // a Friday
/** Paths whose next request gets a 503. */
const failingOnce = new Set<string>();
const delivered: { path: string; headers: Record<string, string | undefined>; body: Buffer }[] = [];

const hook = createServer(async (req, res) => {
  const chunks = await req.toArray().catch(() => undefined);
  if (chunks === undefined) return; // the sender was stopped before it had sent the whole request
  delivered.push({
    path: req.url ?? '',
    headers: req.headers as Record<string, string>,
    body: Buffer.concat(chunks),
  });
  res.statusCode = failingOnce.delete(req.url ?? '') ? 503 : 200;
  res.end('{"received":true}');
});
const database = useStarted(async () => {
  const ownUrl = `http://127.0.0.1:${await listenLocally(hook)}`;
  return testDatabase({ clock, settings: { ownUrl, publicUrl: 'https://portal.example.test' } });
});
let organizationId: string;
beforeAll(async () => {
  organizationId = (await makeOrganization(database.ctx, { name: 'Aster & Söhne' })).id;
});
afterAll(() => {
  hook.closeAllConnections();
  hook.close();
});

type Account = { readonly id: string; readonly ctx: TenantCtx; readonly provider: PaymentProvider };

async function createAccount(inOrganization = organizationId, id = createId()): Promise<Account> {
  const ctx: TenantCtx = { ...database.ctx, organizationId: inOrganization };
  const kind = findProviderKind('sandbox');
  if (kind === undefined) throw new Error('there is no sandbox');
  const { publicUrl } = ctx.settings;
  return { id, ctx, provider: await kind.create(ctx, { id, secrets: kind.secrets.parse({}), publicUrl }) };
}

const gbp = (amountMinor: bigint) => ({ amountMinor, currency: 'GBP' });
const createOrder = (amountMinor: bigint): CheckoutOrder => ({
  checkoutId: createId(),
  paymentId: createId(),
  amount: gbp(amountMinor),
  title: 'Invoices 563614 and 563590',
  items: [
    { label: 'Invoice 563614', amount: gbp(amountMinor - 1n) },
    { label: 'Invoice 563590', amount: gbp(1n) },
  ],
  successUrl: 'https://shop.example.test/paid',
  cancelUrl: 'https://shop.example.test/basket',
  expiresAt: new Date(clock.now().getTime() + 30 * 60_000),
  record: null,
});

/** A checkout with its page's token. */
async function createCheckout({ provider }: Account, amountMinor = 5_000n) {
  const order = createOrder(amountMinor);
  const session = await provider.createCheckout(order, never);
  const token = session.url.split('/').at(-1) ?? '';
  return { order, session, token, look: () => provider.findPayment({ sessionId: session.id }, never) };
}

async function paid(account: Account, card = 'approved', amountMinor = 5_000n) {
  const checkout = await createCheckout(account, amountMinor);
  await payByCard(database.ctx, checkout.token, card);
  const providerPaymentId = (await checkout.look())?.providerPaymentId ?? '';
  const refund = (minor: bigint, refundId = createId()) =>
    account.provider.createRefund({ refundId, providerPaymentId, amount: gbp(minor), reason: null }, never);
  return { ...checkout, providerPaymentId, refund };
}

const advance = async (ms: number): Promise<void> => {
  clock.advance(ms);
  await processDueChanges(database.ctx, never);
};

async function changed({ provider }: Account, kind: string, since = new Date(0)): Promise<string[]> {
  const ids: string[] = [];
  for await (const object of provider.listChangedSince(since, never))
    if (object.kind === kind) ids.push(object.id);
  return ids;
}
const readPayouts = async (account: Account): Promise<(PayoutSnapshot | null)[]> =>
  Promise.all((await changed(account, 'payout')).map((id) => account.provider.findPayout(id, never)));

describe('a checkout', () => {
  it('has one session however often it is created, also concurrently, and refuses another order under its id', async () => {
    const account = await createAccount();
    const order = createOrder(5_000n);
    const [first, ...rest] = await Promise.all(
      [1, 2, 3].map(() => account.provider.createCheckout(order, never)),
    );
    expect(rest).toEqual([first, first]);
    expect(first?.url).toMatch(/^https:\/\/portal\.example\.test\/pay\/sandbox\/[\w-]{43}$/);
    expect(await changed(account, 'session')).toEqual([first?.id]);
    await expect(
      account.provider.createCheckout({ ...order, amount: gbp(4_999n) }, never),
    ).rejects.toMatchObject({ kind: 'rejected' });
    const stored = await inTransaction(account.ctx, (tx) =>
      tx('sandbox_payments').where({ id: first?.id }).first(),
    );
    expect(JSON.stringify(stored)).not.toContain(first?.url.split('/').at(-1));
  });

  it('shows the payee, the items and the amount to clients with its token, and is unknown to others', async () => {
    const account = await createAccount();
    const { token, session } = await createCheckout(account, 2_188_044n);
    expect(await findPaySession(database.ctx, token)).toMatchObject({
      payee: 'Aster & Söhne',
      amount: '21880.44',
      currency: 'GBP',
      items: [{ label: 'Invoice 563614', amount: '21880.43' }, { amount: '0.01' }],
      state: 'open',
    });
    for (const wrong of ['', 'x', `${token.slice(0, 42)}${token.endsWith('A') ? 'B' : 'A'}`])
      expect([
        await findPaySession(database.ctx, wrong),
        await payByCard(database.ctx, wrong, 'approved'),
      ]).toEqual([undefined, undefined]);
    const otherOrganization = await createAccount((await makeOrganization(database.ctx)).id);
    const otherAccount = await createAccount();
    for (const { provider } of [otherOrganization, otherAccount]) {
      expect(await provider.findPayment({ sessionId: session.id }, never)).toBeNull();
      await expect(provider.expireCheckout(session.id, never)).rejects.toMatchObject({ kind: 'rejected' });
    }
  });

  it('ends when it expires, when the service expires it, or when the payer cancels it; then no card is accepted', async () => {
    const account = await createAccount();
    const [late, ended, canceled, used] = [
      await createCheckout(account),
      await createCheckout(account),
      await createCheckout(account),
      await paid(account),
    ];
    expect(await account.provider.expireCheckout(ended.session.id, never)).toMatchObject({
      state: 'CANCELED',
      failure: { code: 'expired' },
    });
    expect(await cancelPaySession(database.ctx, canceled.token)).toMatchObject({
      outcome: 'done',
      session: { state: 'canceled' },
    });
    expect(await account.provider.expireCheckout(used.session.id, never)).toMatchObject({
      state: 'SUCCEEDED',
      received: gbp(5_000n),
    });
    expect(await cancelPaySession(database.ctx, used.token)).toMatchObject({
      outcome: 'refused',
      session: { state: 'paid' },
    });
    // It is expired by the clock even before that is recorded.
    clock.advance(30 * 60_000);
    for (const { token } of [late, ended, canceled])
      expect((await payByCard(database.ctx, token, 'approved'))?.outcome).toBe('refused');
    expect(await late.look()).toMatchObject({ state: 'OPEN' });
    await processDueChanges(database.ctx, never);
    expect(await late.look()).toMatchObject({ state: 'CANCELED', received: gbp(0n), method: null });
  });
});

describe('a card', () => {
  it.each(testCards.map((card) => [card.id, card] as const))(
    '%s has its documented outcome',
    async (id, card) => {
      const account = await createAccount();
      const checkout = await paid(account, id);
      const { immediate } = card;
      const method = { type: 'card', last4: card.last4 };
      if ('declined' in immediate) {
        expect(await checkout.look()).toMatchObject({
          state: 'OPEN',
          failure: immediate.declined,
          method,
          received: gbp(0n),
        });
        expect(await payByCard(database.ctx, checkout.token, 'approved')).toMatchObject({
          outcome: 'done',
          session: { failure: null },
        });
        expect(await checkout.look()).toMatchObject({ state: 'SUCCEEDED', failure: null });
        return;
      }
      expect(await checkout.look()).toMatchObject({ state: immediate.state, method, failure: null });
      expect(await payByCard(database.ctx, checkout.token, 'approved')).toMatchObject({ outcome: 'refused' });
      await advance(later);
      const wanted = immediate.state === 'PROCESSING' ? immediate.later.state : 'SUCCEEDED';
      expect(await checkout.look()).toMatchObject({
        state: wanted,
        method,
        received: gbp(wanted === 'SUCCEEDED' ? 5_000n : 0n),
      });
      if (card.isReversed)
        expect((await checkout.look())?.refunds).toMatchObject([
          { refundId: null, state: 'SUCCEEDED', amount: gbp(5_000n) },
        ]);
      else if (wanted === 'SUCCEEDED') {
        const refund = await checkout.refund(100n);
        expect(refund.state).toBe(card.refunds === 'at-once' ? 'SUCCEEDED' : 'PENDING');
        await advance(later);
        const state = card.refunds === 'fail' ? 'FAILED' : 'SUCCEEDED';
        expect((await checkout.look())?.refunds).toMatchObject([{ id: refund.id, state, amount: gbp(100n) }]);
      }
    },
  );

  it('is charged once however many pages submit it at once', async () => {
    const account = await createAccount();
    const { token, look } = await createCheckout(account);
    const tried = await Promise.all(
      ['approved', 'approved', 'approved-later', 'lost-card'].map((id) => payByCard(database.ctx, token, id)),
    );
    expect(tried.filter((answer) => answer?.outcome === 'done')).toHaveLength(1);
    expect(await look()).toMatchObject({ providerPaymentId: expect.stringMatching(/^py_/) });
    expect((await payByCard(database.ctx, token, '4242424242424242'))?.outcome).toBe('refused');
  });
});

describe('a refund', () => {
  it('is created once per id, never exceeds the payment, and can be repeated after it failed', async () => {
    const account = await createAccount();
    const { refund, look, providerPaymentId } = await paid(account);
    const id = createId();
    const [once, ...same] = await Promise.all([refund(3_000n, id), refund(3_000n, id), refund(3_000n, id)]);
    expect(same).toEqual([once, once]);
    await expect(refund(2_999n, id)).rejects.toMatchObject({ kind: 'rejected' });
    const rivals = await Promise.allSettled([refund(1_500n), refund(1_500n)]);
    expect(rivals.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(refund(501n)).rejects.toMatchObject({ kind: 'too-much-refunded' });
    const order = {
      refundId: createId(),
      providerPaymentId,
      amount: { amountMinor: 1n, currency: 'EUR' },
      reason: null,
    };
    await expect(account.provider.createRefund(order, never)).rejects.toMatchObject({ kind: 'rejected' });
    await refund(500n);
    expect((await look())?.refunds.reduce((sum, { amount }) => sum + amount.amountMinor, 0n)).toBe(5_000n);

    const failing = await paid(account, 'refunds-fail');
    await failing.refund(5_000n);
    await expect(failing.refund(1n)).rejects.toMatchObject({ kind: 'too-much-refunded' });
    await advance(later);
    expect(await failing.refund(5_000n)).toMatchObject({ state: 'PENDING' });
  });
});

describe('payouts', () => {
  it('are created daily, contain each payment and refund once, and add up', async () => {
    const account = await createAccount();
    const [first, second] = [await paid(account), await paid(account, 'approved', 700n)];
    await createCheckout(account);
    const refunded = await first.refund(1_200n);
    expect(await readPayouts(account)).toEqual([]);
    clock.advance(day);
    // Two processes poll at the same moment.
    await Promise.all([processDueChanges(database.ctx, never), processDueChanges(database.ctx, never)]);
    const entry = (of: typeof first, minor: bigint) => ({
      kind: 'payment',
      paymentId: of.order.paymentId,
      amount: gbp(minor),
    });
    const wanted = {
      amount: gbp(4_500n),
      entries: [
        { ...entry(first, 5_000n), providerRefundId: null },
        { ...entry(second, 700n), providerRefundId: null },
        { ...entry(first, -1_200n), kind: 'refund', providerRefundId: refunded.id },
      ],
    };
    expect(await readPayouts(account)).toMatchObject([
      { ...wanted, state: 'PENDING', arrivalDate: nextBankingDay(clock.now()) },
    ]);
    await advance(day / 24);
    expect(await readPayouts(account)).toMatchObject([{ ...wanted, state: 'IN_TRANSIT' }]);
    await advance(4 * day);
    expect(await readPayouts(account)).toMatchObject([{ ...wanted, state: 'PAID' }]);
  });

  it('wait while refunds exceed payments', async () => {
    const account = await createAccount();
    const { refund } = await paid(account);
    await advance(day);
    expect(await readPayouts(account)).toHaveLength(1);
    await refund(5_000n);
    await advance(2 * day);
    expect(await readPayouts(account)).toHaveLength(1);
    await paid(account, 'approved', 6_000n);
    await advance(day);
    expect((await readPayouts(account)).map((payout) => payout?.amount.amountMinor)).toEqual([
      5_000n,
      1_000n,
    ]);
  });

  it("are created even if another organization's balance overflows", async () => {
    const account = await createAccount();
    const otherOrganization = await createAccount((await makeOrganization(database.ctx)).id);
    const maxAmount = 2n ** 63n - 1n;
    const [mine] = [
      await paid(account),
      await paid(otherOrganization, 'approved', maxAmount),
      await paid(otherOrganization, 'approved', maxAmount),
    ];
    await advance(day);
    expect(await readPayouts(account)).toMatchObject([{ entries: [{ paymentId: mine.order.paymentId }] }]);
    expect(await readPayouts(otherOrganization)).toEqual([]);
    await inTransaction(otherOrganization.ctx, (tx) =>
      tx('sandbox_payments').where({ account_id: otherOrganization.id }).update({ due_at: null }),
    );
  });

  it.each([
    ['2026-03-05T23:59:59Z', '2026-03-06'],
    ['2026-03-06T00:00:00Z', '2026-03-09'],
    ['2026-03-08T12:00:00Z', '2026-03-09'],
    ['2026-12-31T12:00:00Z', '2027-01-01'],
  ])('made at %s arrive on %s', (at, arrival) => {
    expect(nextBankingDay(new Date(at))).toBe(arrival);
  });
});

describe('an event', () => {
  let received: (typeof delivered)[number] | undefined;

  it('is delivered with a signature to the webhook of the account, retried until accepted, and names what changed', async () => {
    const runner = startSandboxWork(database.ctx);
    const account = await createAccount();
    const address = `/api/platform/v1/pay/webhooks/sandbox/${account.id}`;
    failingOnce.add(address);
    const { session } = await paid(account);
    const mine = await until(async () => {
      const found = delivered.filter(({ path }) => path === address);
      return found.length >= 2 ? found : undefined;
    });
    await runner.stop();
    const [refused, accepted] = mine;
    received = accepted;
    expect(accepted?.body).toEqual(refused?.body);
    const event = account.provider.parseEvent(accepted?.body ?? Buffer.alloc(0), accepted?.headers ?? {});
    expect(event).toMatchObject({ type: 'payment.succeeded', concerns: { kind: 'session', id: session.id } });
  });

  it('is refused when it was changed, is unsigned, for another account, or older than five minutes', async () => {
    const account = await createAccount();
    const [, id = ''] = /sandbox\/(.+)$/.exec(received?.path ?? '') ?? [];
    const { provider } = await createAccount(organizationId, id);
    const { body = Buffer.alloc(0), headers = {} } = received ?? {};
    const bad = expect.objectContaining({ kind: 'bad-signature' });
    expect(provider.parseEvent(body, headers).id).toMatch(/^evt_/);
    const changed = Buffer.concat([body, Buffer.from(' ')]);
    expect(() => provider.parseEvent(changed, headers)).toThrow(bad);
    expect(() => provider.parseEvent(body, {})).toThrow(bad);
    expect(() => account.provider.parseEvent(body, headers)).toThrow(bad);
    clock.advance(301_000);
    expect(() => provider.parseEvent(body, headers)).toThrow(bad);
  });

  it('can be missed: changed objects are listed, each once, in the order of their changes', async () => {
    const account = await createAccount();
    const sessions = [];
    for (let index = 0; index < 105; index += 1)
      sessions.push(await account.provider.createCheckout(createOrder(5_000n), never));
    const ids = sessions.map(({ id }) => id);
    expect(await changed(account, 'session')).toEqual(ids);
    await cancelPaySession(database.ctx, sessions[0]?.url.split('/').at(-1) ?? '');
    expect(await changed(account, 'session')).toEqual([...ids.slice(1), ids[0]]);
    expect(await changed(account, 'session', new Date('2100-01-01'))).toEqual([]);
  });
});

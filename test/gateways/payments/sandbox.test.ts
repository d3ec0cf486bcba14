// The sandbox as the service sees it: through the interface of a payment provider, its page's doors, its clock and its webhook.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../../src/core/ctx.ts';
import { newId } from '../../../src/core/id.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import type { CheckoutOrder, PaymentProvider, PayoutSnapshot } from '../../../src/gateways/payments/provider.ts';
import { findProviderKind } from '../../../src/gateways/payments/providers.ts';
import { startSandbox } from '../../../src/gateways/payments/sandbox/deliver-events.ts';
import { letTimePass } from '../../../src/gateways/payments/sandbox/let-time-pass.ts';
import { giveUpPaying, lookAtSession, payByCard } from '../../../src/gateways/payments/sandbox/pay-session.ts';
import { nextBankingDay } from '../../../src/gateways/payments/sandbox/payout-days.ts';
import { testCards } from '../../../src/gateways/payments/sandbox/test-cards.ts';
import { type TestClock, type TestDatabase, testClock, testDatabase, testSettings } from '../../setup/database.ts';
import { makeOrganization } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';

const never = new AbortController().signal;
const later = testSettings.sandbox.laterMs;
const day = testSettings.sandbox.payoutEveryMs;

let database: TestDatabase;
let clock: TestClock;
let organizationId: string;
let hook: Server;
/** Paths whose next call is answered 503. */
const refusedOnce = new Set<string>();
const heard: { path: string; headers: Record<string, string | undefined>; body: Buffer }[] = [];

beforeAll(async () => {
  hook = createServer(async (req, res) => {
    const chunks = await req.toArray().catch(() => undefined);
    if (chunks === undefined) return; // whoever told it was stopped before all of it was said
    heard.push({ path: req.url ?? '', headers: req.headers as Record<string, string>, body: Buffer.concat(chunks) });
    res.statusCode = refusedOnce.delete(req.url ?? '') ? 503 : 200;
    res.end('{"received":true}');
  });
  await new Promise<void>((resolve) => {
    hook.listen(0, '127.0.0.1', resolve);
  });
  clock = testClock(new Date('2026-03-06T10:00:00Z')); // a Friday
  const ownUrl = `http://127.0.0.1:${(hook.address() as AddressInfo).port}`;
  database = await testDatabase({ clock, settings: { ownUrl, publicUrl: 'https://portal.example.test' } });
  organizationId = (await makeOrganization(database.ctx, { name: 'Aster & Söhne' })).id;
});
afterAll(async () => {
  hook.closeAllConnections();
  hook.close();
  await database.close();
});

type Account = { readonly id: string; readonly ctx: TenantCtx; readonly provider: PaymentProvider };

async function openAccount(inOrganization = organizationId): Promise<Account> {
  const ctx: TenantCtx = { ...database.ctx, organizationId: inOrganization };
  const id = newId();
  const kind = findProviderKind('sandbox');
  if (kind === undefined) throw new Error('there is no sandbox');
  return { id, ctx, provider: await kind.open(ctx, { id, secrets: kind.secrets.parse({}), publicUrl: 'https://portal.example.test' }) };
}

const gbp = (amountMinor: bigint) => ({ amountMinor, currency: 'GBP' });
const orderOf = (amountMinor: bigint): CheckoutOrder => ({
  checkoutId: newId(),
  paymentId: newId(),
  amount: gbp(amountMinor),
  title: 'Invoices 563614 and 563590',
  items: [
    { label: 'Invoice 563614', amount: gbp(amountMinor - 1n) },
    { label: 'Invoice 563590', amount: gbp(1n) },
  ],
  successUrl: 'https://shop.example.test/paid',
  cancelUrl: 'https://shop.example.test/basket',
  expiresAt: new Date(clock.now().getTime() + 30 * 60_000),
});

/** A checkout with its page's token. */
async function checkOut({ provider }: Account, amountMinor = 5_000n) {
  const order = orderOf(amountMinor);
  const session = await provider.createCheckout(order, never);
  const token = session.url.split('/').at(-1) ?? '';
  return { order, session, token, look: () => provider.payment({ sessionId: session.id }, never) };
}

async function paid(account: Account, card = 'approved', amountMinor = 5_000n) {
  const checkout = await checkOut(account, amountMinor);
  await payByCard(database.ctx, checkout.token, card);
  const providerPaymentId = (await checkout.look())?.providerPaymentId ?? '';
  const refund = (minor: bigint, refundId = newId()) =>
    account.provider.refund({ refundId, providerPaymentId, amount: gbp(minor), reason: null }, never);
  return { ...checkout, providerPaymentId, refund };
}

const pass = async (ms: number): Promise<void> => {
  clock.advance(ms);
  await letTimePass(database.ctx, never);
};

async function changed({ provider }: Account, kind: string, since = new Date(0)): Promise<string[]> {
  const ids: string[] = [];
  for await (const object of provider.changedSince(since, never)) if (object.kind === kind) ids.push(object.id);
  return ids;
}
const payoutsOf = async (account: Account): Promise<(PayoutSnapshot | null)[]> =>
  Promise.all((await changed(account, 'payout')).map((id) => account.provider.payout(id, never)));

describe('a checkout', () => {
  it('is one session however often it is asked for, also at once, and another order under its id is refused', async () => {
    const account = await openAccount();
    const order = orderOf(5_000n);
    const [first, ...rest] = await Promise.all([1, 2, 3].map(() => account.provider.createCheckout(order, never)));
    expect(rest).toEqual([first, first]);
    expect(first?.url).toMatch(/^https:\/\/portal\.example\.test\/pay\/sandbox\/[\w-]{43}$/);
    expect(await changed(account, 'session')).toEqual([first?.id]);
    await expect(account.provider.createCheckout({ ...order, amount: gbp(4_999n) }, never)).rejects.toMatchObject({ kind: 'rejected' });
    const held = await inTransaction(account.ctx, (tx) => tx('sandbox_payments').where({ id: first?.id }).first());
    expect(JSON.stringify(held)).not.toContain(first?.url.split('/').at(-1));
  });

  it('shows who is paid, what for and how much to whoever has its token, and is unknown to others', async () => {
    const account = await openAccount();
    const { token, session } = await checkOut(account, 2_188_044n);
    expect(await lookAtSession(database.ctx, token)).toMatchObject({
      payee: 'Aster & Söhne',
      amount: '21880.44',
      currency: 'GBP',
      items: [{ label: 'Invoice 563614', amount: '21880.43' }, { amount: '0.01' }],
      state: 'open',
    });
    for (const wrong of ['', 'x', `${token.slice(0, 42)}${token.endsWith('A') ? 'B' : 'A'}`])
      expect([await lookAtSession(database.ctx, wrong), await payByCard(database.ctx, wrong, 'approved')]).toEqual([undefined, undefined]);
    const stranger = await openAccount((await makeOrganization(database.ctx)).id);
    const neighbour = await openAccount();
    for (const { provider } of [stranger, neighbour]) {
      expect(await provider.payment({ sessionId: session.id }, never)).toBeNull();
      await expect(provider.expireCheckout(session.id, never)).rejects.toMatchObject({ kind: 'rejected' });
    }
  });

  it('ends in time, when the service says so, or when the payer does; then no card is taken', async () => {
    const account = await openAccount();
    const [late, ended, given, used] = [await checkOut(account), await checkOut(account), await checkOut(account), await paid(account)];
    expect(await account.provider.expireCheckout(ended.session.id, never)).toMatchObject({
      state: 'CANCELED',
      failure: { code: 'expired' },
    });
    expect(await giveUpPaying(database.ctx, given.token)).toMatchObject({ outcome: 'done', session: { state: 'canceled' } });
    expect(await account.provider.expireCheckout(used.session.id, never)).toMatchObject({ state: 'SUCCEEDED', received: gbp(5_000n) });
    expect(await giveUpPaying(database.ctx, used.token)).toMatchObject({ outcome: 'refused', session: { state: 'paid' } });
    // By the clock alone it is over, before anybody has written that down.
    clock.advance(30 * 60_000);
    for (const { token } of [late, ended, given]) expect((await payByCard(database.ctx, token, 'approved'))?.outcome).toBe('refused');
    expect(await late.look()).toMatchObject({ state: 'OPEN' });
    await letTimePass(database.ctx, never);
    expect(await late.look()).toMatchObject({ state: 'CANCELED', received: gbp(0n), method: null });
  });
});

describe('a card', () => {
  it.each(testCards.map((card) => [card.id, card] as const))('%s does what it says', async (id, card) => {
    const account = await openAccount();
    const checkout = await paid(account, id);
    const { atOnce } = card;
    const method = { type: 'card', last4: card.last4 };
    if ('declined' in atOnce) {
      expect(await checkout.look()).toMatchObject({ state: 'OPEN', failure: atOnce.declined, method, received: gbp(0n) });
      expect(await payByCard(database.ctx, checkout.token, 'approved')).toMatchObject({ outcome: 'done', session: { failure: null } });
      expect(await checkout.look()).toMatchObject({ state: 'SUCCEEDED', failure: null });
      return;
    }
    expect(await checkout.look()).toMatchObject({ state: atOnce.state, method, failure: null });
    expect(await payByCard(database.ctx, checkout.token, 'approved')).toMatchObject({ outcome: 'refused' });
    await pass(later);
    const wanted = atOnce.state === 'PROCESSING' ? atOnce.later.state : 'SUCCEEDED';
    expect(await checkout.look()).toMatchObject({ state: wanted, method, received: gbp(wanted === 'SUCCEEDED' ? 5_000n : 0n) });
    if (card.isGivenBack)
      expect((await checkout.look())?.refunds).toMatchObject([{ refundId: null, state: 'SUCCEEDED', amount: gbp(5_000n) }]);
    else if (wanted === 'SUCCEEDED') {
      const refund = await checkout.refund(100n);
      expect(refund.state).toBe(card.refunds === 'at-once' ? 'SUCCEEDED' : 'PENDING');
      await pass(later);
      const state = card.refunds === 'fail' ? 'FAILED' : 'SUCCEEDED';
      expect((await checkout.look())?.refunds).toMatchObject([{ id: refund.id, state, amount: gbp(100n) }]);
    }
  });

  it('is charged once however many pages send it at once', async () => {
    const account = await openAccount();
    const { token, look } = await checkOut(account);
    const tried = await Promise.all(
      ['approved', 'approved', 'approved-later', 'lost-card'].map((id) => payByCard(database.ctx, token, id)),
    );
    expect(tried.filter((answer) => answer?.outcome === 'done')).toHaveLength(1);
    expect(await look()).toMatchObject({ providerPaymentId: expect.stringMatching(/^py_/) });
    expect((await payByCard(database.ctx, token, '4242424242424242'))?.outcome).toBe('refused');
  });
});

describe('a refund', () => {
  it('is one per id, and never more than was taken; what failed may be given back again', async () => {
    const account = await openAccount();
    const { refund, look, providerPaymentId } = await paid(account);
    const id = newId();
    const [once, ...same] = await Promise.all([refund(3_000n, id), refund(3_000n, id), refund(3_000n, id)]);
    expect(same).toEqual([once, once]);
    await expect(refund(2_999n, id)).rejects.toMatchObject({ kind: 'rejected' });
    const rivals = await Promise.allSettled([refund(1_500n), refund(1_500n)]);
    expect(rivals.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(refund(501n)).rejects.toMatchObject({ kind: 'too-much-refunded' });
    const order = { refundId: newId(), providerPaymentId, amount: { amountMinor: 1n, currency: 'EUR' }, reason: null };
    await expect(account.provider.refund(order, never)).rejects.toMatchObject({ kind: 'rejected' });
    await refund(500n);
    expect((await look())?.refunds.reduce((sum, { amount }) => sum + amount.amountMinor, 0n)).toBe(5_000n);

    const failing = await paid(account, 'refunds-fail');
    await failing.refund(5_000n);
    await expect(failing.refund(1n)).rejects.toMatchObject({ kind: 'too-much-refunded' });
    await pass(later);
    expect(await failing.refund(5_000n)).toMatchObject({ state: 'PENDING' });
  });
});

describe('payouts', () => {
  it('come daily by the clock, hold each payment and refund once, and add up', async () => {
    const account = await openAccount();
    const [first, second] = [await paid(account), await paid(account, 'approved', 700n)];
    await checkOut(account);
    const back = await first.refund(1_200n);
    expect(await payoutsOf(account)).toEqual([]);
    clock.advance(day);
    // Two processes look at the same moment.
    await Promise.all([letTimePass(database.ctx, never), letTimePass(database.ctx, never)]);
    const entry = (of: typeof first, minor: bigint) => ({ kind: 'payment', paymentId: of.order.paymentId, amount: gbp(minor) });
    const wanted = {
      amount: gbp(4_500n),
      entries: [
        { ...entry(first, 5_000n), providerRefundId: null },
        { ...entry(second, 700n), providerRefundId: null },
        { ...entry(first, -1_200n), kind: 'refund', providerRefundId: back.id },
      ],
    };
    expect(await payoutsOf(account)).toMatchObject([{ ...wanted, state: 'PENDING', arrivalDate: nextBankingDay(clock.now()) }]);
    await pass(day / 24);
    expect(await payoutsOf(account)).toMatchObject([{ ...wanted, state: 'IN_TRANSIT' }]);
    await pass(4 * day);
    expect(await payoutsOf(account)).toMatchObject([{ ...wanted, state: 'PAID' }]);
  });

  it('wait while more was given back than taken', async () => {
    const account = await openAccount();
    const { refund } = await paid(account);
    await pass(day);
    expect(await payoutsOf(account)).toHaveLength(1);
    await refund(5_000n);
    await pass(2 * day);
    expect(await payoutsOf(account)).toHaveLength(1);
    await paid(account, 'approved', 6_000n);
    await pass(day);
    expect((await payoutsOf(account)).map((payout) => payout?.amount.amountMinor)).toEqual([5_000n, 1_000n]);
  });

  it("come though another organization's books can't be added up", async () => {
    const account = await openAccount();
    const stranger = await openAccount((await makeOrganization(database.ctx)).id);
    const most = 2n ** 63n - 1n;
    const [mine] = [await paid(account), await paid(stranger, 'approved', most), await paid(stranger, 'approved', most)];
    await pass(day);
    expect(await payoutsOf(account)).toMatchObject([{ entries: [{ paymentId: mine.order.paymentId }] }]);
    expect(await payoutsOf(stranger)).toEqual([]);
    await inTransaction(stranger.ctx, (tx) => tx('sandbox_payments').where({ account_id: stranger.id }).update({ due_at: null }));
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

describe('what it tells', () => {
  let told: (typeof heard)[number] | undefined;

  it('arrives signed at the address of the account, is tried again until it is taken, and names what changed', async () => {
    const runner = startSandbox(database.ctx);
    const account = await openAccount();
    const address = `/api/platform/v1/pay/webhooks/sandbox/${account.id}`;
    refusedOnce.add(address);
    const { session } = await paid(account);
    const mine = await until(async () => {
      const found = heard.filter(({ path }) => path === address);
      return found.length >= 2 ? found : undefined;
    });
    await runner.stop();
    const [refused, taken] = mine;
    told = taken;
    expect(taken?.body).toEqual(refused?.body);
    const event = account.provider.readEvent(taken?.body ?? Buffer.alloc(0), taken?.headers ?? {});
    expect(event).toMatchObject({ type: 'payment.succeeded', concerns: { kind: 'session', id: session.id } });
  });

  it('is refused when it is changed, unsigned, for another account, or older than five minutes', async () => {
    const account = await openAccount();
    const [, id = ''] = /sandbox\/(.+)$/.exec(told?.path ?? '') ?? [];
    const kind = findProviderKind('sandbox');
    const provider = await kind?.open(account.ctx, { id, secrets: {}, publicUrl: '' });
    const { body = Buffer.alloc(0), headers = {} } = told ?? {};
    const bad = { kind: 'bad-signature' };
    expect(provider?.readEvent(body, headers).id).toMatch(/^evt_/);
    expect(() => provider?.readEvent(Buffer.concat([body, Buffer.from(' ')]), headers)).toThrow(expect.objectContaining(bad));
    expect(() => provider?.readEvent(body, {})).toThrow(expect.objectContaining(bad));
    expect(() => account.provider.readEvent(body, headers)).toThrow(expect.objectContaining(bad));
    clock.advance(301_000);
    expect(() => provider?.readEvent(body, headers)).toThrow(expect.objectContaining(bad));
  });

  it('can be missed: what changed since is listed, each once, in the order of the changes', async () => {
    const account = await openAccount();
    const made = [];
    for (let index = 0; index < 105; index += 1) made.push(await account.provider.createCheckout(orderOf(5_000n), never));
    const ids = made.map(({ id }) => id);
    expect(await changed(account, 'session')).toEqual(ids);
    await giveUpPaying(database.ctx, made[0]?.url.split('/').at(-1) ?? '');
    expect(await changed(account, 'session')).toEqual([...ids.slice(1), ids[0]]);
    expect(await changed(account, 'session', new Date('2100-01-01'))).toEqual([]);
  });
});

// Payments through a failover of the database server that loses commits: what the payment provider and the
// ERP did meanwhile is entered once and written once. The provider and the ERP are servers of their own and
// lose nothing.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findSession, openPayFixture, type PayFixture } from '../platform/pay/pay-fixture.ts';
import type { Intent } from '../setup/stripe/objects.ts';
import { type PairDatabase, pairDatabase } from './harness/pair-database.ts';

let database: PairDatabase;
let fixture: PayFixture;
beforeEach(async () => {
  database = await pairDatabase();
  fixture = await openPayFixture(database);
  await fixture.rest();
});
afterEach(() => fixture.stop());

type Page = { readonly url: string; readonly paymentId: string };

/** An invoice in the ERP over this amount, and a checkout of it. */
async function checkOut(pence: number): Promise<Page & { readonly invoice: string }> {
  const item = { items: [{ item: '10', amount: pence / 100 }] };
  const invoice = await fixture.byHand('invoice', { entity: { id: '1' }, item });
  return { ...(await checkOutAgain(invoice)).body, invoice };
}
const checkOutAgain = (invoice: string) =>
  fixture.api('post', '/pay/checkout', {
    customerId: '1',
    invoices: [{ recordId: invoice }],
    successUrl: 'http://127.0.0.1/paid',
    cancelUrl: 'http://127.0.0.1/back',
  });
/** Like `rest`, but a checkout may stay open. */
async function settle(): Promise<void> {
  for (let round = 0; round < 4; round += 1) await fixture.work();
}
const pay = ({ url }: Page): void =>
  void fixture.stripe.ledger.pay(findSession(fixture, url)?.id ?? '', 'succeeds');
const findIntent = ({ url }: Page): string => findSession(fixture, url)?.payment_intent ?? '';
const findLine = async ({ paymentId }: Page) => (await fixture.lines()).find(({ id }) => id === paymentId);
const documents = () =>
  fixture.books.ledger<{ type: string; externalid: string; total: string }>(
    "select type, externalid, round(100 * foreigntotal)::text as total from ledger.transaction where type in ('CustPymt', 'CustRfnd') order by 1, 2",
  );

describe('a failover that loses commits', () => {
  it('neither doubles nor forgets payments and refunds', async () => {
    const refunded = await checkOut(20_000);
    pay(refunded);
    await fixture.rest();
    const survives = await checkOut(10_000);
    await database.startLosing();

    pay(survives);
    const lost = await checkOut(30_000);
    pay(lost);
    const unpaid = await checkOut(40_000);
    await fixture.api('post', `/pay/payments/${refunded.paymentId}/refund`, { amount: '50.00' });
    const intent = fixture.stripe.ledger.get<Intent>('payment_intent', findIntent(refunded));
    fixture.stripe.ledger.refund({ payment_intent: intent.id, amount: 2_500 });
    await settle();
    const before = { lines: await fixture.lines(), documents: await documents() };
    expect(before.documents).toHaveLength(5);
    await database.failOver();

    fixture.books.wire.seen.length = 0;
    await fixture.restart();
    await settle();
    // The ERP was asked for what it has already, and nothing was sent to be written again.
    expect(fixture.books.wire.seen.filter((name) => /^(POST|PATCH) customer/.test(name))).toEqual([]);
    const byId = <T extends { readonly id: string }>(lines: readonly T[]): T[] =>
      lines.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(await documents()).toEqual(before.documents);
    expect(byId(await fixture.lines())).toEqual(byId(before.lines));
    expect(await findLine(lost)).toMatchObject({
      status: 'SUCCEEDED',
      invoices: [lost.invoice],
      received: 30_000,
      document: 'LANDED',
    });
    expect(await findLine(unpaid)).toMatchObject({ status: 'PENDING', invoices: [unpaid.invoice] });
    const shown = await fixture.api('get', `/pay/payments/${lost.paymentId}`);
    expect(shown.body).toMatchObject({
      status: 'SUCCEEDED',
      amount: '300.00',
      customerId: '1',
      erp: { status: 'LANDED' },
    });
    // The open checkout was entered again as well: its payer may still pay, and then it is entered once.
    pay(unpaid);
    await fixture.rest();
    expect(await findLine(unpaid)).toMatchObject({
      status: 'SUCCEEDED',
      received: 40_000,
      inErp: { payments: 1, applied: 40_000 },
    });
  });

  it('asks for no money and returns none before the provider was asked', async () => {
    const paid = await checkOut(10_000);
    pay(paid);
    await fixture.rest();
    await database.startLosing();
    const lost = await checkOut(20_000);
    pay(lost);
    await fixture.api('post', `/pay/payments/${paid.paymentId}/refund`, { amount: '90.00' });
    await database.failOver();

    const refund = () => fixture.api('post', `/pay/payments/${paid.paymentId}/refund`, { amount: '90.00' });
    for (const answer of [await checkOutAgain(lost.invoice), await refund()]) {
      expect([answer.status, answer.body.error?.message]).toEqual([
        503,
        expect.stringContaining('failed over'),
      ]);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    await fixture.rest();
    expect((await checkOutAgain(lost.invoice)).status).toBe(422);
    expect((await refund()).status).toBe(422);
    expect(await findLine(paid)).toMatchObject({
      refunded: 9_000,
      atStripe: { refunded: 9_000 },
      inErp: { refunded: 9_000 },
    });
    expect((await checkOut(1_000)).paymentId).toBeTruthy();
  });
});

describe('a switchover', () => {
  it('leaves payments as they are', async () => {
    const page = await checkOut(10_000);
    pay(page);
    await fixture.rest();
    const open = await checkOut(20_000);
    const before = { lines: await fixture.lines(), documents: await documents() };
    await database.switchOver();
    await fixture.restart();
    await settle();
    expect({ lines: await fixture.lines(), documents: await documents() }).toEqual(before);
    pay(open);
    await fixture.rest();
    expect(await findLine(open)).toMatchObject({ received: 20_000, inErp: { payments: 1, applied: 20_000 } });
  });
});

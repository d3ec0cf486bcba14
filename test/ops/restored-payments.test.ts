// Payments after a restore from a backup: what the payment provider and the ERP did since is entered once and
// written once. The provider and the ERP are servers of their own; the database loses rows, as one that was
// restored lacks them.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createOperator } from '../admin/fixture.ts';
import { findSession, openPayFixture, type PayFixture } from '../platform/pay/pay-fixture.ts';
import { asSuperuser } from '../setup/superuser.ts';

let fixture: PayFixture;
beforeEach(async () => {
  fixture = await openPayFixture();
  await fixture.rest();
});
afterEach(() => fixture.stop());

const checkOut = (invoice: string) =>
  fixture.api('post', '/pay/checkout', {
    customerId: '1',
    invoices: [{ recordId: invoice }],
    successUrl: 'http://127.0.0.1/paid',
    cancelUrl: 'http://127.0.0.1/back',
  });
const refund = (paymentId: string) =>
  fixture.api('post', `/pay/payments/${paymentId}/refund`, { amount: '50.00' });

/** A new invoice over 100 pounds, paid and in the ERP. */
async function paid(): Promise<{
  readonly invoice: string;
  readonly paymentId: string;
  readonly session: string;
}> {
  const invoice = await fixture.byHand('invoice', {
    entity: { id: '1' },
    item: { items: [{ item: '10', amount: 100 }] },
  });
  const { url, paymentId } = (await checkOut(invoice)).body;
  const session = findSession(fixture, url)?.id ?? '';
  fixture.stripe.ledger.pay(session, 'succeeds');
  await fixture.rest();
  return { invoice, paymentId, session };
}

/** What the ERP has: documents, and how much of which invoice each one pays. */
const books = () =>
  fixture.books.ledger(
    `select t.type, t.externalid, round(100 * t.foreigntotal) as total, a.invoice, round(100 * a.amount) as amount
     from ledger.transaction t left join ledger.application a on a.credit = t.id where t.type in ('CustPymt', 'CustRfnd') order by 1, 2, 4, 5`,
  );

it('payments and refunds that the backup lacks are entered again, and money moves only once they are', async () => {
  const { address, ctx } = fixture.books.database;
  const [kept, lost] = [await paid(), await paid()];
  expect((await refund(kept.paymentId)).status).toBe(200);
  await fixture.rest();
  const before = { lines: await fixture.lines(), books: await books() };
  await asSuperuser(address, async (client) => {
    await client.query("delete from pay_erp_documents where kind = 'refund'");
    await client.query('delete from pay_refunds');
    await client.query("update pay_payments set refunded_minor = 0, status = 'SUCCEEDED'");
    for (const table of ['pay_erp_documents', 'pay_checkouts', 'pay_payment_invoices', 'pay_payments'])
      await client.query(
        `delete from ${table} where ${table === 'pay_payments' ? 'id' : 'payment_id'} = $1`,
        [lost.paymentId],
      );
  });
  // Stripe lists what changed, but does not show it: the payments remain unknown.
  fixture.stripe.fault = ({ path }) =>
    path.startsWith('/v1/checkout/sessions/') ? 'error-before' : undefined;
  const operator = createOperator(ctx, address);
  await operator.run('finish-restore');
  await operator.close();

  const refused = async () =>
    expect([(await checkOut(lost.invoice)).status, (await refund(kept.paymentId)).status]).toEqual([
      503, 503,
    ]);
  await refused();
  await fixture.restart();
  await fixture.work();
  await refused();
  fixture.stripe.fault = () => undefined;
  await fixture.rest();

  const byId = <T extends { readonly id: string }>(lines: readonly T[]): T[] =>
    lines.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  expect({ lines: byId(await fixture.lines()), books: await books() }).toEqual({
    ...before,
    lines: byId(before.lines),
  });
  expect((await checkOut(lost.invoice)).status).toBe(422);
  expect((await refund(kept.paymentId)).status).toBe(200);
});

// Payments at the sandbox for records as a complete run leaves them. There is no ERP, so checkouts use the
// synced records.
import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { payByCard } from '../../../src/gateways/payments/sandbox/pay-session.ts';
import { checkPayment } from '../../../src/platform/pay/provider/check-payment.ts';
import { instants, laterInstants } from '../arbitrary.ts';
import { asBuilt, type BuilderGroup, byId, type Fixture, insertRow, storeRecords } from '../builder.ts';

const config = {
  provider: 'sandbox',
  currency: 'GBP',
  invoices: { recordType: 'bill', number: 'number', amountDue: 'due', currency: null, customer: 'customer' },
};
const returns = { successUrl: 'http://127.0.0.1:1/paid', cancelUrl: 'http://127.0.0.1:1/no' };
const records = 2_000;
const nextBill = ({ next }: Fixture): string => String((next() % records) + 1);
const checkoutBody = (fixture: Fixture) => ({
  customerId: 'c',
  invoices: [{ recordId: nextBill(fixture), amount: '0.05' }],
  ...returns,
  allowStale: true,
});

type Made = { id: string; paymentId: string; url: string };
const checkOut = async (fixture: Fixture): Promise<Made> =>
  (await fixture.api('POST', '/pay/checkout', checkoutBody(fixture))).body;

/** A completed payment, as the queue records it. */
async function paid(fixture: Fixture): Promise<string> {
  const { paymentId, url } = await checkOut(fixture);
  await payByCard(fixture.ctx, url.split('/').at(-1) ?? '', 'approved');
  const ctx = { ...fixture.ctx, organizationId: fixture.organization.id };
  const { account_id: accountId } = await fixture.sql((tx) =>
    tx('pay_payments').where({ id: paymentId }).first<{ account_id: string }>('account_id'),
  );
  await checkPayment(ctx, accountId, paymentId, new AbortController().signal);
  return paymentId;
}

/** A write-back that can't reach the ERP, since there is none. */
async function notWritten(fixture: Fixture): Promise<string> {
  const id = await paid(fixture);
  const row = { payment_id: id, kind: 'payment', external_id: id, status: 'FAILED' };
  await insertRow(fixture, 'pay_erp_documents', row);
  return id;
}

async function payout(fixture: Fixture): Promise<string> {
  const { id: account_id } = await fixture.sql((tx) => tx('pay_accounts').first<{ id: string }>('id'));
  const id = await insertRow(fixture, 'pay_payouts', {
    ...{ account_id, provider_payout_id: createId(), status: 'PAID', currency: 'GBP', amount_minor: 100 },
    ...{ arrival_date: '2026-03-02', created_at: new Date() },
  });
  const entry = { payout_id: id, position: 0, kind: 'other', amount_minor: 100 };
  const organization_id = fixture.organization.id;
  await fixture.sql((tx) => tx('pay_payout_entries').insert({ organization_id, ...entry }));
  return id;
}

export const payBuilders: BuilderGroup = {
  setUp: async (fixture) => {
    const fields = { number: 'text', due: 'number', customer: 'text' } as const;
    await storeRecords(fixture, 'bill', fields, [records, "'B-' || n, 1000, 'c'"]);
    await fixture.api('PUT', '/pay/config', config);
  },
  builders: {
    getPayConfig: { build: () => ({}) },
    putPayConfig: {
      build: () => ({ body: config }),
      fields: {
        'body.provider': asBuilt,
        'body.currency': asBuilt,
        // Checkouts of other requests need it.
        'body.enabled': fc.constant(true),
        'body.invoices': asBuilt,
        'body.writeBack': fc.constant(false),
        'body.secrets': fc.constant({}),
      },
      alone: true,
    },
    createCheckout: {
      build: (fixture) => ({ body: checkoutBody(fixture) }),
      fields: (fixture) => ({
        'body.customerId': asBuilt,
        'body.invoices': fc
          .constantFrom('0.01', '1', '2.5')
          .map((amount) => [{ recordId: nextBill(fixture), amount }]),
        'body.successUrl': fc.webPath().map((path) => `http://127.0.0.1:1/x${path}`),
        'body.cancelUrl': asBuilt,
        'body.allowStale': asBuilt,
      }),
    },
    getCheckout: { build: async (fixture) => ({ params: { id: (await checkOut(fixture)).id } }) },
    listPayments: {
      build: async (fixture) => (await checkOut(fixture), {}),
      fields: { 'query.after': instants, 'query.before': laterInstants },
    },
    getPayment: { build: byId(paid) },
    refundPayment: {
      build: async (fixture) => ({ params: { id: await paid(fixture) }, body: { amount: '0.01' } }),
      fields: { 'body.amount': fc.constantFrom('0.01', '0.05') },
    },
    retryWriteBack: { build: byId(notWritten) },
    endWriteBack: { build: byId(notWritten) },
    listPayouts: { build: () => ({}) },
    getPayout: { build: byId(payout) },
  },
};

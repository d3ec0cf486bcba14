// Payments at the sandbox for records as a complete run leaves them. There is no ERP, so checkouts use the
// synced records.
import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { payByCard } from '../../../src/gateways/payments/sandbox/pay-session.ts';
import { checkPayment } from '../../../src/platform/pay/provider/check-payment.ts';
import { createTenantSchema, tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { instants, laterInstants } from '../arbitrary.ts';
import { asBuilt, type BuilderGroup, type Fixture } from '../builder.ts';

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
  const own = { organization_id: fixture.organization.id, payment_id: id, kind: 'payment' };
  await fixture.sql((tx) =>
    tx('pay_erp_documents').insert({ ...own, id: createId(), external_id: id, status: 'FAILED' }),
  );
  return id;
}

async function payout({ organization, sql }: Fixture): Promise<string> {
  const id = createId();
  const own = { organization_id: organization.id };
  await sql(async (tx) => {
    const { id: account_id } = await tx('pay_accounts').first<{ id: string }>('id');
    const row = {
      account_id,
      provider_payout_id: id,
      status: 'PAID',
      currency: 'GBP',
      amount_minor: 100,
      arrival_date: '2026-03-02',
    };
    await tx('pay_payouts').insert({ ...own, ...row, id, created_at: new Date() });
    await tx('pay_payout_entries').insert({
      ...own,
      payout_id: id,
      position: 0,
      kind: 'other',
      amount_minor: 100,
    });
  });
  return id;
}

export const payBuilders: BuilderGroup = {
  setUp: async ({ ctx, organization, api }) => {
    await createTenantSchema(ctx, organization.id);
    const schema = tenantSchema(organization.id);
    await ctx.db.data.query(
      `create table ${schema}.bill_1 (id bigint primary key, c1 text collate "C", c2 numeric, c3 text collate "C");
       insert into ${schema}.bill_1 select n, 'B-' || n, 1000, 'c' from generate_series(1, ${records}) as n;
       insert into ${schema}.record_state (record_type, id_type, generation, row_count, epoch, active_table, synced_at)
         values ('bill', 'integer', 1, ${records}, gen_random_uuid(), 'bill_1', now());
       insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, position)
         values ('bill', 'c1', 'number', 'value', 'text', 'live', 1), ('bill', 'c2', 'due', 'value', 'number', 'live', 2),
           ('bill', 'c3', 'customer', 'value', 'text', 'live', 3)`,
    );
    await api('PUT', '/pay/config', config);
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
    getPayment: { build: async (fixture) => ({ params: { id: await paid(fixture) } }) },
    refundPayment: {
      build: async (fixture) => ({ params: { id: await paid(fixture) }, body: { amount: '0.01' } }),
      fields: { 'body.amount': fc.constantFrom('0.01', '0.05') },
    },
    retryWriteBack: { build: async (fixture) => ({ params: { id: await notWritten(fixture) } }) },
    endWriteBack: { build: async (fixture) => ({ params: { id: await notWritten(fixture) } }) },
    listPayouts: { build: () => ({}) },
    getPayout: { build: async (fixture) => ({ params: { id: await payout(fixture) } }) },
  },
};

import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { createId } from '../../../src/core/id.ts';
import { payByCard } from '../../../src/gateways/payments/sandbox/pay-session.ts';
import { type Answer, base, createApi, listCodes, listProblems, pluck, refusal } from '../../setup/api.ts';
import { useStarted } from '../../setup/use-started.ts';
import { configBody, mapping, openSandboxFixture, returns } from './sandbox-fixture.ts';

const fixture = useStarted(() => openSandboxFixture());
/** A task that checks a payment. */
const toKey = (paymentId: string) => `${fixture.accountId}/payment/${paymentId}`;
const task = (paymentId: string) => ({
  ...{ organization_id: fixture.ctx.organizationId, kind: 'pay_tasks', key: toKey(paymentId) },
  payload: { accountId: fixture.accountId, kind: 'payment', subject: paymentId },
});

it('PUT /pay/config returns no secrets, checks the mapping against synced fields, and stores nothing when something is not valid', async () => {
  const shown = await fixture.call('get', '/pay/config');
  expect(shown).toEqual({
    ...configBody(),
    ...{ enabled: true, writeBack: false, hasCredentials: true, credentialHint: null, lastError: null },
    webhookUrl: `http://127.0.0.1${base}/pay/webhooks/sandbox/${fixture.accountId}`,
    updatedAt: expect.any(String),
  });
  const put = async (given: object) =>
    listProblems(await fixture.api('put', '/pay/config', configBody(given)));
  const misfits = { ...mapping, number: 'tranid.name', amountDue: 'entity', customer: 'missing' };
  expect(await put({ invoices: misfits })).toEqual([
    'invoices.number unknown_source',
    'invoices.amountDue type_misfits',
    'invoices.customer unknown_source',
  ]);
  const unknown = { ...mapping, recordType: 'constructor' };
  expect(await put({ invoices: unknown })).toEqual(['invoices.recordType unknown_record_type']);
  expect(await put({ currency: 'XXX' })).toEqual(['currency unknown_currency']);
  expect(await put({ secrets: { cardNumber: '4242' } })).toEqual(['secrets.cardNumber unknown_field']);
  const stripe = await fixture.api('put', '/pay/config', configBody({ provider: 'stripe' }));
  expect(stripe.body.error.details).toMatchObject([
    { path: 'secrets.secretKey', message: 'is required' },
    { path: 'secrets.webhookSecret', message: 'is required' },
  ]);
  expect(await fixture.call('get', '/pay/config')).toEqual(shown);
});

it('new credentials retry tasks that have failed immediately, and no other tasks', async () => {
  const later = { due_at: new Date(Date.now() + 3_600_000) };
  const [failed, fresh] = [createId(), createId()];
  await fixture.sql((tx) =>
    tx('jobs').insert([
      { ...task(failed), ...later, attempts: 9, error: 'refused-credentials: x' },
      { ...task(fresh), ...later, error: null },
    ]),
  );
  const readLeft = () =>
    fixture.sql((tx) => tx('jobs').whereIn('key', [failed, fresh].map(toKey)).pluck('key'));
  await fixture.configure();
  await fixture.work();
  expect((await readLeft()).sort()).toEqual([failed, fresh].map(toKey).sort());
  await fixture.configure({ secrets: {} });
  await fixture.work();
  expect(await readLeft()).toEqual([toKey(fresh)]);
  await fixture.sql((tx) =>
    tx('jobs')
      .where({ key: toKey(fresh) })
      .delete(),
  );
});

it('the sandbox, when an operator has not allowed it, rejects a configuration, a new checkout, and a payment of an open checkout', async () => {
  const id = await fixture.books.invoice(600);
  const open = await fixture.checkOut([{ recordId: id, amount: '1' }]);
  const { settings } = fixture.ctx;
  const sandbox = { ...settings.sandbox, allowed: false };
  const ctx = { ...fixture.ctx, settings: { ...settings, sandbox } };
  const refused = createApi(createApp(ctx), fixture.secret);
  const configured = await refused('put', '/pay/config', configBody());
  expect(listProblems(configured)).toEqual(['provider provider_not_offered']);
  const checkout = { customerId: '1', invoices: [{ recordId: id }], ...returns };
  expect(listCodes(await refused('post', '/pay/checkout', checkout))).toEqual(['provider_not_offered']);
  expect(await payByCard(ctx, open.url.split('/').at(-1), 'approved')).toBeUndefined();
});

describe('a payment', () => {
  const paid = async (pence: number, card?: string) => {
    const checkout = await fixture.checkOut([{ recordId: await fixture.books.invoice(pence) }]);
    await fixture.settle(checkout, card);
    return checkout;
  };
  const refund = (checkout: { paymentId: string }, body: object = {}) =>
    fixture.api('post', `/pay/payments/${checkout.paymentId}/refund`, body);
  const readErp = async (checkout: { paymentId: string }) => (await fixture.readPayment(checkout)).erp;
  const listPayments = async (query: string) =>
    pluck((await fixture.call('get', `/pay/payments?${query}`)).data, 'id');
  /** Until the end of the test. */
  const writeBack = async () => {
    onTestFinished(() => fixture.configure());
    await fixture.configure({ writeBack: { account: null, refundAccount: '7' } });
  };
  const off = { status: 'OFF', recordId: null, problem: null, unappliedAmount: '0.00' };

  it('is refunded in parts and as a whole, never more than was received', async () => {
    const checkout = await paid(10_000);
    const part = { amount: '30.00', reason: 'Returned', providerRefundId: expect.any(String) };
    expect((await refund(checkout, { amount: '30', reason: 'Returned' })).body).toMatchObject({
      ...{ status: 'PARTIALLY_REFUNDED', refundedAmount: '30.00' },
      refunds: [{ status: 'SUCCEEDED', ...part }],
    });
    expect(listProblems(await refund(checkout, { amount: '70.01' }))).toEqual(['amount more_than_left']);
    const both = await Promise.all([refund(checkout, { amount: '40' }), refund(checkout, { amount: '40' })]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 422]);
    expect((await refund(checkout)).body).toMatchObject({ status: 'REFUNDED', refundedAmount: '100.00' });
    expect(listCodes(await refund(checkout))).toEqual(['nothing_left']);
    expect(listCodes(await refund(checkout, { reason: 'card 4242 4242 4242 4242' }))).toEqual(['custom']);
    const refunds = await fixture.sql((tx) => tx('sandbox_refunds').pluck('amount_minor'));
    expect(refunds.map(Number).reduce((a, b) => a + b)).toBe(10_000);
  });

  it.each(['PENDING', 'FAILED'])(
    'is refunded once, when the response was lost and the refund was left %s',
    async (status) => {
      const checkout = await paid(500);
      await refund(checkout, { amount: '2' });
      const readRefunds = () =>
        fixture.sql((tx) => tx('sandbox_refunds').where({ amount_minor: 200 }).pluck('id'));
      const before = await readRefunds();
      const { paymentId } = checkout;
      await fixture.sql(async (tx) => {
        const lost = { provider_refund_id: null, status };
        await tx('pay_refunds').update(lost).where({ payment_id: paymentId });
        await tx('pay_payments').update({ refunded_minor: 0 }).where({ id: paymentId });
        await tx('jobs').insert(task(paymentId)).onConflict().ignore();
      });
      await fixture.work(paymentId);
      expect(await fixture.readPayment(checkout)).toMatchObject({
        refundedAmount: '2.00',
        refunds: [{ status: 'SUCCEEDED' }],
      });
      expect(await readRefunds()).toEqual(before);
    },
  );

  it('is found by status and customer', async () => {
    const customerId = await fixture.books.customer();
    const recordId = await fixture.books.invoice(100, customerId);
    const { paymentId } = await fixture.checkOut([{ recordId }], { customerId });
    expect(await listPayments(`customerId=${customerId}`)).toEqual([paymentId]);
    expect(await listPayments(`customerId=${customerId}&status=SUCCEEDED`)).toEqual([]);
    expect((await listPayments('status=PENDING'))[0]).toBe(paymentId);
  });

  it('lands in the ERP, after which a checkout asks for the rest of its invoice', async () => {
    await writeBack();
    const id = await fixture.books.invoice(8_000);
    const checkout = await fixture.checkOut([{ recordId: id, amount: '50' }]);
    await fixture.settle(checkout);
    expect(await readErp(checkout)).toEqual({ ...off, status: 'LANDED', recordId: expect.any(String) });
    expect((await fixture.checkOut([{ recordId: id }])).amount).toBe('30.00');
    expect((await refund(checkout)).body.status).toBe('REFUNDED');
    await fixture.work();
    const retry = fixture.api('post', `/pay/payments/${checkout.paymentId}/retry-write-back`);
    expect(await refusal(retry)).toEqual([422, 'nothing_to_retry']);
  });

  it('belongs to the ERP account of its invoices: in another account nothing is written or changed for it', async () => {
    await writeBack();
    const id = await fixture.books.invoice(9_000);
    const [there, waiting] = [
      await fixture.checkOut([{ recordId: id, amount: '20' }]),
      await fixture.checkOut([{ recordId: id, amount: '30' }]),
    ];
    await fixture.settle(there);
    expect((await readErp(there)).status).toBe('LANDED');
    const moveTo = (account: string) =>
      fixture.sql((tx) => tx('erp_connections').update({ account_id: account }));
    const [own] = await fixture.sql((tx) => tx('erp_connections').pluck<string[]>('account_id'));
    if (own === undefined) throw new Error('no connection');
    // The new name leads to the same simulated account, so only the name stops the service.
    await moveTo(`${own}_SB1`);
    fixture.books.wire.seen.length = 0;
    await fixture.settle(waiting);
    expect((await refund(there, { amount: '5' })).body.status).toBe('PARTIALLY_REFUNDED');
    await fixture.work();
    const problem = { code: 'OTHER_ERP_ACCOUNT', fix: expect.stringContaining(own) };
    for (const checkout of [there, waiting])
      expect(await readErp(checkout)).toMatchObject({ status: 'FAILED', problem });
    expect(fixture.books.wire.seen).toEqual([]);
    const inErp = (status: string) => listPayments(`erpStatus=${status}`);
    expect(await inErp('FAILED')).toEqual([waiting.paymentId, there.paymentId]);
    // Nor is it in flight for the invoice with the same id there.
    expect((await fixture.checkOut([{ recordId: id }])).amount).toBe('70.00');
    await moveTo(own.toLowerCase());
    for (const { paymentId } of [there, waiting])
      await fixture.call('post', `/pay/payments/${paymentId}/retry-write-back`);
    await fixture.work();
    for (const checkout of [there, waiting]) expect((await readErp(checkout)).status).toBe('LANDED');
    expect(await Promise.all(['FAILED', 'PENDING', 'PARTLY_APPLIED'].map(inErp))).toEqual([[], [], []]);
    expect((await inErp('LANDED')).slice(0, 2)).toEqual([waiting.paymentId, there.paymentId]);
    expect(await inErp('OFF')).not.toContain(there.paymentId);
  });

  it('that the ERP refuses can be entered by hand, after which it is counted once', async () => {
    await writeBack();
    const customerId = await fixture.books.customer();
    const id = await fixture.books.invoice(10_000, customerId);
    const checkout = await fixture.checkOut([{ recordId: id, amount: '40' }], { customerId });
    const end = () => fixture.api('post', `/pay/payments/${checkout.paymentId}/end-write-back`);
    expect(listCodes(await end())).toEqual(['nothing_to_end']);
    fixture.books.erp.account.setSwitches({ customersOnHold: [customerId] });
    await fixture.settle(checkout);
    expect((await readErp(checkout)).status).toBe('FAILED');
    fixture.books.erp.account.setSwitches({ customersOnHold: [] });
    const apply = { items: [{ doc: id, apply: true, amount: 40 }] };
    await fixture.books.byHand('POST', 'customerPayment', { customer: customerId, payment: 40, apply });
    // Of the 60 due, 40 are in flight by the failed payment.
    const more = await fixture.tryCheckOut([{ recordId: id, amount: '60' }], { customerId });
    expect(listProblems(more)).toEqual(['invoices[0].amount more_than_due']);
    const ended = await end();
    expect([ended.status, ended.body.erp]).toEqual([200, off]);
    const action = 'payment.end-write-back';
    expect(await fixture.sql((tx) => tx('audit_log').where({ action }).pluck('target_id'))).toEqual([
      checkout.paymentId,
    ]);
    expect((await fixture.checkOut([{ recordId: id }], { customerId })).amount).toBe('60.00');
    expect(listCodes(await end())).toEqual(['nothing_to_end']);
    await refund(checkout);
    await fixture.work();
    expect(await readErp(checkout)).toMatchObject({ status: 'OFF', problem: null });
  });

  it('is in a payout whose sums add up', async () => {
    const checkout = await paid(1_000);
    await refund(checkout, { amount: '2.50' });
    await fixture.sql(async (tx) => {
      for (const table of ['sandbox_payments', 'sandbox_refunds'])
        await tx(table)
          .where({ state: 'SUCCEEDED' })
          .update({ due_at: new Date(0) });
    });
    await fixture.work('');
    const { data } = await fixture.call('get', '/pay/payouts');
    const { paymentId } = checkout;
    const payout = data.find(({ payments }: Answer['body']) =>
      pluck(payments, 'paymentId').includes(paymentId),
    );
    expect(await fixture.call('get', `/pay/payouts/${payout.id}`)).toEqual(payout);
    expect(payout.payments).toContainEqual({ paymentId, amount: '10.00', refundedAmount: '-2.50' });
    const sum = (amounts: readonly string[]): number =>
      amounts.map((text) => Math.round(Number(text) * 100)).reduce((a, b) => a + b);
    const { payments, refunds, fees, other } = payout.sums;
    const total = sum([payout.amount]);
    expect(sum([payments, refunds, fees, other])).toBe(total);
    expect(sum(pluck(payout.payments, 'amount', 'refundedAmount').flat())).toBe(total);
  });
});

// Checkouts never ask for more than is due, however many are open for an invoice.
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, listProblems } from '../../../setup/api.ts';
import { useStarted } from '../../../setup/use-started.ts';
import { openSandboxFixture } from '../sandbox-fixture.ts';

const fixture = useStarted(() => openSandboxFixture());

const show = async (asked: Promise<Answer>) => {
  const answer = await asked;
  return [answer.status, ...listProblems(answer)];
};
/** The states of two payments, after what was due for them has run. */
const settleBoth = async (one: { paymentId: string }, two: { paymentId: string }) => {
  await fixture.work(one.paymentId, two.paymentId);
  return [(await fixture.readPayment(one)).status, (await fixture.readPayment(two)).status];
};

describe('POST /pay/checkout', () => {
  it('asks for the open amount, and no other checkout asks for it again', async () => {
    const [first, second] = [await fixture.books.invoice(10_000), await fixture.books.invoice(2_550)];
    const both = await fixture.checkOut([{ recordId: first, amount: '40' }, { recordId: second }]);
    const url = expect.stringContaining('/pay/sandbox/');
    expect(both).toMatchObject({ status: 'PENDING', amount: '65.50', currency: 'GBP', url });
    expect(await fixture.call('get', `/pay/checkouts/${both.id}`)).toEqual(both);
    const more = await fixture.tryCheckOut([{ recordId: first, amount: '60.01' }, { recordId: second }]);
    const problems = ['invoices[0].amount more_than_due', 'invoices[1].recordId in_flight'];
    expect([more.status, listProblems(more)]).toEqual([422, problems]);
    expect(more.body.error.details[0].message).toContain('60.00 GBP');
    expect((await fixture.checkOut([{ recordId: first }])).amount).toBe('60.00');
    await fixture.giveUp(both);
    await fixture.work(both.paymentId);
    const { status, failure, invoices } = await fixture.readPayment(both);
    expect([status, failure.code]).toEqual(['CANCELED', 'canceled_by_payer']);
    expect(invoices[0]).toEqual({ recordId: first, number: expect.any(String), amount: '40.00' });
    expect((await fixture.call('get', `/pay/checkouts/${both.id}`)).url).toBeNull();
    expect((await fixture.checkOut([{ recordId: first }])).amount).toBe('40.00');
  });

  it.each([
    ['one', undefined, [201, 422, 422, 422, 422]],
    ['two', '20', [201, 201, 422, 422, 422]],
  ])(
    'accepts only %s of five concurrent checkouts of 50.00, for all or for %s',
    async (_, amount, statuses) => {
      const recordId = await fixture.books.invoice(5_000);
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => fixture.tryCheckOut([{ recordId, amount }])),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual(statuses);
    },
  );

  it('422 for invoices, amounts and URLs that are not valid, with path and code for each', async () => {
    const id = await fixture.books.invoice(1_000);
    const foreign = await fixture.books.invoice(1_000, await fixture.books.customer());
    expect((await fixture.checkOut([{ recordId: id, amount: '0.01' }])).amount).toBe('0.01');
    const refused = await fixture.tryCheckOut([
      { recordId: '999999999' },
      { recordId: foreign },
      { recordId: id, amount: '1.001' },
      { recordId: id },
      { recordId: 'x’); drop' },
    ]);
    expect(listProblems(refused)).toEqual([
      'invoices[0].recordId unknown_invoice',
      'invoices[1].recordId unknown_invoice',
      'invoices[2].amount invalid_amount',
      'invoices[3].recordId duplicate',
      'invoices[4].recordId unknown_invoice',
    ]);
    for (const amount of ['0', '-1', '1e1', ''])
      expect(await show(fixture.tryCheckOut([{ recordId: id, amount }]))).toEqual([
        ...[422, 'invoices[0].amount invalid_amount'],
      ]);
    const cancelUrl = 'https://shop.acme.example.evil.example/';
    const foreignUrl = fixture.tryCheckOut([{ recordId: id }], { cancelUrl });
    expect(await show(foreignUrl)).toEqual([422, 'cancelUrl foreign_address']);
    const ends = ['@shop.acme.example/', 'acme.example/\r\nSet-Cookie: a=b', 'acme.example/a b'];
    for (const end of [...ends, 'acme\u200b.example'])
      for (const name of ['successUrl', 'cancelUrl']) {
        const answer = await fixture.tryCheckOut([{ recordId: id }], { [name]: `https://${end}` });
        expect([end, listProblems(answer)[0]]).toEqual([end, `${name} custom`]);
      }
  });

  it('uses synced amounts only when allowed and the ERP is unavailable', async () => {
    const recordId = await fixture.books.invoice(3_000);
    const allowStale = { allowStale: true };
    const setBaseUrl = (url: string) =>
      fixture.sql((tx) =>
        tx('erp_connections').update({
          settings: tx.raw("jsonb_set(settings, '{baseUrl}', to_jsonb(?::text))", [url]),
        }),
      );
    await fixture.sync(recordId, '12.3400');
    expect((await fixture.checkOut([{ recordId, amount: '1' }], allowStale)).amount).toBe('1.00');
    onTestFinished(async () => void (await setBaseUrl(fixture.books.wire.url)));
    await setBaseUrl('http://127.0.0.1:9');
    expect(await fixture.tryCheckOut([{ recordId }])).toMatchObject({
      status: 503,
      headers: { 'retry-after': expect.any(String) },
    });
    expect((await fixture.checkOut([{ recordId, amount: '11.33' }], allowStale)).amount).toBe('11.33');
    await fixture.reject(recordId);
    expect((await fixture.tryCheckOut([{ recordId, amount: '0.01' }], allowStale)).status).toBe(503);
    const many = Array.from({ length: 110 }, (_, index) => ({ recordId: String(900_000 + index) }));
    await Promise.all(many.map((invoice) => fixture.sync(invoice.recordId, '1.01')));
    expect((await fixture.checkOut(many, allowStale)).amount).toBe('111.10');
  });

  it('expires an abandoned checkout, whether or not the provider knows it', async () => {
    const [heard, unheard] = [await fixture.books.invoice(700), await fixture.books.invoice(800)];
    const one = await fixture.checkOut([{ recordId: heard }]);
    const two = await fixture.checkOut([{ recordId: unheard }]);
    await fixture.sql(async (tx) => {
      // As if the process had died before it stored the response, and before it sent the request.
      await tx('pay_payments').whereIn('id', [one.paymentId, two.paymentId]).update({ session_id: null });
      await tx('sandbox_payments').where({ payment_id: two.paymentId }).delete();
    });
    expect(await settleBoth(one, two)).toEqual(['CANCELED', 'CANCELED']);
    expect(await fixture.pay(one)).toMatchObject({ outcome: 'refused' });
    expect((await fixture.checkOut([{ recordId: heard }, { recordId: unheard }])).amount).toBe('15.00');
  });

  it('expires an overdue checkout at the provider, unless it was paid at the last moment', async () => {
    const [late, paid] = [await fixture.books.invoice(900), await fixture.books.invoice(950)];
    const one = await fixture.checkOut([{ recordId: late }]);
    const two = await fixture.checkOut([{ recordId: paid }]);
    await fixture.pay(two);
    const overdue = { expires_at: new Date(0) };
    await fixture.sql((tx) => tx('pay_checkouts').whereIn('id', [one.id, two.id]).update(overdue));
    const { status, url } = await fixture.call('get', `/pay/checkouts/${one.id}`);
    expect([status, url]).toEqual(['PENDING', null]);
    expect(await settleBoth(one, two)).toEqual(['CANCELED', 'SUCCEEDED']);
  });
});

// Checkouts never ask for more than is due, however many are open for an invoice.
import { describe, expect, it } from 'vitest';
import { listCodes, listProblems } from '../../../setup/api.ts';
import { useStarted } from '../../../setup/use-started.ts';
import { openSandboxFixture } from '../sandbox-fixture.ts';

const fixture = useStarted(() => openSandboxFixture());

describe('POST /pay/checkout', () => {
  it('asks for the open amount, and no other checkout asks for it again', async () => {
    const [first, second] = [await fixture.books.invoice(10_000), await fixture.books.invoice(2_550)];
    const both = await fixture.checkOut([{ recordId: first, amount: '40' }, { recordId: second }]);
    expect(both).toMatchObject({
      status: 'PENDING',
      amount: '65.50',
      currency: 'GBP',
      url: expect.stringContaining('/pay/sandbox/'),
    });
    expect(await fixture.call('get', `/pay/checkouts/${both.id}`)).toEqual(both);
    const more = await fixture.tryCheckOut([{ recordId: first, amount: '60.01' }, { recordId: second }]);
    expect([more.status, listProblems(more)]).toEqual([
      422,
      ['invoices[0].amount more_than_due', 'invoices[1].recordId in_flight'],
    ]);
    expect(more.body.error.details[0].message).toContain('60.00 GBP');
    expect((await fixture.checkOut([{ recordId: first }])).amount).toBe('60.00');
    await fixture.giveUp(both);
    await fixture.work(both.paymentId);
    const { status, failure, invoices } = await fixture.readPayment(both);
    expect([status, failure.code, invoices[0]]).toEqual([
      'CANCELED',
      'canceled_by_payer',
      { recordId: first, number: expect.any(String), amount: '40.00' },
    ]);
    expect((await fixture.call('get', `/pay/checkouts/${both.id}`)).url).toBeNull();
    expect((await fixture.checkOut([{ recordId: first }])).amount).toBe('40.00');
  });

  it('accepts only one of several concurrent checkouts for the same amount', async () => {
    const id = await fixture.books.invoice(5_000);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => fixture.tryCheckOut([{ recordId: id }])),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422]);
    const parts = await fixture.books.invoice(5_000);
    const some = await Promise.all(
      Array.from({ length: 5 }, () => fixture.tryCheckOut([{ recordId: parts, amount: '20' }])),
    );
    expect(some.map(({ status }) => status).sort()).toEqual([201, 201, 422, 422, 422]);
  });

  it('422 for invoices, amounts and URLs that are not valid, with path and code for each', async () => {
    const id = await fixture.books.invoice(1_000);
    const foreign = await fixture.books.invoice(1_000, await fixture.books.customer());
    const paid = await fixture.checkOut([{ recordId: id, amount: '0.01' }]);
    expect(paid.amount).toBe('0.01');
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
      expect([amount, listCodes(await fixture.tryCheckOut([{ recordId: id, amount }]))]).toEqual([
        amount,
        ['invalid_amount'],
      ]);
    const cancelUrl = 'https://shop.acme.example.evil.example/';
    expect(listProblems(await fixture.tryCheckOut([{ recordId: id }], { cancelUrl }))).toEqual([
      'cancelUrl foreign_address',
    ]);
    for (const end of [
      '@shop.acme.example/',
      'acme.example/\r\nSet-Cookie: a=b',
      'acme.example/a b',
      'acme\u200b.example',
    ])
      for (const name of ['successUrl', 'cancelUrl']) {
        const answer = await fixture.tryCheckOut([{ recordId: id }], { [name]: `https://${end}` });
        expect([end, listProblems(answer)[0]]).toEqual([end, `${name} custom`]);
      }
  });

  it('uses synced amounts only when allowed and the ERP is unavailable', async () => {
    const id = await fixture.books.invoice(3_000);
    await fixture.sync(id, '12.3400');
    expect((await fixture.checkOut([{ recordId: id, amount: '1' }], { allowStale: true })).amount).toBe(
      '1.00',
    );
    await fixture.sql((tx) =>
      tx('erp_connections').update({
        settings: tx.raw(`jsonb_set(settings, '{baseUrl}', '"http://127.0.0.1:9"')`),
      }),
    );
    try {
      expect(await fixture.tryCheckOut([{ recordId: id }])).toMatchObject({
        status: 503,
        headers: { 'retry-after': expect.any(String) },
      });
      expect((await fixture.checkOut([{ recordId: id, amount: '11.33' }], { allowStale: true })).amount).toBe(
        '11.33',
      );
      await fixture.reject(id);
      expect(
        (await fixture.tryCheckOut([{ recordId: id, amount: '0.01' }], { allowStale: true })).status,
      ).toBe(503);
      const many = Array.from({ length: 110 }, (_, index) => String(900_000 + index));
      await Promise.all(many.map((recordId) => fixture.sync(recordId, '1.01')));
      const all = await fixture.checkOut(
        many.map((recordId) => ({ recordId })),
        { allowStale: true },
      );
      expect(all.amount).toBe('111.10');
    } finally {
      await fixture.sql((tx) =>
        tx('erp_connections').update({
          settings: tx.raw("jsonb_set(settings, '{baseUrl}', to_jsonb(?::text))", [fixture.books.wire.url]),
        }),
      );
    }
  });

  it('expires an abandoned checkout, whether or not the provider knows it', async () => {
    const [heard, unheard] = [await fixture.books.invoice(700), await fixture.books.invoice(800)];
    const [one, two] = [
      await fixture.checkOut([{ recordId: heard }]),
      await fixture.checkOut([{ recordId: unheard }]),
    ];
    await fixture.sql(async (tx) => {
      // As if the process had died before it stored the response, and before it sent the request.
      await tx('pay_payments').whereIn('id', [one.paymentId, two.paymentId]).update({ session_id: null });
      await tx('sandbox_payments').where({ payment_id: two.paymentId }).delete();
    });
    await fixture.work(one.paymentId, two.paymentId);
    expect([(await fixture.readPayment(one)).status, (await fixture.readPayment(two)).status]).toEqual([
      'CANCELED',
      'CANCELED',
    ]);
    expect(await fixture.pay(one)).toMatchObject({ outcome: 'refused' });
    expect((await fixture.checkOut([{ recordId: heard }, { recordId: unheard }])).amount).toBe('15.00');
  });

  it('expires an overdue checkout at the provider, unless it was paid at the last moment', async () => {
    const [late, paid] = [await fixture.books.invoice(900), await fixture.books.invoice(950)];
    const [one, two] = [
      await fixture.checkOut([{ recordId: late }]),
      await fixture.checkOut([{ recordId: paid }]),
    ];
    await fixture.pay(two);
    await fixture.sql((tx) =>
      tx('pay_checkouts')
        .whereIn('id', [one.id, two.id])
        .update({ expires_at: new Date(0) }),
    );
    expect(await fixture.call('get', `/pay/checkouts/${one.id}`)).toMatchObject({
      status: 'PENDING',
      url: null,
    });
    await fixture.work(one.paymentId, two.paymentId);
    expect([(await fixture.readPayment(one)).status, (await fixture.readPayment(two)).status]).toEqual([
      'CANCELED',
      'SUCCEEDED',
    ]);
  });
});

// Write-back that the ERP refuses: a problem comes with a fix, and what was refused lands after it.
import { describe, expect, it } from 'vitest';
import type {} from '../../../../src/db/queue-worker.ts';
import { landed, POST, useWriteBack } from './use-write-back.ts';

const { books, worker, again, settledState } = useWriteBack();

describe('a refusal by the ERP', () => {
  const today = () => books.erp.account.businessTime().toISOString().slice(0, 10);
  type Case = [
    code: string,
    fix: string,
    begin: (customer: string) => unknown,
    end: (customer: string) => unknown,
  ];
  const cases: Case[] = [
    [
      'PERIOD_CLOSED',
      'Reopen the accounting period',
      () => books.erp.account.setSwitches({ booksClosedThrough: today() }),
      () => books.erp.account.setSwitches({ booksClosedThrough: null }),
    ],
    [
      'CUSTOMER_ON_HOLD',
      'off credit hold',
      (customer) => books.erp.account.setSwitches({ customersOnHold: [customer] }),
      () => books.erp.account.setSwitches({ customersOnHold: [] }),
    ],
    [
      'CUSTOMER_INACTIVE',
      'active again',
      (customer) => books.byHand('PATCH', `customer/${customer}`, { isInactive: true }),
      (customer) => books.byHand('PATCH', `customer/${customer}`, { isInactive: false }),
    ],
  ];
  it.each(cases)(
    '%s fails with a fix, and lands when retried after the fix',
    async (code, fix, begin, end) => {
      const customer = await books.customer();
      const a = await books.invoice(600, customer);
      await begin(customer);
      const id = await books.pay([[a, 600]], { customer });
      const failed = {
        status: 'FAILED',
        recordId: null,
        writtenAt: null,
        problem: { code, fix: expect.stringContaining(fix) },
      };
      expect(await settledState(id)).toMatchObject(failed);
      await again();
      expect([await books.state(id), await books.inErp(id)]).toMatchObject([failed, { payments: 0 }]);
      await end(customer);
      expect(await books.retry(id)).toBe(1);
      await worker.waitUntilIdle();
      expect([await books.state(id), await books.inErp(id)]).toMatchObject([
        landed,
        { payments: 1, applied: 600 },
      ]);
    },
  );

  it('fails for a refund in a closed period, an unknown customer, and an unrecognized message', async () => {
    const a = await books.invoice(100);
    const closed = await books.pay([[a, 100]]);
    await worker.waitUntilIdle();
    books.erp.account.setSwitches({ booksClosedThrough: today() });
    await books.refund(closed, 50);
    expect(await settledState(closed)).toMatchObject({
      status: 'FAILED',
      unapplied: 0,
      problem: { code: 'PERIOD_CLOSED' },
    });
    expect(await books.inErp(closed)).toMatchObject({ applied: 100, refunded: 0 });
    const unknown = await books.pay([[a, 10]], { customer: '999999' });
    expect(await settledState(unknown)).toMatchObject({
      status: 'FAILED',
      problem: { code: 'CUSTOMER_UNKNOWN' },
    });
    const detail = { detail: 'The moon is in the wrong house.', 'o:errorCode': 'USER_ERROR' };
    books.erp.account.injectFault({
      path: /customerPayment$/,
      times: 1,
      status: 400,
      body: { 'o:errorDetails': [detail] },
    });
    const odd = await books.pay([[a, 10]]);
    expect(await settledState(odd)).toMatchObject({
      status: 'FAILED',
      problem: {
        code: 'WRITE_REFUSED',
        message: 'The moon is in the wrong house.',
        fix: expect.stringContaining("NetSuite's message"),
      },
    });
  });

  it('fails for a record with the same external id and another amount', async () => {
    const a = await books.invoice(400);
    await books.setWriteBack(false);
    const id = await books.pay([[a, 400]]);
    expect(await settledState(id)).toMatchObject({ status: 'PENDING', problem: { code: 'WRITE_BACK_OFF' } });
    const strange = await books.byHand('POST', 'customerPayment', {
      customer: '1',
      payment: 3,
      externalId: `portal-payment-${id}`,
    });
    await books.setWriteBack({ account: null, refundAccount: '7' });
    await again();
    expect(await books.state(id)).toMatchObject({
      status: 'FAILED',
      problem: { code: 'ANOTHER_PAYMENT', fix: expect.stringContaining(strange) },
    });
    expect(await books.inErp(id)).toMatchObject({ payments: 1, total: 300 });
  });
});

describe('a problem with the whole account', () => {
  const error = (status: number, code: string) => ({
    status,
    body: { 'o:errorDetails': [{ detail: 'No.', 'o:errorCode': code }] },
  });
  const readWait = async (paymentId: string): Promise<number> => {
    const row = await books.as((tx) =>
      tx('pay_erp_documents')
        .where({ payment_id: paymentId })
        .first<{ s: number }>(tx.raw('extract(epoch from next_attempt_at - updated_at)::float as s')),
    );
    return row.s;
  };
  it.each([
    [
      'asked to wait',
      { ...error(429, 'CONCURRENCY_LIMIT_EXCEEDED'), headers: { 'retry-after': '3599' } },
      'CONCURRENCY_LIMIT_EXCEEDED',
      3599,
    ],
    ['down', error(503, 'SERVER_ERROR'), 'SERVER_ERROR', 1800],
    ['a refused log-in', error(401, 'INVALID_LOGIN'), 'INVALID_LOGIN', 3600],
  ])(
    '%s: all documents of the organization wait, and land in the end',
    async (_name, fault, code, minWaitSeconds) => {
      const [a, b] = [await books.invoice(100), await books.invoice(200)];
      books.erp.account.injectFault({ path: /./, times: 2, ...fault });
      const first = await books.pay([[a, 100]]);
      expect(await settledState(first)).toMatchObject({
        status: 'PENDING',
        problem: { code, fix: expect.any(String) },
      });
      expect(await readWait(first)).toBeGreaterThanOrEqual(minWaitSeconds - 1);
      books.erp.account.clearFaults();
      const second = await books.pay([[b, 200]]);
      expect(await settledState(second)).toMatchObject({ status: 'PENDING', problem: null });
      expect(books.wire.seen).not.toContain(POST);
      expect(await books.retry(second)).toBe(1);
      await worker.waitUntilIdle();
      expect(await books.state(second)).toEqual(landed);
      await again();
      expect([await books.state(first), await books.state(second)]).toEqual([landed, landed]);
    },
  );

  it('an organization without a connection waits with a fix, and does not delay others', async () => {
    const a = await books.invoice(100);
    const [neighbour, id] = [await books.neighbour(), await books.pay([[a, 100]])];
    expect(await settledState(id)).toEqual(landed);
    expect(await neighbour()).toMatchObject({
      status: 'PENDING',
      problem: { code: 'NO_CONNECTION', fix: expect.stringContaining('Set up the connection') },
    });
  });

  it('a missing permission delays only that document', async () => {
    const [a, b] = [await books.invoice(100), await books.invoice(200)];
    books.erp.account.injectFault({
      path: /customerPayment$/,
      times: 1,
      ...error(403, 'INSUFFICIENT_PERMISSION'),
    });
    const first = await books.pay([[a, 100]]);
    expect(await settledState(first)).toMatchObject({
      status: 'PENDING',
      problem: { code: 'PERMISSION_MISSING', fix: expect.stringContaining('"Customer Payment"') },
    });
    const second = await books.pay([[b, 200]]);
    expect(await settledState(second)).toEqual(landed);
    await again();
    expect(await books.state(first)).toEqual(landed);
  });
});

// Write-back that the ERP refuses: a problem comes with a fix, and what was refused lands after it.
import { describe, expect, it } from 'vitest';
import type {} from '../../../../src/db/job-worker.ts';
import { erpFault, landed, POST, useWriteBack } from './use-write-back.ts';

const { books, worker, again, settledState, payAll } = useWriteBack();
const failed = (code: string, more: object = {}) => ({ status: 'FAILED', problem: { code, ...more } });
const pending = (code: string, more: object = {}) => ({ status: 'PENDING', problem: { code, ...more } });

describe('a refusal by the ERP', () => {
  const today = () => books.erp.account.businessTime().toISOString().slice(0, 10);
  const close = (booksClosedThrough: string | null) => books.erp.account.setSwitches({ booksClosedThrough });
  const hold = (...customersOnHold: string[]) => books.erp.account.setSwitches({ customersOnHold });
  const setInactive = (customer: string, isInactive: boolean) =>
    books.byHand('PATCH', `customer/${customer}`, { isInactive });
  type Step = (customer: string) => unknown;
  it.each<[code: string, fix: string, begin: Step, end: Step]>([
    ['PERIOD_CLOSED', 'Reopen the accounting period', () => close(today()), () => close(null)],
    ['CUSTOMER_ON_HOLD', 'off credit hold', (customer) => hold(customer), () => hold()],
    ['CUSTOMER_INACTIVE', 'active again', (id) => setInactive(id, true), (id) => setInactive(id, false)],
  ])('%s fails with a fix, and lands when retried after the fix', async (code, fix, begin, end) => {
    const customer = await books.customer();
    const a = await books.invoice(600, customer);
    await begin(customer);
    const id = await books.pay([[a, 600]], { customer });
    const problem = { code, fix: expect.stringContaining(fix) };
    const failed = { status: 'FAILED', recordId: null, writtenAt: null, problem };
    expect(await settledState(id)).toMatchObject(failed);
    await again();
    expect([await books.state(id), await books.inErp(id)]).toMatchObject([failed, { payments: 0 }]);
    await end(customer);
    expect(await books.retry(id)).toBe(1);
    expect(await settledState(id)).toMatchObject(landed);
    expect(await books.inErp(id)).toMatchObject({ payments: 1, applied: 600 });
  });

  it('fails for a refund in a closed period, an unknown customer, and an unrecognized message', async () => {
    const a = await books.invoice(100);
    const closed = await payAll([a, 100]);
    await worker.waitUntilIdle();
    close(today());
    await books.refund(closed, 50);
    expect(await settledState(closed)).toMatchObject({ ...failed('PERIOD_CLOSED'), unapplied: 0 });
    expect(await books.inErp(closed)).toMatchObject({ applied: 100, refunded: 0 });
    const unknown = await books.pay([[a, 10]], { customer: '999999' });
    expect(await settledState(unknown)).toMatchObject(failed('CUSTOMER_UNKNOWN'));
    const message = 'The moon is in the wrong house.';
    books.erp.account.injectFault(erpFault(400, 'USER_ERROR', { detail: message }));
    expect(await settledState(await payAll([a, 10]))).toMatchObject(
      failed('WRITE_REFUSED', { message, fix: expect.stringContaining("NetSuite's message") }),
    );
  });

  it('fails for a record with the same external id and another amount', async () => {
    const a = await books.invoice(400);
    await books.setWriteBack(false);
    const id = await payAll([a, 400]);
    expect(await settledState(id)).toMatchObject(pending('WRITE_BACK_OFF'));
    const externalId = `portal-payment-${id}`;
    const strange = await books.byHand('POST', 'customerPayment', { customer: '1', payment: 3, externalId });
    await books.setWriteBack({ account: null, refundAccount: '7' });
    await again();
    expect(await books.state(id)).toMatchObject(
      failed('ANOTHER_PAYMENT', { fix: expect.stringContaining(strange) }),
    );
    expect(await books.inErp(id)).toMatchObject({ payments: 1, total: 300 });
  });
});

describe('a problem with the whole account', () => {
  const readWait = async (payment_id: string): Promise<number> => {
    const wait = 'extract(epoch from next_attempt_at - updated_at)::float as s';
    return (await books.as((tx) => tx('pay_erp_documents').where({ payment_id }).first(tx.raw(wait)))).s;
  };
  it.each<[string, string, number, seconds: number, headers?: Record<string, string>]>([
    ['asked to wait', 'CONCURRENCY_LIMIT_EXCEEDED', 429, 3599, { 'retry-after': '3599' }],
    ['down', 'SERVER_ERROR', 503, 1800],
    ['a refused log-in', 'INVALID_LOGIN', 401, 3600],
  ])(
    '%s: all documents of the organization wait, and land in the end',
    async (_name, code, status, minWaitSeconds, headers = {}) => {
      const [a, b] = [await books.invoice(100), await books.invoice(200)];
      books.erp.account.injectFault({ ...erpFault(status, code, { path: /./ }), times: 2, headers });
      const first = await payAll([a, 100]);
      expect(await settledState(first)).toMatchObject(pending(code, { fix: expect.any(String) }));
      expect(await readWait(first)).toBeGreaterThanOrEqual(minWaitSeconds - 1);
      books.erp.account.clearFaults();
      const second = await payAll([b, 200]);
      expect(await settledState(second)).toMatchObject({ status: 'PENDING', problem: null });
      expect(books.wire.seen).not.toContain(POST);
      expect(await books.retry(second)).toBe(1);
      expect(await settledState(second)).toEqual(landed);
      await again();
      expect([await books.state(first), await books.state(second)]).toEqual([landed, landed]);
    },
  );

  it('an organization without a connection waits with a fix, and does not delay others', async () => {
    const a = await books.invoice(100);
    const [neighbour, id] = [await books.neighbour(), await payAll([a, 100])];
    expect(await settledState(id)).toEqual(landed);
    const fix = expect.stringContaining('Set up the connection');
    expect(await neighbour()).toMatchObject(pending('NO_CONNECTION', { fix }));
  });

  it('a missing permission delays only that document', async () => {
    const [a, b] = [await books.invoice(100), await books.invoice(200)];
    books.erp.account.injectFault(erpFault(403, 'INSUFFICIENT_PERMISSION'));
    const first = await payAll([a, 100]);
    const fix = expect.stringContaining('"Customer Payment"');
    expect(await settledState(first)).toMatchObject(pending('PERMISSION_MISSING', { fix }));
    expect(await settledState(await payAll([b, 200]))).toEqual(landed);
    await again();
    expect(await books.state(first)).toEqual(landed);
  });
});

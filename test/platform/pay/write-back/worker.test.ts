// Write-back of payments and refunds into the ERP: each is written exactly once, whatever fails, and a
// problem comes with a fix.

import { describe, expect, it } from 'vitest';
import type { JobWorker } from '../../../../src/db/job-worker.ts';
import { startWriteBack } from '../../../../src/platform/pay/write-back/worker.ts';
import { createTenantConnector } from '../../../../src/sync/index.ts';
import { getMetadata } from '../../../connectors/netsuite/wire.ts';
import { endLeases } from '../../../setup/jobs.ts';
import { hour, landed, POST, useWriteBack, written } from './use-write-back.ts';

const REFUND = 'POST customerRefund';
const { books, worker, again, settledState, payAll, readBooks, countSent } = useWriteBack();

describe('a payment', () => {
  it('is applied to its invoices, once', async () => {
    const [a, b] = [await books.invoice(3010), await books.invoice(5000)];
    const id = await payAll([a, 3010], [b, 2000]);
    expect(await settledState(id)).toEqual(landed);
    expect(await readBooks(id, a, b)).toEqual([written(5010, 5010), 0, 3000]);
    const [row] = await books.ledger(
      'SELECT entity::text, undepfunds, account, memo FROM ledger.transaction WHERE externalid = $1',
      [`portal-payment-${id}`],
    );
    const memo = expect.stringContaining(id);
    expect(row).toMatchObject({ entity: '1', undepfunds: 'T', account: null, memo });
    // A first attempt does not look up an existing record.
    expect([countSent(POST), countSent('POST suiteql')]).toEqual([1, 2]);
    await again();
    expect(await books.retry(id)).toBe(0);
    expect(countSent(POST)).toBe(1);
  });

  it('appears in the next sync: among the changes, or among the open records when NetSuite does not report a change', async () => {
    const { organizationId } = books;
    const connector = await createTenantConnector({ ...books.database.ctx, organizationId }, null);
    const wanted = {
      recordType: getMetadata('invoice'),
      fields: ['foreignamountunpaid', 'status'],
      signal: AbortSignal.timeout(60_000),
    };
    for (const isTouched of [true, false]) {
      const { account } = books.erp;
      account.setSwitches({ paymentTouchesInvoice: isTouched });
      const a = await books.invoice(1500);
      const since = new Date(account.businessTime().getTime() + 3_600_000);
      await account.setBusinessTime(since);
      const id = await books.pay([[a, 500]]);
      expect(await settledState(id)).toEqual(landed);
      const changed = await connector.readPage({ ...wanted, afterId: null, changedSince: since, limit: 10 });
      const open = await connector.scan({ ...wanted, ids: [a] });
      const paid = [a, '10'];
      const shown = (records: readonly { id: string; values: Readonly<Record<string, string | null>> }[]) =>
        records.map((record) => [record.id, record.values['foreignamountunpaid']]);
      expect([shown(changed.records), shown(open.records)]).toEqual([isTouched ? [paid] : [], [paid]]);
    }
  });

  it('whose invoices have less due by now is applied as far as possible, and reports the unapplied rest and why', async () => {
    const [a, b] = [await books.invoice(1000), await books.invoice(2000)];
    await books.payByHand(a, 4);
    // While the request is in transit, a person pays a part of the other invoice.
    books.wire.before = async (name) => {
      if (name !== POST) return;
      books.wire.before = () => undefined;
      await books.payByHand(b, 15);
    };
    const id = await payAll([a, 1000], [b, 2000]);
    expect(await settledState(id)).toMatchObject({
      status: 'PARTLY_APPLIED',
      unapplied: 1900,
      problem: {
        code: 'PARTLY_APPLIED',
        message: expect.stringContaining('19.00 GBP'),
        fix: expect.stringContaining('another invoice'),
      },
    });
    expect(await readBooks(id, a, b)).toEqual([written(3000, 1100), 0, 0]);
    // A person applies the rest to another invoice; a retry sees that, and a refund unapplies it from there
    // last.
    const c = await books.invoice(5000);
    const { recordId } = (await books.state(id)) as { recordId: string };
    const apply = { items: [{ doc: c, apply: true, amount: 19 }] };
    await books.byHand('PATCH', `customerPayment/${recordId}`, { apply });
    expect(await books.retry(id)).toBe(1);
    await worker.waitUntilIdle();
    expect(await books.state(id)).toEqual({ ...landed, recordId });
    await books.refund(id, 1200);
    expect(await settledState(id)).toMatchObject({ status: 'LANDED', unapplied: 0 });
    expect(await books.open(a, b, c)).toEqual([600, 500, 3200]);
  });

  it('whose invoice was deleted stays completely unapplied', async () => {
    const a = await books.invoice(1000);
    await books.byHand('DELETE', `invoice/${a}`);
    const id = await books.pay([[a, 1000]]);
    expect(await settledState(id)).toMatchObject({ status: 'PARTLY_APPLIED', unapplied: 1000 });
    expect(await books.inErp(id)).toMatchObject({ payments: 1, total: 1000, applied: 0 });
  });
});

describe('an attempt with an unknown outcome', () => {
  const cut = { status: 500, cut: true, times: 1 };
  const cases: [name: string, fault: object, sent: number][] = [
    ['before the ERP received it', cut, 2],
    ['after its effect, without a response', { ...cut, afterEffect: true }, 1],
    ['after its effect, with a server error', { ...cut, cut: false, afterEffect: true }, 1],
  ];
  it.each(cases)('%s: the payment exists once after the next attempt', async (_name, fault, sent) => {
    const a = await books.invoice(700);
    books.erp.account.injectFault({ path: /customerPayment$/, ...cut, ...fault });
    const id = await books.pay([[a, 700]]);
    const problem = { fix: expect.stringContaining('next attempt') };
    expect(await settledState(id)).toMatchObject({ status: 'PENDING', problem });
    await again();
    expect(await books.state(id)).toEqual(landed);
    expect(await readBooks(id, a)).toEqual([written(700, 700), 0]);
    expect(countSent(POST)).toBe(sent);
  });

  it.each(cases)('%s: the refund exists once, and invoices are reopened once', async (_name, fault, sent) => {
    const [a, b] = [await books.invoice(700), await books.invoice(300)];
    const id = await payAll([a, 700], [b, 300]);
    await worker.waitUntilIdle();
    books.erp.account.injectFault({ path: /customerPayment\/\d+$/, every: 2, ...cut, ...fault }); // the first is the read before it
    books.erp.account.injectFault({ path: /customerRefund$/, ...cut, ...fault });
    await books.refund(id, 450);
    for (let left = 3; left > 0; left -= 1) await again();
    expect(await books.state(id)).toEqual(landed);
    expect(await readBooks(id, a, b)).toEqual([written(1000, 550, 450, 1), 150, 300]);
    expect(countSent(REFUND)).toBe(sent);
  });

  it('two workers on the same payment, after a lease expired, write one record', async () => {
    const a = await books.invoice(800);
    const both = Promise.withResolvers<void>();
    let here = 0;
    books.wire.before = async (name) => {
      if (name !== POST) return;
      here += 1;
      if (here === 2) both.resolve();
      // The first request is in transit; its lease expires, and another worker starts.
      if (here === 1) {
        await books.as((tx) => endLeases(tx, 'pay_erp_documents'));
        other = startWriteBack(books.database.ctx, { pollMs: hour });
      }
      await both.promise;
    };
    let other: JobWorker | undefined;
    const id = await books.pay([[a, 800]]);
    await worker.waitUntilIdle();
    await other?.waitUntilIdle();
    await other?.stop();
    expect(await books.state(id)).toEqual(landed);
    expect([here, ...(await readBooks(id, a))]).toEqual([2, written(800, 800), 0]);
  });

  it('an aborted refund that lands after the next attempt looked it up is taken off the invoices once', async () => {
    const a = await books.invoice(700);
    const id = await books.pay([[a, 700]]);
    await worker.waitUntilIdle();
    const { recordId } = (await books.state(id)) as { recordId: string };
    let stage: 'sent' | 'given up' | 'looked for' | 'landed' = 'sent';
    books.wire.before = async (name) => {
      if (stage === 'sent' && name === REFUND) {
        stage = 'given up';
        return 'drop';
      }
      if (stage === 'given up' && name === 'POST suiteql') stage = 'looked for';
      else if (stage === 'looked for' && name !== 'POST suiteql') {
        stage = 'landed';
        const [externalId] = await books.as((tx) =>
          tx('pay_erp_documents').where({ payment_id: id, kind: 'refund' }).pluck('external_id'),
        );
        const apply = { items: [{ doc: recordId, apply: true, amount: 4.5 }] };
        await books.byHand('POST', 'customerRefund', { customer: '1', externalId, account: '7', apply });
      }
      return undefined;
    };
    await books.refund(id, 450);
    for (let left = 3; left > 0; left -= 1) await again();
    books.wire.before = () => undefined;
    expect([stage, await books.state(id)]).toEqual(['landed', landed]);
    expect(await readBooks(id, a)).toEqual([written(700, 250, 450, 1), 450]);
  });

  it('a process that stops aborts it immediately, and the next one finds its effect', async () => {
    const a = await books.invoice(900);
    const sent = Promise.withResolvers<void>();
    books.wire.after = (name) => (name === POST ? (sent.resolve(), new Promise(() => undefined)) : undefined);
    const id = await books.pay([[a, 900]]);
    await sent.promise;
    await worker.stop();
    expect(await books.state(id)).toMatchObject({ status: 'PENDING', problem: null });
    expect(await books.inErp(id)).toMatchObject({ payments: 1 });
    books.wire.after = () => undefined;
    worker.start();
    expect(await settledState(id)).toEqual(landed);
    expect(await readBooks(id, a)).toEqual([written(900, 900), 0]);
  });
});

describe('refunds', () => {
  it('open the last listed invoice first, one after the other, until nothing is left of the payment', async () => {
    const [a, b] = [await books.invoice(1000), await books.invoice(2000)];
    const id = await payAll([a, 1000], [b, 2000]);
    await books.refund(id, 500);
    await books.refund(id, 2000);
    expect(await settledState(id)).toEqual(landed);
    expect(await readBooks(id, a, b)).toEqual([written(3000, 500, 2500, 2), 500, 2000]);
    await books.refund(id, 500);
    expect(await settledState(id)).toEqual(landed);
    expect(await readBooks(id, a, b)).toEqual([written(3000, 0, 3000, 3), 1000, 2000]);
    await books.refund(id, 1);
    expect(await settledState(id)).toMatchObject({ status: 'FAILED', problem: { code: 'PAYMENT_USED_UP' } });
  });

  it('that the ERP refuses after invoices were reopened report the current amounts, and resume from there', async () => {
    const a = await books.invoice(900);
    const id = await books.pay([[a, 900]]);
    await worker.waitUntilIdle();
    await books.setWriteBack({ account: null });
    await books.refund(id, 400);
    expect(await settledState(id)).toMatchObject({
      status: 'FAILED',
      unapplied: 400,
      problem: {
        code: 'VALUE_MISSING',
        message: expect.stringContaining('Account'),
        fix: expect.stringContaining('payment configuration'),
      },
    });
    await books.setWriteBack({ account: '7' });
    expect(await books.retry(id)).toBe(2); // the payment is checked again as well
    await worker.waitUntilIdle();
    expect(await books.state(id)).toEqual(landed);
    expect(await readBooks(id, a)).toEqual([written(900, 500, 400, 1), 400]);
    await books.setWriteBack({ account: null, refundAccount: '7' });
  });
});

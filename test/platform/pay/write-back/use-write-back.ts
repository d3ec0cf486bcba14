// Books whose payments a worker writes back, one attempt after each call, for a test file.
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { JobWorker } from '../../../../src/db/job-worker.ts';
import { startWriteBack } from '../../../../src/platform/pay/write-back/worker.ts';
import { type Books, openBooks } from './erp-books.ts';

export const hour = 3_600_000;
export const POST = 'POST customerPayment';
/** State of a payment that was written as a whole. */
export const landed = {
  ...{ status: 'LANDED', problem: null, unapplied: 0 },
  ...{ writtenAt: expect.any(Date), recordId: expect.stringMatching(/^\d+$/) },
};
/** What the ERP has of a payment, in pence. */
export const written = (total: number, applied: number, refunded = 0, refunds = 0) => ({
  ...{ payments: 1, total, applied, refunded, refunds },
});
/** Faults of the ERP: its answer to requests of a path, or to all. */
export const erpFault = (status: number, code: string, more: { path?: RegExp; detail?: string } = {}) => ({
  ...{ path: more.path ?? /customerPayment$/, times: 1, status },
  body: { 'o:errorDetails': [{ detail: more.detail ?? 'No.', 'o:errorCode': code }] },
});
/** For the top level of a test file; faults, switches and the wire are reset after each test. */
export function useWriteBack() {
  const books = {} as Books;
  let runner: JobWorker;
  const start = () => {
    runner = startWriteBack(books.database.ctx, { pollMs: hour, firstWaitMs: hour });
  };
  beforeAll(async () => {
    Object.assign(books, await openBooks());
    start();
  });
  afterEach(() => {
    const { account } = books.erp;
    account.clearFaults();
    account.setSwitches({ booksClosedThrough: null, customersOnHold: [], paymentTouchesInvoice: true });
    Object.assign(books.wire, { before: () => undefined, after: () => undefined });
    books.wire.seen.length = 0;
  });
  afterAll(async () => {
    await runner.stop();
    await books.stop();
  });
  const waitUntilIdle = () => runner.waitUntilIdle();
  return {
    books,
    worker: { start, stop: () => runner.stop(), waitUntilIdle },
    /** Makes everything pending due and runs another attempt. */
    again: async (): Promise<void> => {
      await waitUntilIdle();
      await books.makeDue();
      await waitUntilIdle();
    },
    settledState: async (paymentId: string) => {
      await waitUntilIdle();
      return books.state(paymentId);
    },
    /** A payment of these amounts in pence. */
    payAll: (...invoices: [id: string, pence: number][]) => books.pay(invoices),
    /** Everything that the ERP has of a payment, and the open amounts of these invoices. */
    readBooks: async (paymentId: string, ...invoices: string[]) => [
      await books.inErp(paymentId),
      ...(await books.open(...invoices)),
    ],
    countSent: (request: string) => books.wire.seen.filter((name) => name === request).length,
  };
}

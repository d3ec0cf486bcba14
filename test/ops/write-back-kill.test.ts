// A process is killed (kill -9) at each point of a write-back where the ERP and the database disagree:
// another process finds the actual state, and each payment and refund is in the ERP once.

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startWriteBack } from '../../src/platform/pay/write-back/worker.ts';
import { type Books, openBooks } from '../platform/pay/write-back/erp-books.ts';
import { endLeases } from '../setup/jobs.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { until } from '../setup/until.ts';

const script = fileURLToPath(new URL('./write-back-process.ts', import.meta.url));
const children: ChildProcess[] = [];
let books: Books;
beforeAll(async () => {
  books = await openBooks();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  books.wire.before = () => undefined;
  books.wire.after = () => undefined;
});
afterAll(() => books.stop());

type Side = 'before' | 'after';
/** A request, before or after its execution, and its number among requests of its kind. */
type Point = readonly [name: string, side: Side, request: RegExp, nth: number];

/**
 * `there` resolves when the request is on its way to the account, or its response on the way back. Both are
 * held back until `goOn`, so that the process can't continue; a held request is then dropped.
 */
function reached([, side, request, nth]: Point): { there: Promise<void>; goOn(): void } {
  const [there, further] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let seen = 0;
  books.wire[side] = async (name) => {
    seen += request.test(name) ? 1 : 0;
    if (!request.test(name) || seen !== nth) return undefined;
    there.resolve();
    await further.promise;
    return side === 'before' ? 'drop' : undefined;
  };
  return { there: there.promise, goOn: further.resolve };
}

function spawnWriter(): { kill(): Promise<void> } {
  const { address, ctx } = books.database;
  const order = JSON.stringify({ address, settings: ctx.settings, connection: books.connection });
  const child = spawn(process.execPath, [script, order], { stdio: ['ignore', 'inherit', 'inherit'] });
  children.push(child);
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** Another process, after the lease of the killed one has expired. */
async function takeOver(): Promise<void> {
  books.wire.before = () => undefined;
  books.wire.after = () => undefined;
  await books.as((tx) => endLeases(tx, 'pay_erp_documents'));
  const next = startWriteBack(books.database.ctx);
  await next.waitUntilIdle();
  await next.stop();
}

/** Kills it while it waits to lock the row in which it would record that the ERP has the document. */
async function killBeforeCommit(lastRead: Point): Promise<void> {
  const { there, goOn } = reached(lastRead);
  const writer = spawnWriter();
  await there;
  await asSuperuser(books.database.address.database, async (client) => {
    await client.query(
      "BEGIN; SELECT FROM pay_erp_documents WHERE status = 'PENDING' OR kind = 'payment' FOR UPDATE",
    );
    goOn();
    // On another connection, because within a transaction this view doesn't change.
    const waiting =
      "SELECT 1 AS found FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock' AND query LIKE '%pay_erp_documents%'";
    await until(async () => (await books.ledger(waiting, [books.database.address.database])).length > 0);
    await writer.kill();
    await client.query('ROLLBACK');
  });
}

const attempts = async (paymentId: string, kind: string): Promise<number> => {
  const row = await books.as((tx) =>
    tx('pay_erp_documents').where({ payment_id: paymentId, kind }).first<{ attempts: number }>('attempts'),
  );
  return row.attempts;
};
const landed = { status: 'LANDED', problem: null, unapplied: 0 };

async function killAt(point: Point): Promise<void> {
  if (point[0].includes('commit')) return killBeforeCommit(point);
  const { there, goOn } = reached(point);
  const writer = spawnWriter();
  await there;
  await writer.kill();
  goOn();
}

describe('a payment whose process is killed', () => {
  const points: Point[] = [
    ['before the ERP has it', 'before', /^POST customerPayment$/, 1],
    ['after its effect, before the answer', 'after', /^POST customerPayment$/, 1],
    ['after the answer, before it is read back', 'before', /^GET customerPayment/, 1],
    ['before the commit that says it is there', 'after', /^GET customerPayment/, 1],
  ];
  it.each(points)('%s is in the ERP once', async (...point) => {
    const [a, b] = [await books.invoice(1000), await books.invoice(500)];
    const id = await books.pay([
      [a, 1000],
      [b, 200],
    ]);
    await killAt(point);
    expect([await books.state(id), await attempts(id, 'payment')]).toMatchObject([
      { status: 'PENDING', recordId: null },
      1,
    ]);
    await takeOver();
    expect([await books.state(id), await attempts(id, 'payment')]).toMatchObject([landed, 2]);
    expect([await books.inErp(id), await books.open(a, b)]).toEqual([
      { payments: 1, total: 1200, applied: 1200, refunded: 0, refunds: 0 },
      [0, 300],
    ]);
  });
});

describe('a refund whose process is killed', () => {
  const points: Point[] = [
    ['before the payment is taken off its invoice', 'before', /^PATCH customerPayment/, 1],
    ['after it was taken off', 'after', /^PATCH customerPayment/, 1],
    ['before the ERP has the refund', 'before', /^POST customerRefund$/, 1],
    ['after its effect, before the answer', 'after', /^POST customerRefund$/, 1],
    ['after the answer, before it is read back', 'before', /^GET customerRefund/, 1],
    ['before the commit that says it is there', 'after', /^GET customerPayment/, 3],
  ];
  it.each(points)('%s is in the ERP once', async (...point) => {
    const [a, b] = [await books.invoice(1000), await books.invoice(500)];
    const id = await books.pay([
      [a, 1000],
      [b, 500],
    ]);
    await takeOver();
    await books.refund(id, 700);
    await killAt(point);
    expect([await books.state(id), await attempts(id, 'refund')]).toMatchObject([{ status: 'PENDING' }, 1]);
    await takeOver();
    expect([await books.state(id), await attempts(id, 'refund')]).toMatchObject([landed, 2]);
    expect([await books.inErp(id), await books.open(a, b)]).toEqual([
      { payments: 1, total: 1500, applied: 800, refunded: 700, refunds: 1 },
      [200, 500],
    ]);
  });
});

// Held-back days entered one by one give the same books as all days loaded at once, whatever happens in
// between.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, inject, it, vi } from 'vitest';
import type { NetsuiteAccountOptions } from '../src/account.ts';
import { asAdmin, computeChecksums, createLoadedDatabase } from './loaded-account.ts';
import {
  ACCOUNT_ID,
  createDataFolder,
  dropDatabase,
  isLeft,
  newDatabaseName,
  SLICE,
  startOn,
  startShop,
} from './test-account.ts';

const at = (day: string, time = '10:00:00') => `${day} ${time}`;
const invoice = (id: number, day: string, customer: number | '', total: number, time?: string) =>
  `${id},I${id},CustInvc,${day},${customer},1,1,T,${total},${at(day, time)},${at(day, time)}`;
const line = (transaction: number, day: string, amount: number, item = 10) =>
  `${transaction}1,1,${transaction},1,${item},,${amount > 0 ? 1 : -1},${Math.abs(amount)},${amount},F,F,${at(day)}`;
/**
 * Friday 1 July; nothing on Saturday and Sunday; new and known customers and items on Monday to Wednesday.
 * Invoice 101 is due on Sunday 31.
 */
const DAYS = {
  customer: [
    `1,C1,F,F,1,France,${at('2011-06-01')},${at('2011-07-04', '10:00:00')}`,
    `2,C2,F,F,1,,${at('2011-07-05')},${at('2011-07-06')}`,
    `3,C3,F,F,1,,${at('2011-06-01')},${at('2011-06-01')}`,
  ],
  item: [
    `10,A,One,InvtPart,F,${at('2011-06-01')},${at('2011-07-06')}`,
    `11,B,Two,InvtPart,F,${at('2011-07-05')},${at('2011-07-05')}`,
  ],
  transaction: [
    invoice(101, '2011-07-01', 1, 30),
    invoice(110, '2011-06-05', 1, 20),
    invoice(111, '2011-06-05', 1, 10),
    invoice(102, '2011-07-04', 1, 7),
    `103,C103,CustCred,2011-07-05,1,1,1,T,-25,${at('2011-07-05')},${at('2011-07-05')}`,
    invoice(104, '2011-07-05', 2, 5),
    invoice(105, '2011-07-06', '', 8),
    invoice(106, '2011-07-06', 2, 9),
  ],
  transactionline: [
    line(101, '2011-07-01', -30),
    line(102, '2011-07-04', -7),
    line(103, '2011-07-05', 25, 11),
    line(104, '2011-07-05', -5),
    line(105, '2011-07-06', -8),
    line(106, '2011-07-06', -9),
  ],
};
const HELD = {
  replayFrom: '2011-07-02',
  switches: { paymentTouchesInvoice: false },
} satisfies Partial<NetsuiteAccountOptions>;

describe('a few days', () => {
  let shop: Awaited<ReturnType<typeof startShop>>;
  afterEach(async () => {
    vi.useRealTimers();
    await shop.close();
  });
  const readClock = () => [shop.account.daysLeft(), shop.account.businessTime().toISOString().slice(0, 16)];
  const readChange = () =>
    shop.value("SELECT TO_CHAR(lastmodifieddate, 'YYYY-MM-DD') AS at FROM customer WHERE id = 1");
  const count = async (table: string) => Number(await shop.value(`SELECT COUNT(*) AS n FROM ${table}`));

  it('start with the earlier data, and add their rows and what falls due', async () => {
    const reported: unknown[] = [];
    const onDay: NetsuiteAccountOptions['onDay'] = (day, { inserted, daysLeft }) =>
      reported.push([day, inserted.transaction, daysLeft]);
    shop = await startShop({ ...HELD, onDay }, DAYS);
    const { account } = shop;
    expect(readClock()).toEqual([5, '2011-07-01T10:00']); // eleven in London
    expect([await count('transaction'), await count('customer'), await count('item')]).toEqual([3, 2, 1]);
    expect(await readChange()).toBe('2011-07-01');
    // Due on Tuesday 5 July: one that will be paid, and one of the ten percent that never are.
    const paid = () =>
      shop.rows(
        'SELECT id, status, foreignamountpaid AS paid FROM transaction WHERE id IN (110, 111) ORDER BY id',
      );
    expect(await paid()).toMatchObject([{ status: 'A' }, { status: 'A' }]);
    expect((await account.advanceTo('2011-07-04')).map((report) => report.inserted.transaction)).toEqual([
      0, 0, 1,
    ]);
    expect(readClock()).toEqual([2, '2011-07-04T10:00']);
    expect(await readChange()).toBe('2011-07-04');
    expect(await paid()).toMatchObject([{ status: 'A' }, { status: 'A' }]);
    await account.advanceTo('2011-07-05');
    expect(await paid()).toMatchObject([
      { status: 'B', paid: '20' },
      { status: 'B', paid: '10' },
    ]); // of 110, the credit memo's 25 paid all
    expect([await count('customer'), await count('item')]).toEqual([3, 2]);
    await account.advanceTo('2011-07-06');
    expect(reported).toEqual([
      ['2011-07-02', 0, 4],
      ['2011-07-03', 0, 3],
      ['2011-07-04', 1, 2],
      ['2011-07-05', 2, 1],
      ['2011-07-06', 2, 0],
    ]);
    expect(account.daysLeft()).toBe(0);
    expect(await account.advanceTo('2011-07-08')).toEqual([]);
    expect(account.businessTime().toISOString().slice(0, 13)).toBe('2011-07-08T17');
    const whole = newDatabaseName();
    await (await startOn(whole, { dataFolder: shop.folder })).stop();
    expect(await computeChecksums(shop.database)).toEqual(await computeChecksums(whole));
    await dropDatabase(whole);
  });

  it('update the lastmodifieddate of paid invoices if paymentTouchesInvoice is on', async () => {
    shop = await startShop({ ...HELD, switches: { paymentTouchesInvoice: true } }, DAYS);
    await shop.account.advanceTo('2011-07-05');
    expect(
      await shop.rows(
        "SELECT id, TO_CHAR(lastmodifieddate, 'MM-DD HH24:MI') AS at FROM transaction WHERE id IN (101, 102, 110, 104) ORDER BY id",
      ),
    ).toMatchObject([
      { id: '101', at: '07-01 10:00' },
      { id: '102', at: '07-04 10:00' },
      { id: '104', at: '07-05 10:00' },
      { id: '110', at: '07-05 11:00' },
    ]);
  });

  it('are never entered by a read, and business time waits for them', async () => {
    shop = await startShop(HELD, DAYS);
    const before = await computeChecksums(shop.database);
    for (let i = 0; i < 5; i += 1) await shop.rows('SELECT SYSDATE AS now FROM dual');
    expect(await computeChecksums(shop.database)).toEqual(before);
    // A week passes without a day being entered: business time never reaches a moment whose rows are missing.
    vi.useFakeTimers({ now: Date.now() + 7 * 86_400_000, toFake: ['Date'] });
    expect(shop.account.businessTime().toISOString()).toBe('2011-07-04T08:59:59.000Z');
    vi.useRealTimers();
    await shop.account.setBusinessTime(new Date('2011-07-04T09:30:00Z'));
    expect(readClock()).toEqual([2, '2011-07-04T10:00']);
    await shop.account.setBusinessTime(new Date('2011-07-20T09:30:00Z'));
    expect(readClock()).toEqual([0, '2011-07-20T09:30']);
  });

  it('are entered by the timer, one at a time, until none is left', async () => {
    const days: string[] = [];
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const onDay: NetsuiteAccountOptions['onDay'] = (day, { daysLeft }) => {
      days.push(day);
      if (daysLeft === 0) end();
    };
    shop = await startShop({ ...HELD, onDay }, DAYS);
    expect(() => shop.account.startReplay({ minutesPerDay: 0 })).toThrow(RangeError);
    shop.account.startReplay({ minutesPerDay: 0.05 / 60 });
    await ended;
    expect(days).toEqual(['2011-07-02', '2011-07-03', '2011-07-04', '2011-07-05', '2011-07-06']);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect([days.length, shop.account.audit().length]).toEqual([5, 0]);
  });

  it('are entered after records were created, changed and deleted, and leave those unchanged', async () => {
    shop = await startShop(HELD, DAYS);
    await shop.account.setBusinessTime(new Date('2011-07-02T10:00:00Z'));
    const made = await shop.create('invoice', {
      entity: '1',
      item: { items: [{ item: '10', amount: 4 }] },
    });
    const payment = await shop.create('customerPayment', {
      customer: '1',
      payment: 12,
      apply: { items: [{ doc: '101', amount: 12 }] },
    });
    expect(await shop.status('DELETE', 'record/v1/customer/3')).toBe(204);
    await shop.send('PATCH', 'record/v1/customer/1', { email: 'kept@example.com' });
    await shop.account.advanceTo('2011-07-06');
    expect(Number(made)).toBeGreaterThan(106);
    expect(
      await shop.first(`SELECT foreignamountunpaid AS u, status FROM transaction WHERE id = ${made}`),
    ).toMatchObject({ u: '4', status: 'A' });
    // The credit memo's 25 pay 20 of 110 and 5 of 111.
    expect(await shop.value('SELECT foreignamountpaid AS p FROM transaction WHERE id = 101')).toBe('12');
    expect(await shop.value('SELECT email FROM customer WHERE id = 1')).toBe('kept@example.com');
    expect(await count('customer')).toBe(2);
    await shop.send('DELETE', `record/v1/customerPayment/${payment}`);
    await shop.send('DELETE', `record/v1/invoice/${made}`);
    expect(await shop.value('SELECT foreignamountpaid AS p FROM transaction WHERE id = 101')).toBe('0');
  });

  it('reject an invalid day, and a folder without earlier rows', async () => {
    shop = await startShop(HELD, DAYS);
    await expect(shop.account.advanceTo('tomorrow')).rejects.toThrow(RangeError);
    const other = newDatabaseName();
    const start = (replayFrom: string) => startOn(other, { dataFolder: shop.folder, replayFrom });
    await expect(start('2011-02-30')).rejects.toThrow(RangeError);
    await expect(start('2011-06-05')).rejects.toThrow(/no rows changed before 2011-06-05/);
    await dropDatabase(other);
  });
});

describe('restarts between days', () => {
  const database = newDatabaseName();
  afterAll(() => dropDatabase(database));

  it('a restart resumes where the books end; a kill leaves only whole days', async () => {
    const { folder, remove } = await createDataFolder(DAYS);
    const options = { admin: inject('pg'), database, dataFolder: folder, accountId: ACCOUNT_ID, ...HELD };
    const first = await startOn(database, { ...HELD, dataFolder: folder });
    await first.advanceTo('2011-07-04');
    await first.stop();
    const code = `const { startNetsuiteAccount } = await import(${JSON.stringify(path.resolve(import.meta.dirname, '../src/account.ts'))});
      const account = await startNetsuiteAccount(${JSON.stringify(options)});
      if (account.daysLeft() !== 2) process.exit(3);
      const entering = account.advanceTo('2011-07-06');
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(process.argv[1]));
      await entering;
      await new Promise(() => setInterval(() => undefined, 1000));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code, '12'], { stdio: 'ignore' });
    const ended = await new Promise((resolve) =>
      child.on('exit', (status, signal) => resolve(signal ?? status)),
    );
    expect(ended).toBe('SIGKILL');
    await isLeft(database);
    const again = await startOn(database, { ...HELD, dataFolder: folder });
    const books = await asAdmin(
      database,
      async (client) =>
        (await client.query<{ day: string }>('SELECT day::text FROM ledger.books')).rows[0]?.day,
    );
    expect(again.daysLeft()).toBe({ '2011-07-04': 2, '2011-07-05': 1, '2011-07-06': 0 }[books ?? '']);
    expect(again.businessTime().toISOString().slice(0, 10)).toBe(books);
    await again.advanceTo('2011-07-06');
    await again.stop();
    const whole = newDatabaseName();
    await (await startOn(whole, { dataFolder: folder })).stop();
    expect(await computeChecksums(database)).toEqual(await computeChecksums(whole));
    await dropDatabase(whole);
    await remove();
  });

  it('the slice with ten days entered one by one equals the slice loaded at once', async () => {
    const [byDay, whole] = [newDatabaseName(), newDatabaseName()];
    const startedMs = performance.now();
    await createLoadedDatabase(whole, SLICE);
    const [replayed, loaded] = [
      await startOn(byDay, { ...HELD, replayFrom: '2011-08-22' }),
      await startOn(whole),
    ];
    const invoices = await asAdmin(byDay, async (client) =>
      Number(
        (await client.query("SELECT count(*) FROM ledger.transaction WHERE type = 'CustInvc'")).rows[0].count,
      ),
    );
    expect(invoices).toBe(1579);
    const reports = await replayed.advanceTo('2011-08-31');
    expect([
      reports.length,
      reports.reduce((sum, { inserted }) => sum + inserted.transaction, 0),
      replayed.daysLeft(),
    ]).toEqual([10, 597, 0]);
    expect(await computeChecksums(byDay)).toEqual(await computeChecksums(whole));
    // Business time has kept running in both since the end of their books.
    const apartMs = Math.abs(replayed.businessTime().getTime() - loaded.businessTime().getTime());
    expect(apartMs).toBeLessThan(performance.now() - startedMs + 1_000);
    await Promise.all([replayed.stop(), loaded.stop()]);
    await Promise.all([dropDatabase(byDay), dropDatabase(whole)]);
  });
});

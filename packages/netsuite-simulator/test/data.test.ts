// Compares the account's data with the files it was loaded from; malformed files and interrupted loads.
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { asAdmin } from './loaded-account.ts';
import {
  ACCOUNT_ID,
  createDataFolder,
  createIdentity,
  dropDatabase,
  isLeft,
  newDatabaseName,
  SLICE,
  signIn,
  startOn,
  startShop,
  useCaller,
} from './test-account.ts';

type Row = Record<string, string>;
const readCsv = async (name: string): Promise<Row[]> =>
  parse(gunzipSync(await readFile(path.join(SLICE, `${name}.csv.gz`))), { columns: true });
/** Thousandths of a unit, so that sums are exact. */
const thousandths = (text: string): bigint => {
  const [whole = '0', part = ''] = text.replace('-', '').split('.');
  const size = BigInt(whole) * 1000n + BigInt(part.padEnd(3, '0'));
  return text.startsWith('-') ? -size : size;
};
const total = (rows: Row[], column: string): bigint =>
  rows.reduce((sum, row) => sum + thousandths(row[column] || '0'), 0n);
const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);

describe('the slice', () => {
  const caller = useCaller();

  const readAll = async (select: string, from: string, key: string): Promise<Row[]> => {
    const all: Row[] = [];
    for (let after = '1 = 1'; ; ) {
      const { body } = await caller.query(`SELECT ${select} FROM ${from} WHERE ${after} ORDER BY ${key} ASC`);
      const rows = body.items as Row[];
      all.push(...rows);
      if (!body.hasMore) return all;
      after = `${key} > ${rows.at(-1)?.[key]}`;
    }
  };

  it('equals the files row by row and to the penny', async () => {
    const [transactions, lines] = [await readCsv('transaction'), await readCsv('transactionline')];
    const time = "'YYYY-MM-DD HH24:MI:SS'";
    const read = await readAll(
      `id, tranid, type, TO_CHAR(trandate, 'YYYY-MM-DD') AS trandate, entity, foreigntotal,
      TO_CHAR(createddate, ${time}) AS createddate, TO_CHAR(lastmodifieddate, ${time}) AS lastmodifieddate`,
      'transaction',
      'id',
    );
    expect(read.length).toBe(transactions.length);
    for (const [i, row] of read.entries()) {
      const source = transactions[i] ?? {};
      for (const name of ['id', 'tranid', 'type', 'trandate', 'createddate', 'lastmodifieddate'])
        expect(row[name]).toBe(source[name]);
      expect(row['entity'] ?? '').toBe(source['entity']);
      expect(thousandths(row['foreigntotal'] ?? '')).toBe(thousandths(source['foreigntotal'] ?? ''));
    }
    const readLines = await readAll(
      'uniquekey, memo, quantity, rate, netamount',
      'transactionline',
      'uniquekey',
    );
    expect(readLines.length).toBe(lines.length);
    for (const column of ['quantity', 'rate', 'netamount'])
      expect(total(readLines, column)).toBe(total(lines, column));
    expect(readLines.map((row) => row['memo'] ?? '')).toEqual(lines.map((row) => row['memo']));
    const sums = await caller.first(
      'SELECT SUM(foreigntotal) AS t, (SELECT SUM(l.netamount) FROM transactionline l) AS l FROM transaction',
    );
    expect(thousandths(sums['t'] ?? '')).toBe(total(transactions, 'foreigntotal'));
    expect(thousandths(sums['l'] ?? '')).toBe(total(lines, 'netamount'));
  });

  it('contains customers and items unchanged', async () => {
    for (const name of ['customer', 'item'] as const) {
      const source = await readCsv(name);
      const label = name === 'customer' ? 'entityid' : 'itemid';
      const read = await readAll(`id, ${label}`, name, 'id');
      expect(new Map(read.map((row) => [row['id'], row[label]]))).toEqual(
        new Map(source.map((row) => [row['id'], row[label]])),
      );
    }
  });

  it('derives payments, credits, statuses and dates by the documented rules', async () => {
    const rows = await readAll(
      "id, type, entity, TO_CHAR(trandate, 'YYYY-MM-DD') d, TO_CHAR(duedate, 'YYYY-MM-DD') due, TO_CHAR(closedate, 'YYYY-MM-DD') closed, status, foreigntotal t, foreignamountpaid p, foreignamountunpaid u",
      'transaction',
      'id',
    );
    const invoices = rows.filter((row) => row['type'] === 'CustInvc');
    const credits = rows.filter((row) => row['type'] === 'CustCred');
    for (const row of [...invoices, ...credits]) {
      expect(thousandths(row['p'] ?? '') + thousandths(row['u'] ?? '')).toBe(thousandths(row['t'] ?? ''));
      expect(row['status']).toBe(row['u'] === '0' ? 'B' : 'A');
      expect(row['closed'] === undefined).toBe(row['status'] === 'A');
    }
    for (const row of invoices) {
      expect(row['due']).toBe(dayAfter(row['d'] ?? '', 30));
      const isDue = (row['due'] ?? '') <= '2011-08-31';
      if (!row['entity'] || (isDue && !row['id']?.endsWith('0'))) expect(row['status']).toBe('B');
    }
    // Independent calculation: each customer's credits are applied to the same customer's invoices, oldest
    // first.
    const expected = new Map<string, bigint>();
    for (const entity of new Set(invoices.map((row) => row['entity']).filter(Boolean))) {
      let left = -total(
        credits.filter((row) => row['entity'] === entity),
        't',
      );
      const theirs = invoices
        .filter((row) => row['entity'] === entity)
        .toSorted((a, b) => (`${a['d']}${a['id']}` < `${b['d']}${b['id']}` ? -1 : 1));
      for (const row of theirs) {
        const amount = thousandths(row['t'] ?? '');
        const used = left < amount ? left : amount;
        left -= used;
        const isPaid = (row['due'] ?? '') <= '2011-08-31' && !row['id']?.endsWith('0');
        expected.set(row['id'] ?? '', isPaid ? 0n : amount - used);
      }
    }
    for (const row of invoices)
      expect(thousandths(row['u'] ?? ''), row['id']).toBe(expected.get(row['id'] ?? '') ?? 0n);
    expect(
      invoices.filter((row) => row['status'] === 'A' && (row['due'] ?? '') <= '2011-08-31').length,
    ).toBeGreaterThan(10);
    const applied = -total(credits, 'p');
    expect(applied).toBeGreaterThan(0n);
  });

  it('counts open days and balances from business time', async () => {
    const q =
      "SELECT daysopen, daysoverduesearch AS late, SYSDATE AS today FROM transaction WHERE type = 'CustInvc' AND foreignamountunpaid > 0 ORDER BY duedate, id";
    const before = await caller.first(q, { limit: 1 });
    await caller.account.setBusinessTime(new Date('2011-10-31T12:00:00Z'));
    const after = await caller.first(q, { limit: 1 });
    expect([before['today'], after['today']]).toEqual(['8/31/2011', '10/31/2011']);
    expect(Number(after['daysopen']) - Number(before['daysopen'])).toBe(61);
    expect(Number(after['late'])).toBe(Number(after['daysopen']) - 30);
    const sums =
      await caller.first(`SELECT SUM(c.balancesearch) AS b, (SELECT SUM(t.foreignamountunpaid) FROM transaction t WHERE t.entity IS NOT NULL) AS u,
      SUM(c.overduebalancesearch) AS o, (SELECT SUM(t.foreignamountunpaid) FROM transaction t WHERE t.type = 'CustInvc') AS i FROM customer c`);
    expect(sums['b']).toBe(sums['u']);
    expect(sums['o']).toBe(sums['i']);
  });
});

describe('loading', () => {
  const database = newDatabaseName();
  let small: Awaited<ReturnType<typeof createDataFolder>>;
  beforeAll(async () => {
    small = await createDataFolder();
  });
  afterAll(() => Promise.all([dropDatabase(database), small.remove()]));

  it('keeps the data for the same files, loads others again, and keeps integrations and business time', async () => {
    const loads: string[] = [];
    const dataFolder = small.folder;
    const first = await startOn(database, { dataFolder, onProgress: (step) => loads.push(step) });
    const identity = await createIdentity(first);
    await first.setBusinessTime(new Date('2011-09-05T10:00:00Z'));
    await first.stop();
    expect(new Set(loads)).toContain('transactionline.csv.gz');
    loads.length = 0;
    const second = await startOn(database, { dataFolder, onProgress: (step) => loads.push(step) });
    expect(loads).toEqual([]);
    expect(second.businessTime().getTime() - Date.parse('2011-09-05T10:00:00Z')).toBeLessThan(60_000);
    expect(await signIn(second, identity)).toBeTruthy();
    await second.stop();
    const other = await createDataFolder({ transactionline: [] });
    const third = await startOn(database, { dataFolder: other.folder });
    expect(third.businessTime().toISOString().slice(0, 16)).toBe('2011-07-01T10:00');
    await third.stop();
    await other.remove();
    expect(await countTransactions()).toBe(1);
  });

  const countTransactions = () =>
    asAdmin(database, async (client) =>
      Number((await client.query('SELECT count(*) FROM ledger.transaction')).rows[0].count),
    );

  it('starts over after a SIGKILL during the load', async () => {
    const options = { admin: inject('pg'), database, dataFolder: small.folder, accountId: ACCOUNT_ID };
    await dropDatabase(database);
    const code = `const { startNetsuiteAccount } = await import(${JSON.stringify(path.resolve(import.meta.dirname, '../src/account.ts'))});
      await startNetsuiteAccount({ ...${JSON.stringify(options)}, onProgress: (step) => { if (step === 'transactionline.csv.gz') process.kill(process.pid, 'SIGKILL'); } });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
    const signal = await new Promise((resolve) => {
      child.on('exit', (_code, by) => resolve(by));
    });
    expect(signal).toBe('SIGKILL');
    await isLeft(database);
    expect(await hasLedger(database)).toBe(false);
    const account = await startOn(database, { dataFolder: small.folder });
    expect(await countTransactions()).toBe(1);
    await account.stop();
  });

  it('opens the views to the readers of this version when another one made them', async () => {
    await (await startOn(database, { dataFolder: small.folder })).stop();
    const mayRead =
      "SELECT has_table_privilege('netsuite_simulator', 'suiteql.customer', 'select') AS answer";
    await asAdmin(database, async (client) => {
      await client.query('REVOKE ALL ON ALL TABLES IN SCHEMA suiteql FROM netsuite_simulator');
      await client.query("UPDATE setup.loaded SET views = 'of another version'");
      expect((await client.query(mayRead)).rows).toEqual([{ answer: false }]);
    });
    await (await startOn(database, { dataFolder: small.folder })).stop();
    expect(await asAdmin(database, async (client) => (await client.query(mayRead)).rows)).toEqual([
      { answer: true },
    ]);
  });

  it('allows only one process per account', async () => {
    const first = await startOn(database, { dataFolder: small.folder });
    await expect(startOn(database, { dataFolder: small.folder })).rejects.toThrow(/Another process/);
    await first.stop();
  });
});

const hasLedger = (database: string): Promise<boolean> =>
  asAdmin(
    database,
    async (client) =>
      (await client.query("SELECT 1 FROM pg_namespace WHERE nspname = 'ledger'")).rows.length > 0,
  );

describe('a folder', () => {
  const database = newDatabaseName();
  afterAll(() => dropDatabase(database));
  const T = '2011-07-01 10:00:00';
  const customer = (...rows: string[]) => ({ customer: rows.map((row) => `${row},${T},${T}`) });
  const transaction = (day: string, entity: number, total: string) => ({
    transaction: [`101,I1,CustInvc,${day},${entity},1,1,T,${total},${T},${T}`],
  });
  const line = `1001,1,999,1,10,,-1,1,-1,F,F,${T}`;
  const header = gzipSync('id,itemid');
  const refused: [
    name: string,
    files: NonNullable<Parameters<typeof createDataFolder>[0]>,
    message: RegExp,
  ][] = [
    ['a missing file', { item: null }, / can't be read/],
    ['another header', { item: gzipSync('id,name\n1,x\n') }, / line 1: the header must be id,itemid/],
    [
      'a value of the wrong kind',
      transaction('2011-07-01', 1, '30.1O'),
      / line 2: foreigntotal is not a decimal number: 30\.1O/,
    ],
    ['a date that no calendar has', transaction('2011-02-30', 1, '30'), / line 2: .*2011-02-30/],
    ['an empty value that must not be', customer('1,A,F,F,1,', '2,,F,F,1,'), / line 3: entityid is empty/],
    ['too few columns', { customer: [`1,CUST1,F,F,1,,${T},${T}`, '2,CUST2'] }, / line 3: /],
    ['a quote that never closes', customer('1,"CUST1,F,F,1,'), / line \d: .*[Qq]uote/],
    ['a file cut off', { item: header.subarray(0, 20) }, / is not a complete gzip file/],
    ['no gzip at all', { item: Buffer.from('id,itemid') }, / is not a complete gzip file/],
    [
      'a key twice',
      customer('1,A,F,F,1,', '2,B,F,F,1,', '1,C,F,F,1,'),
      / line 4: id 1 occurs more than once/,
    ],
    [
      'an unknown customer',
      transaction('2011-07-01', 9, '30'),
      / line 2: entity 9 is not in customer\.csv\.gz/,
    ],
    [
      'an unknown transaction',
      { transactionline: [line] },
      / line 2: transaction 999 is not in transaction\.csv\.gz/,
    ],
    ['no transactions', { transaction: [], transactionline: [] }, / has no rows/],
  ];
  it.each(refused)('with %s is rejected with file and line', async (_name, files, message) => {
    const { folder, remove } = await createDataFolder(files);
    const file = new RegExp(`${Object.keys(files)[0]}.csv.gz${message.source}`);
    await expect(startOn(database, { dataFolder: folder })).rejects.toThrow(file);
    await remove();
    expect(await hasLedger(database)).toBe(false);
  });

  it('with quotes, spaces and backslashes is loaded unchanged', async () => {
    const caller = await startShop();
    expect(
      await caller.rows(
        'SELECT i.displayname, l.memo, c.entityid, c.defaultcountry FROM item i, transactionline l, customer c WHERE c.id = 2',
      ),
    ).toEqual([{ displayname: 'A "quoted", back\\slash', entityid: 'CUST2' }]);
    await caller.close();
  });
});

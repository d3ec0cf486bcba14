// The books of both profiles balance. Everything is computed from the account's own tables as callers see
// them, through SuiteQL.
import { describe, expect, it } from 'vitest';
import { PROFILES } from '../../src/index.ts';
import { useCaller } from '../test-account.ts';

describe.each(PROFILES)('the books of the profile %s', (profile) => {
  const caller = useCaller({ profile });

  const number = async (q: string): Promise<number> => Number(await caller.value(q));
  /** Of the account in the primary book. */
  const balance = (account: number): Promise<number> =>
    number(
      `SELECT SUM(amount) AS n FROM transactionaccountingline WHERE account = ${account} AND accountingbook = 1`,
    );
  const ofProfile = <T>(values: { single: T; oneworld: T }): T => values[profile];

  it('have transactions of every kind', async () => {
    const types = await caller.rows(
      'SELECT type, COUNT(*) AS n FROM transaction GROUP BY type ORDER BY type',
    );
    expect(types.map(({ type }) => type)).toEqual([
      'CustCred',
      'CustDep',
      'CustInvc',
      'CustPymt',
      'CustRfnd',
      'Deposit',
      'Estimate',
      'InvAdjst',
      'InvTrnfr',
      'ItemRcpt',
      'ItemShip',
      'Journal',
      'PurchOrd',
      'SalesOrd',
      'VendBill',
      'VendCred',
      'VendPymt',
    ]);
    expect(
      await caller.rows("SELECT DISTINCT currency FROM transaction WHERE type = 'CustInvc'"),
    ).toHaveLength(ofProfile({ single: 1, oneworld: 3 }));
    expect(await caller.rows('SELECT DISTINCT accountingbook FROM transactionaccountingline')).toHaveLength(
      ofProfile({ single: 1, oneworld: 2 }),
    );
    expect(
      await number(
        `SELECT COUNT(*) AS n FROM transaction t WHERE t.id >= 20000000 AND t.createddate > t.lastmodifieddate`,
      ),
    ).toBe(0);
  });

  describe('debits and credits are equal', () => {
    const DIFFERENCE = 'SUM(NVL(a.debit, 0)) <> SUM(NVL(a.credit, 0))';
    const WITH_LINE = `transactionaccountingline a JOIN transactionline l ON l.transaction = a.transaction AND l.id = a.transactionline
      JOIN transaction t ON t.id = a.transaction`;
    const subsidiary = profile === 'oneworld' ? ', l.subsidiary' : '';

    it('per transaction, book and subsidiary', async () => {
      const key = `a.transaction, a.accountingbook${subsidiary}`;
      await caller.expectNone(`SELECT ${key} FROM ${WITH_LINE} GROUP BY ${key} HAVING ${DIFFERENCE}`);
      expect(
        await number('SELECT COUNT(DISTINCT transaction) AS n FROM transactionaccountingline'),
      ).toBeGreaterThan(3_000);
    });

    // Each transaction is in one period, so each period balances as its transactions do.
    it('in posting periods alone', async () => {
      const periods = await caller.rows(
        `SELECT DISTINCT t.postingperiod AS id, p.isposting FROM ${WITH_LINE} JOIN accountingperiod p ON p.id = t.postingperiod ORDER BY 1`,
      );
      expect(periods).toEqual(['201106', '201107', '201108'].map((id) => ({ id, isposting: 'T' })));
      const inNone =
        "SELECT COUNT(*) AS n FROM transaction t WHERE t.posting = 'T' AND t.postingperiod IS NULL";
      expect(await number(inNone)).toBe(0);
    });

    it('in each book’s trial balance, which differs between the books', async () => {
      const [primary, secondary] = await caller.rows(
        `SELECT accountingbook, SUM(amount) AS total, SUM(CASE WHEN account = 12 THEN amount ELSE 0 END) AS shipping,
           SUM(CASE WHEN account = 24 THEN amount ELSE 0 END) AS shippingelsewhere, SUM(CASE WHEN account = 29 THEN amount ELSE 0 END) AS depreciation
         FROM transactionaccountingline GROUP BY accountingbook ORDER BY accountingbook`,
      );
      expect(primary).toMatchObject({ total: '0', shippingelsewhere: '0' });
      if (profile === 'single') expect(secondary).toBeUndefined();
      else {
        expect(secondary).toMatchObject({
          total: '0',
          shipping: '0',
          shippingelsewhere: primary?.['shipping'],
        });
        expect(Number(secondary?.['depreciation'])).toBeGreaterThan(Number(primary?.['depreciation']));
      }
    });

    it('of no order or estimate: these don’t post', async () => {
      expect(
        await caller.rows("SELECT DISTINCT t.type FROM transaction t WHERE t.posting = 'F' ORDER BY 1"),
      ).toHaveLength(3);
      expect(await number(`SELECT COUNT(*) AS n FROM ${WITH_LINE} WHERE t.posting = 'F'`)).toBe(0);
    });
  });

  it('a header’s amount is the sum of its other lines, and the transaction’s total', async () => {
    const sums = `SELECT t.id, t.type, t.foreigntotal, t.taxtotal,
        SUM(CASE WHEN l.mainline = 'T' THEN l.foreignamount ELSE 0 END) AS header, SUM(CASE WHEN l.mainline = 'T' THEN 1 ELSE 0 END) AS headers,
        SUM(CASE WHEN l.mainline = 'F' AND l.iscogs = 'F' THEN l.foreignamount ELSE 0 END) AS others,
        SUM(CASE WHEN l.taxline = 'T' THEN l.foreignamount ELSE 0 END) AS tax
      FROM transaction t JOIN transactionline l ON l.transaction = t.id WHERE t.type <> 'Journal' GROUP BY t.id, t.type, t.foreigntotal, t.taxtotal`;
    await caller.expectNone(
      `SELECT * FROM (${sums}) s WHERE s.header + s.others <> 0 OR s.headers <> 1
         OR s.header <> CASE WHEN s.type = 'CustRfnd' THEN -s.foreigntotal ELSE s.foreigntotal END`,
    );
    await caller.expectNone(`SELECT * FROM (${sums}) s WHERE NVL(ABS(s.taxtotal), 0) <> ABS(s.tax)`);
    const signs = await caller.rows(
      `SELECT t.type, MIN(SIGN(t.foreigntotal)) AS least, MAX(SIGN(t.foreigntotal)) AS most FROM transaction t
       WHERE t.type IN ('CustInvc', 'CustCred', 'CustPymt', 'CustRfnd', 'VendBill', 'VendPymt', 'VendCred', 'PurchOrd', 'SalesOrd') AND t.foreigntotal <> 0
       GROUP BY t.type ORDER BY t.type`,
    );
    expect(signs.map(({ type, least, most }) => [type, least, most])).toEqual([
      ['CustCred', '-1', '-1'],
      ['CustInvc', '1', '1'],
      ['CustPymt', '1', '1'],
      ['CustRfnd', '1', '1'],
      ['PurchOrd', '-1', '-1'],
      ['SalesOrd', '1', '1'],
      ['VendBill', '-1', '-1'],
      ['VendCred', '1', '1'],
      ['VendPymt', '-1', '-1'],
    ]);
  });

  it('VAT is a fifth of what UK customers buy or return, and nothing for others', async () => {
    const bases = `SELECT t.id, c.defaultcountry AS country, SUM(CASE WHEN l.taxline = 'T' THEN l.foreignamount ELSE 0 END) AS tax,
        SUM(CASE WHEN l.taxline = 'F' THEN l.foreignamount ELSE 0 END) AS base
      FROM transaction t JOIN transactionline l ON l.transaction = t.id JOIN customer c ON c.id = t.entity
      WHERE t.type IN ('CustInvc', 'CustCred') AND l.mainline = 'F' AND l.iscogs = 'F' GROUP BY t.id, c.defaultcountry`;
    await caller.expectNone(
      `SELECT * FROM (${bases}) b WHERE b.country = 'United Kingdom' AND b.tax <> ROUND(b.base * 0.2, 2)`,
    );
    await caller.expectNone(`SELECT * FROM (${bases}) b WHERE b.country <> 'United Kingdom' AND b.tax <> 0`);
    const vat = await caller.first(
      `SELECT SUM(CASE WHEN a.account = 9 THEN a.amount ELSE 0 END) AS payable, SUM(CASE WHEN a.account = 10 THEN a.amount ELSE 0 END) AS receivable
       FROM transactionaccountingline a WHERE a.accountingbook = 1`,
    );
    expect(Number(vat['payable'])).toBeLessThan(0);
    expect(Number(vat['receivable'])).toBeGreaterThan(0);
    const lines = await caller.first(
      "SELECT SUM(l.netamount) AS n FROM transactionline l JOIN transaction t ON t.id = l.transaction WHERE l.taxline = 'T' AND t.posting = 'T'",
    );
    expect(Number(lines['n'])).toBeCloseTo(Number(vat['payable']) + Number(vat['receivable']), 6);
  });

  describe('receivables and payables', () => {
    const OPEN = "('CustInvc', 'CustCred', 'CustPymt')";
    /** What journals add to what customers owe, by customer. */
    const CHARGED = `SELECT l.entity, SUM(l.foreignamount) AS amount, SUM(a.amount) AS base, COUNT(*) AS n FROM transactionline l
      JOIN transaction t ON t.id = l.transaction JOIN transactionaccountingline a ON a.transaction = l.transaction AND a.transactionline = l.id
      WHERE t.type = 'Journal' AND a.account = 5 AND a.accountingbook = 1 GROUP BY l.entity`;
    const applied = (
      type: string,
    ) => `SELECT l.previousdoc AS id, SUM(l.foreignamount) AS amount FROM nexttransactionlinelink l
      WHERE l.linktype = 'Payment' AND l.previoustype = '${type}' GROUP BY l.previousdoc`;

    it('paid and unpaid make up every total', async () => {
      await caller.expectNone(`SELECT id FROM transaction WHERE type IN ('CustInvc', 'CustCred', 'CustPymt', 'VendBill', 'VendCred', 'VendPymt')
          AND NVL(foreignamountpaid, 0) + NVL(foreignamountunpaid, 0) <> foreigntotal`);
      await caller.expectNone(
        `SELECT id FROM transaction WHERE type IN ('CustInvc', 'VendBill') AND status <> CASE WHEN foreignamountunpaid = 0 THEN 'B' ELSE 'A' END`,
      );
    });

    it('what was paid of an invoice or bill is what is linked to it', async () => {
      for (const type of ['CustInvc', 'VendBill']) {
        const open = `SELECT t.id FROM transaction t LEFT JOIN (${applied(type)}) a ON a.id = t.id
          WHERE t.type = '${type}' AND t.entity IS NOT NULL AND ABS(t.foreignamountpaid) <> NVL(a.amount, 0)`;
        await caller.expectNone(open, type);
      }
      // Cash sales are paid with the goods.
      await caller.expectNone(
        "SELECT id FROM transaction WHERE type = 'CustInvc' AND entity IS NULL AND foreignamountunpaid <> 0",
      );
    });

    it('the aging of each customer is the sum of the open invoices, and the balance less open credits', async () => {
      const buckets = [0, 1, 31, 61].map(
        (
          from,
          i,
          all,
        ) => `SUM(CASE WHEN t.daysoverduesearch >= ${from} ${all[i + 1] === undefined ? '' : `AND t.daysoverduesearch < ${all[i + 1]}`}
          THEN t.foreignamountunpaid ELSE 0 END) AS bucket${i}`,
      );
      const aging = `SELECT t.entity, ${buckets.join(', ')}, SUM(t.foreignamountunpaid) AS unpaid FROM transaction t
        WHERE t.type = 'CustInvc' AND t.status = 'A' AND t.entity IS NOT NULL GROUP BY t.entity`;
      const open = `SELECT t.entity, SUM(t.foreigntotal - NVL(a.amount, 0)) AS open FROM transaction t LEFT JOIN (${applied('CustInvc')}) a ON a.id = t.id
        WHERE t.type = 'CustInvc' AND t.entity IS NOT NULL GROUP BY t.entity`;
      await caller.expectNone(`SELECT o.entity FROM (${open}) o LEFT JOIN (${aging}) g ON g.entity = o.entity
          WHERE o.open <> NVL(g.bucket0 + g.bucket1 + g.bucket2 + g.bucket3, 0) OR o.open <> NVL(g.unpaid, 0)`);
      const overdue = await caller.first(
        `SELECT SUM(bucket0) AS current_, SUM(bucket1) AS late, COUNT(*) AS n FROM (${aging}) g`,
      );
      expect(Number(overdue['current_'])).toBeGreaterThan(0);
      const balances = `SELECT t.entity, SUM(CASE WHEN t.type = 'CustPymt' THEN -t.foreignamountunpaid ELSE t.foreignamountunpaid END) AS balance
        FROM transaction t WHERE t.type IN ${OPEN} AND t.entity IS NOT NULL GROUP BY t.entity`;
      await caller.expectNone(
        `SELECT c.id FROM customer c JOIN (${balances}) b ON b.entity = c.id LEFT JOIN (${CHARGED}) j ON j.entity = c.id
         WHERE b.balance + NVL(j.amount, 0) <> c.balancesearch`,
      );
    });

    it('the receivable account is what customers owe, the payable account what is owed to vendors', async () => {
      const posted = (
        account: number,
      ) => `SELECT l.entity, SUM(l.foreignamount) AS amount, SUM(a.amount) AS base FROM transactionaccountingline a
        JOIN transactionline l ON l.transaction = a.transaction AND l.id = a.transactionline JOIN transaction t ON t.id = a.transaction
        WHERE a.account = ${account} AND a.accountingbook = 1 GROUP BY l.entity`;
      const owed = (types: string, payment: string) => `SELECT t.entity,
          SUM(CASE WHEN t.type = '${payment}' THEN -t.foreignamountunpaid ELSE t.foreignamountunpaid END) AS amount,
          SUM(CASE WHEN t.type = '${payment}' THEN -1 ELSE 1 END * ROUND(t.foreignamountunpaid * h.netamount / h.foreignamount, 2)) AS base, COUNT(*) AS n
        FROM transaction t JOIN transactionline h ON h.transaction = t.id AND h.mainline = 'T'
        WHERE t.type IN ${types} AND t.entity IS NOT NULL AND h.foreignamount <> 0 GROUP BY t.entity`;
      for (const [account, types, payment] of [
        [5, OPEN, 'CustPymt'],
        [8, "('VendBill', 'VendCred', 'VendPymt')", 'VendPymt'],
      ] as const) {
        const both = `(${posted(account)}) p JOIN (${owed(types, payment)}) o ON o.entity = p.entity
          LEFT JOIN (${CHARGED}) j ON j.entity = p.entity`;
        await caller.expectNone(
          `SELECT p.entity, p.amount, o.amount AS owed FROM ${both} WHERE p.amount <> o.amount + NVL(j.amount, 0)`,
        );
        // In the base currency the share of each document is rounded to the penny.
        await caller.expectNone(
          `SELECT p.entity, p.base, o.base AS owed FROM ${both} WHERE ABS(p.base - o.base - NVL(j.base, 0)) > 0.01 * o.n`,
        );
        expect(await balance(account)).not.toBe(0);
        expect(await number(`SELECT COUNT(*) AS n FROM (${posted(account)}) p WHERE p.entity IS NULL`)).toBe(
          0,
        );
      }
    });

    it('journals that change what a customer owes name the customer on that line alone', async () => {
      const charges = `SELECT t.id, t.entity AS header, COUNT(l.entity) AS named, SUM(CASE WHEN l.entity IS NOT NULL AND a.account = 5 THEN 1 ELSE 0 END) AS owed,
          COUNT(*) AS n FROM transaction t JOIN transactionline l ON l.transaction = t.id
        JOIN transactionaccountingline a ON a.transaction = l.transaction AND a.transactionline = l.id AND a.accountingbook = 1
        WHERE t.type = 'Journal' GROUP BY t.id, t.entity HAVING COUNT(l.entity) > 0`;
      const found = await caller.rows(charges);
      expect(found).toHaveLength(ofProfile({ single: 46, oneworld: 45 }));
      expect(new Set(found.map(({ header, named, owed, n }) => [header, named, owed, n].join()))).toEqual(
        new Set([',1,1,2']),
      );
    });

    it('a refund takes what was left of a credit memo', async () => {
      const refunds = await caller.rows(
        `SELECT r.id, c.foreignamountunpaid AS unpaid, k.foreignamount - r.foreigntotal AS rest FROM transaction r
         JOIN nexttransactionlinelink k ON k.nextdoc = r.id JOIN transaction c ON c.id = k.previousdoc AND c.entity = r.entity AND c.type = 'CustCred'
         WHERE r.type = 'CustRfnd'`,
      );
      expect(refunds).toHaveLength(ofProfile({ single: 11, oneworld: 12 }));
      expect(new Set(refunds.map(({ unpaid, rest }) => `${Number(unpaid)} ${Number(rest)}`))).toEqual(
        new Set(['0 0']),
      );
    });

    it('what was received and billed leaves nothing in between, and undeposited funds hold what came in on the last day', async () => {
      expect(await balance(7)).toBe(0);
      const lastDay = await caller.first(
        `SELECT SUM(l.netamount) AS n FROM transactionline l JOIN transaction t ON t.id = l.transaction JOIN (SELECT MAX(trandate) AS day FROM transaction) d ON 1 = 1
         WHERE l.mainline = 'T' AND t.trandate = d.day AND (t.type = 'CustPymt' AND t.status = 'B' OR t.type IN ('CustInvc', 'CustCred') AND t.entity IS NULL)`,
      );
      expect(await balance(1)).toBe(Number(lastDay['n']));
    });

    it('only payments have exchange differences, where the rate changed between the document and its payment', async () => {
      const types = await caller.rows(
        `SELECT t.type, COUNT(*) AS n FROM transactionline l JOIN transaction t ON t.id = l.transaction WHERE l.isfxvariance = 'T' GROUP BY t.type ORDER BY t.type`,
      );
      expect(types.map(({ type }) => type)).toEqual(profile === 'single' ? [] : ['CustPymt', 'VendPymt']);
      await caller.expectNone(`SELECT p.id FROM transaction p JOIN transactionline l ON l.transaction = p.id JOIN nexttransactionlinelink k ON k.nextdoc = p.id
          JOIN transaction t ON t.id = k.previousdoc WHERE l.isfxvariance = 'T' AND t.exchangerate = p.exchangerate`);
    });
  });

  describe('stock', () => {
    /** From the documents alone: receipts, returns, sales, fulfilments, adjustments and transfers. */
    const MOVED = `SELECT l.item, l.location, SUM(l.quantity) AS quantity FROM transactionline l JOIN transaction t ON t.id = l.transaction
        JOIN item i ON i.id = l.item
      WHERE i.itemtype = 'InvtPart' AND l.iscogs = 'F' AND (t.type IN ('ItemRcpt', 'CustCred', 'ItemShip', 'InvAdjst', 'InvTrnfr')
        OR (t.type = 'CustInvc' AND l.createdfrom IS NULL)) GROUP BY l.item, l.location`;

    it('is what was received and returned less what was shipped, per item and location, and never negative', async () => {
      const count = await caller.first(
        `SELECT COUNT(*) AS n, MIN(m.quantity) AS least, COUNT(DISTINCT m.location) AS locations FROM (${MOVED}) m`,
      );
      expect(Number(count['n'])).toBeGreaterThan(2_000);
      expect(Number(count['least'])).toBeGreaterThanOrEqual(0);
      expect(Number(count['locations'])).toBe(ofProfile({ single: 2, oneworld: 4 }));
      const shown = 'SELECT item, location, quantityonhand FROM inventoryitemlocations';
      await caller.expectNone(`SELECT m.item, m.location, m.quantity, s.quantityonhand FROM (${MOVED}) m LEFT JOIN (${shown}) s ON s.item = m.item AND s.location = m.location
          WHERE NVL(s.quantityonhand, 0) <> m.quantity`);
      await caller.expectNone(`SELECT m.item FROM (SELECT m.item, SUM(m.quantity) AS quantity FROM (${MOVED}) m GROUP BY m.item) m JOIN item i ON i.id = m.item
          WHERE i.totalquantityonhand <> m.quantity`);
    });

    it('is worth quantity × cost, and what left it is the cost of goods sold', async () => {
      const worth = await number(
        `SELECT SUM(m.quantity * i.averagecost) AS n FROM (${MOVED}) m JOIN item i ON i.id = m.item`,
      );
      expect(await balance(6)).toBeCloseTo(worth, 6);
      await caller.expectNone(`SELECT l.transaction FROM transactionline l JOIN item i ON i.id = l.item WHERE l.iscogs = 'T' AND l.netamount <> l.quantity * i.averagecost
          AND l.accountinglinetype = 'ASSET'`);
      const sold =
        await number(`SELECT -SUM(l.quantity * i.averagecost) AS n FROM transactionline l JOIN transaction t ON t.id = l.transaction JOIN item i ON i.id = l.item
        WHERE i.itemtype = 'InvtPart' AND l.iscogs = 'F' AND t.type IN ('CustInvc', 'CustCred')`);
      expect(await balance(13)).toBeCloseTo(sold, 6);
    });

    it('every purchase was ordered, received and billed alike', async () => {
      const documents =
        await caller.rows(`SELECT t.type, COUNT(DISTINCT t.id) AS n, SUM(l.quantity) AS quantity, SUM(l.netamount) AS amount FROM transaction t
        JOIN transactionline l ON l.transaction = t.id WHERE t.type IN ('PurchOrd', 'ItemRcpt', 'VendBill') AND l.mainline = 'F' AND l.taxline = 'F' AND l.item IS NOT NULL
        GROUP BY t.type`);
      expect(documents).toHaveLength(3);
      for (const name of ['n', 'quantity', 'amount'])
        expect(new Set(documents.map((row) => row[name])).size, name).toBe(1);
    });
  });

  it('links lead from orders to fulfilments, receipts, invoices and bills', async () => {
    const kinds = await caller.rows(
      `SELECT previoustype, nexttype, linktype, COUNT(*) AS n FROM nexttransactionlinelink GROUP BY previoustype, nexttype, linktype ORDER BY 1, 2`,
    );
    expect(kinds.map(({ previoustype, nexttype, linktype }) => [previoustype, nexttype, linktype])).toEqual([
      ['CustCred', 'CustRfnd', 'Payment'],
      ['CustInvc', 'CustCred', 'Payment'],
      ['CustInvc', 'CustPymt', 'Payment'],
      ['PurchOrd', 'ItemRcpt', 'ShipRcpt'],
      ['PurchOrd', 'VendBill', 'OrdBill'],
      ['SalesOrd', 'CustInvc', 'OrdBill'],
      ['SalesOrd', 'ItemShip', 'ShipRcpt'],
      ['VendBill', 'VendCred', 'Payment'],
      ['VendBill', 'VendPymt', 'Payment'],
    ]);
  });

  it('intercompany accounts are marked to be eliminated, and agree with each other in the currency of the charge', async () => {
    const subsidiary = ofProfile({ single: 'l.location', oneworld: 'l.subsidiary' });
    const lines = await caller.rows(
      `SELECT ${subsidiary} AS subsidiary, a.account, SUM(l.foreignamount) AS amount FROM transactionaccountingline a
       JOIN transactionline l ON l.transaction = a.transaction AND l.id = a.transactionline JOIN account c ON c.id = a.account
       WHERE c.eliminate = 'T' AND l.eliminate = 'T' AND a.accountingbook = 1 GROUP BY ${subsidiary}, a.account ORDER BY 1`,
    );
    const expected = [
      ['1', '22'],
      ['2', '23'],
      ['3', '23'],
    ];
    expect(lines.map((line) => [line['subsidiary'], line['account']])).toEqual(
      ofProfile({ single: [], oneworld: expected }),
    );
    expect(lines.reduce((sum, { amount }) => sum + Number(amount), 0)).toBe(0);
  });
});

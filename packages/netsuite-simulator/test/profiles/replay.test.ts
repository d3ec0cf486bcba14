// Held-back days of an account with a profile: entered one by one they give the same account as all days
// loaded at once, in every table.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROFILES } from '../../src/index.ts';
import { PROFILE_FIELDS } from '../../src/profile/custom-fields.ts';
import { CUSTOM_RECORD_TYPES } from '../../src/tables/custom-records.ts';
import { asAdmin, computeChecksums, copyDatabase, createLoadedDatabase } from '../loaded-account.ts';
import { dropDatabase, newDatabaseName, SLICE, startCaller, startOn } from '../test-account.ts';

const count = (database: string, from: string): Promise<number> =>
  asAdmin(database, async (client) =>
    Number((await client.query<{ n: string }>(`SELECT count(*) AS n FROM ${from}`)).rows[0]?.n),
  );

/** Debits equal credits, the receivable is what customers owe, and no stock is negative. */
async function expectWholeBooks(database: string): Promise<void> {
  const unbalanced =
    'SELECT FROM ledger.transactionline WHERE account IS NOT NULL GROUP BY transaction, subsidiary HAVING sum(netamount) <> 0';
  expect(await count(database, `(${unbalanced}) t`)).toBe(0);
  expect(await count(database, 'ledger.stock WHERE quantity < 0')).toBe(0);
  const owed = `SELECT sum(foreignamountunpaid * exchangerate * CASE type WHEN 'CustPymt' THEN -1 ELSE 1 END) FROM ledger.transaction
    WHERE entity IS NOT NULL AND type IN ('CustInvc', 'CustCred', 'CustPymt')`;
  // Journals aren't applied to anything.
  const receivable = `SELECT sum(l.netamount) FROM ledger.transactionline l JOIN ledger.transaction t ON t.id = l.transaction
    WHERE l.account = 5 AND t.type <> 'Journal'`;
  // In other currencies, base amounts are rounded to pence line by line.
  expect(await count(database, `(SELECT 1) s WHERE abs((${owed}) - (${receivable})) > 1`)).toBe(0);
}

describe.each(PROFILES)('the profile %s', (profile) => {
  const [held, byDay, between, whole] = Array.from({ length: 4 }, newDatabaseName) as [
    string,
    string,
    string,
    string,
  ];
  beforeAll(async () => {
    await (await startOn(held, { profile, replayFrom: '2011-08-22' })).stop();
    for (const database of [byDay, between]) await copyDatabase(held, database);
    await createLoadedDatabase(whole, SLICE, profile);
  });
  afterAll(async () => {
    for (const database of [held, byDay, between, whole]) await dropDatabase(database);
  });

  it('the slice with ten days entered one by one equals the slice loaded at once', async () => {
    const replayed = await startOn(byDay, {
      profile,
      replayFrom: '2011-08-22',
      switches: { paymentTouchesInvoice: false },
    });
    for (const kind of [
      "held.transaction WHERE type = 'CustPymt'",
      "held.transaction WHERE type = 'CustRfnd'",
      'held.transactionline WHERE entity IS NOT NULL',
      "held.transactionline WHERE mainline = 'T'",
      'held.application',
      ...CUSTOM_RECORD_TYPES.filter(({ hasTimes }) => hasTimes).map(({ name }) => `held.${name}`),
    ])
      expect(await count(byDay, kind), kind).toBeGreaterThan(0);
    // The earlier books refer to nothing that is held back, and hold nothing of the days to come.
    expect(await count(byDay, "ledger.transaction WHERE lastmodifieddate >= '2011-08-22'")).toBe(0);
    expect(await count(byDay, "ledger.application WHERE appliedon >= '2011-08-22'")).toBe(0);
    expect(await count(byDay, "ledger.customrecord_complaint WHERE lastmodified >= '2011-08-22'")).toBe(0);
    await expectWholeBooks(byDay);
    for (const orphan of [
      'ledger.transactionline l WHERE NOT EXISTS (SELECT FROM ledger.transaction t WHERE t.id = l.transaction)',
      'ledger.transactionline l WHERE item IS NOT NULL AND NOT EXISTS (SELECT FROM ledger.item i WHERE i.id = l.item)',
      'ledger.transactionline l WHERE createdfrom IS NOT NULL AND NOT EXISTS (SELECT FROM ledger.transaction t WHERE t.id = l.createdfrom)',
      'ledger.contact c WHERE NOT EXISTS (SELECT FROM ledger.customer o WHERE o.id = c.company)',
      'ledger.application a WHERE NOT EXISTS (SELECT FROM ledger.transaction t WHERE t.id = a.invoice)',
      'ledger.application a WHERE credit IS NOT NULL AND NOT EXISTS (SELECT FROM ledger.transaction t WHERE t.id = a.credit)',
      'ledger.transaction t WHERE entity IS NOT NULL AND NOT EXISTS (SELECT FROM suiteql.entity e WHERE e.id = t.entity)',
      ...PROFILE_FIELDS.filter(
        ({ type, table }) => type === 'reference' && table.startsWith('customrecord_'),
      ).map(
        ({ table, name, target }) =>
          `suiteql.${table} r WHERE ${name} IS NOT NULL AND NOT EXISTS (SELECT FROM suiteql.${target} t WHERE t.id = r.${name})`,
      ),
    ])
      expect(await count(byDay, orphan), orphan).toBe(0);
    const reports = await replayed.advanceTo('2011-08-26');
    await expectWholeBooks(byDay);
    reports.push(...(await replayed.advanceTo('2011-08-31')));
    expect([reports.length, replayed.daysLeft()]).toEqual([10, 0]);
    expect(reports.reduce((sum, { inserted }) => sum + inserted.transaction, 0)).toBeGreaterThan(597);
    await replayed.stop();
    expect(await computeChecksums(byDay)).toEqual(await computeChecksums(whole));
  });

  it('what callers wrote in between takes precedence over what was generated, and the books balance', async () => {
    const shop = await startCaller({ profile, database: between, replayFrom: '2011-08-22' });
    const due =
      await shop.rows(`SELECT id, entity, foreigntotal AS total, foreignamountpaid AS paid FROM transaction WHERE type = 'CustInvc'
      AND duedate = TO_DATE('2011-08-25', 'YYYY-MM-DD') AND MOD(id, 10) <> 0 AND entity IS NOT NULL AND foreignamountpaid = 0 AND foreigntotal > 20 ORDER BY id`);
    const [paid, deleted, untouched, dearer] = due as [
      Record<string, string>,
      Record<string, string>,
      Record<string, string>,
      Record<string, string>,
    ];
    const unapplied = async (invoice?: string) =>
      Number(
        await shop.value(
          `SELECT foreignamountunpaid AS n FROM transaction WHERE id = ${23_000_000 + Number(invoice)}`,
        ),
      );
    const payment = await shop.create('customerPayment', {
      customer: paid['entity'],
      payment: 15,
      apply: { items: [{ doc: paid['id'] }] },
    });
    expect(await shop.status('DELETE', `record/v1/invoice/${deleted['id']}`)).toBe(204);
    expect(await shop.status('PATCH', `record/v1/invoice/${dearer['id']}`, { exchangeRate: 1.5 })).toBe(204);
    // Two credit memos with money that was to go back: the first pays a part of an invoice, the second all of it.
    const [part, all] = await shop.rows(
      'SELECT id, entity, -foreignamountunpaid AS unpaid FROM transaction WHERE id IN (514817, 514829) ORDER BY id',
    );
    for (const [memo, total] of [
      [part, 40],
      [all, Number(all?.['unpaid'])],
    ] as const) {
      const item = { items: [{ item: '9000004', quantity: 1, rate: 100 }] };
      const doc = await shop.create('invoice', { entity: memo?.['entity'], item });
      const apply = { items: [{ doc, amount: total }] };
      expect(await shop.status('PATCH', `record/v1/creditMemo/${memo?.['id']}`, { apply })).toBe(204);
    }
    await shop.account.advanceTo('2011-08-25');
    expect(
      await shop.rows('SELECT id, foreigntotal AS total FROM transaction WHERE id IN (35514817, 35514829)'),
    ).toEqual([{ id: '35514817', total: '110' }]);
    expect(
      await shop.rows(
        'SELECT amount FROM transactionaccountingline WHERE transaction = 35514817 AND accountingbook = 1 ORDER BY amount',
      ),
    ).toEqual([{ amount: '-110' }, { amount: '110' }]);
    // The payment relieves what the invoice is worth by now.
    const both = `${dearer['id']}, ${23_000_000 + Number(dearer['id'])}`;
    const posted = `FROM transactionaccountingline WHERE account = 5 AND accountingbook = 1 AND transaction IN (${both})`;
    expect(await shop.first(`SELECT SUM(amount) AS n, COUNT(*) AS lines ${posted}`)).toMatchObject({
      n: '0',
      lines: '2',
    });
    expect(
      await shop.first(
        `SELECT foreignamountunpaid AS unpaid, status FROM transaction WHERE id = ${paid['id']}`,
      ),
    ).toMatchObject({ unpaid: '0', status: 'B' });
    expect([
      await unapplied(paid['id']),
      await unapplied(deleted['id']),
      await unapplied(untouched['id']),
    ]).toEqual([15, Number(deleted['total']), 0]);
    // Paid on the way, when the day closed.
    const [day, closed] = [shop.account.businessTime().toISOString().slice(0, 16), 'YYYY-MM-DD"T"HH24:MI'];
    expect(
      await shop.value(
        `SELECT TO_CHAR(SYS_EXTRACT_UTC(lastmodifieddate), '${closed}') AS at FROM transaction WHERE id = ${untouched['id']}`,
      ),
    ).toBe(day);
    expect(await shop.status('DELETE', `record/v1/customerPayment/${payment}`)).toBe(204);
    await shop.account.advanceTo('2011-08-31');
    await shop.expectNone(`SELECT transaction FROM transactionaccountingline GROUP BY transaction, accountingbook
        HAVING SUM(NVL(debit, 0)) <> SUM(NVL(credit, 0))`);
    await shop.account.stop();
  });
});

// Consolidation, currencies, hierarchies and periods in an account with three subsidiaries. The oracle joins
// the rates itself.
import { beforeAll, describe, expect, it } from 'vitest';
import { useCaller } from '../test-account.ts';

const caller = useCaller({ profile: 'oneworld' });
beforeAll(async () => {
  await caller.account.setBusinessTime(new Date('2011-09-10T11:00:00Z'));
});

const POSTINGS = `transactionaccountingline g JOIN transaction t ON t.id = g.transaction JOIN account a ON a.id = g.account
  JOIN transactionline l ON l.transaction = g.transaction AND l.id = g.transactionline`;
const consolidated = (type: string, target: number | string = 1, period = 't.postingperiod') =>
  `BUILTIN.CONSOLIDATE(g.amount, 'LEDGER', 'DEFAULT', '${type}', ${target}, ${period}, 'DEFAULT')`;

describe('CONSOLIDATE', () => {
  const withRates = `${POSTINGS} LEFT JOIN consolidatedexchangerate r ON r.fromsubsidiary = l.subsidiary AND r.tosubsidiary = 1
    AND r.postingperiod = t.postingperiod AND r.accountingbook = g.accountingbook`;
  it.each([
    ['CURRENT', 'r.currentrate'],
    ['AVERAGE', 'r.averagerate'],
    ['HISTORICAL', 'r.historicalrate'],
    [
      'DEFAULT',
      "CASE a.generalrate WHEN 'CURRENT' THEN r.currentrate WHEN 'AVERAGE' THEN r.averagerate ELSE r.historicalrate END",
    ],
  ])('%s: every posting at its rate, with the amounts of the parent unchanged', async (type, rate) => {
    const expected = `g.amount * CASE WHEN l.subsidiary = 1 THEN 1 ELSE ${rate} END`;
    const row =
      await caller.first(`SELECT COUNT(*) AS n, COUNT(DISTINCT l.subsidiary) AS subsidiaries, COUNT(DISTINCT g.accountingbook) AS books,
      SUM(CASE WHEN ${consolidated(type)} = ${expected} THEN 1 ELSE 0 END) AS same FROM ${withRates}`);
    expect(row).toMatchObject({ subsidiaries: '3', books: '2', same: row['n'] });
  });

  it('LEDGER uses the rates of the accounts, INCOME the average', async () => {
    const q = (
      view: string,
    ) => `SELECT SUM(BUILTIN.CONSOLIDATE(g.amount, '${view}', 'DEFAULT', 'DEFAULT', 1, t.postingperiod, 'DEFAULT')) AS x,
      SUM(${consolidated('AVERAGE')}) AS average FROM ${POSTINGS} WHERE a.accttype = `;
    const [income, bank] = [
      await caller.first(`${q('LEDGER')} 'Income'`),
      await caller.first(`${q('LEDGER')} 'AcctRec'`),
    ];
    expect(income['x']).toBe(income['average']);
    expect(bank['x']).not.toBe(bank['average']);
    const view = await caller.first(`${q('INCOME')} 'AcctRec'`);
    expect(view['x']).toBe(view['average']);
  });

  it('a balance sheet is in the rate of the target period; the average rate keeps each period in balance', async () => {
    const { own, fixed } =
      await caller.first(`SELECT SUM(${consolidated('CURRENT')}) AS own, SUM(${consolidated('CURRENT', 1, '201101')}) AS fixed
      FROM ${POSTINGS} WHERE l.subsidiary = 2 AND a.accttype = 'AcctRec'`);
    const { amount, rate } =
      (await caller.first(`SELECT SUM(g.amount) AS amount, MAX(r.currentrate) AS rate FROM ${POSTINGS}
      CROSS JOIN (SELECT currentrate FROM consolidatedexchangerate WHERE fromsubsidiary = 2 AND tosubsidiary = 1 AND postingperiod = 201101
        AND accountingbook = 1) r WHERE l.subsidiary = 2 AND a.accttype = 'AcctRec'`)) as Record<
        string,
        string
      >;
    expect(Number(fixed)).toBeCloseTo(Number(amount) * Number(rate), 2);
    expect(fixed).not.toBe(own);
    await caller.expectNone(`SELECT t.postingperiod, g.accountingbook, SUM(${consolidated('AVERAGE')}) AS x FROM ${POSTINGS}
        GROUP BY t.postingperiod, g.accountingbook HAVING ABS(SUM(${consolidated('AVERAGE')})) > 0.000001`);
  });

  it('is null for a target that is not the row’s subsidiary or above it', async () => {
    const count = (condition: string) =>
      caller.first(
        `SELECT COUNT(*) AS n, COUNT(${consolidated('DEFAULT', 2)}) AS known FROM ${POSTINGS} WHERE l.subsidiary ${condition}`,
      );
    expect(await count('IN (1, 3)')).toMatchObject({ known: '0' });
    const own = await count('= 2');
    expect(own['known']).toBe(own['n']);
  });

  it('takes expressions, the books’ own period, and the root as the default target', async () => {
    const sum = async (args: [number | string, string], params: (string | number)[] = []) => {
      const q = `SELECT SUM(${consolidated('DEFAULT', ...args)}) AS x FROM ${POSTINGS} WHERE t.type = 'CustCred' AND l.subsidiary = 2`;
      return await caller.value(q, { params });
    };
    const usual = await sum([1, 't.postingperiod']);
    expect(Number(usual)).not.toBe(0);
    const others = await Promise.all([
      sum(["'DEFAULT'", "'DEFAULT'"]),
      sum([0, '0']),
      sum(['2 - 1', 'NVL(t.postingperiod, 0)']),
      sum(['?', 't.postingperiod'], [1]),
    ]);
    expect(others).toEqual([usual, usual, usual, usual]);
  });

  it('of headers and lines too', async () => {
    const { header, line } =
      (await caller.first(`SELECT BUILTIN.CONSOLIDATE(t.foreigntotal, 'LEDGER', 'DEFAULT', 'DEFAULT', 1, t.postingperiod, 'DEFAULT') AS header,
      BUILTIN.CONSOLIDATE(l.netamount, 'LEDGER', 'DEFAULT', 'DEFAULT', 1, t.postingperiod, 'DEFAULT') AS line
      FROM transaction t JOIN transactionline l ON l.transaction = t.id WHERE t.subsidiary = 1 AND l.netamount <> 0 AND t.type = 'CustInvc'`)) as Record<
        string,
        string
      >;
    expect(Number(header) * Number(line)).not.toBe(0);
    expect(
      await caller.refusal(
        "SELECT BUILTIN.CONSOLIDATE(id, 'LEDGER', 'DEFAULT', 'DEFAULT', 1, 1, 'DEFAULT') FROM account",
      ),
    ).toContain('unsupported');
  });
});

it('a consolidated rate leads from each subsidiary to its parent in every posting period and book', async () => {
  const missing = await caller.rows(
    `SELECT b.id AS book, p.id AS period, s.id AS subsidiary FROM accountingbook b CROSS JOIN accountingperiod p CROSS JOIN subsidiary s
     LEFT JOIN consolidatedexchangerate r ON r.accountingbook = b.id AND r.postingperiod = p.id AND r.fromsubsidiary = s.id AND r.tosubsidiary = s.parent
     WHERE p.isposting = 'T' AND s.parent IS NOT NULL AND (r.id IS NULL OR r.fromcurrency <> s.currency OR r.averagerate <= 0)`,
  );
  expect(missing).toEqual([]);
});

describe('currencies', () => {
  it('CURRENCY is that of the amount: of the transaction, the subsidiary or the target', async () => {
    const rows =
      await caller.rows(`SELECT DISTINCT y.symbol AS foreign, s.currency AS base, BUILTIN.CURRENCY(t.foreigntotal) AS a,
      BUILTIN.CURRENCY(l.netamount) AS b, BUILTIN.CURRENCY(BUILTIN.CONSOLIDATE(l.netamount, 'LEDGER', 'DEFAULT', 'DEFAULT', 1, 201107, 'DEFAULT')) AS c
      FROM transaction t JOIN transactionline l ON l.transaction = t.id JOIN subsidiary s ON s.id = l.subsidiary JOIN currency y ON y.id = t.currency`);
    const symbols: Record<string, string> = { 1: 'GBP', 2: 'USD', 3: 'EUR' };
    expect(new Set(rows.map(({ base }) => base)).size).toBe(3);
    for (const row of rows)
      expect([row['a'], row['b'], row['c']]).toEqual([row['foreign'], symbols[row['base'] ?? ''], 'GBP']);
  });

  it('CURRENCY_CONVERT uses the latest rate of the day, today’s by default', async () => {
    const at = (day: string) =>
      `(SELECT MAX(r.exchangerate) FROM currencyrate r WHERE r.transactioncurrency = 3 AND r.basecurrency = 1 AND r.effectivedate = ${day})`;
    const day = "TO_DATE('2011-07-20', 'YYYY-MM-DD')";
    const row =
      await caller.first(`SELECT COUNT(*) AS n, SUM(CASE WHEN BUILTIN.CURRENCY_CONVERT(t.foreigntotal, 1, ${day}) = t.foreigntotal * ${at("TO_DATE('2011-07-01', 'YYYY-MM-DD')")}
      THEN 1 ELSE 0 END) AS same, SUM(CASE WHEN BUILTIN.CURRENCY_CONVERT(t.foreigntotal) = t.foreigntotal * ${at("TO_DATE('2011-09-01', 'YYYY-MM-DD')")} THEN 1 ELSE 0 END) AS today,
      SUM(CASE WHEN BUILTIN.CURRENCY_CONVERT(t.foreigntotal, 3) = t.foreigntotal THEN 1 ELSE 0 END) AS own FROM transaction t WHERE t.currency = 3`);
    expect(Number(row['n'])).toBeGreaterThan(0);
    expect(row).toMatchObject({ same: row['n'], today: row['n'], own: row['n'] });
  });
});

describe('hierarchies and periods', () => {
  it('HIERARCHY is the name with those of the parents', async () => {
    expect(
      await caller.first(
        "SELECT BUILTIN.HIERARCHY(id, 'DISPLAY_JOINED') AS x, fullname FROM account WHERE id = 14",
      ),
    ).toEqual({ x: 'Expenses : Rent', fullname: 'Expenses : Rent' });
    expect(
      await caller.value(
        `SELECT BUILTIN.HIERARCHY(g.account, 'DISPLAY_JOINED') AS x FROM ${POSTINGS} WHERE g.account = 12`,
      ),
    ).toBe('Sales : Shipping income');
  });

  it('MNFILTER finds the entries of a multiple select, by id or by name', async () => {
    const count = async (from: string) => await caller.value(`SELECT COUNT(*) AS n FROM ${from}`);
    const filter = (args: string) =>
      count(`customer WHERE BUILTIN.MNFILTER(custentity_interests, ${args}) = 'T'`);
    const [, label = ''] = Object.values(
      await caller.first('SELECT id, name FROM customlist_colour WHERE id = 2'),
    );
    const chosen = await count('map_customer_custentity_interests WHERE maptwo = 2');
    expect(Number(chosen)).toBeGreaterThan(0);
    expect([
      await filter("'MN_INCLUDE', '', 'TRUE', 2"),
      await filter(`'MN_INCLUDE', 'DF', 'TRUE', '${label.toLowerCase()}'`),
    ]).toEqual([chosen, chosen]);
    const filled = await count('customer WHERE custentity_interests IS NOT NULL');
    expect(Number(await filter("'MN_EXCLUDE', '', 'TRUE', 2"))).toBe(Number(filled) - Number(chosen));
  });

  it('PERIOD has adjustment periods with ALL', async () => {
    const q = (adjustment: string) =>
      `SELECT id FROM accountingperiod WHERE id IN (BUILTIN.PERIOD('Q4LFY', 'START', '${adjustment}')) ORDER BY id`;
    const [all, usual] = [await caller.rows(q('ALL')), await caller.rows(q('NOT_LAST'))];
    expect(usual.map(({ id }) => id)).toEqual(['201010', '201011', '201012']);
    expect(all.map(({ id }) => id)).toEqual(['201010', '201011', '201012', '201013']);
  });

  it.each([
    ['LP', ['201108']],
    ['PBL', ['201107']],
    ['TFQTP', undefined],
    ['TQ', ['201107', '201108', '201109']],
    ['Q1LFY', ['201001', '201002', '201003']],
  ])('PERIOD %s', async (code, expected) => {
    const q = `SELECT id FROM accountingperiod WHERE id IN (BUILTIN.PERIOD('${code}', 'START', 'NOT_LAST', 'BETWEEN')) ORDER BY id`;
    if (expected) expect(await caller.column(q)).toEqual(expected);
    else expect(await caller.refusal(q)).toContain('unsupported');
  });
});

it('transactions have their total in the base currency', async () => {
  const posted = `SELECT t.id, MAX(t.basetotalaftertaxes) AS total, SUM(g.amount) AS amount FROM ${POSTINGS}
    WHERE l.mainline = 'T' AND g.accountingbook = 1 AND t.type IN ('CustInvc', 'CustPymt', 'CustCred', 'VendBill') GROUP BY t.id`;
  const row = await caller.first(
    `SELECT COUNT(*) AS n, SUM(CASE WHEN s.total = s.amount THEN 1 ELSE 0 END) AS same FROM (${posted}) s`,
  );
  expect(Number(row['n'])).toBeGreaterThan(1_000);
  expect(row['same']).toBe(row['n']);
  const { rounded } =
    await caller.first(`SELECT SUM(CASE WHEN t.basetotalaftertaxes <> ROUND(t.foreigntotal * t.exchangerate, 2) THEN 1 ELSE 0 END) AS rounded
    FROM transaction t WHERE t.type = 'CustInvc' AND t.exchangerate <> 1`);
  expect(Number(rounded)).toBeGreaterThan(0);
});

// Accounts, periods, accounting books, currencies and exchange rates of a profile.
import { allSubsidiaries, insertList, insertRows, SEED, SET_UP_AT } from './list-rows.ts';
import type { ProfileName } from './profile-name.ts';
import { ACCOUNT } from './trade-sql.ts';

/** Id, number, type, name, parent, currency, subsidiary (null: all), special account. */
const ACCOUNTS = [
  [1, '1000', 'OthCurrAsset', 'Undeposited Funds', null, null, null, 'UndepFunds'],
  [2, '1010', 'Bank', 'Bank', null, 1, 1, null],
  [3, '1020', 'Bank', 'Bank Dublin', null, 3, 2, null],
  [4, '1030', 'Bank', 'Bank New Jersey', null, 2, 3, null],
  [5, '1100', 'AcctRec', 'Accounts Receivable', null, null, null, 'AcctRec'],
  [6, '1200', 'OthCurrAsset', 'Inventory Asset', null, null, null, 'InvtAsset'],
  [7, '2010', 'OthCurrLiab', 'Inventory Received Not Billed', null, null, null, 'RcvdNotBilled'],
  [8, '2000', 'AcctPay', 'Accounts Payable', null, null, null, 'AcctPay'],
  [9, '2100', 'OthCurrLiab', 'VAT payable', null, null, null, 'Tax'],
  [10, '1300', 'OthCurrAsset', 'VAT receivable', null, null, null, 'Tax'],
  [11, '4000', 'Income', 'Sales', null, null, null, null],
  [12, '4010', 'Income', 'Shipping income', 11, null, null, null],
  [13, '5000', 'COGS', 'Cost of goods sold', null, null, null, 'COGS'],
  [14, '6100', 'Expense', 'Rent', 27, null, null, null],
  [15, '6200', 'Expense', 'Wages', 27, null, null, null],
  [16, '6300', 'Expense', 'Utilities', 27, null, null, null],
  [17, '6400', 'Expense', 'Bad debt', 27, null, null, null],
  [18, '7000', 'OthExpense', 'Realised exchange gain/loss', null, null, null, 'RealizedGain'],
  [19, '5100', 'COGS', 'Inventory adjustment', null, null, null, null],
  [20, '3000', 'Equity', 'Share capital', null, null, null, null],
  [21, '3200', 'Equity', 'Retained earnings', null, null, null, 'RetEarnings'],
  [22, '1400', 'OthCurrAsset', 'Intercompany receivable', null, null, null, null],
  [23, '2200', 'OthCurrLiab', 'Intercompany payable', null, null, null, null],
  [24, '4011', 'Income', 'Shipping income (secondary book)', 11, null, null, null],
  [25, '2300', 'OthCurrLiab', 'Customer deposits', null, null, null, 'CustDep'],
  [26, '1500', 'OthCurrAsset', 'Prepaid rent', null, null, null, null],
  [27, '6000', 'Expense', 'Expenses', null, null, null, null],
  [28, '1600', 'FixedAsset', 'Equipment', null, null, null, null],
  [29, '6500', 'Expense', 'Depreciation', 27, null, null, null],
  [30, '1610', 'FixedAsset', 'Accumulated depreciation', 28, null, null, null],
  [31, null, 'NonPosting', 'Sales Orders', null, null, null, 'SalesOrd'],
  [32, null, 'NonPosting', 'Purchase Orders', null, null, null, 'PurchOrd'],
  [33, null, 'NonPosting', 'Estimates', null, null, null, 'Estimate'],
  [-5, null, 'Equity', 'Cumulative Translation Adjustment', null, null, null, 'CTA-E'],
] as const;

/** Id, long name, left (debit) side, in the balance sheet. */
const ACCOUNT_TYPES = [
  ['Bank', 'Bank', 'T', 'T'],
  ['AcctRec', 'Accounts Receivable', 'T', 'T'],
  ['OthCurrAsset', 'Other Current Asset', 'T', 'T'],
  ['FixedAsset', 'Fixed Asset', 'T', 'T'],
  ['OthAsset', 'Other Asset', 'T', 'T'],
  ['AcctPay', 'Accounts Payable', 'F', 'T'],
  ['CredCard', 'Credit Card', 'F', 'T'],
  ['OthCurrLiab', 'Other Current Liability', 'F', 'T'],
  ['LongTermLiab', 'Long Term Liability', 'F', 'T'],
  ['Equity', 'Equity', 'F', 'T'],
  ['Income', 'Income', 'F', 'F'],
  ['COGS', 'Cost of Goods Sold', 'T', 'F'],
  ['Expense', 'Expense', 'T', 'F'],
  ['OthIncome', 'Other Income', 'F', 'F'],
  ['OthExpense', 'Other Expense', 'T', 'F'],
  ['DeferRevenue', 'Deferred Revenue', 'F', 'T'],
  ['DeferExpense', 'Deferred Expense', 'T', 'T'],
  ['UnbilledRec', 'Unbilled Receivable', 'T', 'T'],
  ['NonPosting', 'Non-Posting', 'F', 'F'],
  ['Stat', 'Statistical', 'T', 'F'],
] as const;
/**
 * Balance sheet accounts are consolidated at the rate of the period's end, equity at that of its origin, all
 * others at the average.
 */
const generalRate = (type: string, balanceSheet: string): string =>
  type === 'Equity' ? 'HISTORICAL' : balanceSheet === 'T' ? 'CURRENT' : 'AVERAGE';

export const bookStatements = (profile: ProfileName): string[] => [
  ...accountStatements(profile),
  PERIODS,
  ...currencyStatements(),
  bookStatement(profile),
  ...(profile === 'oneworld' ? [CONSOLIDATED_RATES] : []),
];

function accountStatements(profile: ProfileName): string[] {
  const types = ACCOUNT_TYPES.map(([id, longname, left, sheet], i) => [
    id,
    longname,
    left,
    sheet,
    i + 1,
    i + 1,
    generalRate(id, sheet),
    'AVERAGE',
  ]);
  const accounts = ACCOUNTS.filter(
    ([, , , , , , subsidiary]) => profile === 'oneworld' || subsidiary === null || subsidiary === 1,
  );
  return [
    insertRows(
      'accounttype',
      'id longname left balancesheet internalid seqnum defaultgeneralratetype defaultcashflowratetype',
      types,
    ),
    insertRows(
      'account',
      'id acctnumber accttype fullname parent currency subsidiary sspecacct',
      accounts.map((row) =>
        row.map((value, i) => (i === 6 ? String(value ?? allSubsidiaries(profile)) : value)),
      ),
      {
        eliminate: `CASE WHEN v.id IN (${ACCOUNT.intercompanyReceivable}, ${ACCOUNT.intercompanyPayable}) THEN 'T' ELSE 'F' END`,
        inventory: `CASE WHEN v.id = ${ACCOUNT.inventory} THEN 'T' ELSE 'F' END`,
        issummary: `CASE WHEN v.id = ${ACCOUNT.expenses} THEN 'T' ELSE 'F' END`,
        revalue: "CASE WHEN v.accttype IN ('AcctRec', 'AcctPay', 'Bank') THEN 'T' ELSE 'F' END",
        generalrate: '(SELECT t.defaultgeneralratetype FROM ledger.accounttype t WHERE t.id = v.accttype)',
        cashflowrate: "'AVERAGE'",
        lastmodifieddate: SET_UP_AT,
      },
    ),
    `UPDATE ledger.account c SET fullname = n.fullname, displaynamewithhierarchy = n.fullname,
       accountsearchdisplayname = concat_ws(' ', c.acctnumber, n.fullname), accountsearchdisplaynamecopy = concat_ws(' ', c.acctnumber, n.fullname)
     FROM (SELECT a.id, concat_ws(' : ', p.fullname, a.fullname) AS fullname FROM ledger.account a LEFT JOIN ledger.account p ON p.id = a.parent) n
     WHERE n.id = c.id`,
  ];
}

/**
 * Months (id 201107), quarters (20113) and years (2011) from the year before the first transaction to two
 * years after the last, and an adjustment period at the end of the first of them (201013). The months before
 * the year of the first transaction are closed.
 */
const PERIODS = `
INSERT INTO ledger.accountingperiod (id, parent, periodname, startdate, enddate, isadjust, isposting, isquarter, isyear, closed, aplocked, arlocked,
  alllocked, closedondate, lastmodifieddate)
WITH span AS (SELECT extract(year FROM min(trandate))::int - 1 AS first, extract(year FROM max(trandate))::int + 2 AS last FROM ledger.transaction),
year AS (SELECT y, make_date(y, 1, 1) AS start FROM span, generate_series(first, last) y),
period AS (
  SELECT y::bigint AS id, NULL::bigint AS parent, 'FY ' || y AS name, start, (start + interval '1 year - 1 day')::date AS stop, 'year' AS kind FROM year
  UNION ALL SELECT y * 10 + q, y, 'Q' || q || ' ' || y, s::date, (s + interval '3 months - 1 day')::date, 'quarter'
    FROM year, generate_series(1, 4) q, LATERAL (SELECT start + (q - 1) * interval '3 months') d(s)
  UNION ALL SELECT y * 100 + m, y * 10 + (m + 2) / 3, to_char(s, 'Mon YYYY'), s::date, (s + interval '1 month - 1 day')::date, 'month'
    FROM year, generate_series(1, 12) m, LATERAL (SELECT start + (m - 1) * interval '1 month') d(s)
  UNION ALL SELECT first * 100 + 13, first * 10 + 4, 'Adjust ' || first, make_date(first, 12, 31), make_date(first, 12, 31), 'adjust' FROM span
)
SELECT p.id, p.parent, p.name, p.start, p.stop, CASE kind WHEN 'adjust' THEN 'T' ELSE 'F' END, CASE WHEN kind IN ('month', 'adjust') THEN 'T' ELSE 'F' END,
  CASE kind WHEN 'quarter' THEN 'T' ELSE 'F' END, CASE kind WHEN 'year' THEN 'T' ELSE 'F' END, c.isclosed, c.isclosed, c.isclosed, c.isclosed,
  CASE c.isclosed WHEN 'T' THEN p.stop + 1 END, ${SET_UP_AT}
FROM period p, span, LATERAL (SELECT CASE WHEN extract(year FROM p.stop) = span.first THEN 'T' ELSE 'F' END AS isclosed) c`;

/**
 * Units of the pound per unit of a currency in a month: a constant and up to two per cent of deviation, by
 * the month.
 */
const monthlyRates = `SELECT c.id, m::date AS day, CASE WHEN c.id = 1 THEN 1 ELSE
    round(c.exchangerate * (1 + (mod(hashtextextended(c.symbol || m::date, ${SEED}), 200))::numeric / 10000), 6) END AS rate
  FROM ledger.currency c, (SELECT min(startdate) AS first, max(startdate) AS last FROM ledger.accountingperiod) s,
    generate_series(s.first, s.last, interval '1 month') m`;

const currencyStatements = (): string[] => [
  insertList(
    'currency',
    'id name symbol displaysymbol currencyprecision exchangerate isbasecurrency isinactive symbolplacement includeinfxrateupdates',
    [
      [1, 'GBP', 'GBP', '£', 2, 1, 'T', 'F', 1, 'F'],
      [2, 'US Dollar', 'USD', '$', 2, 0.625, 'F', 'F', 1, 'T'],
      [3, 'Euro', 'EUR', '€', 2, 0.87, 'F', 'F', 1, 'T'],
    ],
  ),
  `CREATE TEMPORARY TABLE monthlyrate ON COMMIT DROP AS ${monthlyRates}`,
  `INSERT INTO ledger.currencyrate (id, basecurrency, transactioncurrency, exchangerate, effectivedate, lastmodifieddate)
   SELECT row_number() OVER (ORDER BY t.day, b.id, t.id), b.id, t.id, round(t.rate / b.rate, 8), t.day, ${SET_UP_AT}
   FROM monthlyrate b JOIN monthlyrate t ON t.day = b.day AND t.id <> b.id`,
];

const bookStatement = (profile: ProfileName): string => `
INSERT INTO ledger.accountingbook (id, name, isprimary, basebook, effectiveperiod, subsidiariesstring, lastmodifieddate)
SELECT b.id, b.name, b.isprimary, b.basebook, CASE WHEN b.basebook IS NOT NULL THEN p.first END, '${allSubsidiaries(profile)}', ${SET_UP_AT}
FROM (VALUES (1, 'Primary Accounting Book', 'T', NULL::bigint), (2, 'Local GAAP', 'F', 1)) b(id, name, isprimary, basebook),
  (SELECT min(id) AS first FROM ledger.accountingperiod WHERE isposting = 'T') p
WHERE b.id <= ${profile === 'oneworld' ? 2 : 1}`;

/**
 * From each subsidiary to its parent, for each posting period and book: `currentrate` is that of the period's
 * end.
 */
const CONSOLIDATED_RATES = `
INSERT INTO ledger.consolidatedexchangerate (id, accountingbook, postingperiod, fromsubsidiary, tosubsidiary, fromcurrency, tocurrency, currentrate,
  averagerate, historicalrate)
SELECT row_number() OVER (ORDER BY k.id, p.id, s.id), k.id, p.id, s.id, s.parent, s.currency, o.currency, COALESCE(n.rate, r.rate), r.rate, c.exchangerate
FROM ledger.accountingbook k CROSS JOIN ledger.accountingperiod p CROSS JOIN ledger.subsidiary s
  JOIN ledger.subsidiary o ON o.id = s.parent JOIN ledger.currency c ON c.id = s.currency
  JOIN monthlyrate r ON r.id = s.currency AND r.day = date_trunc('month', p.startdate)
  LEFT JOIN monthlyrate n ON n.id = s.currency AND n.day = p.enddate + 1
WHERE p.isposting = 'T'`;

// The transactions of a profile with their lines, and what is applied to them. Everything follows from the
// rows of the files: ids, dates and amounts by plain arithmetic. Nothing is generated after the last day of
// the files.
//
// Signs: a debit is positive. `netamount` is in the subsidiary's currency, `foreignamount` in the
// transaction's. The sum of the posting lines of a transaction is zero in each subsidiary. Stock is the
// quantity of the lines that post to an inventory account.
import { customValuesSql } from './custom-fields.ts';
import type { ProfileName } from './profile-name.ts';
import { journalStatements } from './trade-journals.ts';
import { moneyStatements } from './trade-money.ts';
import { purchaseStatements } from './trade-purchases.ts';
import { receivableStatements } from './trade-receivables.ts';
import { COST_LINES, salesStatements } from './trade-sales.ts';
import { buildPeriodSql, FIRST_GENERATED, insertLines, monthNumber } from './trade-sql.ts';

/** Code, label, record type, abbreviation, statuses: *inferred*, except those of orders and bills. */
const TYPES: readonly (readonly [string, string, string, string, Readonly<Record<string, string>>])[] = [
  [
    'PurchOrd',
    'Purchase Order',
    'purchaseorder',
    'PURCHORD',
    { B: 'Pending Receipt', F: 'Pending Bill', G: 'Fully Billed', H: 'Closed' },
  ],
  ['ItemRcpt', 'Item Receipt', 'itemreceipt', 'ITEMRCPT', {}],
  ['ItemShip', 'Item Fulfillment', 'itemfulfillment', 'ITEMSHIP', { A: 'Picked', B: 'Packed', C: 'Shipped' }],
  ['VendBill', 'Bill', 'vendorbill', 'BILL', { A: 'Open', B: 'Paid In Full' }],
  ['VendCred', 'Bill Credit', 'vendorcredit', 'BILLCRED', { A: 'Open', B: 'Fully Applied' }],
  ['VendPymt', 'Bill Payment', 'vendorpayment', 'BILLPMT', { A: 'Approved' }],
  ['Estimate', 'Estimate', 'estimate', 'ESTIMATE', { A: 'Open', B: 'Processed' }],
  [
    'CustDep',
    'Customer Deposit',
    'customerdeposit',
    'CUSTDEP',
    { A: 'Not Deposited', B: 'Deposited', C: 'Fully Applied' },
  ],
  ['Deposit', 'Deposit', 'deposit', 'DEP', {}],
  ['InvAdjst', 'Inventory Adjustment', 'inventoryadjustment', 'INVADJST', {}],
  ['InvTrnfr', 'Inventory Transfer', 'inventorytransfer', 'INVTRNFR', {}],
];

const statuses = TYPES.flatMap(([code, label, , , names]) =>
  Object.entries(names).map(([id, name]) => `('${id}', '${name}', '${label} : ${name}', '${code}')`),
);

const TEMPORARY_TABLES = [
  `CREATE TEMPORARY TABLE trade_doc (LIKE ledger.transaction INCLUDING DEFAULTS, source bigint, createdfrom bigint) ON COMMIT DROP`,
  "ALTER TABLE trade_doc ALTER foreigntotal SET DEFAULT 0, ALTER posting SET DEFAULT 'T'",
  `CREATE TEMPORARY TABLE trade_span ON COMMIT DROP AS
   SELECT date_trunc('month', min(trandate))::date AS firstmonth, max(lastmodifieddate)::date AS lastday FROM ledger.transaction`,
  `CREATE TEMPORARY TABLE trade_month ON COMMIT DROP AS
   SELECT m::date AS month, (m + interval '1 month')::date - 1 AS lastday, ${monthNumber('m')} AS number, m < firstmonth AS isopening
   FROM trade_span, generate_series(firstmonth - interval '1 month', lastday, interval '1 month') m`,
  `CREATE TEMPORARY TABLE trade_rate ON COMMIT DROP AS
   SELECT basecurrency, transactioncurrency, ${buildPeriodSql('effectivedate')} AS period, exchangerate FROM ledger.currencyrate`,
];

/**
 * Totals of the generated transactions. The lines of the cost of goods, more than half of all, come last:
 * they add nothing to totals.
 */
const TOTALS = `
CREATE TEMPORARY TABLE trade_total ON COMMIT DROP AS
SELECT transaction AS id, sum(netamount) AS base, sum(foreignamount) AS amount, sum(foreignamount) FILTER (WHERE taxline = 'T') AS tax,
  sum(foreignamount) FILTER (WHERE foreignamount > 0) AS debit
FROM ledger.transactionline WHERE transaction >= ${FIRST_GENERATED} GROUP BY transaction`;

/** The header takes the other side of all other lines. */
const HEADER_LINES = insertLines(
  {
    transaction: 'd.id',
    id: 0,
    mainline: "'T'",
    memo: 'd.memo',
    netamount: '-COALESCE(s.base, 0)',
    foreignamount: '-COALESCE(s.amount, 0)',
    account: 'd.account',
    accountinglinetype:
      "CASE WHEN d.type IN ('VendBill', 'VendCred') THEN 'ACCOUNTSPAYABLE' WHEN d.account IS NOT NULL THEN 'PAYMENT' END",
    createdfrom: 'd.createdfrom',
    subsidiary: 'd.subsidiary',
    department: 'd.department',
    linelastmodifieddate: 'd.lastmodifieddate',
  },
  "trade_doc d LEFT JOIN trade_total s USING (id) WHERE d.type <> 'Journal'",
);

const INSERTED =
  'id tranid type trandate entity currency exchangerate posting createddate lastmodifieddate duedate status memo account undepfunds paymentmethod shipdate subsidiary department terms employee billingaddress shippingaddress accountingbook'.split(
    ' ',
  );
/** Payments are applied in full, and customer deposits not at all. */
const TRANSACTIONS = `
INSERT INTO ledger.transaction (${INSERTED.join(', ')}, foreigntotal, taxtotal, iswritten, location, postingperiod, createdby, lastmodifiedby,
  transactionnumber, approvalstatus, foreignamountpaid, foreignamountunpaid, extra)
SELECT ${INSERTED.map((name) => `d.${name}`).join(', ')}, COALESCE(CASE d.type WHEN 'Journal' THEN s.debit WHEN 'CustRfnd' THEN s.amount ELSE -s.amount END, 0), abs(s.tax), true,
  CASE WHEN d.type IN ('VendPymt', 'CustPymt', 'CustRfnd', 'Deposit', 'Journal') THEN NULL ELSE d.subsidiary END,
  CASE d.posting WHEN 'T' THEN ${buildPeriodSql('d.trandate')} END, COALESCE(d.employee, 9100008 + d.id % 12), COALESCE(d.employee, 9100008 + d.id % 12),
  upper(d.type) || d.id, 2, CASE WHEN d.type IN ('CustPymt', 'VendPymt') THEN -s.amount WHEN d.type = 'CustDep' THEN 0 END,
  CASE WHEN d.type IN ('CustPymt', 'VendPymt') THEN 0 WHEN d.type = 'CustDep' THEN -s.amount END, ${customValuesSql('transaction', 'd')}
FROM trade_doc d LEFT JOIN trade_total s USING (id)`;

/** Fills ledger.transaction, ledger.transactionline and ledger.application. */
export function tradeStatements(profile: ProfileName): string[] {
  const isOneWorld = profile === 'oneworld';
  return [
    `INSERT INTO ledger.transactiontype VALUES ${TYPES.map((type) => `('${type.slice(0, 4).join("', '")}')`).join(', ')}`,
    `INSERT INTO ledger.transactionstatus VALUES ${statuses.join(', ')}`,
    ...TEMPORARY_TABLES,
    ...salesStatements(isOneWorld),
    ...moneyStatements,
    ...receivableStatements,
    ...purchaseStatements,
    ...journalStatements(isOneWorld),
    TOTALS,
    HEADER_LINES,
    TRANSACTIONS,
    COST_LINES,
    // No query is planned by these columns, and their statistics take long to compute.
    'ALTER TABLE ledger.transactionline ALTER extra SET STATISTICS 0, ALTER memo SET STATISTICS 0',
    ...['transaction', 'customer', 'item'].map(
      (table) => `ALTER TABLE ledger.${table} ALTER extra SET STATISTICS 0`,
    ),
  ];
}

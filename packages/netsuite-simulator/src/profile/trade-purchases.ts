// Purchases: orders, receipts and bills for what the files' invoices take from stock, bills for expenses,
// credits from vendors, and payments. Every item has one cost, the same number in the currency of each
// subsidiary, so that stock is worth quantity × cost.
import { FILE_LINES } from './profile-name.ts';
import {
  ACCOUNT,
  at,
  buildPeriodSql,
  ID_OF,
  insertDocs,
  insertLines,
  VAT_ITEM,
  VAT_RATE,
  type Values,
} from './trade-sql.ts';

/** Each subsidiary buys from twelve vendors. */
const VENDORS = 12;
const PURCHASES = [
  {
    type: 'PurchOrd',
    prefix: 'PO',
    from: ID_OF.purchaseOrder,
    status: "'G'",
    posting: 'F',
    on: 'p.day - 14',
    account: 'NULL',
    changed: '06:00',
  },
  {
    type: 'ItemRcpt',
    prefix: 'IR',
    from: ID_OF.receipt,
    status: 'NULL',
    posting: 'T',
    on: 'p.day',
    account: ACCOUNT.receivedNotBilled,
    changed: '06:00',
  },
  {
    type: 'VendBill',
    prefix: 'BILL',
    from: ID_OF.bill,
    status: 'NULL',
    posting: 'T',
    on: 'p.day',
    account: ACCOUNT.payable,
    changed: '06:30',
  },
] as const;

/**
 * What each subsidiary must have bought by item: what leaves its stock in a month, and a few pieces more of
 * most items. It arrives on the 28th of the month before, or on the day the item was created. Returns aren't
 * counted on. `n` numbers the lines of a purchase.
 */
const NEED_TABLE = `
CREATE TEMPORARY TABLE trade_need ON COMMIT DROP AS
SELECT n.*, (n.day - DATE '2000-01-01') * 40 + (n.subsidiary - 1) * ${VENDORS} + n.item % ${VENDORS} AS purchase,
  row_number() OVER (PARTITION BY n.day, n.subsidiary, n.item % ${VENDORS} ORDER BY n.item, n.month) AS n
FROM (SELECT o.subsidiary, o.item, o.month, ceil(o.quantity) + o.item % 4 * 6 AS quantity, i.averagecost AS cost, i.class, i.displayname,
    COALESCE(i.assetaccount, ${ACCOUNT.inventory}) AS assetaccount,
    GREATEST((o.month - interval '1 month')::date + 27, LEAST(i.createddate::date, o.firstday)) AS day
  FROM (SELECT h.subsidiary, l.item, h.month, -sum(l.quantity) AS quantity, min(h.trandate) AS firstday
    FROM ${FILE_LINES} l JOIN trade_head h ON h.id = l.transaction WHERE h.type = 'CustInvc' AND l.quantity < 0 GROUP BY 1, 2, 3) o
  JOIN ledger.item i ON i.id = o.item AND i.averagecost IS NOT NULL AND i.itemtype = 'InvtPart') n`;

/** One row for each purchase, in the vendor's currency. */
const PURCHASE_TABLE = `
CREATE TEMPORARY TABLE trade_purchase ON COMMIT DROP AS
SELECT p.*, v.currency, COALESCE(r.exchangerate, 1) AS rate
FROM (SELECT DISTINCT n.purchase, n.subsidiary, n.day, 9000001 + n.subsidiary * 100 + n.item % ${VENDORS} AS entity FROM trade_need n) p
JOIN ledger.vendor v ON v.id = p.entity JOIN ledger.subsidiary b ON b.id = p.subsidiary
LEFT JOIN trade_rate r ON r.basecurrency = b.currency AND r.transactioncurrency = v.currency AND r.period = ${buildPeriodSql('p.day')}`;

const OF_PURCHASE: Values = {
  entity: 'p.entity',
  currency: 'p.currency',
  exchangerate: 'p.rate',
  subsidiary: 'p.subsidiary',
  department: 2,
};

const PURCHASE_DOCS = PURCHASES.map(({ type, prefix, from, status, posting, on, account, changed }) =>
  insertDocs(
    {
      ...OF_PURCHASE,
      id: `${from} + p.purchase`,
      type: `'${type}'`,
      tranid: `'${prefix}' || p.purchase`,
      trandate: on,
      createddate: at(on, changed),
      lastmodifieddate: at('p.day', changed),
      duedate: type === 'VendBill' ? 'p.day + 30' : 'NULL',
      terms: type === 'VendBill' ? 1 : 'NULL',
      posting: `'${posting}'`,
      status,
      account,
    },
    'trade_purchase p',
  ),
);

/**
 * The lines of all three: an order doesn't post, a receipt is worth what is in stock, a bill takes it from
 * what was received.
 */
const PURCHASE_LINES = insertLines(
  {
    transaction: 'k.first + p.purchase',
    id: 'n.n',
    item: 'n.item',
    memo: 'n.displayname',
    quantity: 'n.quantity',
    rate: 'CASE WHEN p.rate = 1 THEN n.cost ELSE round(n.cost / p.rate, 2) END',
    netamount: 'n.quantity * n.cost',
    foreignamount:
      'CASE WHEN p.rate = 1 THEN n.quantity * n.cost ELSE round(n.quantity * n.cost / p.rate, 2) END',
    account: `CASE k.first WHEN ${ID_OF.receipt} THEN n.assetaccount WHEN ${ID_OF.bill} THEN ${ACCOUNT.receivedNotBilled} END`,
    accountinglinetype: `CASE k.first WHEN ${ID_OF.receipt} THEN 'ASSET' WHEN ${ID_OF.bill} THEN 'LIABILITY' END`,
    createdfrom: `CASE WHEN k.first <> ${ID_OF.purchaseOrder} THEN ${ID_OF.purchaseOrder} + p.purchase END`,
    quantitybilled: `CASE k.first WHEN ${ID_OF.purchaseOrder} THEN n.quantity END`,
    quantityshiprecv: `CASE k.first WHEN ${ID_OF.purchaseOrder} THEN n.quantity END`,
    subsidiary: 'p.subsidiary',
    department: 2,
    class: 'n.class',
    location: 'p.subsidiary',
    linelastmodifieddate: 'p.day + k.changed',
  },
  `trade_need n JOIN trade_purchase p ON p.purchase = n.purchase
   CROSS JOIN (VALUES ${PURCHASES.map(({ from, changed }) => `(${from}, time '${changed}')`).join(', ')}) k(first, changed)`,
);

/** A monthly bill of each subsidiary's first vendor for electricity. */
const EXPENSE_BILLS = [
  insertDocs(
    {
      id: `${ID_OF.expenseBill} + m.number * 10 + b.id`,
      type: "'VendBill'",
      tranid: "'UTIL' || m.number * 10 + b.id",
      trandate: 'm.month + 9',
      createddate: at('m.month + 9', '11:00'),
      lastmodifieddate: at('m.month + 9', '11:00'),
      duedate: 'm.month + 39',
      terms: 1,
      entity: '9000000 + b.id * 100 + 1',
      currency: 'b.currency',
      exchangerate: 1,
      subsidiary: 'b.id',
      department: 4,
      memo: "'Electricity'",
      account: ACCOUNT.payable,
    },
    "trade_month m CROSS JOIN ledger.subsidiary b WHERE b.iselimination = 'F' AND m.month + 9 <= (SELECT lastday FROM trade_span)",
  ),
  insertLines(
    {
      transaction: 'd.id',
      id: 1,
      memo: 'd.memo',
      netamount: 'v.amount',
      foreignamount: 'v.amount',
      account: ACCOUNT.utilities,
      expenseaccount: ACCOUNT.utilities,
      accountinglinetype: "'EXPENSE'",
      subsidiary: 'd.subsidiary',
      department: 4,
      location: 'd.subsidiary',
      linelastmodifieddate: 'd.lastmodifieddate',
    },
    `trade_doc d CROSS JOIN LATERAL (SELECT 350.00 + d.id % 7 * 12.5 AS amount) v WHERE d.memo = 'Electricity'`,
  ),
];

/** VAT on the bills of the first subsidiary's vendors who trade in its currency. */
const BILL_TAX = insertLines(
  {
    transaction: 'd.id',
    id: 's.lastline + 1',
    item: VAT_ITEM,
    memo: "'VAT'",
    rate: VAT_RATE,
    netamount: `round(${VAT_RATE} * s.base, 2)`,
    foreignamount: `round(${VAT_RATE} * s.base, 2)`,
    account: ACCOUNT.vatReceivable,
    accountinglinetype: "'TAX'",
    transactionlinetype: "'TAX'",
    taxline: "'T'",
    createdfrom: `CASE WHEN d.id < ${ID_OF.expenseBill} THEN d.id - ${ID_OF.bill - ID_OF.purchaseOrder} END`,
    subsidiary: 'd.subsidiary',
    department: 'd.department',
    linelastmodifieddate: 'd.lastmodifieddate',
  },
  `trade_doc d JOIN (SELECT transaction, sum(netamount) AS base, max(id) AS lastline FROM ledger.transactionline
     WHERE transaction BETWEEN ${ID_OF.bill} AND ${ID_OF.billPayment - 1} GROUP BY transaction) s ON s.transaction = d.id
   WHERE d.subsidiary = 1 AND d.exchangerate = 1`,
);

/**
 * The total of each bill, and what is paid of it: nothing to every sixth vendor, half to the eleventh. The
 * second gives a credit of 25.
 */
const BILL_TABLE = `
CREATE TEMPORARY TABLE trade_bill ON COMMIT DROP AS
SELECT b.*, round(b.amount * b.base / b.total, 2) AS relieved, round(b.amount * b.paymentrate, 2) AS banked, ${at('b.duedate', '11:30')} AS paidat
FROM (SELECT d.id, d.id - ${ID_OF.bill} AS number, d.entity, d.subsidiary, d.currency, d.exchangerate, d.trandate, d.duedate, s.base, s.total, k.credit,
    COALESCE(r.exchangerate, d.exchangerate) AS paymentrate,
    CASE WHEN d.duedate > p.lastday OR d.entity % 6 = 0 THEN 0 WHEN d.entity % 100 = 11 THEN round(s.total / 2, 2) ELSE s.total - k.credit END AS amount
  FROM (SELECT *, CASE WHEN entity % 100 = 2 AND trandate + 5 <= (SELECT lastday FROM trade_span) THEN 25 ELSE 0 END AS credit FROM trade_doc) d
  CROSS JOIN trade_span p JOIN ledger.subsidiary b ON b.id = d.subsidiary
  JOIN (SELECT transaction, sum(netamount) AS base, sum(foreignamount) AS total FROM ledger.transactionline
    WHERE transaction BETWEEN ${ID_OF.bill} AND ${ID_OF.billPayment - 1} GROUP BY transaction) s ON s.transaction = d.id
  CROSS JOIN LATERAL (SELECT CASE WHEN d.credit < s.total THEN d.credit ELSE 0 END AS credit) k
  LEFT JOIN trade_rate r ON r.basecurrency = b.currency AND r.transactioncurrency = d.currency
    AND r.period = ${buildPeriodSql('d.duedate')}) b`;

const OF_BILL: Values = {
  entity: 'b.entity',
  currency: 'b.currency',
  subsidiary: 'b.subsidiary',
  department: 4,
};

const VENDOR_CREDITS = [
  insertDocs(
    {
      ...OF_BILL,
      id: `${ID_OF.vendorCredit} + b.number`,
      type: "'VendCred'",
      tranid: "'VC' || b.number",
      trandate: 'b.trandate + 5',
      createddate: at('b.trandate + 5', '11:00'),
      lastmodifieddate: at('b.trandate + 5', '11:00'),
      exchangerate: 'b.exchangerate',
      memo: "'Bonus'",
      account: ACCOUNT.payable,
    },
    'trade_bill b WHERE b.credit > 0',
  ),
  insertLines(
    {
      transaction: `${ID_OF.vendorCredit} + b.number`,
      id: 1,
      memo: "'Bonus'",
      netamount: '-round(b.credit * b.exchangerate, 2)',
      foreignamount: '-b.credit',
      account: ACCOUNT.expenses,
      expenseaccount: ACCOUNT.expenses,
      accountinglinetype: "'EXPENSE'",
      subsidiary: 'b.subsidiary',
      department: 4,
      linelastmodifieddate: at('b.trandate + 5', '11:00'),
    },
    'trade_bill b WHERE b.credit > 0',
  ),
  `INSERT INTO ledger.application (invoice, credit, amount, appliedon, linkedat, isbyrule)
   SELECT b.id, ${ID_OF.vendorCredit} + b.number, b.credit, b.trandate + 5, ${at('b.trandate + 5', '11:00')}, false FROM trade_bill b WHERE b.credit > 0`,
];

const BILL_PAYMENTS = [
  insertDocs(
    {
      ...OF_BILL,
      id: `${ID_OF.billPayment} + b.number`,
      type: "'VendPymt'",
      tranid: "'BP' || b.number",
      trandate: 'b.duedate',
      createddate: 'b.paidat',
      lastmodifieddate: 'b.paidat',
      exchangerate: 'b.paymentrate',
      status: "'A'",
      account: `${ACCOUNT.bank} + b.subsidiary`,
    },
    'trade_bill b WHERE b.amount > 0',
  ),
  insertLines(
    {
      transaction: `${ID_OF.billPayment} + b.number`,
      id: 'v.id',
      netamount: 'v.base',
      foreignamount: 'v.amount',
      account: 'v.account',
      accountinglinetype: 'v.kind',
      transactionlinetype: "NULLIF(v.kind, 'ACCOUNTSPAYABLE')",
      isfxvariance: "CASE v.kind WHEN 'FXVARIANCE' THEN 'T' END",
      subsidiary: 'b.subsidiary',
      department: 4,
      linelastmodifieddate: 'b.paidat',
    },
    `trade_bill b CROSS JOIN LATERAL (VALUES (1, 'ACCOUNTSPAYABLE', ${ACCOUNT.payable}, b.amount, b.relieved),
       (2, 'FXVARIANCE', ${ACCOUNT.exchangeGain}, 0, b.banked - b.relieved)) v(id, kind, account, amount, base)
     WHERE b.amount > 0 AND (v.id = 1 OR b.banked <> b.relieved)`,
  ),
  `INSERT INTO ledger.application (invoice, credit, amount, appliedon, linkedat, isbyrule)
   SELECT b.id, ${ID_OF.billPayment} + b.number, b.amount, b.duedate, b.paidat, false FROM trade_bill b WHERE b.amount > 0`,
];

/**
 * Runs after the sales, whose need it covers: fills ledger.transactionline and ledger.application for
 * vendors.
 */
export const purchaseStatements: readonly string[] = [
  NEED_TABLE,
  'ANALYZE trade_need',
  PURCHASE_TABLE,
  'ANALYZE trade_purchase',
  ...PURCHASE_DOCS,
  PURCHASE_LINES,
  ...EXPENSE_BILLS,
  BILL_TAX,
  BILL_TABLE,
  ...VENDOR_CREDITS,
  ...BILL_PAYMENTS,
];

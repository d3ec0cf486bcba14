// Sales: what the invoices and credit memos of the files get in addition (VAT, shipping, cost of goods,
// header lines), and the orders, fulfilments and estimates that belong to them.
import { customValuesSql } from './custom-fields.ts';
import { FILE_LINES } from './profile-name.ts';
import {
  ACCOUNT,
  buildPeriodSql,
  ID_OF,
  inBase,
  insertDocs,
  insertLines,
  PAYS_VAT,
  SHIPPING_ITEM,
  VAT_ITEM,
  VAT_RATE,
  type Values,
  ZERO_RATED_ITEM,
} from './trade-sql.ts';

const IS_SALE = "t.type IN ('CustInvc', 'CustCred')";
/** One invoice in ten comes from a sales order that was shipped; its cost of goods is on the fulfilment. */
const IS_ORDERED = "t.type = 'CustInvc' AND t.entity IS NOT NULL AND t.id % 10 = 5";
/** One invoice of a customer in three is charged for shipping. */
const SHIPPING =
  "CASE WHEN t.type = 'CustInvc' AND t.entity IS NOT NULL AND t.id % 3 = 0 AND s.items > 0 THEN 4.95 + 2.5 * (t.id % 4) ELSE 0 END";

/**
 * Subsidiary, currency, terms and addresses of the files' transactions, from their customers. Cash sales,
 * without a customer, belong to the first subsidiary.
 */
const partyTable = (isOneWorld: boolean): string => `
CREATE TEMPORARY TABLE trade_party ON COMMIT DROP AS
SELECT t.id, t.type, t.entity, t.trandate, t.createddate, t.lastmodifieddate, b.id AS subsidiary, c.terms, c.salesrep AS employee,
  c.defaultbillingaddress AS billingaddress, COALESCE(c.defaultshippingaddress, c.defaultbillingaddress) AS shippingaddress,
  ${isOneWorld ? 'COALESCE(c.currency, b.currency)' : 't.currency'} AS currency, ${isOneWorld ? 'COALESCE(r.exchangerate, 1)' : 't.exchangerate'} AS rate,
  t.trandate + COALESCE(m.daysuntilnetdue, 30)::integer AS duedate, CASE WHEN t.entity IS NULL THEN 3 ELSE 1 END AS department,
  CASE WHEN t.entity IS NULL THEN ${ACCOUNT.undepositedFunds} ELSE COALESCE(c.receivablesaccount, ${ACCOUNT.receivable}) END AS account,
  ${IS_ORDERED} AS isordered, ${IS_SALE} AS issale, ${IS_SALE} AND ${PAYS_VAT} AS istaxed
FROM ledger.transaction t LEFT JOIN ledger.customer c ON c.id = t.entity JOIN ledger.subsidiary b ON b.id = COALESCE(c.subsidiary, 1)
LEFT JOIN ledger.term m ON m.id = c.terms
LEFT JOIN trade_rate r ON r.basecurrency = b.currency AND r.transactioncurrency = c.currency AND r.period = ${buildPeriodSql('t.trandate')}`;

/** With the amounts, which are positive for invoices: `base` is the total in the subsidiary's currency. */
const HEAD_TABLE = `
CREATE TEMPORARY TABLE trade_head ON COMMIT DROP AS
SELECT t.*, date_trunc('month', t.trandate)::date AS month, t.items + t.shipping + t.tax AS total, t.baseitems + round(t.shipping * t.rate, 2) + round(t.tax * t.rate, 2) AS base
FROM (SELECT t.*, CASE WHEN t.istaxed THEN round(${VAT_RATE} * (t.items + t.shipping), 2) ELSE 0 END AS tax
  FROM (SELECT t.*, COALESCE(s.items, 0) AS items, COALESCE(s.baseitems, 0) AS baseitems, COALESCE(s.lastline, 0) AS lastline, ${SHIPPING} AS shipping
    FROM trade_party t LEFT JOIN (SELECT l.transaction, -sum(l.netamount) AS items, -sum(${inBase('l.netamount', 't.rate')}) AS baseitems,
      max(l.id) AS lastline FROM ${FILE_LINES} l JOIN trade_party t ON t.id = l.transaction GROUP BY l.transaction) s ON s.transaction = t.id) t) t`;

const UPDATE_FILE_TRANSACTIONS = `
UPDATE ledger.transaction t SET currency = h.currency, exchangerate = h.rate, subsidiary = h.subsidiary, department = h.department,
  location = h.subsidiary, postingperiod = ${buildPeriodSql('h.trandate')}, terms = CASE WHEN h.type = 'CustInvc' THEN COALESCE(h.terms, 1) END,
  duedate = CASE WHEN h.type = 'CustInvc' THEN h.duedate END, employee = h.employee, createdby = -5, lastmodifiedby = -5, approvalstatus = 2,
  billingaddress = h.billingaddress, shippingaddress = h.shippingaddress, transactionnumber = upper(h.type) || h.id, iswritten = true,
  taxtotal = CASE WHEN h.istaxed THEN h.tax END, foreigntotal = CASE WHEN h.issale THEN h.total ELSE t.foreigntotal END,
  extra = ${customValuesSql('transaction', 't')}
FROM trade_head h WHERE h.id = t.id`;

/** What all lines of a transaction of the files have. */
const OF_HEAD: Values = {
  subsidiary: 'h.subsidiary',
  department: 'h.department',
  location: 'h.subsidiary',
  linelastmodifieddate: 'h.lastmodifieddate',
};
const ORDER = `CASE WHEN h.isordered THEN ${ID_OF.salesOrder} + h.id END`;

const FILE_LINES_WITH_VALUES = `
INSERT INTO ledger.transactionline (uniquekey, id, transaction, linesequencenumber, item, memo, quantity, rate, netamount, mainline, taxline,
  linelastmodifieddate, createdfrom, foreignamount, account, department, class, location, subsidiary, accountinglinetype, extra)
SELECT l.uniquekey, l.id, l.transaction, l.linesequencenumber, l.item, l.memo, l.quantity, l.rate, ${inBase('l.netamount', 'h.rate')}, l.mainline,
  l.taxline, l.linelastmodifieddate, ${ORDER}, l.netamount,
  CASE WHEN h.issale THEN COALESCE(i.incomeaccount, ${ACCOUNT.sales}) WHEN h.type = 'Journal' THEN ${ACCOUNT.badDebt} END,
  h.department, i.class, h.subsidiary, h.subsidiary, CASE WHEN h.issale THEN 'INCOME' WHEN h.type = 'Journal' THEN 'EXPENSE' END,
  ${customValuesSql('transactionline', 'l')}
FROM ${FILE_LINES} l JOIN trade_head h ON h.id = l.transaction LEFT JOIN ledger.item i ON i.id = l.item`;

/**
 * Two lines for each item that was sold from stock or returned to it: cost of goods sold, and the inventory
 * asset with the moved quantity.
 */
export const COST_LINES = insertLines(
  {
    transaction: `CASE WHEN c.isordered THEN ${ID_OF.fulfilment} + c.id ELSE c.id END`,
    id: 'c.line + k.n',
    item: 'c.item',
    quantity: 'CASE k.n WHEN 0 THEN -c.quantity ELSE c.quantity END',
    netamount: 'CASE k.n WHEN 0 THEN -c.cost ELSE c.cost END',
    foreignamount: 'CASE k.n WHEN 0 THEN -c.cost ELSE c.cost END',
    account: 'CASE k.n WHEN 0 THEN c.expenseaccount ELSE c.assetaccount END',
    subsidiary: 'c.subsidiary',
    department: 'c.department',
    class: 'c.class',
    location: 'c.subsidiary',
    iscogs: "'T'",
    accountinglinetype: 'k.kind',
    transactionlinetype: 'k.kind',
    linelastmodifieddate: 'c.lastmodifieddate',
  },
  // OFFSET 0: the cost is computed once for both lines.
  `(SELECT h.id, h.isordered, h.subsidiary, h.department, h.lastmodifieddate, h.lastline + 3 + 2 * l.id AS line, l.item, l.quantity,
      l.quantity * i.averagecost AS cost, i.class, COALESCE(i.expenseaccount, ${ACCOUNT.costOfGoods}) AS expenseaccount,
      COALESCE(i.assetaccount, ${ACCOUNT.inventory}) AS assetaccount
    FROM ${FILE_LINES} l JOIN trade_head h ON h.id = l.transaction JOIN ledger.item i ON i.id = l.item AND i.averagecost IS NOT NULL AND i.itemtype = 'InvtPart'
    WHERE h.issale AND l.quantity <> 0 OFFSET 0) c CROSS JOIN (VALUES (0, 'COGS'), (1, 'ASSET')) k(n, kind)`,
);

/** The header line, and the lines of VAT and shipping that the transaction has. */
const HEADER_TAX_AND_SHIPPING = insertLines(
  {
    ...OF_HEAD,
    transaction: 'h.id',
    id: 'v.id',
    mainline: "CASE WHEN v.kind = 'HEADER' THEN 'T' ELSE 'F' END",
    taxline: "CASE WHEN v.kind = 'TAX' THEN 'T' ELSE 'F' END",
    item: 'v.item',
    memo: 'v.memo',
    rate: 'v.rate',
    netamount: 'v.base',
    foreignamount: 'v.amount',
    account: 'v.account',
    accountinglinetype: 'v.accounting',
    transactionlinetype: "NULLIF(v.kind, 'HEADER')",
    createdfrom: ORDER,
  },
  `trade_head h CROSS JOIN LATERAL (VALUES
    ('HEADER', 0, NULL::bigint, NULL, NULL::numeric, h.total, h.base, h.account,
      CASE WHEN h.entity IS NULL THEN 'PAYMENT' ELSE 'ACCOUNTSRECEIVABLE' END, true),
    ('TAX', h.lastline + 1, CASE WHEN h.istaxed THEN ${VAT_ITEM} ELSE ${ZERO_RATED_ITEM} END, 'VAT', CASE WHEN h.istaxed THEN ${VAT_RATE} ELSE 0 END,
      -h.tax, -round(h.tax * h.rate, 2), ${ACCOUNT.vatPayable}, 'TAX', h.entity IS NOT NULL),
    ('SHIPPING', h.lastline + 2, ${SHIPPING_ITEM}, 'Shipping', h.shipping, -h.shipping, -round(h.shipping * h.rate, 2), ${ACCOUNT.shipping},
      'INCOME', h.shipping > 0)) v(kind, id, item, memo, rate, amount, base, account, accounting, ispresent)
   WHERE h.issale AND v.ispresent`,
);

/**
 * The journals of the files have one line each, of an adjustment for bad debt; retained earnings take the
 * other side.
 */
const JOURNAL_CONTRA_LINES = insertLines(
  {
    ...OF_HEAD,
    transaction: 'h.id',
    id: 'h.lastline + 1',
    netamount: 'h.baseitems',
    foreignamount: 'h.items',
    account: ACCOUNT.retainedEarnings,
    accountinglinetype: "'EQUITY'",
  },
  "trade_head h WHERE h.type = 'Journal'",
);

const OF_SOURCE: Values = {
  entity: 'h.entity',
  currency: 'h.currency',
  exchangerate: 'h.rate',
  subsidiary: 'h.subsidiary',
  department: 'h.department',
  terms: 'h.terms',
  employee: 'h.employee',
  billingaddress: 'h.billingaddress',
  shippingaddress: 'h.shippingaddress',
  source: 'h.id',
};

/**
 * The orders from which invoices come, and their fulfilments; orders that are still open, in the last five
 * days; estimates. All of them have the lines of an invoice.
 */
const ORDER_DOCS = [
  {
    type: 'SalesOrd',
    prefix: 'SO',
    from: ID_OF.salesOrder,
    status: 'G',
    before: '1 hour',
    isWanted: 'h.isordered',
    posting: 'F',
  },
  {
    type: 'ItemShip',
    prefix: 'IF',
    from: ID_OF.fulfilment,
    status: 'C',
    before: '10 minutes',
    isWanted: 'h.isordered',
    posting: 'T',
  },
  {
    type: 'SalesOrd',
    prefix: 'SO',
    from: ID_OF.salesOrder,
    status: 'B',
    before: '0 minutes',
    isWanted: 'h.id % 10 = 3 AND h.trandate > (SELECT lastday - 5 FROM trade_span)',
    posting: 'F',
  },
  {
    type: 'Estimate',
    prefix: 'EST',
    from: ID_OF.estimate,
    status: 'A',
    before: '2 hours',
    isWanted: 'h.id % 20 = 8',
    posting: 'F',
  },
].map(({ type, prefix, from, status, before, isWanted, posting }) =>
  insertDocs(
    {
      ...OF_SOURCE,
      id: `${from} + h.id`,
      type: `'${type}'`,
      tranid: `'${prefix}' || h.id`,
      trandate: 'h.trandate',
      createddate: `h.createddate - interval '${before}'`,
      lastmodifieddate: 'h.createddate',
      posting: `'${posting}'`,
      status: `'${status}'`,
      shipdate: type === 'ItemShip' ? 'h.trandate' : 'NULL',
      createdfrom: type === 'ItemShip' ? `${ID_OF.salesOrder} + h.id` : 'NULL',
    },
    `trade_head h WHERE h.type = 'CustInvc' AND h.entity IS NOT NULL AND h.total > 0 AND ${isWanted}`,
  ),
);

/**
 * What was ordered, shipped or offered. Lines of orders and estimates have amounts, lines of fulfilments
 * quantities alone.
 */
const COPIED_LINES = insertLines(
  {
    transaction: 'd.id',
    id: 'l.id',
    item: 'l.item',
    memo: 'l.memo',
    quantity: 'l.quantity',
    rate: "CASE WHEN d.type <> 'ItemShip' THEN l.rate END",
    netamount: "CASE WHEN d.type <> 'ItemShip' THEN l.netamount END",
    foreignamount: "CASE WHEN d.type <> 'ItemShip' THEN l.foreignamount END",
    taxline: 'l.taxline',
    linelastmodifieddate: 'd.lastmodifieddate',
    createdfrom: 'd.createdfrom',
    department: 'l.department',
    class: 'l.class',
    location: 'l.location',
    subsidiary: 'l.subsidiary',
    transactionlinetype: 'l.transactionlinetype',
    quantitybilled:
      "CASE WHEN d.type = 'SalesOrd' THEN CASE d.status WHEN 'G' THEN -l.quantity ELSE 0 END END",
    quantityshiprecv:
      "CASE WHEN d.type = 'SalesOrd' THEN CASE d.status WHEN 'G' THEN -l.quantity ELSE 0 END END",
  },
  `ledger.transactionline l JOIN trade_doc d ON d.source = l.transaction
   WHERE l.mainline <> 'T' AND (d.type <> 'ItemShip' OR (l.taxline <> 'T' AND l.transactionlinetype IS NULL))`,
);

/** Fills ledger.transactionline with the lines of the files and what belongs to them, except `COST_LINES`. */
export const salesStatements = (isOneWorld: boolean): string[] => [
  partyTable(isOneWorld),
  HEAD_TABLE,
  'ANALYZE trade_head',
  UPDATE_FILE_TRANSACTIONS,
  FILE_LINES_WITH_VALUES,
  HEADER_TAX_AND_SHIPPING,
  JOURNAL_CONTRA_LINES,
  ...ORDER_DOCS,
  'ANALYZE trade_doc',
  COPIED_LINES,
];

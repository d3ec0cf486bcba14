// Money from customers: what credit memos and payments are applied to, the payments themselves, deposits at
// the bank, and customer deposits.
import { ACCOUNT, at, buildPeriodSql, ID_OF, inBase, insertDocs, insertLines } from './trade-sql.ts';

/**
 * Lines up each customer's credits and invoices by running totals, oldest first, and applies to an invoice as
 * much of a credit as overlaps, unless the credit came after the invoice was due or has another exchange
 * rate.
 */
const APPLIED_CREDITS = `
INSERT INTO ledger.application (invoice, credit, amount, appliedon, linkedat, isbyrule)
WITH stretch AS (
  SELECT h.*, abs(h.total) AS amount, sum(abs(h.total)) OVER (PARTITION BY h.type, h.entity ORDER BY h.trandate, h.id) AS upto
  FROM trade_head h WHERE h.entity IS NOT NULL AND ((h.type = 'CustInvc' AND h.total > 0) OR (h.type = 'CustCred' AND h.total < 0))
)
SELECT i.id, c.id, LEAST(i.upto, c.upto) - GREATEST(i.upto - i.amount, c.upto - c.amount), GREATEST(i.trandate, c.trandate),
  GREATEST(i.createddate, c.createddate), false
FROM stretch i JOIN stretch c ON c.entity = i.entity AND c.type = 'CustCred' AND c.trandate <= i.duedate AND c.rate = i.rate
WHERE i.type = 'CustInvc' AND LEAST(i.upto, c.upto) > GREATEST(i.upto - i.amount, c.upto - c.amount)`;

/**
 * A cash sale is paid with the goods, without a payment of its own: its header posts to undeposited funds.
 */
const CASH_SALES = `
INSERT INTO ledger.application (invoice, credit, amount, appliedon, linkedat, isbyrule)
SELECT h.id, NULL, h.total, h.trandate, h.createddate, false FROM trade_head h WHERE h.type = 'CustInvc' AND h.entity IS NULL AND h.total > 0`;

/**
 * What is left of an invoice is paid on its due date, except one invoice in ten. The base amount is the share
 * of the invoice's own. Half of the payments arrive at the bank, the others in undeposited funds.
 */
const RECEIVED_TABLE = `
CREATE TEMPORARY TABLE trade_received ON COMMIT DROP AS
SELECT r.*, ${ID_OF.payment} + r.id AS payment, CASE WHEN r.rate = 1 THEN r.amount ELSE round(r.amount * abs(r.base / r.total), 2) END AS relieved,
  ${inBase('r.amount', 'r.paymentrate')} AS banked,
  GREATEST(${at('r.duedate', '10:00')} + r.id % 240 * interval '1 minute', r.createddate) AS paidat
FROM (SELECT h.*, h.total - COALESCE(a.amount, 0) AS amount, COALESCE(p.exchangerate, h.rate) AS paymentrate
  FROM trade_head h LEFT JOIN (SELECT invoice, sum(amount) AS amount FROM ledger.application GROUP BY invoice) a ON a.invoice = h.id
  JOIN ledger.subsidiary b ON b.id = h.subsidiary
  LEFT JOIN trade_rate p ON p.basecurrency = b.currency AND p.transactioncurrency = h.currency
    AND p.period = ${buildPeriodSql('h.duedate')}
  WHERE h.type = 'CustInvc' AND h.entity IS NOT NULL AND h.id % 10 <> 0 AND h.duedate <= (SELECT lastday FROM trade_span)) r
WHERE r.amount > 0`;

const PAYMENTS = [
  insertDocs(
    {
      id: 'r.payment',
      type: "'CustPymt'",
      tranid: "'PYMT' || r.id",
      trandate: 'r.duedate',
      createddate: 'r.paidat',
      lastmodifieddate: 'r.paidat',
      entity: 'r.entity',
      currency: 'r.currency',
      exchangerate: 'r.paymentrate',
      subsidiary: 'r.subsidiary',
      department: 'r.department',
      account: `CASE WHEN r.id % 2 = 0 THEN ${ACCOUNT.bank} + r.subsidiary ELSE ${ACCOUNT.undepositedFunds} END`,
      undepfunds: "CASE WHEN r.id % 2 = 0 THEN 'F' ELSE 'T' END",
      paymentmethod: '1 + r.id % 3',
      status: "CASE WHEN r.id % 2 = 0 OR r.duedate < (SELECT lastday FROM trade_span) THEN 'C' ELSE 'B' END",
    },
    'trade_received r',
  ),
  insertLines(
    {
      transaction: 'r.payment',
      id: 'v.id',
      netamount: 'v.base',
      foreignamount: 'v.amount',
      account: 'v.account',
      accountinglinetype: 'v.kind',
      transactionlinetype: "NULLIF(v.kind, 'ACCOUNTSRECEIVABLE')",
      isfxvariance: "CASE v.kind WHEN 'FXVARIANCE' THEN 'T' END",
      subsidiary: 'r.subsidiary',
      department: 'r.department',
      linelastmodifieddate: 'r.paidat',
    },
    `trade_received r CROSS JOIN LATERAL (VALUES (1, 'ACCOUNTSRECEIVABLE', r.account, -r.amount, -r.relieved),
       (2, 'FXVARIANCE', ${ACCOUNT.exchangeGain}, 0, r.relieved - r.banked)) v(id, kind, account, amount, base)
     WHERE v.id = 1 OR r.relieved <> r.banked`,
  ),
  `INSERT INTO ledger.application (invoice, credit, amount, appliedon, linkedat, isbyrule)
   SELECT r.id, r.payment, r.amount, r.duedate, r.paidat, false FROM trade_received r`,
];

/**
 * What came in on a day is brought to the bank on the next: one deposit for each subsidiary. Deposits are in
 * the subsidiary's currency.
 */
const DEPOSITED_TABLE = `
CREATE TEMPORARY TABLE trade_deposited ON COMMIT DROP AS
SELECT m.*, ${ID_OF.deposit} + (m.day - DATE '2000-01-01') * 10 + m.subsidiary AS deposit, m.day + 1 AS depositedon, b.currency,
  row_number() OVER (PARTITION BY m.subsidiary, m.day ORDER BY m.id) AS n
FROM (SELECT payment AS id, entity, subsidiary, duedate AS day, banked AS base FROM trade_received WHERE id % 2 <> 0
  UNION ALL SELECT id, NULL, subsidiary, trandate, base FROM trade_head WHERE issale AND entity IS NULL AND base <> 0) m
JOIN ledger.subsidiary b ON b.id = m.subsidiary WHERE m.day < (SELECT lastday FROM trade_span)`;

const DEPOSITS = [
  insertDocs(
    {
      id: 'd.deposit',
      type: "'Deposit'",
      tranid: "'DEP' || d.deposit",
      trandate: 'd.depositedon',
      createddate: at('d.depositedon', '08:00'),
      lastmodifieddate: at('d.depositedon', '08:00'),
      currency: 'd.currency',
      exchangerate: 1,
      subsidiary: 'd.subsidiary',
      department: 4,
      account: `${ACCOUNT.bank} + d.subsidiary`,
    },
    '(SELECT DISTINCT deposit, depositedon, currency, subsidiary FROM trade_deposited) d',
  ),
  insertLines(
    {
      transaction: 'd.deposit',
      id: 'd.n',
      memo: "'Payment ' || d.id",
      netamount: '-d.base',
      foreignamount: '-d.base',
      account: ACCOUNT.undepositedFunds,
      accountinglinetype: "'PAYMENT'",
      subsidiary: 'd.subsidiary',
      department: 4,
      linelastmodifieddate: at('d.depositedon', '08:00'),
    },
    'trade_deposited d',
  ),
];

/** A deposit of 50 for every second order that is still open. */
const CUSTOMER_DEPOSITS = [
  insertDocs(
    {
      id: `${ID_OF.customerDeposit} + d.source`,
      type: "'CustDep'",
      tranid: "'CD' || d.source",
      trandate: 'd.trandate',
      createddate: 'd.lastmodifieddate',
      lastmodifieddate: 'd.lastmodifieddate',
      entity: 'd.entity',
      currency: 'd.currency',
      exchangerate: 'd.exchangerate',
      subsidiary: 'd.subsidiary',
      department: 'd.department',
      account: `${ACCOUNT.bank} + d.subsidiary`,
      status: "'B'",
    },
    "trade_doc d WHERE d.type = 'SalesOrd' AND d.status = 'B' AND d.source % 20 = 3",
  ),
  insertLines(
    {
      transaction: 'd.id',
      id: 1,
      netamount: '-round(50 * d.exchangerate, 2)',
      foreignamount: -50,
      account: ACCOUNT.customerDeposits,
      accountinglinetype: "'LIABILITY'",
      subsidiary: 'd.subsidiary',
      department: 'd.department',
      linelastmodifieddate: 'd.lastmodifieddate',
    },
    "trade_doc d WHERE d.type = 'CustDep'",
  ),
];

/** Runs after the sales: fills ledger.application for customers. */
export const moneyStatements: readonly string[] = [
  APPLIED_CREDITS,
  CASH_SALES,
  RECEIVED_TABLE,
  'ANALYZE trade_received',
  ...PAYMENTS,
  DEPOSITED_TABLE,
  ...DEPOSITS,
  ...CUSTOMER_DEPOSITS,
];

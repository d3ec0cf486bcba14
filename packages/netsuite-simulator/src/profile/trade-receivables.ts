// What changes the account of a customer apart from invoices, credit memos and payments: refunds of credit
// memos, and journals that name the customer on a line.
import { ACCOUNT, at, buildPeriodSql, ID_OF, inBase, insertDocs, insertLines } from './trade-sql.ts';

/** What no invoice uses of one credit memo in four is paid back after twenty days. */
const REFUNDED_TABLE = `
CREATE TEMPORARY TABLE trade_refunded ON COMMIT DROP AS
SELECT r.*, ${ID_OF.refund} + r.id AS refund, ${inBase('r.amount', 'r.rate')} AS relieved, ${inBase('r.amount', 'r.refundrate')} AS banked,
  ${at('r.day', '15:00')} AS refundedat
FROM (SELECT h.*, h.trandate + 20 AS day, -h.total - COALESCE(a.amount, 0) AS amount, COALESCE(p.exchangerate, h.rate) AS refundrate
  FROM trade_head h LEFT JOIN (SELECT credit, sum(amount) AS amount FROM ledger.application GROUP BY credit) a ON a.credit = h.id
  JOIN ledger.subsidiary b ON b.id = h.subsidiary
  LEFT JOIN trade_rate p ON p.basecurrency = b.currency AND p.transactioncurrency = h.currency AND p.period = ${buildPeriodSql('h.trandate + 20')}
  WHERE h.type = 'CustCred' AND h.entity IS NOT NULL AND h.id % 4 = 1) r
WHERE r.amount > 0 AND r.day <= (SELECT lastday FROM trade_span)`;

const REFUNDS = [
  insertDocs(
    {
      id: 'r.refund',
      type: "'CustRfnd'",
      tranid: "'REF' || r.id",
      trandate: 'r.day',
      createddate: 'r.refundedat',
      lastmodifieddate: 'r.refundedat',
      entity: 'r.entity',
      currency: 'r.currency',
      exchangerate: 'r.refundrate',
      subsidiary: 'r.subsidiary',
      department: 'r.department',
      account: `${ACCOUNT.bank} + r.subsidiary`,
      paymentmethod: '1 + r.id % 3',
    },
    'trade_refunded r',
  ),
  insertLines(
    {
      transaction: 'r.refund',
      id: 'v.id',
      netamount: 'v.base',
      foreignamount: 'v.amount',
      account: 'v.account',
      accountinglinetype: 'v.kind',
      transactionlinetype: "NULLIF(v.kind, 'ACCOUNTSRECEIVABLE')",
      isfxvariance: "CASE v.kind WHEN 'FXVARIANCE' THEN 'T' END",
      subsidiary: 'r.subsidiary',
      department: 'r.department',
      linelastmodifieddate: 'r.refundedat',
    },
    `trade_refunded r CROSS JOIN LATERAL (VALUES (1, 'ACCOUNTSRECEIVABLE', r.account, r.amount, r.relieved),
       (2, 'FXVARIANCE', ${ACCOUNT.exchangeGain}, 0, r.banked - r.relieved)) v(id, kind, account, amount, base)
     WHERE v.id = 1 OR r.relieved <> r.banked`,
  ),
  `INSERT INTO ledger.application (invoice, credit, amount, appliedon, linkedat, isbyrule)
   SELECT r.id, r.refund, r.amount, r.day, r.refundedat, false FROM trade_refunded r`,
];

/**
 * Some customers pay for the bank's charge on their payment; of some invoices that stay open a small difference
 * is written off. Only customers who trade in the currency of their subsidiary. `amount` is what the customer
 * owes more.
 */
const CHARGED_TABLE = `
CREATE TEMPORARY TABLE trade_charged ON COMMIT DROP AS
SELECT c.*, ${at('c.day', '15:30')} AS chargedat FROM (
  SELECT ${ID_OF.charge} + r.id AS id, 'CHG' || r.id AS tranid, r.entity, r.subsidiary, r.currency, r.account, r.duedate + 1 AS day,
    6.5 + r.id % 7 * 0.25 AS amount, ${ACCOUNT.expenses} AS contra, 'Bank charge passed on' AS memo FROM trade_received r WHERE r.id % 40 = 7
  UNION ALL SELECT ${ID_OF.writeOff} + h.id, 'WO' || h.id, h.entity, h.subsidiary, h.currency, h.account, h.trandate + 10,
    -0.85 - h.id % 70 * 0.01, ${ACCOUNT.badDebt}, 'Small difference written off' FROM trade_head h
    WHERE h.type = 'CustInvc' AND h.entity IS NOT NULL AND h.id % 40 = 10 AND h.total > 5) c
JOIN ledger.subsidiary b ON b.id = c.subsidiary AND b.currency = c.currency WHERE c.day <= (SELECT lastday FROM trade_span)`;

const CHARGES = [
  insertDocs(
    {
      id: 'c.id',
      type: "'Journal'",
      tranid: 'c.tranid',
      trandate: 'c.day',
      createddate: 'c.chargedat',
      lastmodifieddate: 'c.chargedat',
      currency: 'c.currency',
      exchangerate: 1,
      subsidiary: 'c.subsidiary',
      department: 4,
      memo: 'c.memo',
      status: "'B'",
    },
    'trade_charged c',
  ),
  insertLines(
    {
      transaction: 'c.id',
      id: 'v.id',
      memo: 'c.memo',
      entity: 'v.entity',
      netamount: 'v.amount',
      foreignamount: 'v.amount',
      account: 'v.account',
      accountinglinetype: 'v.kind',
      subsidiary: 'c.subsidiary',
      department: 4,
      linelastmodifieddate: 'c.chargedat',
    },
    `trade_charged c CROSS JOIN LATERAL (VALUES (1, c.entity, c.account, c.amount, 'ACCOUNTSRECEIVABLE'),
       (2, NULL::bigint, c.contra, -c.amount, 'EXPENSE')) v(id, entity, account, amount, kind)`,
  ),
];

/** Runs after the money from customers. */
export const receivableStatements: readonly string[] = [
  REFUNDED_TABLE,
  ...REFUNDS,
  CHARGED_TABLE,
  ...CHARGES,
];

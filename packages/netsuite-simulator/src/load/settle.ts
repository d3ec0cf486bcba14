// Settles transactions by rule: derives the due dates, applied credits, received payments and statuses that
// the data lack. The result depends only on the transactions in the books, on what was applied to them
// through the record service, and on the books' day. Entering days one by one therefore gives the same result
// as loading all of them at once. With a profile nothing is applied by rule: there, what is applied was
// generated, and only amounts and statuses are derived from it.
import type { ClientBase } from 'pg';

/**
 * Which transactions are settled: all, or those of the customers `$1` and those with the ids `$2` (both
 * bigint[]).
 */
type Scope = 'all' | 'some';
const scopeCondition = (scope: Scope, alias: string): string =>
  scope === 'all' ? 'TRUE' : `(${alias}.entity = ANY($1) OR ${alias}.id = ANY($2))`;

/** Transactions with paid and unpaid amounts, and those among them whose status doesn't follow from these. */
const SETTLED = "('CustInvc', 'CustCred', 'CustPymt', 'VendBill', 'VendCred', 'VendPymt', 'CustDep')";
const KEEPS_STATUS = "t.type IN ('CustPymt', 'VendPymt', 'CustDep')";

/**
 * Amounts applied through the record service, per transaction. A credit memo may be on both sides: applied to
 * an invoice, and refunded.
 */
const APPLIED_EXPLICITLY = `(SELECT id, sum(amount) AS amount FROM
  (SELECT invoice AS id, amount FROM ledger.application WHERE NOT isbyrule
   UNION ALL SELECT credit, amount FROM ledger.application WHERE NOT isbyrule) side GROUP BY id)`;

/**
 * Joins what is applied to each transaction `t` in scope so far: one aggregated join for all of them, a
 * lateral subquery for a few.
 */
const joinApplied = (scope: Scope): string =>
  scope === 'all'
    ? 'LEFT JOIN (SELECT invoice, sum(amount) AS amount FROM ledger.application GROUP BY invoice) a ON a.invoice = t.id'
    : 'LEFT JOIN LATERAL (SELECT sum(p.amount) AS amount FROM ledger.application p WHERE p.invoice = t.id) a ON TRUE';

/**
 * Lines up each customer's credits and invoices by running totals, oldest first, and applies to an invoice as
 * much of a credit as overlaps.
 */
const applyCredits = (scope: Scope): string => `
INSERT INTO ledger.application (invoice, credit, amount, appliedon, linkedat)
WITH document AS (
  SELECT t.id, t.type, t.entity, t.trandate, t.createddate, abs(t.foreigntotal) - COALESCE(x.amount, 0) AS amount
  FROM ledger.transaction t
  LEFT JOIN ${APPLIED_EXPLICITLY} x ON x.id = t.id
  WHERE t.entity IS NOT NULL AND NOT t.iswritten AND ${scopeCondition(scope, 't')}
    AND ((t.type = 'CustInvc' AND t.foreigntotal > 0) OR (t.type = 'CustCred' AND t.foreigntotal < 0))
), stretch AS (
  SELECT *, sum(amount) OVER (PARTITION BY type, entity ORDER BY trandate, id) AS upto FROM document
)
SELECT i.id, c.id, LEAST(i.upto, c.upto) - GREATEST(i.upto - i.amount, c.upto - c.amount), GREATEST(i.trandate, c.trandate),
  GREATEST(i.createddate, c.createddate)
FROM stretch i JOIN stretch c ON c.entity = i.entity AND c.type = 'CustCred'
WHERE i.type = 'CustInvc' AND LEAST(i.upto, c.upto) > GREATEST(i.upto - i.amount, c.upto - c.amount)`;

/**
 * Pays cash sales on their day, and invoices due by the books' day on their due day, except one in ten (by
 * id), which stays unpaid.
 */
const applyPayments = (scope: Scope): string => `
INSERT INTO ledger.application (invoice, credit, amount, appliedon, linkedat)
SELECT t.id, NULL, t.foreigntotal - COALESCE(a.amount, 0), CASE WHEN t.entity IS NULL THEN t.trandate ELSE t.duedate END, t.createddate
FROM ledger.transaction t
${joinApplied(scope)}
WHERE t.type = 'CustInvc' AND NOT t.iswritten AND ${scopeCondition(scope, 't')} AND t.foreigntotal > COALESCE(a.amount, 0)
  AND (t.entity IS NULL OR (t.id % 10 <> 0 AND t.duedate <= (SELECT day FROM ledger.books)))`;

const TOUCH_LAST_MODIFIED = `, lastmodifieddate = CASE WHEN d.formerstatus IS NULL OR ${KEEPS_STATUS} THEN t.lastmodifieddate
    ELSE GREATEST(t.lastmodifieddate, COALESCE($3, t.lastmodifieddate)) END`;

/**
 * Updates amounts and statuses. Paid and unpaid carry the sign of the total, so that paid + unpaid = total.
 * `$3` is the new lastmodifieddate of changed rows; null leaves it.
 */
const updateAmounts = (scope: Scope): string => `
WITH scoped AS (
  SELECT t.* FROM ledger.transaction t WHERE t.type IN ${SETTLED} AND ${scopeCondition(scope, 't')}
), used AS (
  SELECT s.id, a.amount * sign(s.foreigntotal) AS amount, a.appliedon FROM scoped s JOIN ledger.application a ON a.invoice = s.id
  UNION ALL
  SELECT s.id, a.amount * sign(s.foreigntotal), a.appliedon FROM scoped s JOIN ledger.application a ON a.credit = s.id
), applied AS (
  SELECT id, sum(amount) AS amount, max(appliedon) AS lastapplied FROM used GROUP BY id
), settled AS (
  SELECT s.id, COALESCE(a.amount, 0) AS paid, s.foreigntotal - COALESCE(a.amount, 0) AS unpaid,
    COALESCE(a.lastapplied, s.trandate) AS lastapplied, s.status AS formerstatus
  FROM scoped s LEFT JOIN applied a USING (id)
), decided AS (
  SELECT id, paid, unpaid, formerstatus, CASE WHEN unpaid = 0 THEN 'B' ELSE 'A' END AS status,
    CASE WHEN unpaid = 0 THEN lastapplied END AS closedate FROM settled
)
UPDATE ledger.transaction t SET foreignamountpaid = d.paid, foreignamountunpaid = d.unpaid,
  status = CASE WHEN ${KEEPS_STATUS} THEN t.status ELSE d.status END,
  closedate = CASE WHEN ${KEEPS_STATUS} THEN NULL ELSE d.closedate END
  ${scope === 'all' ? '' : TOUCH_LAST_MODIFIED}
FROM decided d
WHERE d.id = t.id AND (t.foreignamountpaid, t.foreignamountunpaid, t.closedate) IS DISTINCT FROM (d.paid, d.unpaid, d.closedate)`;

/** For rows just loaded from the files, which have no status yet. */
const PREPARE = [
  "UPDATE ledger.transaction SET duedate = trandate + 30 WHERE type = 'CustInvc' AND status IS NULL AND NOT iswritten",
  "UPDATE ledger.transaction SET status = 'B' WHERE type = 'Journal' AND status IS NULL",
];

export const SETTLE_ALL: readonly string[] = [
  ...PREPARE,
  applyCredits('all'),
  applyPayments('all'),
  updateAmounts('all'),
];

const SETTLE_SOME: readonly string[] = [
  `DELETE FROM ledger.application a USING ledger.transaction t WHERE a.isbyrule AND a.invoice = t.id AND ${scopeCondition('some', 't')}`,
  applyCredits('some'),
  applyPayments('some'),
];

/**
 * Settles the transactions of these customers and those with these ids again. `touchedAt`: the
 * lastmodifieddate of what changes, or null; see Switches.paymentTouchesInvoice.
 */
export async function settleTransactions(
  client: ClientBase,
  customers: readonly string[],
  ids: readonly string[],
  touchedAt: Date | null,
): Promise<void> {
  for (const statement of PREPARE) await client.query(statement);
  for (const statement of SETTLE_SOME) await client.query(statement, [customers, ids]);
  await client.query(updateAmounts('some'), [customers, ids, touchedAt]);
}

// Posts what the record service writes in an account with a profile, so that its books stay balanced: the
// base amounts of the item lines, and the generated lines, which are those of the header, of VAT, of the cost
// of goods sold, of the receivable and of the exchange difference. A generated line keeps its key as long as
// the transaction has such a line.
import type { ClientBase } from 'pg';
import { ACCOUNT, inBase, PAYS_VAT, VAT_ITEM, VAT_RATE, ZERO_RATED_ITEM } from './trade-sql.ts';

/** What a document sells or takes back: its item lines and its shipping lines. */
const SOLD_LINE =
  "l.mainline = 'F' AND l.taxline = 'F' AND l.iscogs = 'F' AND l.isfxvariance IS DISTINCT FROM 'T'";
const DOCUMENTS = "('CustInvc', 'CustCred', 'SalesOrd')";
const PAYMENTS = "('CustPymt', 'CustRfnd')";

/**
 * Base amounts, accounts and segments of the lines with items, from the transaction's rate, its customer and
 * the items.
 */
const UPDATE_SOLD_LINES = `
UPDATE ledger.transactionline l SET foreignamount = v.amount, netamount = v.base, account = v.account, subsidiary = v.subsidiary,
  department = v.department, class = v.class, location = v.location, accountinglinetype = v.accounting,
  quantitybilled = COALESCE(l.quantitybilled, v.none), quantityshiprecv = COALESCE(l.quantityshiprecv, v.none)
FROM (SELECT l.uniquekey, a.amount, ${inBase('a.amount', 't.exchangerate')} AS base, CASE WHEN t.posting = 'T' THEN COALESCE(i.incomeaccount, ${ACCOUNT.sales}) END AS account,
    t.subsidiary, COALESCE(l.department, t.department) AS department, COALESCE(l.class, i.class) AS class, COALESCE(l.location, t.location) AS location,
    CASE WHEN t.posting = 'T' THEN 'INCOME' END AS accounting, CASE WHEN t.type = 'SalesOrd' AND l.quantity IS NOT NULL THEN 0 END AS none
  FROM ledger.transactionline l JOIN ledger.transaction t ON t.id = l.transaction LEFT JOIN ledger.item i ON i.id = l.item
  CROSS JOIN LATERAL (SELECT COALESCE(l.foreignamount, l.netamount) AS amount) a
  WHERE t.id = ANY($1) AND t.type IN ${DOCUMENTS} AND ${SOLD_LINE}) v
WHERE l.uniquekey = v.uniquekey AND ((l.foreignamount, l.netamount, l.account, l.department, l.class, l.location)
  IS DISTINCT FROM (v.amount, v.base, v.account, v.department, v.class, v.location) OR (l.quantitybilled IS NULL AND v.none IS NOT NULL))`;

/**
 * What is sold, and the VAT on it, with the sign of the lines. Customers in the United Kingdom pay VAT; the
 * rate of others is zero.
 */
const SOLD = `(SELECT s.*, CASE WHEN s.istaxed THEN round(${VAT_RATE} * s.amount, 2) ELSE 0 END AS vat
  FROM (SELECT t.id, COALESCE(sum(l.foreignamount), 0) AS amount, COALESCE(sum(l.netamount), 0) AS base,
      EXISTS (SELECT FROM ledger.customer c WHERE c.id = t.entity AND ${PAYS_VAT}) AS istaxed
    FROM ledger.transaction t LEFT JOIN ledger.transactionline l ON l.transaction = t.id AND ${SOLD_LINE}
    WHERE t.id = ANY($1) AND t.type IN ${DOCUMENTS} GROUP BY t.id) s)`;

const UPDATE_TOTALS = `
UPDATE ledger.transaction t SET taxtotal = CASE WHEN s.istaxed OR t.type = 'SalesOrd' THEN -s.vat END, foreigntotal = -s.amount - s.vat FROM ${SOLD} s WHERE t.id = s.id`;

/** A cash sale is paid with the goods, whatever it amounts to, unless it has become a return. */
const PAY_CASH_SALES = `UPDATE ledger.application a SET amount = GREATEST(t.foreigntotal, 0) FROM ledger.transaction t
  WHERE t.id = ANY($1) AND a.invoice = t.id AND a.credit IS NULL AND t.entity IS NULL AND a.amount <> GREATEST(t.foreigntotal, 0)`;

/**
 * The base amount that applying `a.amount` takes from a receivable: of an invoice its share, otherwise at the
 * rate of what it is applied to.
 */
const APPLIED_BASE = `CASE WHEN d.exchangerate = 1 THEN a.amount
  ELSE round(a.amount * COALESCE(abs(h.netamount / NULLIF(h.foreignamount, 0)), d.exchangerate), 2) END`;
const INVOICE_HEADER =
  "LEFT JOIN ledger.transactionline h ON h.transaction = d.id AND h.mainline = 'T' AND d.type = 'CustInvc'";
/** Per payment, refund or credit memo: amount and base amount of what it is applied to. */
const APPLIED = `(SELECT a.credit AS id, sum(a.amount) AS amount, sum(${APPLIED_BASE}) AS base
  FROM ledger.application a JOIN ledger.transaction d ON d.id = a.invoice ${INVOICE_HEADER}
  WHERE a.credit = ANY($1) GROUP BY a.credit)`;

/** The generated lines that the transactions must have. `n` counts those of the same part. */
const WANTED = `
doc AS (SELECT t.*, s.base AS soldbase, s.vat, ${inBase('s.vat', 't.exchangerate')} AS vatbase, s.istaxed,
    CASE WHEN t.entity IS NULL THEN ${ACCOUNT.undepositedFunds} ELSE COALESCE(c.receivablesaccount, ${ACCOUNT.receivable}) END AS receivable
  FROM ledger.transaction t LEFT JOIN ${SOLD} s ON s.id = t.id LEFT JOIN ledger.customer c ON c.id = t.entity
  WHERE t.id = ANY($1) AND t.type IN ('CustInvc', 'CustCred', 'SalesOrd', 'CustPymt', 'CustRfnd')),
credited AS (SELECT a.credit AS id, sum(${APPLIED_BASE} - round(a.amount * (t.soldbase + t.vatbase) / abs(t.foreigntotal), 2)) AS difference
  FROM doc t JOIN ledger.application a ON a.credit = t.id JOIN ledger.transaction d ON d.id = a.invoice AND d.exchangerate <> t.exchangerate
  ${INVOICE_HEADER} WHERE t.type = 'CustCred' AND t.foreigntotal <> 0 GROUP BY a.credit),
money AS (SELECT t.id, (${inBase('t.foreigntotal', 't.exchangerate')}) * CASE t.type WHEN 'CustRfnd' THEN -1 ELSE 1 END AS base,
    (COALESCE(a.base, 0) + ${inBase('(t.foreigntotal - COALESCE(a.amount, 0))', 't.exchangerate')}) * CASE t.type WHEN 'CustRfnd' THEN 1 ELSE -1 END AS applied
  FROM doc t LEFT JOIN ${APPLIED} a ON a.id = t.id WHERE t.type IN ${PAYMENTS}),
moved AS (SELECT l.transaction, l.item, l.quantity, l.location, l.class, l.quantity * i.averagecost AS cost,
    row_number() OVER (PARTITION BY l.transaction ORDER BY l.id) AS n, i.expenseaccount, i.assetaccount
  FROM doc t JOIN ledger.transactionline l ON l.transaction = t.id AND ${SOLD_LINE}
  JOIN ledger.item i ON i.id = l.item AND i.averagecost IS NOT NULL AND i.itemtype = 'InvtPart'
  WHERE t.type IN ('CustInvc', 'CustCred') AND l.quantity <> 0 AND NOT EXISTS (SELECT FROM ledger.transactionline s JOIN ledger.transaction f ON f.id = s.transaction
    WHERE s.createdfrom = l.createdfrom AND f.type = 'ItemShip')),
posted (transaction, part, n, account, foreignamount, netamount, item, quantity, rate, memo, linetype, accounting, location, class) AS (
  SELECT id, 'header', 1::bigint, receivable, foreigntotal, -soldbase - vatbase - COALESCE(difference, 0), NULL::bigint, NULL::numeric, NULL::numeric, memo, NULL,
    CASE WHEN entity IS NULL THEN 'PAYMENT' ELSE 'ACCOUNTSRECEIVABLE' END, CASE WHEN posting = 'T' THEN location END, NULL::bigint
    FROM doc LEFT JOIN credited USING (id) WHERE type IN ${DOCUMENTS}
  UNION ALL SELECT id, 'variance', 1, ${ACCOUNT.exchangeGain}, 0, difference, NULL, NULL, NULL, NULL, 'FXVARIANCE', 'FXVARIANCE', location, NULL
    FROM doc JOIN credited USING (id) WHERE difference <> 0
  UNION ALL SELECT id, 'tax', 1, ${ACCOUNT.vatPayable}, vat, vatbase, CASE WHEN istaxed THEN ${VAT_ITEM} ELSE ${ZERO_RATED_ITEM} END, NULL,
    CASE WHEN istaxed THEN ${VAT_RATE} ELSE 0 END, 'VAT', 'TAX', 'TAX', location, NULL FROM doc WHERE type IN ${DOCUMENTS} AND entity IS NOT NULL
  UNION ALL SELECT transaction, 'cost', n, COALESCE(expenseaccount, ${ACCOUNT.costOfGoods}), -cost, -cost, item, -quantity, NULL, NULL, 'COGS', 'COGS',
    location, class FROM moved
  UNION ALL SELECT transaction, 'stock', n, COALESCE(assetaccount, ${ACCOUNT.inventory}), cost, cost, item, quantity, NULL, NULL, 'ASSET', 'ASSET',
    location, class FROM moved
  UNION ALL SELECT t.id, 'header', 1, COALESCE(t.account, ${ACCOUNT.undepositedFunds}), sign(m.base) * t.foreigntotal, m.base, NULL, NULL, NULL, t.memo,
    NULL, 'PAYMENT', t.location, NULL FROM doc t JOIN money m USING (id)
  UNION ALL SELECT t.id, 'receivable', 1, t.receivable, -sign(m.base) * t.foreigntotal, m.applied, NULL, NULL, NULL, NULL, NULL, 'ACCOUNTSRECEIVABLE',
    t.location, NULL FROM doc t JOIN money m USING (id)
  UNION ALL SELECT t.id, 'variance', 1, ${ACCOUNT.exchangeGain}, 0, -m.base - m.applied, NULL, NULL, NULL, NULL, 'FXVARIANCE', 'FXVARIANCE', t.location, NULL
    FROM doc t JOIN money m USING (id) WHERE m.base + m.applied <> 0),
wanted AS (SELECT p.transaction, p.part, p.n, CASE WHEN d.posting = 'T' THEN p.account END AS account, p.foreignamount, p.netamount, p.item, p.quantity, p.rate,
    p.memo, p.linetype, CASE WHEN d.posting = 'T' THEN p.accounting END AS accounting, p.location, p.class FROM posted p JOIN doc d ON d.id = p.transaction)`;

const EXISTING = `
existing AS (SELECT uniquekey, transaction, part, row_number() OVER (PARTITION BY transaction, part ORDER BY id, uniquekey) AS n FROM (
  SELECT l.uniquekey, l.id, l.transaction, CASE WHEN l.mainline = 'T' THEN 'header' WHEN l.taxline = 'T' THEN 'tax' WHEN l.isfxvariance = 'T' THEN 'variance'
      WHEN l.iscogs = 'T' THEN CASE WHEN l.accountinglinetype = 'COGS' THEN 'cost' ELSE 'stock' END WHEN d.type IN ${PAYMENTS} THEN 'receivable' END AS part
  FROM doc d JOIN ledger.transactionline l ON l.transaction = d.id) e WHERE part IS NOT NULL)`;

const VALUES =
  'account, foreignamount, netamount, item, quantity, rate, memo, linetype, accounting, location, class';
const prefixed = (alias: string): string =>
  VALUES.split(', ')
    .map((name) => `${alias}.${name}`)
    .join(', ');

const WRITE_GENERATED_LINES = `
WITH ${WANTED}, ${EXISTING}
MERGE INTO ledger.transactionline l USING (
  SELECT e.uniquekey, w.part AS wanted, COALESCE(w.transaction, e.transaction) AS transaction, ${prefixed('w')}, t.lastmodifieddate AS at, t.subsidiary, t.department,
    last.id + row_number() OVER (PARTITION BY w.transaction ORDER BY w.part DESC, w.n) AS id,
    last.sequence + row_number() OVER (PARTITION BY w.transaction ORDER BY w.part DESC, w.n) AS sequence
  FROM wanted w FULL JOIN existing e USING (transaction, part, n)
  JOIN ledger.transaction t ON t.id = COALESCE(w.transaction, e.transaction)
  CROSS JOIN LATERAL (SELECT COALESCE(max(l.id), 0) AS id, COALESCE(max(l.linesequencenumber), 0) AS sequence
    FROM ledger.transactionline l WHERE l.transaction = t.id) last
) s ON l.uniquekey = s.uniquekey
WHEN MATCHED AND s.wanted IS NULL THEN DELETE
WHEN MATCHED AND (${prefixed('s')}) IS DISTINCT FROM
  (l.account, l.foreignamount, l.netamount, l.item, l.quantity, l.rate, l.memo, l.transactionlinetype, l.accountinglinetype, l.location, l.class)
  THEN UPDATE SET account = s.account, foreignamount = s.foreignamount, netamount = s.netamount, item = s.item, quantity = s.quantity, rate = s.rate,
    memo = s.memo, transactionlinetype = s.linetype, accountinglinetype = s.accounting, location = s.location, class = s.class, linelastmodifieddate = s.at
WHEN NOT MATCHED THEN INSERT (uniquekey, id, transaction, linesequencenumber, account, foreignamount, netamount, item, quantity, rate, memo,
    transactionlinetype, accountinglinetype, location, class, mainline, taxline, iscogs, isfxvariance, subsidiary, department, linelastmodifieddate)
  VALUES (nextval('ledger.line_key'), CASE s.wanted WHEN 'header' THEN 0 ELSE s.id END, s.transaction, CASE s.wanted WHEN 'header' THEN 0 ELSE s.sequence END,
    ${prefixed('s')}, CASE s.wanted WHEN 'header' THEN 'T' ELSE 'F' END, CASE s.wanted WHEN 'tax' THEN 'T' ELSE 'F' END,
    CASE WHEN s.wanted IN ('cost', 'stock') THEN 'T' ELSE 'F' END, CASE s.wanted WHEN 'variance' THEN 'T' END, s.subsidiary, s.department, s.at)`;

/**
 * Writes the base amounts and VAT of the item lines of these transactions, and the transactions' totals.
 * Before anything is applied, which depends on the totals. Transactions of other types than invoice, credit
 * memo and sales order stay as they are.
 */
export async function totalTransactions(client: ClientBase, ids: readonly string[]): Promise<void> {
  await client.query(UPDATE_SOLD_LINES, [ids]);
  await client.query(UPDATE_TOTALS, [ids]);
  await client.query(PAY_CASH_SALES, [ids]);
  await client.query(
    "UPDATE ledger.transaction SET postingperiod = to_char(trandate, 'YYYYMM')::bigint WHERE id = ANY($1) AND posting = 'T'",
    [ids],
  );
}

/** The ids of what is applied to this transaction: its postings depend on the transaction's rate. */
export async function listPayers(client: ClientBase, id: string): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT credit AS id FROM ledger.application WHERE invoice = $1 AND credit IS NOT NULL',
    [id],
  );
  return rows.map((row) => row.id);
}

/**
 * Writes the generated lines of these transactions, so that each of them balances. Totals and applied amounts
 * must be up to date. Transactions of other types than invoice, credit memo, sales order, customer payment
 * and refund stay as they are.
 */
export async function postTransactions(client: ClientBase, ids: readonly string[]): Promise<void> {
  await client.query(WRITE_GENERATED_LINES, [ids]);
}

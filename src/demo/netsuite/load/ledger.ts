// The account's books: base tables as the data files hold them, and the statements that derive what the data lack.
// Amounts are numeric throughout, so that sums are exact to the penny.

/** Times in the data files are local to this zone, whatever zone the account's users prefer. */
export const DATA_TIME_ZONE = 'Europe/London';

export const LEDGER_TABLES = `
CREATE SCHEMA ledger;
CREATE TABLE ledger.customer (id bigint NOT NULL, entityid text NOT NULL, isperson text NOT NULL, isinactive text NOT NULL,
  currency bigint NOT NULL, defaultcountry text, datecreated timestamptz NOT NULL, lastmodifieddate timestamptz NOT NULL);
CREATE TABLE ledger.item (id bigint NOT NULL, itemid text NOT NULL, displayname text, itemtype text NOT NULL, isinactive text NOT NULL,
  createddate timestamptz NOT NULL, lastmodifieddate timestamptz NOT NULL);
CREATE TABLE ledger.transaction (id bigint NOT NULL, tranid text NOT NULL, type text NOT NULL, trandate date NOT NULL, entity bigint,
  currency bigint NOT NULL, exchangerate numeric NOT NULL, posting text NOT NULL, foreigntotal numeric NOT NULL,
  createddate timestamptz NOT NULL, lastmodifieddate timestamptz NOT NULL,
  duedate date, closedate date, status text, foreignamountpaid numeric, foreignamountunpaid numeric);
CREATE TABLE ledger.transactionline (uniquekey bigint NOT NULL, id bigint NOT NULL, transaction bigint NOT NULL, linesequencenumber bigint NOT NULL,
  item bigint, memo text, quantity numeric, rate numeric, netamount numeric, mainline text NOT NULL, taxline text NOT NULL,
  linelastmodifieddate timestamptz NOT NULL);
CREATE TABLE ledger.application (invoice bigint NOT NULL, credit bigint, amount numeric NOT NULL, appliedon date NOT NULL);
CREATE TABLE ledger.deletedrecord (recordid bigint NOT NULL, recordtypeid bigint, scriptid text, name text, type text, context text,
  deletedby bigint, deleteddate timestamptz NOT NULL, iscustomlist text, iscustomrecord text, iscustomtransaction text);
CREATE TABLE ledger.customfield (internalid bigint, scriptid text, name text, fieldtype text, fieldvaluetype text);

CREATE TABLE ledger.currency (id bigint PRIMARY KEY, name text, symbol text, displaysymbol text, currencyprecision bigint,
  exchangerate numeric, isbasecurrency text, isinactive text, lastmodifieddate timestamptz);
CREATE TABLE ledger.transactiontype (code text PRIMARY KEY, label text, recordtype text, abbreviation text);
INSERT INTO ledger.transactiontype VALUES ('CustInvc', 'Invoice', 'invoice', 'INV'), ('CustCred', 'Credit Memo', 'creditmemo', 'CREDMEM'),
  ('Journal', 'Journal', 'journalentry', 'GENJRNL');
CREATE TABLE ledger.transactionstatus (id text, name text, fullname text, trantype text, PRIMARY KEY (trantype, id));
INSERT INTO ledger.transactionstatus SELECT s.id, s.name, k.label || ' : ' || s.name, k.code
  FROM (VALUES ('CustInvc', 'A', 'Open'), ('CustInvc', 'B', 'Paid In Full'), ('CustCred', 'A', 'Open'), ('CustCred', 'B', 'Fully Applied'),
    ('Journal', 'A', 'Pending Approval'), ('Journal', 'B', 'Approved for Posting')) s(trantype, id, name)
  JOIN ledger.transactiontype k ON k.code = s.trantype`;

/** Made after the rows are in: several times faster than keeping them up during the load. Their names say what a violation means. */
export const LEDGER_INDEXES = [
  'ALTER TABLE ledger.customer ADD CONSTRAINT customer_id_is_unique PRIMARY KEY (id)',
  'ALTER TABLE ledger.item ADD CONSTRAINT item_id_is_unique PRIMARY KEY (id)',
  'ALTER TABLE ledger.transaction ADD CONSTRAINT transaction_id_is_unique PRIMARY KEY (id)',
  'ALTER TABLE ledger.transactionline ADD CONSTRAINT transactionline_uniquekey_is_unique PRIMARY KEY (uniquekey)',
  'CREATE INDEX customer_by_change ON ledger.customer (lastmodifieddate, id)',
  'CREATE INDEX item_by_change ON ledger.item (lastmodifieddate, id)',
  'CREATE INDEX transaction_by_type ON ledger.transaction (type, id)',
  'CREATE INDEX transaction_by_change ON ledger.transaction (lastmodifieddate, id)',
  'CREATE INDEX transaction_by_date ON ledger.transaction (trandate, id)',
  'CREATE INDEX transaction_by_entity ON ledger.transaction (entity)',
  'CREATE INDEX transactionline_by_transaction ON ledger.transactionline (transaction, id)',
  'CREATE INDEX transactionline_by_change ON ledger.transactionline (linelastmodifieddate, uniquekey)',
];

const CURRENCY = `
INSERT INTO ledger.currency SELECT 1, 'GBP', 'GBP', '£', 2, 1, 'T', 'F', min(createddate) FROM ledger.transaction`;

/** Lays each customer's credits and invoices end to end, oldest first; where a credit's stretch overlaps an invoice's, that much is applied. */
const APPLY_CREDITS = `
INSERT INTO ledger.application (invoice, credit, amount, appliedon)
WITH invoice AS (
  SELECT id, entity, trandate, foreigntotal AS amount, sum(foreigntotal) OVER (PARTITION BY entity ORDER BY trandate, id) AS upto
  FROM ledger.transaction WHERE type = 'CustInvc' AND foreigntotal > 0 AND entity IS NOT NULL
), credit AS (
  SELECT id, entity, trandate, -foreigntotal AS amount, sum(-foreigntotal) OVER (PARTITION BY entity ORDER BY trandate, id) AS upto
  FROM ledger.transaction WHERE type = 'CustCred' AND foreigntotal < 0 AND entity IS NOT NULL
)
SELECT i.id, c.id, LEAST(i.upto, c.upto) - GREATEST(i.upto - i.amount, c.upto - c.amount), GREATEST(i.trandate, c.trandate)
FROM invoice i JOIN credit c USING (entity)
WHERE LEAST(i.upto, c.upto) > GREATEST(i.upto - i.amount, c.upto - c.amount)`;

/** Cash sales are paid on the day; invoices that have fallen due are paid on their due day, but one in ten (by id) stays unpaid. */
const RECEIVE_PAYMENTS = `
INSERT INTO ledger.application (invoice, credit, amount, appliedon)
SELECT t.id, NULL, t.foreigntotal - COALESCE(a.amount, 0), CASE WHEN t.entity IS NULL THEN t.trandate ELSE t.duedate END
FROM ledger.transaction t
LEFT JOIN (SELECT invoice, sum(amount) AS amount FROM ledger.application GROUP BY invoice) a ON a.invoice = t.id
WHERE t.type = 'CustInvc' AND t.foreigntotal > COALESCE(a.amount, 0)
  AND (t.entity IS NULL OR (t.id % 10 <> 0 AND t.duedate <= (SELECT max(trandate) FROM ledger.transaction)))`;

/** Paid and unpaid bear the sign of the total, so that paid + unpaid = total on every invoice and credit memo. */
const SETTLE = `
WITH applied AS (
  SELECT invoice AS id, sum(amount) AS amount, max(appliedon) AS lastapplied FROM ledger.application GROUP BY invoice
  UNION ALL
  SELECT credit, -sum(amount), max(appliedon) FROM ledger.application WHERE credit IS NOT NULL GROUP BY credit
), settled AS (
  SELECT t.id, COALESCE(a.amount, 0) AS paid, t.foreigntotal - COALESCE(a.amount, 0) AS unpaid, COALESCE(a.lastapplied, t.trandate) AS lastapplied
  FROM ledger.transaction t LEFT JOIN applied a USING (id) WHERE t.type IN ('CustInvc', 'CustCred')
)
UPDATE ledger.transaction t SET foreignamountpaid = s.paid, foreignamountunpaid = s.unpaid,
  status = CASE WHEN s.unpaid = 0 THEN 'B' ELSE 'A' END, closedate = CASE WHEN s.unpaid = 0 THEN s.lastapplied END
FROM settled s WHERE s.id = t.id`;

export const DERIVE = [
  CURRENCY,
  "UPDATE ledger.transaction SET duedate = trandate + 30 WHERE type = 'CustInvc'",
  "UPDATE ledger.transaction SET status = 'B' WHERE type = 'Journal'",
  APPLY_CREDITS,
  RECEIVE_PAYMENTS,
  'CREATE INDEX application_by_invoice ON ledger.application (invoice)',
  'CREATE INDEX application_by_credit ON ledger.application (credit)',
  SETTLE,
];

// The account's books: base tables with the columns of the data files and those that only the record service
// writes. All amounts are numeric, so that sums are exact to the penny. The texts below, except
// LEDGER_ADDITIONS, are part of the data's checksum (load-folder.ts): editing one makes existing accounts
// load their data again.

/** The time zone of the times in the data files, independent of the users' time zone. */
export const DATA_TIME_ZONE = 'Europe/London';

const PERSON = `id bigint PRIMARY KEY, entityid text NOT NULL, isperson text NOT NULL DEFAULT 'F', isinactive text NOT NULL DEFAULT 'F',
  companyname text, firstname text, lastname text, email text, phone text, externalid text, title text, company bigint,
  datecreated timestamptz NOT NULL, lastmodifieddate timestamptz NOT NULL, subsidiary bigint NOT NULL DEFAULT 1`;

export const LEDGER_TABLES = `
CREATE SCHEMA ledger;
CREATE TABLE ledger.customer (id bigint NOT NULL, entityid text NOT NULL, isperson text NOT NULL, isinactive text NOT NULL,
  currency bigint NOT NULL, defaultcountry text, datecreated timestamptz NOT NULL, lastmodifieddate timestamptz NOT NULL,
  externalid text, companyname text, firstname text, lastname text, email text, phone text, url text, comments text,
  creditlimit numeric, entitystatus bigint, subsidiary bigint NOT NULL DEFAULT 1, category bigint, terms bigint, pricelevel bigint,
  salesrep bigint, parent bigint, receivablesaccount bigint, defaultbillingaddress bigint, defaultshippingaddress bigint);
CREATE TABLE ledger.item (id bigint NOT NULL, itemid text NOT NULL, displayname text, itemtype text NOT NULL, isinactive text NOT NULL,
  createddate timestamptz NOT NULL, lastmodifieddate timestamptz NOT NULL,
  externalid text, salesdescription text, upccode text, baseprice numeric, subsidiary text NOT NULL DEFAULT '1', class bigint, department bigint,
  location bigint, incomeaccount bigint, expenseaccount bigint, assetaccount bigint, averagecost numeric, parent bigint, subtype text,
  totalquantityonhand numeric);
CREATE TABLE ledger.transaction (id bigint NOT NULL, tranid text NOT NULL, type text NOT NULL, trandate date NOT NULL, entity bigint,
  currency bigint NOT NULL, exchangerate numeric NOT NULL, posting text NOT NULL, foreigntotal numeric NOT NULL,
  createddate timestamptz NOT NULL, lastmodifieddate timestamptz NOT NULL,
  duedate date, closedate date, status text, foreignamountpaid numeric, foreignamountunpaid numeric,
  externalid text, memo text, otherrefnum text, account bigint, undepfunds text, paymentmethod bigint, shipdate date, iswritten boolean NOT NULL DEFAULT false,
  subsidiary bigint NOT NULL DEFAULT 1, department bigint, class bigint, location bigint, postingperiod bigint, terms bigint, employee bigint,
  taxtotal numeric, createdby bigint, lastmodifiedby bigint, billingaddress bigint, shippingaddress bigint, transactionnumber text,
  approvalstatus bigint, accountingbook bigint);
COMMENT ON COLUMN ledger.transaction.iswritten IS 'written through the record service, or of a profile: settled by what is applied to it, not by rule';
CREATE TABLE ledger.transactionline (uniquekey bigint NOT NULL, id bigint NOT NULL, transaction bigint NOT NULL, linesequencenumber bigint NOT NULL,
  item bigint, memo text, quantity numeric, rate numeric, netamount numeric, mainline text NOT NULL, taxline text NOT NULL,
  linelastmodifieddate timestamptz NOT NULL, createdfrom bigint,
  foreignamount numeric, account bigint, department bigint, class bigint, location bigint, subsidiary bigint NOT NULL DEFAULT 1,
  iscogs text NOT NULL DEFAULT 'F', isfxvariance text, accountinglinetype text, transactionlinetype text, quantitybilled numeric,
  quantityshiprecv numeric, expenseaccount bigint, entity bigint);
COMMENT ON COLUMN ledger.transactionline.entity IS 'whom a line of a journal names; other lines have the entity of their transaction';
CREATE TABLE ledger.application (invoice bigint NOT NULL, credit bigint, amount numeric NOT NULL, appliedon date NOT NULL,
  linkedat timestamptz NOT NULL, isbyrule boolean NOT NULL DEFAULT true);
COMMENT ON COLUMN ledger.application.invoice IS 'what is paid; of a refund: the payment or credit memo whose money goes back';
COMMENT ON COLUMN ledger.application.credit IS 'the credit memo, payment or refund; null: money received, of which there is no transaction';
CREATE TABLE ledger.deletedrecord (recordid bigint NOT NULL, recordtypeid bigint, scriptid text, name text, type text, context text,
  deletedby bigint, deleteddate timestamptz NOT NULL, iscustomlist text, iscustomrecord text, iscustomtransaction text);
CREATE TABLE ledger.customfield (internalid bigint, scriptid text, name text, fieldtype text, fieldvaluetype text);
CREATE TABLE ledger.books (day date NOT NULL);
COMMENT ON COLUMN ledger.books.day IS 'the last day that is in the books; what falls due by then has been paid, by rule';

CREATE TABLE ledger.vendor (${PERSON}, category bigint, terms bigint, currency bigint, payablesaccount bigint);
CREATE TABLE ledger.employee (${PERSON}, supervisor bigint, department bigint, location bigint);
CREATE TABLE ledger.contact (${PERSON});
CREATE TABLE ledger.partner (${PERSON});
CREATE TABLE ledger.subsidiary (id bigint PRIMARY KEY, name text, parent bigint, currency bigint, country text, iselimination text,
  isinactive text, lastmodifieddate timestamptz, legalname text, state text, email text, url text, mainaddress bigint, edition text,
  externalid text, federalidnumber text, tranprefix text, fiscalcalendar bigint, shippingaddress bigint, returnaddress bigint);
CREATE TABLE ledger.currency (id bigint PRIMARY KEY, name text, symbol text, displaysymbol text, currencyprecision bigint,
  exchangerate numeric, isbasecurrency text, isinactive text, lastmodifieddate timestamptz, externalid text, symbolplacement bigint,
  fxrateupdatetimezone bigint, includeinfxrateupdates text, overridecurrencyformat text);
CREATE TABLE ledger.transactiontype (code text PRIMARY KEY, label text, recordtype text, abbreviation text);
INSERT INTO ledger.transactiontype VALUES ('CustInvc', 'Invoice', 'invoice', 'INV'), ('CustCred', 'Credit Memo', 'creditmemo', 'CREDMEM'),
  ('Journal', 'Journal', 'journalentry', 'GENJRNL'), ('CustPymt', 'Payment', 'customerpayment', 'PYMT'),
  ('SalesOrd', 'Sales Order', 'salesorder', 'SALESORD'), ('CustRfnd', 'Customer Refund', 'customerrefund', 'CUSTRFND');
CREATE TABLE ledger.transactionstatus (id text, name text, fullname text, trantype text, PRIMARY KEY (trantype, id));
INSERT INTO ledger.transactionstatus SELECT s.id, s.name, k.label || ' : ' || s.name, k.code
  FROM (VALUES ('CustInvc', 'A', 'Open'), ('CustInvc', 'B', 'Paid In Full'), ('CustCred', 'A', 'Open'), ('CustCred', 'B', 'Fully Applied'),
    ('Journal', 'A', 'Pending Approval'), ('Journal', 'B', 'Approved for Posting'), ('CustPymt', 'A', 'Unapproved Payment'),
    ('CustPymt', 'B', 'Not Deposited'), ('CustPymt', 'C', 'Deposited'), ('SalesOrd', 'A', 'Pending Approval'),
    ('SalesOrd', 'B', 'Pending Fulfillment'), ('SalesOrd', 'C', 'Cancelled'), ('SalesOrd', 'F', 'Pending Billing'),
    ('SalesOrd', 'G', 'Billed'), ('SalesOrd', 'H', 'Closed')) s(trantype, id, name)
  JOIN ledger.transactiontype k ON k.code = s.trantype`;

/**
 * Created once the files are loaded, before a profile generates rows. The names say what a violation means.
 */
export const LEDGER_KEYS = [
  'ALTER TABLE ledger.customer ADD CONSTRAINT customer_id_is_unique PRIMARY KEY (id)',
  'ALTER TABLE ledger.item ADD CONSTRAINT item_id_is_unique PRIMARY KEY (id)',
  'ALTER TABLE ledger.transaction ADD CONSTRAINT transaction_id_is_unique PRIMARY KEY (id)',
];

/** Created after all rows are loaded, which is several times faster than maintaining them meanwhile. */
export const LEDGER_INDEXES = [
  'ALTER TABLE ledger.transactionline ADD CONSTRAINT transactionline_uniquekey_is_unique PRIMARY KEY (uniquekey)',
  'CREATE UNIQUE INDEX customer_externalid_is_unique ON ledger.customer (externalid)',
  'CREATE UNIQUE INDEX item_externalid_is_unique ON ledger.item (externalid)',
  'CREATE UNIQUE INDEX transaction_externalid_is_unique_per_type ON ledger.transaction (type, externalid) WHERE externalid IS NOT NULL',
  'CREATE INDEX customer_by_change ON ledger.customer (lastmodifieddate, id)',
  'CREATE INDEX item_by_change ON ledger.item (lastmodifieddate, id)',
  'CREATE INDEX transaction_by_type ON ledger.transaction (type, id)',
  'CREATE INDEX transaction_by_change ON ledger.transaction (lastmodifieddate, id)',
  'CREATE INDEX transaction_by_date ON ledger.transaction (trandate, id)',
  'CREATE INDEX transaction_by_entity ON ledger.transaction (entity)',
  'CREATE INDEX transactionline_by_transaction ON ledger.transactionline (transaction, id)',
  'CREATE INDEX transactionline_by_item ON ledger.transactionline (item)',
  'CREATE INDEX transactionline_by_change ON ledger.transactionline (linelastmodifieddate, uniquekey)',
  'CREATE INDEX transactionline_by_entity ON ledger.transactionline (entity) WHERE entity IS NOT NULL',
  'CREATE INDEX transactionline_by_origin ON ledger.transactionline (createdfrom) WHERE createdfrom IS NOT NULL',
  'CREATE INDEX application_by_invoice ON ledger.application (invoice)',
  'CREATE INDEX application_made_expressly ON ledger.application (invoice) WHERE NOT isbyrule',
  'CREATE INDEX transaction_without_status ON ledger.transaction (id) WHERE status IS NULL',
  'CREATE INDEX application_by_credit ON ledger.application (credit)',
];

/** Sequences for the ids of new records, beyond all ids in the files (held-back rows included). */
export const LEDGER_SEQUENCES = [
  ['entity_id', 'SELECT id FROM ledger.customer'],
  ['item_id', 'SELECT id FROM ledger.item'],
  ['transaction_id', 'SELECT id FROM ledger.transaction'],
  ['line_key', 'SELECT uniquekey FROM ledger.transactionline'],
].flatMap(([name, ids]) => [
  `CREATE SEQUENCE ledger.${name}`,
  `SELECT setval('ledger.${name}', GREATEST(0, (SELECT max(id) FROM (${ids}) known(id))) + 1, false)`,
]);

/**
 * What the control interface needs in addition: run when the views are created, and not part of the data's
 * checksum. `extra` holds values of columns that the base tables don't have, by name; `removed` holds the
 * rows of removed records until they are restored.
 */
export const LEDGER_ADDITIONS = [
  ...['customer', 'item', 'transaction', 'transactionline', 'vendor', 'employee', 'contact'].map(
    (table) => `ALTER TABLE ledger.${table} ADD COLUMN IF NOT EXISTS extra jsonb`,
  ),
  `ALTER TABLE ledger.customfield ADD COLUMN IF NOT EXISTS tablename text, ADD COLUMN IF NOT EXISTS kind text,
     ADD COLUMN IF NOT EXISTS choices jsonb, ADD COLUMN IF NOT EXISTS list text, ADD COLUMN IF NOT EXISTS target text, ADD COLUMN IF NOT EXISTS refusal text,
     ADD COLUMN IF NOT EXISTS isonlyinqueries boolean`,
  'CREATE TABLE IF NOT EXISTS ledger.removed (tablename text NOT NULL, id bigint NOT NULL, part text NOT NULL, content jsonb NOT NULL)',
];

/** The account's only currency and subsidiary. */
export const LEDGER_SETTINGS = [
  `INSERT INTO ledger.currency SELECT 1, 'GBP', 'GBP', '£', 2, 1, 'T', 'F', min(createddate) FROM ledger.transaction`,
  `INSERT INTO ledger.subsidiary SELECT 1, 'Parent Company', NULL, 1, 'GB', 'F', 'F', min(createddate) FROM ledger.transaction`,
];

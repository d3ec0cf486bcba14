// The transaction header and its lines. What is derived, and by which rule, is told in ../README.md.
import { absent, column, columns, type Table } from './table.ts';

const ENTITY_LABEL = 'SELECT c.entityid FROM ledger.customer c WHERE c.id = b.entity';
const CURRENCY_LABEL = 'SELECT c.name FROM ledger.currency c WHERE c.id = b.currency';
const TYPE_LABEL = 'SELECT k.label FROM ledger.transactiontype k WHERE k.code = b.type';
const STATUS_LABEL = 'SELECT s.fullname FROM ledger.transactionstatus s WHERE s.trantype = b.type AND s.id = b.status';
const SUBSIDIARY = column('integer', 'subsidiary', '1', 'SELECT s.name FROM ledger.subsidiary s WHERE s.id = 1');
const DISPLAY_NAME = `(${TYPE_LABEL}) || ' #' || b.tranid`;

export const transaction: Table = {
  name: 'transaction',
  from: 'ledger.transaction b',
  columns: [
    ...columns('integer', 'id'),
    column('text', 'type', 'b.type', TYPE_LABEL),
    column('text', 'recordtype', 'SELECT k.recordtype FROM ledger.transactiontype k WHERE k.code = b.type'),
    column('text', 'abbrevtype', 'SELECT k.abbreviation FROM ledger.transactiontype k WHERE k.code = b.type'),
    ...columns('text', 'tranid'),
    column('text', 'trandisplayname', DISPLAY_NAME),
    ...columns('date', 'trandate duedate closedate'),
    ...columns('datetime', 'createddate lastmodifieddate'),
    column('integer', 'entity', 'b.entity', ENTITY_LABEL),
    column('integer', 'currency', 'b.currency', CURRENCY_LABEL),
    ...columns('decimal', 'exchangerate foreigntotal foreignamountpaid foreignamountunpaid'),
    column('text', 'status', 'b.status', STATUS_LABEL, "b.type || ':' || b.status"),
    ...columns('flag', 'posting'),
    ...columns('text', 'externalid memo otherrefnum'),
    ...columns('integer', 'account paymentmethod'),
    ...columns('flag', 'undepfunds'),
    ...columns('date', 'shipdate'),
    SUBSIDIARY,
    column('flag', 'void', "'F'"),
    column('flag', 'voided', "'F'"),
    column('integer', 'daysopen', "CASE WHEN b.type = 'CustInvc' THEN COALESCE(b.closedate, suiteql.today()) - b.trandate END"),
    column(
      'integer',
      'daysoverduesearch',
      `CASE WHEN b.type = 'CustInvc' THEN
      CASE WHEN b.foreignamountunpaid > 0 THEN GREATEST(0, suiteql.today() - b.duedate) ELSE 0 END END`,
    ),
    ...absent(
      'integer',
      'createdby lastmodifiedby employee billingaddress shippingaddress approvalstatus postingperiod terms nexus reversal',
    ),
    ...absent('decimal', 'taxtotal'),
    ...absent('date', 'actualshipdate reversaldate'),
    ...absent('flag', 'billingstatus paymenthold shipcomplete isreversal visibletocustomer isfinchrg'),
    ...absent('text', 'transactionnumber email linkedtrackingnumberlist source number'),
  ],
};

export const transactionLine: Table = {
  name: 'transactionline',
  from: 'ledger.transactionline b',
  columns: [
    ...columns('integer', 'uniquekey id'),
    column(
      'integer',
      'transaction',
      'b.transaction',
      "SELECT k.label || ' #' || t.tranid FROM ledger.transaction t JOIN ledger.transactiontype k ON k.code = t.type WHERE t.id = b.transaction",
    ),
    ...columns('integer', 'linesequencenumber'),
    column('integer', 'item', 'b.item', 'SELECT i.itemid FROM ledger.item i WHERE i.id = b.item'),
    column('text', 'itemtype', 'SELECT i.itemtype FROM ledger.item i WHERE i.id = b.item'),
    ...columns('text', 'memo'),
    ...columns('decimal', 'quantity rate netamount'),
    column('decimal', 'rateamount', 'b.rate'),
    column('decimal', 'foreignamount', 'b.netamount'), // every exchange rate in the data is 1
    column('decimal', 'creditforeignamount', 'CASE WHEN b.netamount < 0 THEN -b.netamount END'),
    column('decimal', 'debitforeignamount', 'CASE WHEN b.netamount > 0 THEN b.netamount END'),
    ...columns('flag', 'mainline taxline'),
    column('flag', 'iscogs', "'F'"),
    column(
      'text',
      'accountinglinetype',
      `SELECT CASE WHEN t.type IN ('CustInvc', 'CustCred') THEN 'INCOME' END
      FROM ledger.transaction t WHERE t.id = b.transaction`,
    ),
    column(
      'integer',
      'entity',
      'SELECT t.entity FROM ledger.transaction t WHERE t.id = b.transaction',
      'SELECT c.entityid FROM ledger.transaction t JOIN ledger.customer c ON c.id = t.entity WHERE t.id = b.transaction',
    ),
    ...columns('datetime', 'linelastmodifieddate'),
    SUBSIDIARY,
    column(
      'integer',
      'createdfrom',
      'b.createdfrom',
      "SELECT k.label || ' #' || t.tranid FROM ledger.transaction t JOIN ledger.transactiontype k ON k.code = t.type WHERE t.id = b.createdfrom",
    ),
    ...absent('integer', 'units price expenseaccount department class location createdpo kitmemberof revenueelement'),
    ...absent(
      'decimal',
      `ratepercent foreignamountpaid foreignamountunpaid foreignpaymentamountused foreignpaymentamountunused
      quantitybilled quantityshiprecv quantitypicked quantitypacked quantitybackordered quantitycommitted costestimate`,
    ),
    ...absent('flag', 'isclosed isfullyshipped isbillable isinventoryaffecting donotdisplayline kitcomponent'),
    ...absent('date', 'actualshipdate expectedshipdate closedate'),
    ...absent('text', 'transactionlinetype'),
  ],
};

export const transactionStatus: Table = {
  name: 'transactionstatus',
  from: 'ledger.transactionstatus b',
  columns: columns('text', 'id name fullname trantype'),
};

const LINKS = `(SELECT a.invoice AS previousdoc, a.credit AS nextdoc, 'Payment' AS linktype, a.amount AS foreignamount, a.linkedat AS lastmodifieddate
    FROM ledger.application a WHERE a.credit IS NOT NULL
  UNION ALL SELECT l.createdfrom, l.transaction, 'OrdBill', NULL::numeric, max(l.linelastmodifieddate)
    FROM ledger.transactionline l WHERE l.createdfrom IS NOT NULL GROUP BY l.createdfrom, l.transaction) b`;

/** Both tables hold the same pairs; in other accounts they differ in which side a query begins from. */
const links = (name: string): Table => ({
  name,
  from: LINKS,
  columns: [
    ...columns('integer', 'previousdoc'),
    column('integer', 'previousline', '0'),
    column('text', 'previoustype', 'SELECT t.type FROM ledger.transaction t WHERE t.id = b.previousdoc'),
    ...columns('integer', 'nextdoc'),
    column('integer', 'nextline', '0'),
    column('text', 'nexttype', 'SELECT t.type FROM ledger.transaction t WHERE t.id = b.nextdoc'),
    ...columns('text', 'linktype'),
    ...columns('decimal', 'foreignamount'),
    ...columns('datetime', 'lastmodifieddate'),
  ],
});

export const nextLink: Table = links('nexttransactionlinelink');
export const previousLink: Table = links('previoustransactionlinelink');

// Transaction headers, their lines, statuses and links. ../README.md lists what is derived and by which rule.
import { type AccountTable, extraColumns, extraSql, tableColumn, tableColumns } from './table.ts';

const ENTITY_LABEL = 'SELECT c.entityid FROM ledger.customer c WHERE c.id = b.entity';
const CURRENCY_LABEL = 'SELECT c.name FROM ledger.currency c WHERE c.id = b.currency';
const TYPE_LABEL = 'SELECT k.label FROM ledger.transactiontype k WHERE k.code = b.type';
const STATUS_LABEL = 'SELECT s.fullname FROM ledger.transactionstatus s WHERE s.trantype = b.type AND s.id = b.status';
const SUBSIDIARY = tableColumn('integer', 'subsidiary', '1', 'SELECT s.name FROM ledger.subsidiary s WHERE s.id = 1');
const DISPLAY_NAME = `(${TYPE_LABEL}) || ' #' || b.tranid`;

export const transactionTable: AccountTable = {
  name: 'transaction',
  from: 'ledger.transaction b',
  columns: [
    ...tableColumns('integer', 'id'),
    tableColumn('text', 'type', 'b.type', TYPE_LABEL),
    tableColumn('text', 'recordtype', 'SELECT k.recordtype FROM ledger.transactiontype k WHERE k.code = b.type'),
    tableColumn('text', 'abbrevtype', 'SELECT k.abbreviation FROM ledger.transactiontype k WHERE k.code = b.type'),
    ...tableColumns('text', 'tranid'),
    tableColumn('text', 'trandisplayname', DISPLAY_NAME),
    ...tableColumns('date', 'trandate duedate closedate'),
    ...tableColumns('datetime', 'createddate lastmodifieddate'),
    tableColumn('integer', 'entity', 'b.entity', ENTITY_LABEL),
    tableColumn('integer', 'currency', 'b.currency', CURRENCY_LABEL),
    ...tableColumns('decimal', 'exchangerate foreigntotal foreignamountpaid foreignamountunpaid'),
    tableColumn('text', 'status', 'b.status', STATUS_LABEL, "b.type || ':' || b.status"),
    ...tableColumns('flag', 'posting'),
    ...tableColumns('text', 'externalid memo otherrefnum'),
    ...tableColumns('integer', 'account paymentmethod'),
    ...tableColumns('flag', 'undepfunds'),
    ...tableColumns('date', 'shipdate'),
    SUBSIDIARY,
    tableColumn('flag', 'void', `COALESCE(${extraSql('void')}, 'F')`),
    tableColumn('flag', 'voided', `COALESCE(${extraSql('voided')}, 'F')`),
    tableColumn('integer', 'daysopen', "CASE WHEN b.type = 'CustInvc' THEN COALESCE(b.closedate, suiteql.today()) - b.trandate END"),
    tableColumn(
      'integer',
      'daysoverduesearch',
      `CASE WHEN b.type = 'CustInvc' THEN
      CASE WHEN b.foreignamountunpaid > 0 THEN GREATEST(0, suiteql.today() - b.duedate) ELSE 0 END END`,
    ),
    ...extraColumns(
      'integer',
      'createdby lastmodifiedby employee billingaddress shippingaddress approvalstatus postingperiod terms nexus reversal',
    ),
    ...extraColumns('decimal', 'taxtotal'),
    ...extraColumns('date', 'actualshipdate reversaldate'),
    ...extraColumns('flag', 'billingstatus paymenthold shipcomplete isreversal visibletocustomer isfinchrg'),
    ...extraColumns('text', 'transactionnumber email linkedtrackingnumberlist source number'),
  ],
};

export const transactionLineTable: AccountTable = {
  name: 'transactionline',
  from: 'ledger.transactionline b',
  columns: [
    ...tableColumns('integer', 'uniquekey id'),
    tableColumn(
      'integer',
      'transaction',
      'b.transaction',
      "SELECT k.label || ' #' || t.tranid FROM ledger.transaction t JOIN ledger.transactiontype k ON k.code = t.type WHERE t.id = b.transaction",
    ),
    ...tableColumns('integer', 'linesequencenumber'),
    tableColumn('integer', 'item', 'b.item', 'SELECT i.itemid FROM ledger.item i WHERE i.id = b.item'),
    tableColumn('text', 'itemtype', 'SELECT i.itemtype FROM ledger.item i WHERE i.id = b.item'),
    ...tableColumns('text', 'memo'),
    ...tableColumns('decimal', 'quantity rate netamount'),
    tableColumn('decimal', 'rateamount', 'b.rate'),
    tableColumn('decimal', 'foreignamount', 'b.netamount'), // every exchange rate in the data is 1
    tableColumn('decimal', 'creditforeignamount', 'CASE WHEN b.netamount < 0 THEN -b.netamount END'),
    tableColumn('decimal', 'debitforeignamount', 'CASE WHEN b.netamount > 0 THEN b.netamount END'),
    ...tableColumns('flag', 'mainline taxline'),
    tableColumn('flag', 'iscogs', "'F'"),
    tableColumn(
      'text',
      'accountinglinetype',
      `SELECT CASE WHEN t.type IN ('CustInvc', 'CustCred') THEN 'INCOME' END
      FROM ledger.transaction t WHERE t.id = b.transaction`,
    ),
    tableColumn(
      'integer',
      'entity',
      'SELECT t.entity FROM ledger.transaction t WHERE t.id = b.transaction',
      'SELECT c.entityid FROM ledger.transaction t JOIN ledger.customer c ON c.id = t.entity WHERE t.id = b.transaction',
    ),
    ...tableColumns('datetime', 'linelastmodifieddate'),
    SUBSIDIARY,
    tableColumn(
      'integer',
      'createdfrom',
      'b.createdfrom',
      "SELECT k.label || ' #' || t.tranid FROM ledger.transaction t JOIN ledger.transactiontype k ON k.code = t.type WHERE t.id = b.createdfrom",
    ),
    ...extraColumns('integer', 'units price expenseaccount department class location createdpo kitmemberof revenueelement'),
    ...extraColumns(
      'decimal',
      `ratepercent foreignamountpaid foreignamountunpaid foreignpaymentamountused foreignpaymentamountunused
      quantitybilled quantityshiprecv quantitypicked quantitypacked quantitybackordered quantitycommitted costestimate`,
    ),
    ...extraColumns('flag', 'isclosed isfullyshipped isbillable isinventoryaffecting donotdisplayline kitcomponent'),
    ...extraColumns('date', 'actualshipdate expectedshipdate closedate'),
    ...extraColumns('text', 'transactionlinetype'),
  ],
};

export const transactionStatusTable: AccountTable = {
  name: 'transactionstatus',
  from: 'ledger.transactionstatus b',
  columns: tableColumns('text', 'id name fullname trantype'),
};

const LINKS = `(SELECT a.invoice AS previousdoc, a.credit AS nextdoc, 'Payment' AS linktype, a.amount AS foreignamount, a.linkedat AS lastmodifieddate
    FROM ledger.application a WHERE a.credit IS NOT NULL
  UNION ALL SELECT l.createdfrom, l.transaction, 'OrdBill', NULL::numeric, max(l.linelastmodifieddate)
    FROM ledger.transactionline l WHERE l.createdfrom IS NOT NULL GROUP BY l.createdfrom, l.transaction) b`;

/** Both link tables hold the same pairs here; in real accounts they differ in the side from which a query starts. */
const links = (name: string): AccountTable => ({
  name,
  from: LINKS,
  columns: [
    ...tableColumns('integer', 'previousdoc'),
    tableColumn('integer', 'previousline', '0'),
    tableColumn('text', 'previoustype', 'SELECT t.type FROM ledger.transaction t WHERE t.id = b.previousdoc'),
    ...tableColumns('integer', 'nextdoc'),
    tableColumn('integer', 'nextline', '0'),
    tableColumn('text', 'nexttype', 'SELECT t.type FROM ledger.transaction t WHERE t.id = b.nextdoc'),
    ...tableColumns('text', 'linktype'),
    ...tableColumns('decimal', 'foreignamount'),
    ...tableColumns('datetime', 'lastmodifieddate'),
  ],
});

export const nextLinkTable: AccountTable = links('nexttransactionlinelink');
export const previousLinkTable: AccountTable = links('previoustransactionlinelink');

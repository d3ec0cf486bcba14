// Transaction headers, their lines, statuses and links. docs/data-folder.md lists what is derived and by
// which rule.
import {
  type AccountColumn,
  type AccountTable,
  extraColumns,
  extraSql,
  referenceColumn,
  tableColumn,
  tableColumns,
} from './table.ts';

/** The name of a customer, vendor or employee. */
const entityLabel = (id: string): string =>
  `COALESCE(${['customer', 'vendor', 'employee'].map((table) => `(SELECT e.entityid FROM ledger.${table} e WHERE e.id = ${id})`).join(', ')})`;
/** SQL of a transaction's display text, such as `Invoice #536365`, given the SQL of its id. */
export const transactionLabel = (id: string): string =>
  `SELECT k.label || ' #' || t.tranid FROM ledger.transaction t JOIN ledger.transactiontype k ON k.code = t.type WHERE t.id = ${id}`;
const address = (column: string): AccountColumn =>
  tableColumn(
    'integer',
    column,
    undefined,
    `SELECT a.addr1 FROM ledger.address a WHERE a.nkey = b.${column}`,
  );
const SEGMENTS = [
  referenceColumn('department', 'department'),
  referenceColumn('class', 'classification'),
  referenceColumn('location', 'location'),
];
/** What the header line posts, which differs by cents from the product where lines are rounded one by one. */
const BASE_TOTAL = `COALESCE((SELECT sum(h.netamount) FROM ledger.transactionline h WHERE h.transaction = b.id AND h.mainline = 'T'),
  round(b.foreigntotal * COALESCE(b.exchangerate, 1), 2))`;
const TYPE_LABEL = 'SELECT k.label FROM ledger.transactiontype k WHERE k.code = b.type';
const STATUS_LABEL =
  'SELECT s.fullname FROM ledger.transactionstatus s WHERE s.trantype = b.type AND s.id = b.status';
const SUBSIDIARY = referenceColumn('subsidiary', 'subsidiary', 'name');
const DISPLAY_NAME = `(${TYPE_LABEL}) || ' #' || b.tranid`;

export const transactionTable: AccountTable = {
  name: 'transaction',
  from: 'ledger.transaction b',
  hidden: {
    department: 'b.department',
    class: 'b.class',
    location: 'b.location',
    subsidiary: 'b.subsidiary',
    period: 'b.postingperiod',
    ratetype: "'CURRENT'",
    currency: 'b.currency',
  },
  columns: [
    ...tableColumns('integer', 'id'),
    tableColumn('text', 'type', 'b.type', TYPE_LABEL),
    tableColumn(
      'text',
      'recordtype',
      'SELECT k.recordtype FROM ledger.transactiontype k WHERE k.code = b.type',
    ),
    tableColumn(
      'text',
      'abbrevtype',
      'SELECT k.abbreviation FROM ledger.transactiontype k WHERE k.code = b.type',
    ),
    ...tableColumns('text', 'tranid'),
    tableColumn('text', 'trandisplayname', DISPLAY_NAME),
    ...tableColumns('date', 'trandate duedate closedate'),
    ...tableColumns('datetime', 'createddate lastmodifieddate'),
    tableColumn('integer', 'entity', 'b.entity', entityLabel('b.entity')),
    referenceColumn('currency', 'currency', 'name'),
    ...tableColumns('decimal', 'exchangerate foreigntotal foreignamountpaid foreignamountunpaid'),
    tableColumn('decimal', 'basetotalaftertaxes', BASE_TOTAL),
    tableColumn('text', 'status', 'b.status', STATUS_LABEL, "b.type || ':' || b.status"),
    ...tableColumns('flag', 'posting'),
    ...tableColumns('text', 'externalid memo otherrefnum'),
    ...tableColumns('integer', 'account paymentmethod'),
    ...tableColumns('flag', 'undepfunds'),
    ...tableColumns('date', 'shipdate'),
    SUBSIDIARY,
    tableColumn('flag', 'void', `COALESCE(${extraSql('void')}, 'F')`),
    tableColumn('flag', 'voided', `COALESCE(${extraSql('voided')}, 'F')`),
    tableColumn(
      'integer',
      'daysopen',
      "CASE WHEN b.type = 'CustInvc' THEN COALESCE(b.closedate, suiteql.today()) - b.trandate END",
    ),
    tableColumn(
      'integer',
      'daysoverduesearch',
      `CASE WHEN b.type = 'CustInvc' THEN
      CASE WHEN b.foreignamountunpaid > 0 THEN GREATEST(0, suiteql.today() - b.duedate) ELSE 0 END END`,
    ),
    ...['createdby', 'lastmodifiedby', 'employee'].map((name) =>
      referenceColumn(name, 'employee', 'entityid'),
    ),
    ...['billingaddress', 'shippingaddress'].map(address),
    tableColumn(
      'integer',
      'approvalstatus',
      undefined,
      "CASE b.approvalstatus WHEN 1 THEN 'Pending Approval' WHEN 2 THEN 'Approved' END",
    ),
    referenceColumn('postingperiod', 'accountingperiod', 'periodname'),
    referenceColumn('terms', 'term', 'name'),
    ...extraColumns('integer', 'nexus reversal'),
    ...tableColumns('decimal', 'taxtotal'),
    ...tableColumns('text', 'transactionnumber'),
    ...extraColumns('date', 'actualshipdate reversaldate'),
    ...extraColumns('flag', 'billingstatus paymenthold shipcomplete isreversal visibletocustomer isfinchrg'),
    ...extraColumns('text', 'email linkedtrackingnumberlist source number'),
  ],
};

/**
 * Lines that the record service writes without a profile have no amount of their own in the transaction's
 * currency: its rate is 1 then.
 */
const FOREIGN_AMOUNT = 'COALESCE(b.foreignamount, b.netamount)';
/** A line of a journal may name one of its own. */
const LINE_ENTITY =
  'COALESCE(b.entity, (SELECT t.entity FROM ledger.transaction t WHERE t.id = b.transaction))';

export const transactionLineTable: AccountTable = {
  name: 'transactionline',
  from: 'ledger.transactionline b',
  hidden: {
    subsidiary: 'b.subsidiary',
    period: 'SELECT t.postingperiod FROM ledger.transaction t WHERE t.id = b.transaction',
    ratetype: 'SELECT a.generalrate FROM ledger.account a WHERE a.id = b.account',
    currency: 'SELECT t.currency FROM ledger.transaction t WHERE t.id = b.transaction',
  },
  columns: [
    ...tableColumns('integer', 'uniquekey id'),
    tableColumn('integer', 'transaction', 'b.transaction', transactionLabel('b.transaction')),
    ...tableColumns('integer', 'linesequencenumber'),
    referenceColumn('item', 'item', 'itemid'),
    tableColumn('text', 'itemtype', 'SELECT i.itemtype FROM ledger.item i WHERE i.id = b.item'),
    ...tableColumns('text', 'memo'),
    ...tableColumns('decimal', 'quantity rate netamount'),
    tableColumn('decimal', 'rateamount', 'b.rate'),
    tableColumn('decimal', 'foreignamount', FOREIGN_AMOUNT),
    tableColumn(
      'decimal',
      'creditforeignamount',
      `CASE WHEN ${FOREIGN_AMOUNT} < 0 THEN -${FOREIGN_AMOUNT} END`,
    ),
    tableColumn(
      'decimal',
      'debitforeignamount',
      `CASE WHEN ${FOREIGN_AMOUNT} > 0 THEN ${FOREIGN_AMOUNT} END`,
    ),
    ...tableColumns('flag', 'mainline taxline iscogs'),
    tableColumn(
      'text',
      'accountinglinetype',
      `COALESCE(b.accountinglinetype, (SELECT CASE WHEN t.type IN ('CustInvc', 'CustCred') THEN 'INCOME' END
      FROM ledger.transaction t WHERE t.id = b.transaction))`,
    ),
    tableColumn('integer', 'entity', LINE_ENTITY, entityLabel(`(${LINE_ENTITY})`)),
    ...tableColumns('datetime', 'linelastmodifieddate'),
    SUBSIDIARY,
    tableColumn('integer', 'createdfrom', 'b.createdfrom', transactionLabel('b.createdfrom')),
    referenceColumn('expenseaccount', 'account', 'accountsearchdisplayname'),
    ...SEGMENTS,
    ...extraColumns('integer', 'units price createdpo kitmemberof revenueelement'),
    ...tableColumns('decimal', 'quantitybilled quantityshiprecv'),
    ...extraColumns(
      'decimal',
      `ratepercent foreignamountpaid foreignamountunpaid foreignpaymentamountused foreignpaymentamountunused
      quantitypicked quantitypacked quantitybackordered quantitycommitted costestimate`,
    ),
    ...extraColumns(
      'flag',
      'isclosed isfullyshipped isbillable isinventoryaffecting donotdisplayline kitcomponent',
    ),
    ...extraColumns('date', 'actualshipdate expectedshipdate closedate'),
    ...tableColumns('text', 'transactionlinetype'),
  ],
};

export const transactionStatusTable: AccountTable = {
  name: 'transactionstatus',
  from: 'ledger.transactionstatus b',
  columns: tableColumns('text', 'id name fullname trantype'),
};

const LINKS = `(SELECT a.invoice AS previousdoc, a.credit AS nextdoc, 'Payment' AS linktype, a.amount AS foreignamount, a.linkedat AS lastmodifieddate
    FROM ledger.application a WHERE a.credit IS NOT NULL
  UNION ALL SELECT l.createdfrom, l.transaction, (SELECT CASE WHEN t.type IN ('ItemShip', 'ItemRcpt') THEN 'ShipRcpt' ELSE 'OrdBill' END
    FROM ledger.transaction t WHERE t.id = l.transaction), NULL::numeric, max(l.linelastmodifieddate)
    FROM ledger.transactionline l WHERE l.createdfrom IS NOT NULL GROUP BY l.createdfrom, l.transaction) b`;

/**
 * Both link tables hold the same pairs here; in real accounts they differ in the side from which a query
 * starts.
 */
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

// The kinds of transaction: all of them stand in one table, so each has its type code, its columns, and what counts as its lines.
import { type ColumnDefinition, calculated, columns, type LinesDefinition, type RecordTypeDefinition } from './definition.ts';

const before = columns(
  ['id', 'Internal ID', 'integer'],
  ['tranid', 'Document number'],
  ['transactionnumber', 'Transaction number'],
  ['trandate', 'Date', 'date'],
  ['closedate', 'Date closed', 'date', 'volatile'],
  ['entity', 'Customer', 'reference'],
  ['currency', 'Currency', 'reference'],
  ['exchangerate', 'Exchange rate', 'number'],
  ['foreigntotal', 'Total', 'number'],
);
const taxes = columns(['taxtotal', 'Tax total', 'number']);
const amounts = columns(
  ['foreignamountpaid', 'Amount paid or applied', 'number', 'volatile'],
  ['foreignamountunpaid', 'Amount unpaid or not yet applied', 'number', 'volatile'],
);
const state = columns(
  ['status', 'Status', 'list', 'volatile'],
  ['posting', 'Posting', 'boolean'],
  ['postingperiod', 'Posting period', 'reference'],
  ['voided', 'Voided', 'boolean', 'volatile'],
  ['memo', 'Memo'],
  ['otherrefnum', 'Customer order number'],
  ['externalid', 'External ID'],
);
const sale = columns(
  ['employee', 'Sales representative', 'reference'],
  ['subsidiary', 'Subsidiary', 'reference'],
  ['terms', 'Terms', 'reference'],
  ['billingaddress', 'Billing address', 'reference'],
  ['shippingaddress', 'Shipping address', 'reference'],
  ['email', 'Email'],
);
const times = columns(['createddate', 'Created', 'time'], ['lastmodifieddate', 'Last modified', 'time']);

const creditMemoColumns = [...before, ...taxes, ...amounts, ...state, ...sale, ...times];

const invoiceColumns = [
  ...creditMemoColumns,
  ...columns(['duedate', 'Due date', 'date'], ['shipdate', 'Ship date', 'date']),
  calculated('daysopen', 'Days open'),
  calculated('daysoverduesearch', 'Days overdue'),
];

const salesOrderColumns = [
  ...before,
  ...taxes,
  ...state,
  ...columns(['approvalstatus', 'Approval status', 'list', 'volatile'], ['billingstatus', 'Billing status', 'text', 'volatile']),
  ...sale,
  ...columns(
    ['shipdate', 'Ship date', 'date'],
    ['actualshipdate', 'Actual ship date', 'date', 'volatile'],
    ['shipcomplete', 'Ship complete', 'boolean'],
    ['linkedtrackingnumberlist', 'Tracking numbers', 'text', 'volatile'],
  ),
  ...times,
];

const customerPaymentColumns = [
  ...before,
  ...columns(['account', 'Account', 'reference']),
  ...state,
  ...columns(['subsidiary', 'Subsidiary', 'reference']),
  ...times,
];

const itemLineColumns = columns(
  ['id', 'Line ID within the transaction', 'integer'],
  ['linesequencenumber', 'Line number', 'integer'],
  ['uniquekey', 'Line ID within the account', 'integer'],
  ['item', 'Item', 'reference'],
  ['itemtype', 'Item type'],
  ['memo', 'Description'],
  ['quantity', 'Quantity (sales are negative, as in NetSuite)', 'number'],
  ['units', 'Units', 'reference'],
  ['rate', 'Rate', 'number'],
  ['price', 'Price level', 'reference'],
  ['netamount', 'Amount in the base currency (income is negative, as in NetSuite)', 'number'],
  ['foreignamount', 'Amount in the transaction currency (income is negative, as in NetSuite)', 'number'],
  ['department', 'Department', 'reference'],
  ['class', 'Class', 'reference'],
  ['location', 'Location', 'reference'],
  ['createdfrom', 'Created from', 'reference'],
  ['kitmemberof', 'Member of kit line', 'integer'],
  ['isclosed', 'Closed', 'boolean'],
);
const lineTimes = columns(['linelastmodifieddate', 'Last modified', 'time']);

/**
 * Item lines as the document shows them. Left out: the line that stands for the header (mainline), tax lines, and the
 * cost-of-goods lines that NetSuite adds by itself. Lines are not chosen by accountinglinetype, which is empty on
 * description and subtotal lines and differs for discounts. A flag that is empty counts as F, or lines would be lost.
 */
const itemLines: LinesDefinition = {
  label: 'Lines',
  table: 'transactionline',
  parent: 'transaction',
  key: 'id',
  keyIsUnique: true,
  filter: "COALESCE(l.mainline, 'F') = 'F' AND COALESCE(l.taxline, 'F') = 'F' AND COALESCE(l.iscogs, 'F') = 'F'",
  columns: [...itemLineColumns, ...lineTimes],
  customPrefix: 'custcol',
};

/** Shipping and billing move these on; whether that moves the order's own modification time isn't known. */
const orderLines: LinesDefinition = {
  ...itemLines,
  columns: [
    ...itemLineColumns.map((column) => (column.name === 'isclosed' ? { ...column, volatile: true } : column)),
    ...columns(
      ['quantitycommitted', 'Quantity committed', 'number', 'volatile'],
      ['quantitybackordered', 'Quantity on back order', 'number', 'volatile'],
      ['quantityshiprecv', 'Quantity shipped', 'number', 'volatile'],
      ['quantitybilled', 'Quantity billed', 'number', 'volatile'],
      ['expectedshipdate', 'Expected ship date', 'date'],
    ),
    ...lineTimes,
  ],
};

/**
 * What a payment was applied to: the links that lead from documents to it. Applying and taking back are edits of the payment, which
 * move its modification time. Two links between the same two documents are told apart by nothing that is sure to be there.
 */
const applications: LinesDefinition = {
  label: 'Applications',
  table: 'nexttransactionlinelink',
  parent: 'nextdoc',
  key: 'previousdoc',
  keyIsUnique: false,
  filter: 'l.previousdoc IS NOT NULL',
  columns: columns(
    ['previousdoc', 'Applied to', 'reference'],
    ['previoustype', 'Type of what it is applied to'],
    ['linktype', 'Kind of link'],
    ['foreignamount', 'Amount in the transaction currency', 'number'],
    ['lastmodifieddate', 'Last modified', 'time'],
  ),
  customPrefix: null,
};

type Own = Pick<RecordTypeDefinition, 'name' | 'label' | 'lines' | 'openWhen'> & {
  readonly code: string;
  readonly columns: readonly ColumnDefinition[];
  readonly deletedAs?: readonly string[];
};
const transactionType = ({ code, deletedAs = [], ...own }: Own): RecordTypeDefinition => ({
  ...own,
  table: 'transaction',
  filter: `t.type = '${code}'`,
  catalogue: [own.name],
  customPrefix: 'custbody',
  deletedAs: [own.name.toLowerCase(), code.toLowerCase(), ...deletedAs],
});

const untilPaid = [
  { field: 'foreignamountunpaid', isNoneOf: ['0'] },
  { field: 'status', isNoneOf: ['B'] },
];

export const invoice = transactionType({
  name: 'invoice',
  label: 'Invoice',
  code: 'CustInvc',
  columns: invoiceColumns,
  lines: itemLines,
  openWhen: untilPaid,
});
export const creditMemo = transactionType({
  name: 'creditMemo',
  label: 'Credit memo',
  code: 'CustCred',
  columns: creditMemoColumns,
  lines: itemLines,
  openWhen: untilPaid,
});
export const customerPayment = transactionType({
  name: 'customerPayment',
  label: 'Customer payment',
  code: 'CustPymt',
  columns: customerPaymentColumns,
  lines: applications,
  openWhen: [{ field: 'status', isNoneOf: ['C', 'R'] }], // deposited, rejected
  deletedAs: ['payment'],
});
export const salesOrder = transactionType({
  name: 'salesOrder',
  label: 'Sales order',
  code: 'SalesOrd',
  columns: salesOrderColumns,
  lines: orderLines,
  openWhen: [{ field: 'status', isNoneOf: ['C', 'G', 'H'] }], // cancelled, billed, closed
});

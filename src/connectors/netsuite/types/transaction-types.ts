// The transaction types. NetSuite keeps all of them in one table, so each has its type code, its columns, and
// a filter for its lines.
import {
  type ColumnDefinition,
  calculatedColumn,
  defineColumns,
  type LinesDefinition,
  ownIdAndTime,
  type RecordTypeDefinition,
  withAmounts,
  withTargets,
} from './definition.ts';
import { withDisplayAmounts, withDisplayStatus } from './display-fields.ts';

const headerColumns = defineColumns(
  ['id', 'Internal ID', 'integer'],
  ['tranid', 'Document number'],
  ['transactionnumber', 'Transaction number'],
  ['trandate', 'Date', 'date'],
  ['closedate', 'Date closed', 'date', 'volatile'],
  ['entity', 'Customer', 'reference'],
  ['currency', 'Currency', 'reference'],
  ['exchangerate', 'Exchange rate', 'number'],
  ['foreigntotal', 'Total', 'number'],
  ['basetotalaftertaxes', 'Total in the base currency', 'number'],
);
const taxColumns = defineColumns(['taxtotal', 'Tax total', 'number']);
const amountColumns = defineColumns(
  ['foreignamountpaid', 'Amount paid or applied', 'number', 'volatile'],
  ['foreignamountunpaid', 'Amount unpaid or not yet applied', 'number', 'volatile'],
);
const amounts = ['foreigntotal', 'foreignamountpaid', 'foreignamountunpaid'];
const statusColumns = defineColumns(
  ['status', 'Status', 'list', 'volatile'],
  ['posting', 'Posting', 'boolean'],
  ['postingperiod', 'Posting period', 'reference'],
  ['voided', 'Voided', 'boolean', 'volatile'],
  ['memo', 'Memo'],
  ['otherrefnum', 'Customer order number'],
  ['externalid', 'External ID'],
);
const saleColumns = defineColumns(
  ['employee', 'Sales representative', 'reference'],
  ['subsidiary', 'Subsidiary', 'reference'],
  ['terms', 'Terms', 'reference'],
  ['billingaddress', 'Billing address', 'reference'],
  ['shippingaddress', 'Shipping address', 'reference'],
  ['email', 'Email'],
);
const timeColumns = defineColumns(
  ['createddate', 'Created', 'time'],
  ['lastmodifieddate', 'Last modified', 'time'],
);

const creditMemoColumns = [
  ...headerColumns,
  ...taxColumns,
  ...amountColumns,
  ...statusColumns,
  ...saleColumns,
  ...timeColumns,
];

const invoiceColumns = [
  ...creditMemoColumns,
  ...defineColumns(['duedate', 'Due date', 'date'], ['shipdate', 'Ship date', 'date']),
  calculatedColumn('daysopen', 'Days open'),
  calculatedColumn('daysoverduesearch', 'Days overdue'),
];

const salesOrderColumns = [
  ...headerColumns,
  ...taxColumns,
  ...statusColumns,
  ...defineColumns(['approvalstatus', 'Approval status', 'list', 'volatile']),
  ...defineColumns(['billingstatus', 'Billing status', 'text', 'volatile']).map((column) => ({
    ...column,
    warning: 'It is a code in some accounts, and T or F in others',
  })),
  ...saleColumns,
  ...defineColumns(
    ['shipdate', 'Ship date', 'date'],
    ['actualshipdate', 'Actual ship date', 'date', 'volatile'],
    ['shipcomplete', 'Ship complete', 'boolean'],
    ['linkedtrackingnumberlist', 'Tracking numbers', 'text', 'volatile'],
  ),
  ...timeColumns,
];

const customerPaymentColumns = [
  ...headerColumns,
  ...defineColumns(['account', 'Account', 'reference']),
  ...statusColumns,
  ...defineColumns(['subsidiary', 'Subsidiary', 'reference']),
  ...timeColumns,
];

const itemLineColumns = withTargets(
  defineColumns(
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
  ),
  { item: 'item' },
);
const lineTimeColumns = defineColumns(['linelastmodifieddate', 'Last modified', 'time']);

/**
 * Item lines as the document shows them. Left out: the line that represents the header (mainline), tax lines,
 * and the cost-of-goods lines that NetSuite adds by itself. Lines are not selected by accountinglinetype,
 * which is empty on description and subtotal lines and differs for discounts. An empty flag counts as F, or
 * lines would be lost.
 */
const soldLines: LinesDefinition = {
  label: 'Lines',
  table: 'transactionline',
  parent: 'transaction',
  key: 'id',
  keyIsUnique: true,
  filter:
    "COALESCE(l.mainline, 'F') = 'F' AND COALESCE(l.taxline, 'F') = 'F' AND COALESCE(l.iscogs, 'F') = 'F'",
  columns: [...withDisplayAmounts(itemLineColumns, 'negative'), ...lineTimeColumns],
  sums: ['quantity', 'foreignamount'],
  modified: 'linelastmodifieddate',
  customPrefix: 'custcol',
};
const creditedLines: LinesDefinition = {
  ...soldLines,
  columns: [...withDisplayAmounts(itemLineColumns, 'positive'), ...lineTimeColumns],
};

/** Shipping and billing change these columns, perhaps without moving the order's modification time. */
const orderLines: LinesDefinition = {
  ...soldLines,
  columns: [
    ...withDisplayAmounts(itemLineColumns, 'negative').map((column) =>
      column.name === 'isclosed' ? { ...column, volatile: true } : column,
    ),
    ...defineColumns(
      ['quantitycommitted', 'Quantity committed', 'number', 'volatile'],
      ['quantitybackordered', 'Quantity on back order', 'number', 'volatile'],
      ['quantityshiprecv', 'Quantity shipped', 'number', 'volatile'],
      ['quantitybilled', 'Quantity billed', 'number', 'volatile'],
      ['expectedshipdate', 'Expected ship date', 'date'],
    ),
    ...lineTimeColumns,
  ],
};

/**
 * What a payment was applied to: the links from documents to it. Applying and unapplying are edits of the
 * payment, which move its modification time. No column is certain to distinguish two links between the same
 * two documents.
 */
const applications: LinesDefinition = {
  label: 'Applications',
  table: 'nexttransactionlinelink',
  parent: 'nextdoc',
  key: 'previousdoc',
  keyIsUnique: false,
  filter: 'l.previousdoc IS NOT NULL',
  columns: defineColumns(
    ['previousdoc', 'Applied to', 'reference'],
    ['previoustype', 'Type of what it is applied to'],
    ['linktype', 'Kind of link'],
    ['foreignamount', 'Amount in the transaction currency', 'number'],
    ['lastmodifieddate', 'Last modified', 'time'],
  ),
  sums: ['foreignamount'],
  modified: 'lastmodifieddate',
  customPrefix: null,
};

type TransactionTypeParts = Pick<RecordTypeDefinition, 'name' | 'label' | 'lines' | 'openWhen'> & {
  readonly code: string;
  readonly columns: readonly ColumnDefinition[];
  readonly deletedAs?: readonly string[];
};
const transactionType = ({
  code,
  columns,
  deletedAs = [],
  ...parts
}: TransactionTypeParts): RecordTypeDefinition => ({
  ...ownIdAndTime,
  ...parts,
  columns: withTargets(
    withAmounts(withAmounts(withDisplayStatus(columns), 'currency', amounts), null, ['basetotalaftertaxes']),
    { entity: 'customer', employee: 'employee' },
  ),
  shownAs: { number: ['tranid'], name: ['entity'], date: ['trandate'], amount: ['foreigntotal'] },
  table: 'transaction',
  filter: `t.type = '${code}'`,
  catalogue: [parts.name],
  customPrefix: 'custbody',
  deletedAs: [parts.name.toLowerCase(), code.toLowerCase(), ...deletedAs],
});

const closedOn = 'closedate';
const untilPaid = [
  { field: 'foreignamountunpaid', isNoneOf: ['0'], closedOn },
  { field: 'status', isNoneOf: ['B'], closedOn },
];

export const invoiceDefinition = transactionType({
  name: 'invoice',
  label: 'Invoice',
  code: 'CustInvc',
  columns: invoiceColumns,
  lines: soldLines,
  openWhen: untilPaid,
});
export const creditMemoDefinition = transactionType({
  name: 'creditMemo',
  label: 'Credit memo',
  code: 'CustCred',
  columns: creditMemoColumns,
  lines: creditedLines,
  openWhen: untilPaid,
});
export const customerPaymentDefinition = transactionType({
  name: 'customerPayment',
  label: 'Customer payment',
  code: 'CustPymt',
  columns: customerPaymentColumns,
  lines: applications,
  openWhen: [{ field: 'status', isNoneOf: ['C', 'R'], closedOn }], // deposited, rejected
  deletedAs: ['payment'],
});
export const salesOrderDefinition = transactionType({
  name: 'salesOrder',
  label: 'Sales order',
  code: 'SalesOrd',
  columns: salesOrderColumns,
  lines: orderLines,
  openWhen: [{ field: 'status', isNoneOf: ['C', 'G', 'H'], closedOn }], // cancelled, billed, closed
});

// The record types of this product and the columns that are asked for. Which of them an account really has, only a probe
// tells (metadata.ts). Type codes and columns are NetSuite's; labels are what a person would call them.
import type { FieldType } from '../connector.ts';

export type ColumnDefinition = {
  readonly name: string;
  readonly label: string;
  readonly type: Exclude<FieldType, 'lines'>;
  readonly volatile: boolean;
  /** Why it must never be read; null for what may. */
  readonly excluded: string | null;
};

export type LinesDefinition = {
  readonly table: string;
  /** Column of a line that names its record. */
  readonly parent: string;
  /** SQL on alias `l`: which lines count. */
  readonly filter: string;
  readonly columns: readonly ColumnDefinition[];
};

export type RecordTypeDefinition = {
  readonly name: string;
  readonly label: string;
  readonly table: string;
  /** SQL on alias `t`; null for the whole table. */
  readonly filter: string | null;
  readonly columns: readonly ColumnDefinition[];
  readonly lines: LinesDefinition | null;
  /** Entries of the metadata catalogue that describe it, and how its custom fields' names begin. */
  readonly catalogue: readonly string[];
  readonly customPrefix: string;
};

type Row = readonly [name: string, label: string, type?: ColumnDefinition['type'], volatile?: 'volatile'];
const columns = (...rows: readonly Row[]): ColumnDefinition[] =>
  rows.map(([name, label, type = 'text', volatile]) => ({ name, label, type, volatile: volatile === 'volatile', excluded: null }));

const calculated = (name: string, label: string): ColumnDefinition => ({
  name,
  label,
  type: 'integer',
  volatile: true,
  excluded: 'NetSuite calculates it when it is asked, so a stored value would be wrong the next day',
});

const customerColumns = columns(
  ['id', 'Internal ID', 'integer'],
  ['entityid', 'Customer ID'],
  ['altname', 'Name'],
  ['companyname', 'Company name'],
  ['isperson', 'Is a person', 'boolean'],
  ['firstname', 'First name'],
  ['middlename', 'Middle name'],
  ['lastname', 'Last name'],
  ['email', 'Email'],
  ['phone', 'Phone'],
  ['altphone', 'Other phone'],
  ['mobilephone', 'Mobile phone'],
  ['fax', 'Fax'],
  ['url', 'Web address'],
  ['category', 'Category', 'reference'],
  ['entitystatus', 'Status', 'reference'],
  ['searchstage', 'Stage'],
  ['currency', 'Currency', 'reference'],
  ['terms', 'Terms', 'reference'],
  ['pricelevel', 'Price level', 'reference'],
  ['salesrep', 'Sales representative', 'reference'],
  ['parent', 'Parent customer', 'reference'],
  ['partner', 'Partner', 'reference'],
  ['receivablesaccount', 'Receivables account', 'reference'],
  ['creditlimit', 'Credit limit', 'number'],
  ['creditholdoverride', 'Credit hold', 'list'],
  ['balancesearch', 'Balance', 'number', 'volatile'],
  ['overduebalancesearch', 'Overdue balance', 'number', 'volatile'],
  ['unbilledorderssearch', 'Unbilled orders', 'number', 'volatile'],
  ['consolbalancesearch', 'Consolidated balance', 'number', 'volatile'],
  ['defaultbillingaddress', 'Default billing address', 'reference'],
  ['defaultshippingaddress', 'Default shipping address', 'reference'],
  ['defaultcountry', 'Country'],
  ['emailpreference', 'Email preference', 'list'],
  ['language', 'Language', 'list'],
  ['isinactive', 'Inactive', 'boolean'],
  ['externalid', 'External ID'],
  ['startdate', 'Start date', 'date'],
  ['enddate', 'End date', 'date'],
  ['dateclosed', 'Date closed', 'date'],
  ['datecreated', 'Created', 'time'],
  ['lastmodifieddate', 'Last modified', 'time'],
);

const itemColumns = columns(
  ['id', 'Internal ID', 'integer'],
  ['itemid', 'Item ID'],
  ['fullname', 'Full name'],
  ['displayname', 'Display name'],
  ['description', 'Description'],
  ['salesdescription', 'Sales description'],
  ['itemtype', 'Item type', 'list'],
  ['subtype', 'Subtype', 'list'],
  ['upccode', 'UPC code'],
  ['isinactive', 'Inactive', 'boolean'],
  ['parent', 'Parent item', 'reference'],
  ['class', 'Class', 'reference'],
  ['department', 'Department', 'reference'],
  ['location', 'Location', 'reference'],
  ['subsidiary', 'Subsidiaries', 'list'],
  ['incomeaccount', 'Income account', 'reference'],
  ['expenseaccount', 'Expense account', 'reference'],
  ['assetaccount', 'Asset account', 'reference'],
  ['baseprice', 'Base price', 'number'],
  ['averagecost', 'Average cost', 'number', 'volatile'],
  ['totalquantityonhand', 'Quantity on hand', 'number', 'volatile'],
  ['externalid', 'External ID'],
  ['createddate', 'Created', 'time'],
  ['lastmodifieddate', 'Last modified', 'time'],
);

const transactionColumns = columns(
  ['id', 'Internal ID', 'integer'],
  ['tranid', 'Document number'],
  ['transactionnumber', 'Transaction number'],
  ['trandate', 'Date', 'date'],
  ['closedate', 'Date closed', 'date', 'volatile'],
  ['entity', 'Customer', 'reference'],
  ['currency', 'Currency', 'reference'],
  ['exchangerate', 'Exchange rate', 'number'],
  ['foreigntotal', 'Total', 'number'],
  ['taxtotal', 'Tax total', 'number'],
  ['foreignamountpaid', 'Amount paid or applied', 'number', 'volatile'],
  ['foreignamountunpaid', 'Amount unpaid or not yet applied', 'number', 'volatile'],
  ['status', 'Status', 'list', 'volatile'],
  ['posting', 'Posting', 'boolean'],
  ['postingperiod', 'Posting period', 'reference'],
  ['voided', 'Voided', 'boolean', 'volatile'],
  ['memo', 'Memo'],
  ['otherrefnum', 'Customer order number'],
  ['externalid', 'External ID'],
  ['employee', 'Sales representative', 'reference'],
  ['subsidiary', 'Subsidiary', 'reference'],
  ['terms', 'Terms', 'reference'],
  ['billingaddress', 'Billing address', 'reference'],
  ['shippingaddress', 'Shipping address', 'reference'],
  ['email', 'Email'],
  ['createddate', 'Created', 'time'],
  ['lastmodifieddate', 'Last modified', 'time'],
);

const invoiceColumns = [
  ...transactionColumns,
  ...columns(['duedate', 'Due date', 'date'], ['shipdate', 'Ship date', 'date']),
  calculated('daysopen', 'Days open'),
  calculated('daysoverduesearch', 'Days overdue'),
];

/**
 * Item lines as the document shows them. Left out: the line that stands for the header (mainline), tax lines, and the
 * cost-of-goods lines that NetSuite adds by itself. Lines are not chosen by accountinglinetype, which is empty on
 * description and subtotal lines and differs for discounts. A flag that is empty counts as F, or lines would be lost.
 */
const transactionLines: LinesDefinition = {
  table: 'transactionline',
  parent: 'transaction',
  filter: "COALESCE(l.mainline, 'F') = 'F' AND COALESCE(l.taxline, 'F') = 'F' AND COALESCE(l.iscogs, 'F') = 'F'",
  columns: columns(
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
    ['linelastmodifieddate', 'Last modified', 'time'],
  ),
};

/** Custom columns of lines, wherever a catalogue entry mentions them. */
export const lineCustomPrefix = 'custcol';

const transactionType = (name: string, label: string, code: string, own: readonly ColumnDefinition[]): RecordTypeDefinition => ({
  name,
  label,
  table: 'transaction',
  filter: `t.type = '${code}'`,
  columns: own,
  lines: transactionLines,
  catalogue: [name],
  customPrefix: 'custbody',
});

export const recordTypeDefinitions: readonly RecordTypeDefinition[] = [
  {
    name: 'customer',
    label: 'Customer',
    table: 'customer',
    filter: null,
    columns: customerColumns,
    lines: null,
    catalogue: ['customer'],
    customPrefix: 'custentity',
  },
  {
    name: 'item',
    label: 'Item',
    table: 'item',
    filter: null,
    columns: itemColumns,
    lines: null,
    // SuiteQL has one table for what the record service knows as many types.
    catalogue: ['inventoryItem', 'nonInventorySaleItem', 'serviceSaleItem', 'assemblyItem', 'kitItem'],
    customPrefix: 'custitem',
  },
  transactionType('invoice', 'Invoice', 'CustInvc', invoiceColumns),
  transactionType('creditMemo', 'Credit memo', 'CustCred', transactionColumns),
];

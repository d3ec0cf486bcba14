// The records that the record service and the metadata catalogue know: camelCase properties over the columns of SuiteQL's views.

export type PropertyKind = 'string' | 'boolean' | 'number' | 'integer' | 'date' | 'date-time' | 'reference' | 'enum';
export type Property = {
  name: string;
  title: string;
  kind: PropertyKind;
  /** A column of the record's view. */
  column: string;
  /** The record service shows credits and sales positive where the books hold them negative. */
  isNegated?: boolean;
  /** What a reference points to. */
  to?: string;
  /** The ids of an enumeration. */
  values?: readonly string[];
};
export type RecordType = {
  name: string;
  title: string;
  table: string;
  /** The value of the view's `type`, for the kinds of transaction. */
  transactionType?: string;
  properties: readonly Property[];
  /** Its lines, of which `isNegated` tells the sign in the books. */
  lines?: { isNegated: boolean };
};

const property = (name: string, title: string, kind: PropertyKind, column: string, more: Partial<Property> = {}): Property =>
  ({ name, title, kind, column, ...more });

const ID = property('id', 'Internal ID', 'string', 'id');
const CURRENCY = property('currency', 'Currency', 'reference', 'currency', { to: 'currency' });
const CHANGED = property('lastModifiedDate', 'Last Modified Date', 'date-time', 'lastmodifieddate');
const EXTERNAL_ID = property('externalId', 'External ID', 'string', 'externalid');
const INACTIVE = property('isInactive', 'Inactive', 'boolean', 'isinactive');

const TRANSACTION: readonly Property[] = [
  ID,
  EXTERNAL_ID,
  property('tranId', 'Document Number', 'string', 'tranid'),
  property('tranDate', 'Date', 'date', 'trandate'),
  CURRENCY,
  property('exchangeRate', 'Exchange Rate', 'number', 'exchangerate'),
  property('memo', 'Memo', 'string', 'memo'),
  property('createdDate', 'Date Created', 'date-time', 'createddate'),
  CHANGED,
];
const CUSTOMER_OF = property('entity', 'Customer', 'reference', 'entity', { to: 'customer' });
const STATUS = property('status', 'Status', 'enum', 'status', { values: ['A', 'B'] });

export const RECORD_TYPES: readonly RecordType[] = [
  {
    name: 'customer', title: 'Customer', table: 'customer',
    properties: [
      ID, EXTERNAL_ID, INACTIVE, CURRENCY, CHANGED,
      property('entityId', 'Customer ID', 'string', 'entityid'),
      property('isPerson', 'Individual', 'boolean', 'isperson'),
      property('companyName', 'Company Name', 'string', 'companyname'),
      property('email', 'Email', 'string', 'email'),
      property('phone', 'Phone', 'string', 'phone'),
      property('balance', 'Balance', 'number', 'balancesearch'),
      property('overdueBalance', 'Overdue Balance', 'number', 'overduebalancesearch'),
      property('dateCreated', 'Date Created', 'date-time', 'datecreated'),
    ],
  },
  {
    name: 'inventoryItem', title: 'Inventory Item', table: 'item',
    properties: [
      ID, EXTERNAL_ID, INACTIVE, CHANGED,
      property('itemId', 'Item Name/Number', 'string', 'itemid'),
      property('displayName', 'Display Name/Code', 'string', 'displayname'),
      property('salesDescription', 'Sales Description', 'string', 'salesdescription'),
      property('createdDate', 'Date Created', 'date-time', 'createddate'),
    ],
  },
  {
    name: 'invoice', title: 'Invoice', table: 'transaction', transactionType: 'CustInvc', lines: { isNegated: true },
    properties: [
      ...TRANSACTION, CUSTOMER_OF, STATUS,
      property('dueDate', 'Due Date', 'date', 'duedate'),
      property('total', 'Total', 'number', 'foreigntotal'),
      property('amountPaid', 'Amount Paid', 'number', 'foreignamountpaid'),
      property('amountRemaining', 'Amount Remaining', 'number', 'foreignamountunpaid'),
      property('otherRefNum', 'PO/Check Number', 'string', 'otherrefnum'),
    ],
  },
  {
    name: 'creditMemo', title: 'Credit Memo', table: 'transaction', transactionType: 'CustCred', lines: { isNegated: false },
    properties: [
      ...TRANSACTION, CUSTOMER_OF, STATUS,
      property('total', 'Total', 'number', 'foreigntotal', { isNegated: true }),
      property('applied', 'Applied', 'number', 'foreignamountpaid', { isNegated: true }),
      property('unapplied', 'Unapplied', 'number', 'foreignamountunpaid', { isNegated: true }),
      property('otherRefNum', 'PO/Check Number', 'string', 'otherrefnum'),
    ],
  },
  { name: 'journalEntry', title: 'Journal Entry', table: 'transaction', transactionType: 'Journal', properties: TRANSACTION },
  {
    name: 'currency', title: 'Currency', table: 'currency',
    properties: [
      ID, INACTIVE, CHANGED,
      property('name', 'Name', 'string', 'name'),
      property('symbol', 'ISO Code', 'string', 'symbol'),
      property('displaySymbol', 'Symbol', 'string', 'displaysymbol'),
      property('exchangeRate', 'Exchange Rate', 'number', 'exchangerate'),
      property('isBaseCurrency', 'Base Currency', 'boolean', 'isbasecurrency'),
    ],
  },
];

/** Lines of an invoice or a credit memo: columns of transactionline. */
export const LINE_PROPERTIES: readonly Property[] = [
  property('line', 'Line', 'integer', 'id'),
  property('item', 'Item', 'reference', 'item', { to: 'inventoryItem' }),
  property('description', 'Description', 'string', 'memo'),
  property('quantity', 'Quantity', 'number', 'quantity', { isNegated: true }),
  property('rate', 'Rate', 'number', 'rate'),
  property('amount', 'Amount', 'number', 'netamount', { isNegated: true }),
];

/** Paths take a record type in any case. */
export const findRecordType = (name: string): RecordType | undefined =>
  RECORD_TYPES.find((type) => type.name.toLowerCase() === name.toLowerCase());

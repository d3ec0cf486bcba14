// The records that the record service and the metadata catalogue know: camelCase properties over the columns of SuiteQL's views.
import type { RoleView } from '../tables/role-view.ts';
import { LINE_PROPERTIES, type Property, property } from './property.ts';

export type RecordType = {
  name: string;
  title: string;
  table: string;
  /** The value of the view's `type`, for the kinds of transaction. */
  transactionType?: string;
  properties: readonly Property[];
  /** Its lines, of which `isNegated` tells the sign in the books. */
  lines?: { isNegated: boolean; properties: readonly Property[] };
  /** The types in its sublist `apply`, of which it pays some: invoices, or what a refund gives back. */
  applies?: readonly string[];
};

const ID = property('id', 'Internal ID', 'string', 'id');
const CURRENCY = property('currency', 'Currency', 'reference', 'currency', { to: 'currency', writes: 'create' });
const CHANGED = property('lastModifiedDate', 'Last Modified Date', 'date-time', 'lastmodifieddate');
const EXTERNAL_ID = property('externalId', 'External ID', 'string', 'externalid', { writes: 'always' });
const INACTIVE = property('isInactive', 'Inactive', 'boolean', 'isinactive', { writes: 'always' });
const SUBSIDIARY = property('subsidiary', 'Subsidiary', 'reference', 'subsidiary', { to: 'subsidiary' });
const EMAIL = property('email', 'Email', 'string', 'email', { writes: 'always' });
const PHONE = property('phone', 'Phone', 'string', 'phone', { writes: 'always' });
const FIRST_NAME = property('firstName', 'First Name', 'string', 'firstname', { writes: 'always' });
const LAST_NAME = property('lastName', 'Last Name', 'string', 'lastname', { writes: 'always' });
const COMPANY_NAME = property('companyName', 'Company Name', 'string', 'companyname', { writes: 'always' });
const CREATED = property('dateCreated', 'Date Created', 'date-time', 'datecreated');

const TRANSACTION: readonly Property[] = [
  ID,
  EXTERNAL_ID,
  property('tranId', 'Document Number', 'string', 'tranid', { writes: 'always' }),
  property('tranDate', 'Date', 'date', 'trandate', { writes: 'always' }),
  CURRENCY,
  property('exchangeRate', 'Exchange Rate', 'number', 'exchangerate', { writes: 'always' }),
  property('memo', 'Memo', 'string', 'memo', { writes: 'always' }),
  property('createdDate', 'Date Created', 'date-time', 'createddate'),
  SUBSIDIARY,
  CHANGED,
];
const customerOf = (name: string): Property =>
  property(name, 'Customer', 'reference', 'entity', { to: 'customer', writes: 'create', isRequired: true });
const OTHER_NUMBER = property('otherRefNum', 'PO/Check Number', 'string', 'otherrefnum', { writes: 'always' });
const statusOf = (...values: string[]): Property => property('status', 'Status', 'enum', 'status', { values });
const negated = (name: string, title: string, column: string): Property => property(name, title, 'number', column, { isNegated: true });

const PERSON: readonly Property[] = [
  ID,
  EXTERNAL_ID,
  INACTIVE,
  property('entityId', 'Name', 'string', 'entityid'),
  EMAIL,
  PHONE,
  CREATED,
  CHANGED,
  SUBSIDIARY,
];
/** This account shows them and lets nobody write them. */
const readOnly = (properties: readonly Property[]): Property[] => properties.map(({ writes: _writes, ...rest }) => rest);

export const RECORD_TYPES: readonly RecordType[] = [
  {
    name: 'customer',
    title: 'Customer',
    table: 'customer',
    properties: [
      ID,
      EXTERNAL_ID,
      INACTIVE,
      CURRENCY,
      CHANGED,
      property('entityId', 'Customer ID', 'string', 'entityid', { writes: 'always' }),
      property('isPerson', 'Individual', 'boolean', 'isperson', { writes: 'create' }),
      COMPANY_NAME,
      FIRST_NAME,
      LAST_NAME,
      EMAIL,
      PHONE,
      property('url', 'Web Address', 'string', 'url', { writes: 'always' }),
      property('comments', 'Comments', 'string', 'comments', { writes: 'always' }),
      property('creditLimit', 'Credit Limit', 'number', 'creditlimit', { writes: 'always' }),
      property('entityStatus', 'Status', 'reference', 'entitystatus', { to: 'customerStatus', writes: 'always' }),
      { ...SUBSIDIARY, writes: 'create', isRequired: true },
      property('balance', 'Balance', 'number', 'balancesearch'),
      property('overdueBalance', 'Overdue Balance', 'number', 'overduebalancesearch'),
      CREATED,
    ],
  },
  {
    name: 'inventoryItem',
    title: 'Inventory Item',
    table: 'item',
    properties: [
      ID,
      EXTERNAL_ID,
      INACTIVE,
      CHANGED,
      property('itemId', 'Item Name/Number', 'string', 'itemid', { writes: 'always', isRequired: true }),
      property('displayName', 'Display Name/Code', 'string', 'displayname', { writes: 'always' }),
      property('salesDescription', 'Sales Description', 'string', 'salesdescription', { writes: 'always' }),
      property('upcCode', 'UPC Code', 'string', 'upccode', { writes: 'always' }),
      property('basePrice', 'Base Price', 'number', 'baseprice', { writes: 'always' }),
      property('createdDate', 'Date Created', 'date-time', 'createddate'),
    ],
  },
  {
    name: 'invoice',
    title: 'Invoice',
    table: 'transaction',
    transactionType: 'CustInvc',
    lines: { isNegated: true, properties: LINE_PROPERTIES },
    properties: [
      ...TRANSACTION,
      customerOf('entity'),
      statusOf('A', 'B'),
      property('dueDate', 'Due Date', 'date', 'duedate', { writes: 'always' }),
      property('total', 'Total', 'number', 'foreigntotal'),
      property('amountPaid', 'Amount Paid', 'number', 'foreignamountpaid'),
      property('amountRemaining', 'Amount Remaining', 'number', 'foreignamountunpaid'),
      OTHER_NUMBER,
    ],
  },
  {
    name: 'creditMemo',
    title: 'Credit Memo',
    table: 'transaction',
    transactionType: 'CustCred',
    lines: { isNegated: false, properties: LINE_PROPERTIES },
    applies: ['CustInvc'],
    properties: [
      ...TRANSACTION,
      customerOf('entity'),
      statusOf('A', 'B'),
      negated('total', 'Total', 'foreigntotal'),
      negated('applied', 'Applied', 'foreignamountpaid'),
      negated('unapplied', 'Unapplied', 'foreignamountunpaid'),
      OTHER_NUMBER,
    ],
  },
  {
    name: 'customerPayment',
    title: 'Customer Payment',
    table: 'transaction',
    transactionType: 'CustPymt',
    applies: ['CustInvc'],
    properties: [
      ...TRANSACTION,
      customerOf('customer'),
      statusOf('A', 'B', 'C', 'R'),
      property('payment', 'Payment Amount', 'number', 'foreigntotal', { writes: 'always' }),
      property('total', 'Total', 'number', 'foreigntotal'),
      property('applied', 'Applied', 'number', 'foreignamountpaid'),
      property('unapplied', 'Unapplied', 'number', 'foreignamountunpaid'),
      property('account', 'Account', 'reference', 'account', { to: 'account', writes: 'always' }),
      property('undepFunds', 'Undeposited Funds', 'boolean', 'undepfunds', { writes: 'always' }),
      property('checkNumber', 'Check Number', 'string', 'otherrefnum', { writes: 'always' }),
    ],
  },
  {
    name: 'customerRefund',
    title: 'Customer Refund',
    table: 'transaction',
    transactionType: 'CustRfnd',
    applies: ['CustPymt', 'CustCred'],
    properties: [
      ...TRANSACTION,
      customerOf('customer'),
      property('total', 'Total', 'number', 'foreigntotal'),
      property('account', 'Account', 'reference', 'account', { to: 'account', writes: 'always', isRequired: true }),
      property('paymentMethod', 'Refund Method', 'reference', 'paymentmethod', { to: 'paymentMethod', writes: 'always' }),
    ],
  },
  {
    name: 'salesOrder',
    title: 'Sales Order',
    table: 'transaction',
    transactionType: 'SalesOrd',
    lines: { isNegated: true, properties: LINE_PROPERTIES },
    properties: [
      ...TRANSACTION,
      customerOf('entity'),
      property('orderStatus', 'Status', 'enum', 'status', { values: ['A', 'B', 'C', 'F', 'G', 'H'], writes: 'always' }),
      property('shipDate', 'Ship Date', 'date', 'shipdate', { writes: 'always' }),
      property('total', 'Total', 'number', 'foreigntotal'),
      OTHER_NUMBER,
    ],
  },
  { name: 'journalEntry', title: 'Journal Entry', table: 'transaction', transactionType: 'Journal', properties: readOnly(TRANSACTION) },
  {
    name: 'currency',
    title: 'Currency',
    table: 'currency',
    properties: [
      ID,
      ...readOnly([INACTIVE]),
      CHANGED,
      property('name', 'Name', 'string', 'name'),
      property('symbol', 'ISO Code', 'string', 'symbol'),
      property('displaySymbol', 'Symbol', 'string', 'displaysymbol'),
      property('exchangeRate', 'Exchange Rate', 'number', 'exchangerate'),
      property('isBaseCurrency', 'Base Currency', 'boolean', 'isbasecurrency'),
    ],
  },
  { name: 'vendor', title: 'Vendor', table: 'vendor', properties: readOnly([...PERSON, COMPANY_NAME]) },
  { name: 'employee', title: 'Employee', table: 'employee', properties: readOnly([...PERSON, FIRST_NAME, LAST_NAME]) },
  {
    name: 'contact',
    title: 'Contact',
    table: 'contact',
    properties: readOnly([...PERSON, FIRST_NAME, LAST_NAME, property('company', 'Company', 'reference', 'company', { to: 'customer' })]),
  },
  {
    name: 'subsidiary',
    title: 'Subsidiary',
    table: 'subsidiary',
    properties: [
      ID,
      property('name', 'Name', 'string', 'name'),
      property('country', 'Country', 'string', 'country'),
      ...readOnly([INACTIVE]),
      CHANGED,
    ],
  },
];

/** Paths take a record type in any case. */
const findRecordType = (name: string): RecordType | undefined =>
  RECORD_TYPES.find((type) => type.name.toLowerCase() === name.toLowerCase());

/** A type with what is switched on of it, whether the role may see it or not: the catalogue lists more than a role can read. */
export function findSwitchedOn(role: RoleView, name: string): RecordType | undefined {
  const type = findRecordType(name);
  if (!type || !role.isSwitchedOn(type.table)) return undefined;
  return { ...type, properties: type.properties.filter(({ column }) => role.isSwitchedOn(type.table, column)) };
}

/** The type with what the role sees of it; undefined if it doesn't see it at all. */
export function asSeenBy(role: RoleView, type: RecordType): RecordType | undefined {
  const seen = (tableName: string, properties: readonly Property[]): Property[] | undefined => {
    const answer = role.find(tableName);
    if (answer.kind !== 'table') return undefined;
    const columns = role.columns(answer.table);
    return properties.filter(({ column }) => columns.has(column));
  };
  const { lines, ...rest } = type;
  const properties = seen(type.table, type.properties);
  const lineProperties = lines && seen('transactionline', lines.properties);
  if (!properties) return undefined;
  return { ...rest, properties, ...(lines && lineProperties ? { lines: { ...lines, properties: lineProperties } } : {}) };
}

// The record types of the record service and the metadata catalog: camelCase properties over the columns of SuiteQL's views.
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { customProperty, defineProperty, LINE_PROPERTIES, type Property } from './property.ts';

export type RestRecordType = {
  name: string;
  title: string;
  table: string;
  /** For transactions: the value of the view's `type`. */
  transactionType?: string;
  properties: readonly Property[];
  /** Its lines; `isNegated`: the books hold them negative. */
  lines?: { isNegated: boolean; properties: readonly Property[] };
  /** The transaction types in its sublist `apply`: what it pays (invoices) or refunds. */
  applies?: readonly string[];
};

const ID = defineProperty('id', 'Internal ID', 'string', 'id');
const CURRENCY = defineProperty('currency', 'Currency', 'reference', 'currency', { to: 'currency', writes: 'create' });
const CHANGED = defineProperty('lastModifiedDate', 'Last Modified Date', 'date-time', 'lastmodifieddate');
const EXTERNAL_ID = defineProperty('externalId', 'External ID', 'string', 'externalid', { writes: 'always' });
const INACTIVE = defineProperty('isInactive', 'Inactive', 'boolean', 'isinactive', { writes: 'always' });
const SUBSIDIARY = defineProperty('subsidiary', 'Subsidiary', 'reference', 'subsidiary', { to: 'subsidiary' });
const EMAIL = defineProperty('email', 'Email', 'string', 'email', { writes: 'always' });
const PHONE = defineProperty('phone', 'Phone', 'string', 'phone', { writes: 'always' });
const FIRST_NAME = defineProperty('firstName', 'First Name', 'string', 'firstname', { writes: 'always' });
const LAST_NAME = defineProperty('lastName', 'Last Name', 'string', 'lastname', { writes: 'always' });
const COMPANY_NAME = defineProperty('companyName', 'Company Name', 'string', 'companyname', { writes: 'always' });
const CREATED = defineProperty('dateCreated', 'Date Created', 'date-time', 'datecreated');

const TRANSACTION: readonly Property[] = [
  ID,
  EXTERNAL_ID,
  defineProperty('tranId', 'Document Number', 'string', 'tranid', { writes: 'always' }),
  defineProperty('tranDate', 'Date', 'date', 'trandate', { writes: 'always' }),
  CURRENCY,
  defineProperty('exchangeRate', 'Exchange Rate', 'number', 'exchangerate', { writes: 'always' }),
  defineProperty('memo', 'Memo', 'string', 'memo', { writes: 'always' }),
  defineProperty('createdDate', 'Date Created', 'date-time', 'createddate'),
  SUBSIDIARY,
  CHANGED,
];
const customerOf = (name: string): Property =>
  defineProperty(name, 'Customer', 'reference', 'entity', { to: 'customer', writes: 'create', isRequired: true });
const OTHER_NUMBER = defineProperty('otherRefNum', 'PO/Check Number', 'string', 'otherrefnum', { writes: 'always' });
const statusOf = (...values: string[]): Property => defineProperty('status', 'Status', 'enum', 'status', { values });
const negated = (name: string, title: string, column: string): Property =>
  defineProperty(name, title, 'number', column, { isNegated: true });

const PERSON: readonly Property[] = [
  ID,
  EXTERNAL_ID,
  INACTIVE,
  defineProperty('entityId', 'Name', 'string', 'entityid'),
  EMAIL,
  PHONE,
  CREATED,
  CHANGED,
  SUBSIDIARY,
];
/** This account serves them read-only. */
const readOnly = (properties: readonly Property[]): Property[] => properties.map(({ writes: _writes, ...rest }) => rest);

export const RECORD_TYPES: readonly RestRecordType[] = [
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
      defineProperty('entityId', 'Customer ID', 'string', 'entityid', { writes: 'always' }),
      defineProperty('isPerson', 'Individual', 'boolean', 'isperson', { writes: 'create' }),
      COMPANY_NAME,
      FIRST_NAME,
      LAST_NAME,
      EMAIL,
      PHONE,
      defineProperty('url', 'Web Address', 'string', 'url', { writes: 'always' }),
      defineProperty('comments', 'Comments', 'string', 'comments', { writes: 'always' }),
      defineProperty('creditLimit', 'Credit Limit', 'number', 'creditlimit', { writes: 'always' }),
      defineProperty('entityStatus', 'Status', 'reference', 'entitystatus', { to: 'customerStatus', writes: 'always' }),
      { ...SUBSIDIARY, writes: 'create', isRequired: true },
      defineProperty('balance', 'Balance', 'number', 'balancesearch'),
      defineProperty('overdueBalance', 'Overdue Balance', 'number', 'overduebalancesearch'),
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
      defineProperty('itemId', 'Item Name/Number', 'string', 'itemid', { writes: 'always', isRequired: true }),
      defineProperty('displayName', 'Display Name/Code', 'string', 'displayname', { writes: 'always' }),
      defineProperty('salesDescription', 'Sales Description', 'string', 'salesdescription', { writes: 'always' }),
      defineProperty('upcCode', 'UPC Code', 'string', 'upccode', { writes: 'always' }),
      defineProperty('basePrice', 'Base Price', 'number', 'baseprice', { writes: 'always' }),
      defineProperty('createdDate', 'Date Created', 'date-time', 'createddate'),
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
      defineProperty('dueDate', 'Due Date', 'date', 'duedate', { writes: 'always' }),
      defineProperty('total', 'Total', 'number', 'foreigntotal'),
      defineProperty('amountPaid', 'Amount Paid', 'number', 'foreignamountpaid'),
      defineProperty('amountRemaining', 'Amount Remaining', 'number', 'foreignamountunpaid'),
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
      defineProperty('payment', 'Payment Amount', 'number', 'foreigntotal', { writes: 'always' }),
      defineProperty('total', 'Total', 'number', 'foreigntotal'),
      defineProperty('applied', 'Applied', 'number', 'foreignamountpaid'),
      defineProperty('unapplied', 'Unapplied', 'number', 'foreignamountunpaid'),
      defineProperty('account', 'Account', 'reference', 'account', { to: 'account', writes: 'always' }),
      defineProperty('undepFunds', 'Undeposited Funds', 'boolean', 'undepfunds', { writes: 'always' }),
      defineProperty('checkNumber', 'Check Number', 'string', 'otherrefnum', { writes: 'always' }),
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
      defineProperty('total', 'Total', 'number', 'foreigntotal'),
      defineProperty('account', 'Account', 'reference', 'account', { to: 'account', writes: 'always', isRequired: true }),
      defineProperty('paymentMethod', 'Refund Method', 'reference', 'paymentmethod', { to: 'paymentMethod', writes: 'always' }),
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
      defineProperty('orderStatus', 'Status', 'enum', 'status', { values: ['A', 'B', 'C', 'F', 'G', 'H'], writes: 'always' }),
      defineProperty('shipDate', 'Ship Date', 'date', 'shipdate', { writes: 'always' }),
      defineProperty('total', 'Total', 'number', 'foreigntotal'),
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
      defineProperty('name', 'Name', 'string', 'name'),
      defineProperty('symbol', 'ISO Code', 'string', 'symbol'),
      defineProperty('displaySymbol', 'Symbol', 'string', 'displaysymbol'),
      defineProperty('exchangeRate', 'Exchange Rate', 'number', 'exchangerate'),
      defineProperty('isBaseCurrency', 'Base Currency', 'boolean', 'isbasecurrency'),
    ],
  },
  { name: 'vendor', title: 'Vendor', table: 'vendor', properties: readOnly([...PERSON, COMPANY_NAME]) },
  { name: 'employee', title: 'Employee', table: 'employee', properties: readOnly([...PERSON, FIRST_NAME, LAST_NAME]) },
  {
    name: 'contact',
    title: 'Contact',
    table: 'contact',
    properties: readOnly([
      ...PERSON,
      FIRST_NAME,
      LAST_NAME,
      defineProperty('company', 'Company', 'reference', 'company', { to: 'customer' }),
    ]),
  },
  {
    name: 'subsidiary',
    title: 'Subsidiary',
    table: 'subsidiary',
    properties: [
      ID,
      defineProperty('name', 'Name', 'string', 'name'),
      defineProperty('country', 'Country', 'string', 'country'),
      ...readOnly([INACTIVE]),
      CHANGED,
    ],
  },
];

/** Record types in paths are case-insensitive. */
const findRecordType = (name: string): RestRecordType | undefined =>
  RECORD_TYPES.find((type) => type.name.toLowerCase() === name.toLowerCase());

/** The type with the account's custom fields; undefined for a type that is unknown or whose feature is off. */
export function findEnabledType(role: RoleVisibility, name: string): RestRecordType | undefined {
  const type = findRecordType(name);
  if (!type || !role.isEnabled(type.table)) return undefined;
  const { lines } = type;
  return {
    ...type,
    properties: withCustomFields(role, type.table, type.properties).filter(({ column }) => role.isEnabled(type.table, column)),
    ...(lines && { lines: { ...lines, properties: withCustomFields(role, 'transactionline', lines.properties) } }),
  };
}

const withCustomFields = (role: RoleVisibility, table: string, properties: readonly Property[]): Property[] => [
  ...properties,
  ...role.customFields(table).map(customProperty),
];

/** What the metadata catalog shows of an enabled type, readable by the role or not; undefined for a type that it doesn't list. */
export function catalogPart(role: RoleVisibility, type: RestRecordType): RestRecordType | undefined {
  if (!role.isInCatalog(type.table)) return undefined;
  const listed = (table: string, properties: readonly Property[]): Property[] =>
    properties.filter(({ column }) => role.isInCatalog(table, column));
  const { lines, ...rest } = type;
  const shown = { ...rest, properties: listed(type.table, type.properties) };
  if (!lines || !role.isInCatalog('transactionline')) return shown;
  return { ...shown, lines: { ...lines, properties: listed('transactionline', lines.properties) } };
}

/** The record types of the metadata catalog. */
export const listCatalogTypes = (role: RoleVisibility): RestRecordType[] =>
  RECORD_TYPES.flatMap(({ name }) => {
    const type = findEnabledType(role, name);
    return (type && catalogPart(role, type)) ?? [];
  });

/** The type with the properties and lines that the role can see; undefined if it can't see the type. */
export function visiblePart(role: RoleVisibility, type: RestRecordType): RestRecordType | undefined {
  const seen = (tableName: string, properties: readonly Property[]): Property[] | undefined => {
    const found = role.find(tableName);
    if (found.kind !== 'table') return undefined;
    const columns = role.columns(found.table);
    return properties.filter(({ column }) => columns.has(column));
  };
  const { lines, ...rest } = type;
  const properties = seen(type.table, type.properties);
  const lineProperties = lines && seen('transactionline', lines.properties);
  if (!properties) return undefined;
  return { ...rest, properties, ...(lines && lineProperties ? { lines: { ...lines, properties: lineProperties } } : {}) };
}

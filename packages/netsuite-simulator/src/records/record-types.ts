// The record types of the record service and the metadata catalog: camelCase properties over the columns of
// SuiteQL's views.
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { PROFILE_PROPERTIES, PROFILE_SUBLISTS, PROFILE_TYPES } from './profile-types.ts';
import { customProperty, defineProperty, LINE_PROPERTIES, type Property } from './property.ts';
import type { RecordSublist, RestRecordType } from './record-type.ts';
import {
  CHANGED,
  COMPANY_NAME,
  CREATED,
  CURRENCY,
  EMAIL,
  EXTERNAL_ID,
  FIRST_NAME,
  ID,
  INACTIVE,
  LAST_NAME,
  OTHER_NUMBER,
  PERSON,
  PHONE,
  readOnly,
  SUBSIDIARY,
  TRANSACTION,
} from './shared-properties.ts';

const defineCustomer = (name: string): Property =>
  defineProperty(name, 'Customer', 'reference', 'entity', {
    to: 'customer',
    writes: 'create',
    isRequired: true,
  });
const defineStatus = (...values: string[]): Property =>
  defineProperty('status', 'Status', 'enum', 'status', { values });
const negated = (name: string, title: string, column: string): Property =>
  defineProperty(name, title, 'number', column, { isNegated: true });

const RECORD_TYPES: readonly RestRecordType[] = [
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
      defineProperty('entityStatus', 'Status', 'reference', 'entitystatus', {
        to: 'customerStatus',
        writes: 'always',
      }),
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
    itemType: 'InvtPart',
    properties: [
      ID,
      EXTERNAL_ID,
      INACTIVE,
      CHANGED,
      defineProperty('itemId', 'Item Name/Number', 'string', 'itemid', {
        writes: 'always',
        isRequired: true,
      }),
      defineProperty('displayName', 'Display Name/Code', 'string', 'displayname', { writes: 'always' }),
      defineProperty('salesDescription', 'Sales Description', 'string', 'salesdescription', {
        writes: 'always',
      }),
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
      defineCustomer('entity'),
      defineStatus('A', 'B'),
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
      defineCustomer('entity'),
      defineStatus('A', 'B'),
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
      defineCustomer('customer'),
      defineStatus('A', 'B', 'C', 'R'),
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
      defineCustomer('customer'),
      defineProperty('total', 'Total', 'number', 'foreigntotal'),
      defineProperty('account', 'Account', 'reference', 'account', {
        to: 'account',
        writes: 'always',
        isRequired: true,
      }),
      defineProperty('paymentMethod', 'Refund Method', 'reference', 'paymentmethod', {
        to: 'paymentMethod',
        writes: 'always',
      }),
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
      defineCustomer('entity'),
      defineProperty('orderStatus', 'Status', 'enum', 'status', {
        values: ['A', 'B', 'C', 'F', 'G', 'H'],
        writes: 'always',
      }),
      defineProperty('shipDate', 'Ship Date', 'date', 'shipdate', { writes: 'always' }),
      defineProperty('total', 'Total', 'number', 'foreigntotal'),
      OTHER_NUMBER,
    ],
  },
  {
    name: 'journalEntry',
    title: 'Journal Entry',
    table: 'transaction',
    transactionType: 'Journal',
    properties: readOnly(TRANSACTION),
  },
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
  {
    name: 'employee',
    title: 'Employee',
    table: 'employee',
    properties: readOnly([...PERSON, FIRST_NAME, LAST_NAME]),
  },
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

const PROFILE_RECORD_TYPES: readonly RestRecordType[] = [
  ...RECORD_TYPES.map((type) => ({
    ...type,
    properties: [...type.properties, ...(PROFILE_PROPERTIES[type.name] ?? [])],
    sublists: PROFILE_SUBLISTS[type.name] ?? [],
  })),
  ...PROFILE_TYPES,
];

const listRecordTypes = ({ profile }: RoleVisibility): readonly RestRecordType[] =>
  profile === undefined ? RECORD_TYPES : PROFILE_RECORD_TYPES;

/** The record types whose records are rows of this table. */
export const recordTypesIn = (table: string): RestRecordType[] =>
  PROFILE_RECORD_TYPES.filter((type) => type.table === table && !type.isUnavailable);

/** The properties of a table that a selection leaves; undefined if it leaves out the table. */
type Select = (table: string, properties: readonly Property[]) => readonly Property[] | undefined;

/**
 * The type with the selected properties, lines and sublists; undefined if the selection leaves out its table.
 */
function selectPart(
  { lines, sublists = [], ...type }: RestRecordType,
  select: Select,
): RestRecordType | undefined {
  const properties = select(type.table, type.properties);
  const lineProperties = lines && select('transactionline', lines.properties);
  if (!properties) return undefined;
  return {
    ...type,
    properties,
    sublists: sublists.flatMap((sublist): RecordSublist[] => {
      const own = select(sublist.table, sublist.properties);
      return own ? [{ ...sublist, properties: own }] : [];
    }),
    ...(lines && lineProperties ? { lines: { ...lines, properties: lineProperties } } : {}),
  };
}

/**
 * The type with the account's custom fields; undefined for a type that is unknown or whose feature is off.
 * Names are case-insensitive.
 */
export function findEnabledType(role: RoleVisibility, name: string): RestRecordType | undefined {
  const type = listRecordTypes(role).find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (!type || !role.isEnabled(type.table)) return undefined;
  if (type.isUnavailable) return type;
  return selectPart(type, (table, properties) => {
    const columns = new Set(role.known(table)?.columns.map((column) => column.name));
    const custom = role.customFields(table).filter((field) => !field.isOnlyInQueries);
    const all = [...properties, ...custom.map(customProperty)];
    return columns.size === 0
      ? undefined
      : all.filter(({ column }) => columns.has(column) && role.isEnabled(table, column));
  });
}

/**
 * What the metadata catalog shows of an enabled type, readable by the role or not; undefined for a type that
 * it doesn't list.
 */
export const catalogPart = (role: RoleVisibility, type: RestRecordType): RestRecordType | undefined =>
  selectPart(type, (table, properties) =>
    role.isInCatalog(table) ? properties.filter(({ column }) => role.isInCatalog(table, column)) : undefined,
  );

/** The record types of the metadata catalog. */
export const listCatalogTypes = (role: RoleVisibility): RestRecordType[] =>
  listRecordTypes(role).flatMap(({ name }) => {
    const type = findEnabledType(role, name);
    return (type && catalogPart(role, type)) ?? [];
  });

/** The type with the properties and lines that the role can see; undefined if it can't see the type. */
export const visiblePart = (role: RoleVisibility, type: RestRecordType): RestRecordType | undefined =>
  selectPart(type, (table, properties) => {
    const found = role.find(table);
    if (found.kind !== 'table') return undefined;
    const columns = role.recordColumns(found.table);
    return properties.filter(({ column }) => columns.has(column));
  });

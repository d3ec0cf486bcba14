// SuiteQL tables that the metadata catalogue doesn't list because they are no record types of their own: rows
// between or below records, and lists behind other lists. Their names, columns and keys are those of public
// connectors and of accounts' data (facts: netsuite.md, 5).
import type { RecordFamily } from '../../discovery.ts';
import type { StoredDefinition } from '../types/stored-definition.ts';

export type KnownTable = {
  readonly label: string;
  readonly family: RecordFamily;
  /** Null where no columns tell its rows apart for certain; absent where one of the usual columns does. */
  readonly key?: StoredDefinition['key'] | null;
  /** The record that a row belongs to and changes with, and the column with the time of that change. */
  readonly parent?: NonNullable<StoredDefinition['parent']> & { readonly modified: string };
};

const one = (column: string): StoredDefinition['key'] => [{ column, digits: 18 }];
const modified = 'lastmodifieddate';
const owner = (table: string, column: string): NonNullable<KnownTable['parent']> => ({
  table,
  key: 'id',
  column,
  modified,
});
const link = (label: string, parts: Omit<KnownTable, 'label' | 'family'> = {}): KnownTable => ({
  label,
  family: 'link',
  ...parts,
});
const list = (label: string, key?: KnownTable['key']): KnownTable => ({
  label,
  family: 'list',
  ...(key !== undefined && { key }),
});

export const knownTables: Readonly<Record<string, KnownTable>> = {
  transactionaccountingline: {
    label: 'Posting line',
    family: 'posting',
    key: [
      { column: 'transaction', digits: 11 },
      { column: 'transactionline', digits: 5 },
      { column: 'accountingbook', digits: 2 },
    ],
    parent: owner('transaction', 'transaction'),
  },
  transactionline: link('Transaction line', { key: one('uniquekey') }),
  nexttransactionlinelink: link('Link to a following transaction', { key: null }),
  previoustransactionlinelink: link('Link to a preceding transaction', { key: null }),
  transactionbillingaddress: link('Billing address of transactions', { key: one('nkey') }),
  transactionshippingaddress: link('Shipping address of transactions', { key: one('nkey') }),
  transactionstatus: list('Transaction status', null),
  entity: { label: 'Entity', family: 'entity' },
  entitystatus: list('Entity status', one('key')),
  customeraddressbook: link('Address book entry of a customer', {
    key: one('internalid'),
    parent: owner('customer', 'entity'),
  }),
  customeraddressbookentityaddress: link('Address of a customer', { key: one('nkey') }),
  vendoraddressbook: link('Address book entry of a vendor', {
    key: one('internalid'),
    parent: owner('vendor', 'entity'),
  }),
  vendoraddressbookentityaddress: link('Address of a vendor', { key: one('nkey') }),
  employeeaddressbook: link('Address book entry of an employee', {
    key: one('internalid'),
    parent: owner('employee', 'entity'),
  }),
  employeeaddressbookentityaddress: link('Address of an employee', { key: one('nkey') }),
  subsidiarymainaddress: link('Main address of a subsidiary', { key: one('nkey') }),
  locationmainaddress: link('Main address of a location', { key: one('nkey') }),
  inventoryitemlocations: link('Stock of an item by location', {
    key: [
      { column: 'item', digits: 12 },
      { column: 'location', digits: 6 },
    ],
  }),
  pricing: link('Price of an item', { key: one('internalid'), parent: owner('item', 'item') }),
  itemprice: link('Price of an item by level', { key: one('internalid'), parent: owner('item', 'item') }),
  accounttype: list('Account type', one('internalid')),
  country: list('Country', one('uniquekey')),
  unitstypeuom: link('Unit of a units type', { key: one('internalid') }),
  customrecordtype: list('Custom record type', one('internalid')),
  customlist: list('Custom list', one('internalid')),
  customfield: list('Custom field', one('internalid')),
};

/** `map_<table>_<field>`: the chosen entries of a multiple select, one row each. */
const ofMultipleSelect =
  /^map_(transactionline|transaction|item|customer|vendor|employee|contact|partner|entity)_(cust\w+)$/;

/** What is known of a table; undefined for all others. `table` is in lower case. */
export function findKnownTable(table: string): KnownTable | undefined {
  if (Object.hasOwn(knownTables, table)) return knownTables[table];
  if (!table.startsWith('map_')) return undefined;
  const [, of, field] = ofMultipleSelect.exec(table) ?? [];
  const isLine = of === 'transactionline';
  return link(`Choices of ${field ?? table.slice(4)}`, {
    key: [
      { column: 'mapone', digits: 12 },
      { column: 'maptwo', digits: 6 },
    ],
    ...(of !== undefined && {
      parent: {
        table: of,
        key: isLine ? 'uniquekey' : 'id',
        column: 'mapone',
        modified: isLine ? 'linelastmodifieddate' : modified,
      },
    }),
  });
}

/** Why rows can't be read one by one, and what can be done instead. */
export const withoutKey =
  'No column or group of columns identifies its rows, so they can be neither read in pages nor distinguished: define a query source with a key of its own';

// The address books of customers and vendors, and the addresses of transactions, which only accounts with a
// profile have. An address has one row in the base table; a transaction refers to an address of its
// customer's book.
import {
  type AccountColumn,
  type AccountTable,
  referenceColumn,
  tableColumn,
  tableColumns,
} from './table.ts';

const TEXT = `concat_ws(E'\\n', b.addressee, b.addr1, b.addr2, concat_ws(' ', b.city, b.state, b.zip),
  (SELECT c.name FROM ledger.country c WHERE c.id = b.country))`;
const ADDRESS: readonly AccountColumn[] = [
  ...tableColumns('integer', 'nkey'),
  ...tableColumns('text', 'addressee attention addrphone addr1 addr2 addr3 city state'),
  tableColumn('text', 'dropdownstate', 'b.state'),
  ...tableColumns('text', 'zip'),
  referenceColumn('country', 'country', 'name', 'text'),
  tableColumn('text', 'addrtext', TEXT),
  tableColumn('flag', 'override', "'F'"),
  tableColumn('integer', 'recordowner', 'b.entity'),
  ...tableColumns('datetime', 'lastmodifieddate'),
];

type Owner = { name: 'customer' | 'vendor'; billing: string; shipping: string };
const bookTable = ({ name, billing, shipping }: Owner): AccountTable => ({
  name: `${name}addressbook`,
  from: `ledger.address b JOIN ledger.${name} o ON o.id = b.entity`,
  columns: [
    tableColumn('integer', 'internalid', 'b.nkey'),
    tableColumn('integer', 'entity', 'b.entity', 'o.entityid'),
    tableColumn('integer', 'addressbookaddress', 'b.nkey', TEXT),
    ...tableColumns('text', 'label'),
    tableColumn('flag', 'defaultbilling', billing),
    tableColumn('flag', 'defaultshipping', shipping),
    tableColumn('flag', 'isresidential', "'F'"),
  ],
});
const addressTable = (name: string, condition: string): AccountTable => ({
  name,
  from: `ledger.address b WHERE ${condition}`,
  columns: ADDRESS,
});
const buildExistsSql = (table: string, column: string): string =>
  `EXISTS (SELECT FROM ledger.${table} o WHERE o.${column})`;
const flag = (condition: string): string => `CASE WHEN ${condition} THEN 'T' ELSE 'F' END`;

export const ADDRESS_TABLES: readonly AccountTable[] = [
  bookTable({
    name: 'customer',
    billing: flag('o.defaultbillingaddress = b.nkey'),
    shipping: flag('o.defaultshippingaddress = b.nkey'),
  }),
  addressTable('customeraddressbookentityaddress', buildExistsSql('customer', 'id = b.entity')),
  bookTable({ name: 'vendor', billing: "'T'", shipping: "'F'" }),
  addressTable('vendoraddressbookentityaddress', buildExistsSql('vendor', 'id = b.entity')),
  addressTable('transactionbillingaddress', buildExistsSql('transaction', 'billingaddress = b.nkey')),
  addressTable('transactionshippingaddress', buildExistsSql('transaction', 'shippingaddress = b.nkey')),
  addressTable('subsidiarymainaddress', 'b.entity IS NULL AND b.nkey < 10'),
  addressTable('locationmainaddress', 'b.entity IS NULL AND b.nkey >= 10'),
];

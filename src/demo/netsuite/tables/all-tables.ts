// Every table that SuiteQL knows in this account.
import { contact, customer, employee, entity, vendor } from './entity.ts';
import { currency, item } from './item.ts';
import { customerSubsidiary, subsidiary } from './subsidiary.ts';
import { column, columns, type Table } from './table.ts';
import { nextLink, previousLink, transaction, transactionLine, transactionStatus } from './transaction.ts';

const deletedRecord: Table = {
  name: 'deletedrecord',
  from: 'ledger.deletedrecord b',
  columns: [
    ...columns('integer', 'recordid recordtypeid'),
    ...columns('text', 'scriptid name type context'),
    ...columns('integer', 'deletedby'),
    // In the users' time zone, as the day is theirs.
    column(
      'datetime',
      'deleteddate',
      "CASE WHEN current_setting('netsuite.deleted_time', true) = 'off' THEN date_trunc('day', b.deleteddate) ELSE b.deleteddate END",
    ),
    ...columns('flag', 'iscustomlist iscustomrecord iscustomtransaction'),
  ],
};

const customField: Table = {
  name: 'customfield',
  from: 'ledger.customfield b',
  columns: [...columns('integer', 'internalid'), ...columns('text', 'scriptid name fieldtype fieldvaluetype')],
};

const dual: Table = { name: 'dual', from: "(VALUES ('X')) b(dummy)", columns: [column('text', 'dummy')] };

export const ALL_TABLES: readonly Table[] = [
  customer,
  item,
  transaction,
  transactionLine,
  transactionStatus,
  currency,
  entity,
  vendor,
  employee,
  contact,
  subsidiary,
  customerSubsidiary,
  nextLink,
  previousLink,
  deletedRecord,
  customField,
  dual,
];

/** Tables of NetSuite that this account doesn't have; naming one is another error than a made-up name. */
export const UNSEEN_TABLES: ReadonlySet<string> = new Set([
  'account',
  'accountingperiod',
  'classification',
  'customeraddressbook',
  'customeraddressbookentityaddress',
  'department',
  'inventoryitemlocations',
  'itemprice',
  'location',
  'pricing',
  'term',
  'transactionaccountingline',
  'transactionbillingaddress',
  'transactionshippingaddress',
]);

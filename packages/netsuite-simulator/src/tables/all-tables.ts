// All tables that SuiteQL knows in this account.
import { contactTable, customerTable, employeeTable, entityTable, vendorTable } from './entity.ts';
import { currencyTable, itemTable } from './item.ts';
import { customerSubsidiaryTable, subsidiaryTable } from './subsidiary.ts';
import { type AccountTable, tableColumn, tableColumns } from './table.ts';
import { nextLinkTable, previousLinkTable, transactionLineTable, transactionStatusTable, transactionTable } from './transaction.ts';

const deletedRecordTable: AccountTable = {
  name: 'deletedrecord',
  from: 'ledger.deletedrecord b',
  columns: [
    ...tableColumns('integer', 'recordid recordtypeid'),
    ...tableColumns('text', 'scriptid name type context'),
    ...tableColumns('integer', 'deletedby'),
    // The beginning of the day in the users' time zone.
    tableColumn(
      'datetime',
      'deleteddate',
      "CASE WHEN current_setting('netsuite.deleted_time', true) = 'off' THEN date_trunc('day', b.deleteddate) ELSE b.deleteddate END",
    ),
    ...tableColumns('flag', 'iscustomlist iscustomrecord iscustomtransaction'),
  ],
};

const customFieldTable: AccountTable = {
  name: 'customfield',
  from: 'ledger.customfield b',
  columns: [...tableColumns('integer', 'internalid'), ...tableColumns('text', 'scriptid name fieldtype fieldvaluetype')],
};

const dualTable: AccountTable = { name: 'dual', from: "(VALUES ('X')) b(dummy)", columns: [tableColumn('text', 'dummy')] };

export const ALL_TABLES: readonly AccountTable[] = [
  customerTable,
  itemTable,
  transactionTable,
  transactionLineTable,
  transactionStatusTable,
  currencyTable,
  entityTable,
  vendorTable,
  employeeTable,
  contactTable,
  subsidiaryTable,
  customerSubsidiaryTable,
  nextLinkTable,
  previousLinkTable,
  deletedRecordTable,
  customFieldTable,
  dualTable,
];

/** NetSuite tables that this account doesn't have. A query on one gets a different error than a query on an unknown name. */
export const UNAVAILABLE_TABLES: ReadonlySet<string> = new Set([
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

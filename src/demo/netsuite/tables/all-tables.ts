// Every table that SuiteQL knows in this account.
import { customer, entity } from './entity.ts';
import { currency, item } from './item.ts';
import { column, columns, type Table } from './table.ts';
import { transaction, transactionLine, transactionStatus } from './transaction.ts';

const deletedRecord: Table = {
  name: 'deletedrecord',
  from: 'ledger.deletedrecord b',
  columns: [
    ...columns('integer', 'recordid recordtypeid'),
    ...columns('text', 'scriptid name type context'),
    ...columns('integer', 'deletedby'),
    ...columns('datetime', 'deleteddate'),
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
  customer, item, transaction, transactionLine, transactionStatus, currency, entity, deletedRecord, customField, dual,
];

/** Tables of NetSuite that this account's role can't see or whose feature is off; naming one is another error than a made-up name. */
export const UNSEEN_TABLES: ReadonlySet<string> = new Set([
  'account', 'accountingperiod', 'classification', 'contact', 'customeraddressbook', 'customeraddressbookentityaddress',
  'customersubsidiaryrelationship', 'department', 'employee', 'inventoryitemlocations', 'itemprice', 'location',
  'nexttransactionlinelink', 'previoustransactionlinelink', 'pricing', 'subsidiary', 'term', 'transactionaccountingline',
  'transactionbillingaddress', 'transactionshippingaddress', 'vendor',
]);

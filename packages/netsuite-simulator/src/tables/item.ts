import { type AccountTable, extraColumns, tableColumn, tableColumns } from './table.ts';

export const itemTable: AccountTable = {
  name: 'item',
  from: 'ledger.item b',
  columns: [
    ...tableColumns('integer', 'id'),
    ...tableColumns('text', 'itemid'),
    tableColumn('text', 'fullname', 'b.itemid'), // no item in the data has a parent
    ...tableColumns('text', 'displayname'),
    tableColumn('text', 'itemtype', 'b.itemtype', "CASE b.itemtype WHEN 'InvtPart' THEN 'Inventory Item' ELSE b.itemtype END"),
    ...tableColumns('flag', 'isinactive'),
    ...tableColumns('datetime', 'createddate lastmodifieddate'),
    ...tableColumns('text', 'externalid salesdescription upccode'),
    ...tableColumns('decimal', 'baseprice'),
    tableColumn('text', 'subsidiary', "'1'", 'SELECT s.name FROM ledger.subsidiary s WHERE s.id = 1'), // a list in other accounts
    ...extraColumns('text', 'description subtype'),
    ...extraColumns('integer', 'parent class department location incomeaccount expenseaccount assetaccount'),
    ...extraColumns('decimal', 'totalquantityonhand averagecost'),
  ],
};

export const currencyTable: AccountTable = {
  name: 'currency',
  from: 'ledger.currency b',
  columns: [
    ...tableColumns('integer', 'id'),
    ...tableColumns('text', 'name symbol displaysymbol'),
    ...tableColumns('integer', 'currencyprecision'),
    ...tableColumns('decimal', 'exchangerate'),
    ...tableColumns('flag', 'isbasecurrency isinactive'),
    ...tableColumns('datetime', 'lastmodifieddate'),
  ],
};

import { absent, column, columns, type Table } from './table.ts';

export const item: Table = {
  name: 'item',
  from: 'ledger.item b',
  columns: [
    ...columns('integer', 'id'),
    ...columns('text', 'itemid'),
    column('text', 'fullname', 'b.itemid'), // no item in the data has a parent
    ...columns('text', 'displayname'),
    column('text', 'itemtype', 'b.itemtype', "CASE b.itemtype WHEN 'InvtPart' THEN 'Inventory Item' ELSE b.itemtype END"),
    ...columns('flag', 'isinactive'),
    ...columns('datetime', 'createddate lastmodifieddate'),
    ...columns('text', 'externalid salesdescription upccode'),
    ...columns('decimal', 'baseprice'),
    column('text', 'subsidiary', "'1'", 'SELECT s.name FROM ledger.subsidiary s WHERE s.id = 1'), // a list in other accounts
    ...absent('text', 'description subtype'),
    ...absent('integer', 'parent class department location incomeaccount expenseaccount assetaccount'),
    ...absent('decimal', 'totalquantityonhand averagecost'),
  ],
};

export const currency: Table = {
  name: 'currency',
  from: 'ledger.currency b',
  columns: [
    ...columns('integer', 'id'),
    ...columns('text', 'name symbol displaysymbol'),
    ...columns('integer', 'currencyprecision'),
    ...columns('decimal', 'exchangerate'),
    ...columns('flag', 'isbasecurrency isinactive'),
    ...columns('datetime', 'lastmodifieddate'),
  ],
};

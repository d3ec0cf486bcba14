import { type AccountTable, extraColumns, referenceColumn, tableColumn, tableColumns } from './table.ts';

const PARENT =
  "CASE WHEN b.parent IS NOT NULL THEN (SELECT p.itemid || ' : ' FROM ledger.item p WHERE p.id = b.parent) END";
const ACCOUNTS = ['incomeaccount', 'expenseaccount', 'assetaccount'];
const TYPE_LABELS = `CASE b.itemtype WHEN 'InvtPart' THEN 'Inventory Item' WHEN 'NonInvtPart' THEN 'Non-inventory Item' WHEN 'ShipItem' THEN 'Shipping Cost Item'
  WHEN 'TaxItem' THEN 'Tax Item' ELSE b.itemtype END`;
/** The names of the item's subsidiaries, which are a list such as `1, 2, 3`. */
const SUBSIDIARIES = `SELECT string_agg(s.name, ', ' ORDER BY s.id) FROM ledger.subsidiary s WHERE s.id::text = ANY (string_to_array(b.subsidiary, ', '))`;

export const itemTable: AccountTable = {
  name: 'item',
  from: 'ledger.item b',
  columns: [
    ...tableColumns('integer', 'id'),
    ...tableColumns('text', 'itemid'),
    tableColumn('text', 'fullname', `COALESCE(${PARENT}, '') || b.itemid`),
    ...tableColumns('text', 'displayname'),
    tableColumn('text', 'itemtype', 'b.itemtype', TYPE_LABELS),
    ...tableColumns('flag', 'isinactive'),
    ...tableColumns('datetime', 'createddate lastmodifieddate'),
    ...tableColumns('text', 'externalid salesdescription upccode'),
    ...tableColumns('decimal', 'baseprice'),
    tableColumn('text', 'subsidiary', 'b.subsidiary', SUBSIDIARIES),
    ...extraColumns('text', 'description'),
    ...tableColumns('text', 'subtype'),
    referenceColumn('parent', 'item', 'itemid'),
    referenceColumn('class', 'classification'),
    referenceColumn('department', 'department'),
    referenceColumn('location', 'location'),
    ...ACCOUNTS.map((name) => referenceColumn(name, 'account', 'accountsearchdisplayname')),
    ...tableColumns('decimal', 'totalquantityonhand averagecost'),
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
    ...tableColumns('text', 'externalid'),
    ...tableColumns('integer', 'symbolplacement fxrateupdatetimezone'),
    ...tableColumns('flag', 'includeinfxrateupdates overridecurrencyformat'),
  ],
};

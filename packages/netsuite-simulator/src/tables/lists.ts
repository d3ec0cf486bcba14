// Lists that only accounts with a profile have: departments, classes, locations, terms, prices, taxes and
// units. The columns of department, classification and location are those that real accounts have
// (fivetran/dbt_netsuite_source); those of the other lists are *inferred* from the fields of their records.
import { type List, listTable } from './list-table.ts';
import { type AccountTable, referenceColumn, tableColumn, tableColumns } from './table.ts';

const toList = (table: string) => ({ table, label: 'name' });
const toParent = (table: string) => ({ parent: { table, label: 'fullname' } });

const tree = (name: string): List => ({
  name,
  columns: {
    integer: 'id parent',
    text: 'name fullname externalid subsidiary',
    flag: 'isinactive includechildren',
    datetime: 'lastmodifieddate',
  },
  references: toParent(name),
});
const named = (name: string, columns: List['columns'] = {}, references: List['references'] = {}): List => ({
  name,
  columns: {
    ...columns,
    integer: `id ${columns.integer ?? ''}`,
    text: `name externalid ${columns.text ?? ''}`,
    flag: `isinactive ${columns.flag ?? ''}`,
    datetime: 'lastmodifieddate',
  },
  references,
});

export const GENERAL_LISTS: readonly List[] = [
  tree('department'),
  tree('classification'),
  {
    name: 'location',
    columns: {
      integer: 'id parent mainaddress returnaddress defaultallocationpriority',
      text: 'name fullname externalid subsidiary tranprefix locationtype',
      flag: 'isinactive includeinsupplyplanning makeinventoryavailable makeinventoryavailablestore usebins',
      decimal: 'latitude longitude',
      datetime: 'lastmodifieddate',
    },
    references: toParent('location'),
  },
  named('term', {
    integer: 'daysuntilnetdue daysuntilexpiry dayofmonthnetdue',
    decimal: 'discountpercent',
    flag: 'datedriven preferred',
  }),
  named('customercategory'),
  named('vendorcategory', { flag: 'istaxagency' }),
  named('pricelevel', { decimal: 'discountpct', flag: 'isonline updateexistingprices' }),
  named(
    'paymentmethod',
    { text: 'methodtype', flag: 'creditcard undepfunds', integer: 'account' },
    {
      account: { table: 'account', label: 'accountsearchdisplayname' },
    },
  ),
  named('unitstype'),
  {
    name: 'unitstypeuom',
    columns: {
      integer: 'internalid unitstype',
      text: 'unitname pluralname abbreviation pluralabbreviation',
      decimal: 'conversionrate',
      flag: 'baseunit inuse',
    },
    references: { unitstype: toList('unitstype') },
  },
  { name: 'nexus', columns: { integer: 'id', text: 'description country state', flag: 'isinactive' } },
  named('taxtype', { text: 'description country', integer: 'payablesaccount receivablesaccount' }),
  {
    name: 'salestaxitem',
    columns: {
      integer: 'id taxtype taxaccount saleaccount nexuscountry',
      text: 'itemid fullname description itemtype externalid',
      decimal: 'rate',
      flag: 'isinactive exempt export reversecharge eccode isdefault',
      datetime: 'lastmodifieddate',
    },
    references: { taxtype: toList('taxtype') },
  },
  {
    name: 'entitystatus',
    columns: { integer: 'key', text: 'name entitytype', decimal: 'probability', flag: 'inactive' },
  },
  {
    name: 'country',
    columns: { text: 'id name edition', integer: 'uniquekey' },
    nulls: { text: 'nationality' },
  },
  named('salesrole', { text: 'description' }),
];

const PRICES = `(SELECT i.id * 1000 + p.id * 10 + c.id AS internalid, i.id AS item, p.id AS pricelevel, p.name AS pricelevelname, p.isonline,
    c.id AS currency, round(i.baseprice * (1 + COALESCE(p.discountpct, 0) / 100) / c.exchangerate, 2) AS price
  FROM ledger.item i CROSS JOIN ledger.pricelevel p CROSS JOIN ledger.currency c
  WHERE i.baseprice IS NOT NULL AND (p.id = 1 OR p.discountpct IS NOT NULL)) b`;
const priceColumns = [
  ...tableColumns('integer', 'internalid'),
  referenceColumn('item', 'item', 'itemid'),
  tableColumn('integer', 'pricelevel', 'b.pricelevel', 'b.pricelevelname'),
  referenceColumn('currency', 'currency', 'name'),
];
const pricingTable: AccountTable = {
  name: 'pricing',
  from: PRICES,
  columns: [
    ...priceColumns,
    tableColumn('decimal', 'quantity', '0'),
    tableColumn('decimal', 'unitprice', 'b.price'),
  ],
};
const itemPriceTable: AccountTable = {
  name: 'itemprice',
  from: PRICES,
  columns: [
    ...priceColumns,
    ...tableColumns('text', 'pricelevelname'),
    ...tableColumns('decimal', 'price'),
    ...tableColumns('flag', 'isonline'),
  ],
};

export const GENERAL_TABLES: readonly AccountTable[] = [
  ...GENERAL_LISTS.map(listTable),
  pricingTable,
  itemPriceTable,
];

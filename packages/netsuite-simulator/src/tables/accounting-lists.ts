// The lists of the books, which only accounts with a profile have: accounts, periods, accounting books and
// exchange rates. Their columns are those that real accounts have (fivetran/dbt_netsuite_source); those of
// currencyrate are *inferred* from the fields of its record.
import { type List, listTable } from './list-table.ts';
import type { AccountTable } from './table.ts';

const subsidiary = { table: 'subsidiary', label: 'name' };
const currency = { table: 'currency', label: 'name' };
const period = { table: 'accountingperiod', label: 'periodname' };
const book = { table: 'accountingbook', label: 'name' };

export const ACCOUNTING_LISTS: readonly List[] = [
  {
    name: 'accounttype',
    columns: {
      text: 'id longname defaultcashflowratetype defaultgeneralratetype eliminationalgo',
      integer: 'internalid seqnum',
      flag: 'balancesheet includeinrevaldefault left usercanchangerevaloption',
    },
  },
  {
    name: 'account',
    columns: {
      integer: 'id parent currency department class location',
      text: `acctnumber accttype fullname accountsearchdisplayname accountsearchdisplaynamecopy displaynamewithhierarchy description externalid
        generalrate cashflowrate subsidiary sspecacct`,
      flag: 'isinactive issummary eliminate inventory includechildren revalue reconcilewithmatching',
      datetime: 'lastmodifieddate',
    },
    nulls: {
      integer: 'billableexpensesacct category1099misc deferralacct',
      text: 'sbankname sbankroutingnumber',
    },
    references: {
      parent: { table: 'account', label: 'accountsearchdisplayname' },
      accttype: { table: 'accounttype', label: 'longname' },
      currency,
      department: { table: 'department', label: 'fullname' },
      class: { table: 'classification', label: 'fullname' },
      location: { table: 'location', label: 'fullname' },
    },
  },
  {
    name: 'accountingperiod',
    columns: {
      integer: 'id parent',
      text: 'periodname',
      date: 'startdate enddate closedondate',
      flag: 'closed aplocked arlocked alllocked allownonglchanges isadjust isinactive isposting isquarter isyear',
      datetime: 'lastmodifieddate',
    },
    references: { parent: period },
  },
  {
    name: 'accountingbook',
    columns: {
      integer: 'id basebook effectiveperiod',
      text: 'name externalid subsidiariesstring',
      flag: 'isprimary isadjustmentonly isconsolidated',
      datetime: 'lastmodifieddate',
    },
    references: { basebook: book, effectiveperiod: period },
  },
  {
    name: 'currencyrate',
    columns: {
      integer: 'id basecurrency transactioncurrency',
      decimal: 'exchangerate',
      date: 'effectivedate',
      text: 'externalid',
      datetime: 'lastmodifieddate',
    },
    references: { basecurrency: currency, transactioncurrency: currency },
  },
  {
    name: 'consolidatedexchangerate',
    columns: {
      integer: 'id accountingbook postingperiod fromsubsidiary tosubsidiary fromcurrency tocurrency',
      decimal: 'currentrate averagerate historicalrate',
      text: 'externalid',
    },
    references: {
      accountingbook: book,
      postingperiod: period,
      fromsubsidiary: subsidiary,
      tosubsidiary: subsidiary,
      fromcurrency: currency,
      tocurrency: currency,
    },
  },
];

export const ACCOUNTING_TABLES: readonly AccountTable[] = ACCOUNTING_LISTS.map(listTable);

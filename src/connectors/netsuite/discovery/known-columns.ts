// Columns that real accounts have in some tables, and their types: candidates for a probe where neither the
// catalogue nor the first records show them. Names: test data of fivetran/dbt_netsuite_source (Apache-2.0),
// commit 8b666e7, see facts/netsuite-columns.tsv; types: facts, 5.
import type { ColumnDefinition } from '../types/definition.ts';
import { defineColumns } from '../types/definition.ts';
import { recordTypeDefinitions } from '../types/record-types.ts';
import { toLabel } from './names.ts';

type ByType = Readonly<Partial<Record<ColumnDefinition['type'], string>>>;

const tree: ByType = {
  integer: 'id',
  text: 'name fullname externalid',
  reference: 'parent',
  multiselect: 'subsidiary',
  boolean: 'isinactive includechildren',
  time: 'lastmodifieddate',
};

const relationship: ByType = {
  integer: 'id',
  reference: 'entity subsidiary primarycurrency',
  number: 'balance depositbalance unbilledorders',
  boolean: 'isprimarysub',
  time: 'lastmodifieddate',
};

/** Columns by table that follow documents of other records, without a new modification time. */
export const volatileByTable: Readonly<Record<string, readonly string[]>> = {
  transactionaccountingline: [
    'amountlinked',
    'amountpaid',
    'amountunpaid',
    'paymentamountunused',
    'paymentamountused',
  ],
  customersubsidiaryrelationship: ['balance', 'depositbalance', 'unbilledorders'],
  vendorsubsidiaryrelationship: ['balance', 'depositbalance', 'unbilledorders'],
};

const byTable: Readonly<Record<string, ByType>> = {
  transactionline: {
    integer: 'id uniquekey linesequencenumber kitmemberof transferorderitemlineid',
    reference: `amortizationsched billingschedule category class createdfrom createdpo department entity expenseaccount
      inventoryreportinglocation item landedcostcategory location paymentmethod price revenueelement shipmethod subsidiary transaction units`,
    number: `amortizationresidual amountlinked blandedcost bomquantity componentyield costestimate costestimaterate creditforeignamount
      debitforeignamount estgrossprofit estgrossprofitpercent estimatedamount foreignamount foreignamountpaid foreignamountunpaid
      foreignpaymentamountunused foreignpaymentamountused fxamountlinked netamount orderpriority quantity quantitybackordered quantitybilled
      quantitycommitted quantitypacked quantitypicked quantityrejected quantityshiprecv rate rateamount ratepercent`,
    boolean: `assemblycomponent buildvariance cleared commitmentfirm donotdisplayline dropship eliminate fulfillable hasfulfillableitems
      isbillable isclosed iscogs isfullyshipped isfxvariance isinventoryaffecting isrevrectransaction isscrap kitcomponent landedcostperline
      mainline matchbilltoreceipt oldcommitmentfirm processedbyrevcommit specialorder taxline transactiondiscount vsoeisestimate`,
    date: `actualshipdate amortizationenddate amortizstartdate billeddate cleareddate closedate expectedreceiptdate expectedshipdate`,
    time: 'linelastmodifieddate',
    text: `accountinglinetype billvariancestatus chargetype commitinventory costestimatetype documentnumber itemsource itemtype memo
      operationdisplaytext requestnote transactionlinetype`,
  },
  transactionaccountingline: {
    integer: 'transaction transactionline accountingbook',
    reference: 'account overheadparentitem',
    number: `amount amountlinked amountpaid amountunpaid credit debit exchangerate netamount paymentamountunused paymentamountused`,
    boolean: 'posting',
  },
  account: {
    integer: 'id',
    text: `accountsearchdisplayname accountsearchdisplaynamecopy acctnumber cashflowrate description displaynamewithhierarchy externalid
      fullname generalrate sbankname sbankroutingnumber sspecacct`,
    list: 'accttype',
    multiselect: 'subsidiary',
    reference: 'billableexpensesacct category1099misc class currency deferralacct department location parent',
    boolean: 'eliminate includechildren inventory isinactive issummary reconcilewithmatching revalue',
    time: 'lastmodifieddate',
  },
  accounttype: {
    integer: 'internalid seqnum',
    text: 'id longname defaultcashflowratetype defaultgeneralratetype eliminationalgo',
    boolean: 'balancesheet includeinrevaldefault left usercanchangerevaloption',
  },
  accountingperiod: {
    integer: 'id',
    text: 'periodname',
    reference: 'parent',
    date: 'startdate enddate closedondate',
    boolean:
      'alllocked allownonglchanges aplocked arlocked closed isadjust isinactive isposting isquarter isyear',
    time: 'lastmodifieddate',
  },
  accountingbook: {
    integer: 'id',
    text: 'externalid name subsidiariesstring',
    reference: 'basebook effectiveperiod',
    boolean: 'isadjustmentonly isconsolidated isprimary',
    time: 'lastmodifieddate',
  },
  subsidiary: {
    integer: 'id',
    text: `dropdownstate edition email externalid fax federalidnumber fullname languagelocale legalname name ssnortin state state1taxnumber
      tranprefix url`,
    list: 'country',
    reference: 'currency fiscalcalendar mainaddress parent returnaddress shippingaddress',
    number: `purchaseorderamount purchaseorderquantity purchaseorderquantitydiff receiptamount receiptquantity receiptquantitydiff`,
    boolean: 'iselimination isinactive showsubsidiaryname',
    time: 'lastmodifieddate',
  },
  currency: {
    integer: 'id currencyprecision fxrateupdatetimezone symbolplacement',
    text: 'displaysymbol externalid name symbol',
    number: 'exchangerate',
    boolean: 'includeinfxrateupdates isbasecurrency isinactive overridecurrencyformat',
    time: 'lastmodifieddate',
  },
  consolidatedexchangerate: {
    integer: 'id',
    text: 'externalid',
    reference: 'accountingbook fromcurrency fromsubsidiary postingperiod tocurrency tosubsidiary',
    number: 'averagerate currentrate historicalrate',
  },
  customersubsidiaryrelationship: relationship,
  vendorsubsidiaryrelationship: relationship,
  department: tree,
  classification: tree,
  location: {
    ...tree,
    integer: 'id defaultallocationpriority',
    text: 'name fullname externalid tranprefix',
    list: 'locationtype',
    multiselect: 'subsidiary',
    reference: 'parent mainaddress returnaddress',
    boolean: 'isinactive includeinsupplyplanning makeinventoryavailable makeinventoryavailablestore usebins',
    number: 'latitude longitude',
  },
};

/** Also known by name: those of curated record types of the table, with labels and volatile columns. */
const curated = (table: string): ColumnDefinition[] =>
  recordTypeDefinitions
    .filter((type) => type.table === table)
    .flatMap(({ columns }) => columns.filter(({ derived }) => derived === undefined));

const ofTransactions = defineColumns(
  ['type', 'Type', 'list'],
  ['reversal', 'Reversal', 'reference'],
  ['reversaldate', 'Reversal date', 'date'],
  ['reversaldefer', 'Defer the reversal', 'boolean'],
  ['isreversal', 'Is a reversal', 'boolean'],
  ['entity', 'Entity', 'reference'],
  ['otherrefnum', 'Reference number'],
);

const getTypes = (table: string): ByType => (Object.hasOwn(byTable, table) ? (byTable[table] ?? {}) : {});

/** Labels and types of columns of the table; empty for most tables. `table` is in lower case. */
export function knownColumns(table: string): ColumnDefinition[] {
  if (table === 'transaction')
    return [
      ...ofTransactions,
      ...curated(table).filter(({ name }) => !ofTransactions.some((own) => own.name === name)),
    ];
  const changing = Object.hasOwn(volatileByTable, table) ? volatileByTable[table] : undefined;
  return Object.entries(getTypes(table)).flatMap(([type, names]) =>
    defineColumns(
      ...names
        .trim()
        .split(/\s+/)
        .map((name) => [name, toLabel(name), type as ColumnDefinition['type']] as const),
    ).map((column) => ({ ...column, volatile: changing?.includes(column.name) ?? false })),
  );
}

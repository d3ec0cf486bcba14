// Columns that only accounts with a profile have, in tables that every account has. Most are fields of
// records that queries refuse. Sources of the refusals of `transaction` and `transactionline`:
// ../../docs/wire.md.

import { CUSTOM_TYPE_IDS, DEFINED_AT, SYSTEM_OWNER } from './custom-records.ts';
import {
  type AccountColumn,
  type AccountTable,
  type ColumnKind,
  extraColumns,
  referenceColumn,
  tableColumn,
} from './table.ts';
import { transactionLabel } from './transaction.ts';

const notExposed = (kind: ColumnKind, name: string, sql: string, label?: string): AccountColumn => ({
  ...tableColumn(kind, name, sql, label),
  refusal: 'not exposed',
});
const removed = (name: string, table: string): AccountColumn => ({
  ...referenceColumn(name, table),
  refusal: 'removed',
});
const CUSTOM_FORM = notExposed('integer', 'customform', '101', "'Standard Form'");
const flagOff = (name: string): AccountColumn => notExposed('flag', name, "'F'");

const CREATED_FROM = 'SELECT min(l.createdfrom) FROM ledger.transactionline l WHERE l.transaction = b.id';

const PROFILE_COLUMNS: Readonly<Record<string, readonly AccountColumn[]>> = {
  transaction: [
    CUSTOM_FORM,
    flagOff('tobeprinted'),
    flagOff('tobeemailed'),
    notExposed('integer', 'createdfrom', CREATED_FROM, transactionLabel(`(${CREATED_FROM})`)),
    notExposed('text', 'shipzip', 'NULL'),
    ...extraColumns('flag', 'reversaldefer'),
    removed('location', 'location'),
    removed('department', 'department'),
    removed('class', 'classification'),
  ],
  transactionline: [
    notExposed('decimal', 'amount', 'b.netamount'),
    notExposed('integer', 'line', 'b.linesequencenumber'),
    notExposed('decimal', 'debit', 'GREATEST(b.netamount, 0)'),
    notExposed('decimal', 'credit', 'GREATEST(-b.netamount, 0)'),
    tableColumn('flag', 'isfxvariance', "COALESCE(b.isfxvariance, 'F')"),
    tableColumn(
      'flag',
      'eliminate',
      "COALESCE((SELECT a.eliminate FROM ledger.account a WHERE a.id = b.account), 'F')",
    ),
    ...extraColumns(
      'integer',
      `amortizationsched billingschedule category inventoryreportinglocation landedcostcategory paymentmethod shipmethod transferorderitemlineid`,
    ),
    ...extraColumns(
      'decimal',
      `amortizationresidual amountlinked blandedcost bomquantity componentyield costestimaterate estgrossprofit estgrossprofitpercent
      estimatedamount fxamountlinked orderpriority quantityrejected`,
    ),
    ...extraColumns(
      'date',
      'amortizationenddate amortizstartdate billeddate cleareddate expectedreceiptdate',
    ),
    ...extraColumns(
      'flag',
      `assemblycomponent buildvariance cleared commitmentfirm dropship fulfillable hasfulfillableitems isrevrectransaction isscrap landedcostperline
      matchbilltoreceipt oldcommitmentfirm processedbyrevcommit specialorder transactiondiscount vsoeisestimate`,
    ),
    ...extraColumns(
      'text',
      'billvariancestatus chargetype commitinventory costestimatetype documentnumber itemsource operationdisplaytext requestnote',
    ),
  ],
  customer: [CUSTOM_FORM, flagOff('giveaccess'), flagOff('isbudgetapproved'), flagOff('weblead')],
  vendor: [CUSTOM_FORM, flagOff('is1099eligible')],
  employee: [CUSTOM_FORM, flagOff('isjobresource')],
  item: [CUSTOM_FORM, flagOff('isspecialorderitem'), flagOff('matchbilltoreceipt')],
  customfield: [
    tableColumn('flag', 'ismandatory', "'F'"),
    tableColumn('flag', 'isinactive', "'F'"),
    tableColumn('flag', 'isshowinlist', "CASE WHEN b.internalid % 4 = 0 THEN 'T' ELSE 'F' END"),
    tableColumn('flag', 'isstored', "CASE WHEN b.refusal = 'not exposed' THEN 'F' ELSE 'T' END"),
    SYSTEM_OWNER,
    tableColumn('datetime', 'lastmodifieddate', DEFINED_AT),
    tableColumn('integer', 'fieldvaluetyperecord', `CASE COALESCE(b.list, b.target) ${CUSTOM_TYPE_IDS} END`),
  ],
};

/** The table as an account with a profile has it. */
export const withProfileColumns = (table: AccountTable): AccountTable => {
  const added = PROFILE_COLUMNS[table.name];
  return added === undefined ? table : { ...table, columns: [...table.columns, ...added] };
};

// All tables that SuiteQL knows in this account.
import type { ProfileName } from '../profile/profile-name.ts';
import { transactionAccountingLineTable } from './accounting-line.ts';
import { ACCOUNTING_TABLES } from './accounting-lists.ts';
import { ADDRESS_TABLES } from './addresses.ts';
import { CUSTOM_TABLES } from './custom-records.ts';
import {
  contactTable,
  customerTable,
  employeeTable,
  entityTable,
  partnerTable,
  vendorTable,
} from './entity.ts';
import { inventoryLocationTable } from './inventory.ts';
import { currencyTable, itemTable } from './item.ts';
import { GENERAL_TABLES } from './lists.ts';
import { withProfileColumns } from './profile-columns.ts';
import { customerSubsidiaryTable, subsidiaryTable, vendorSubsidiaryTable } from './subsidiary.ts';
import { type AccountTable, tableColumn, tableColumns } from './table.ts';
import {
  nextLinkTable,
  previousLinkTable,
  transactionLineTable,
  transactionStatusTable,
  transactionTable,
} from './transaction.ts';

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
  columns: [
    ...tableColumns('integer', 'internalid'),
    ...tableColumns('text', 'scriptid name fieldtype fieldvaluetype'),
  ],
};

const dualTable: AccountTable = {
  name: 'dual',
  from: "(VALUES ('X')) b(dummy)",
  columns: [tableColumn('text', 'dummy')],
};

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

/** What only accounts with a profile have. */
export const PROFILE_TABLES: readonly AccountTable[] = [
  ...ACCOUNTING_TABLES,
  ...GENERAL_TABLES,
  ...ADDRESS_TABLES,
  partnerTable,
  vendorSubsidiaryTable,
  transactionAccountingLineTable,
  inventoryLocationTable,
];

/** The tables of an account with this profile, or without one. */
export const accountTables = (profile: ProfileName | undefined): readonly AccountTable[] =>
  profile === undefined
    ? ALL_TABLES
    : [...ALL_TABLES.map(withProfileColumns), ...PROFILE_TABLES, ...CUSTOM_TABLES];

/**
 * NetSuite tables that an account without a profile doesn't have. A query on one gets a different error than
 * a query on an unknown name.
 */
export const UNAVAILABLE_TABLES: ReadonlySet<string> = new Set(PROFILE_TABLES.map(({ name }) => name));

/**
 * Record types that the metadata catalog of accounts with a profile lists, in its spelling, while queries
 * don't find their tables and the role may not read their records. There were as many in a real account, see
 * ../../docs/wire.md; which ones is assumed.
 */
export const UNAVAILABLE_TYPES: readonly string[] =
  `advIntercompanyJournalEntry analyticalImpact assemblyBuild assemblyUnbuild automatedClearingHouse billingAccount
  billingRevenueEvent billingSchedule bin binTransfer binWorksheet blanketPurchaseOrder bom bomRevision budgetCategory budgetExchangeRate
  budgetimport calendarEvent campaign campaignAudience campaignCategory campaignChannel campaignFamily campaignOffer campaignResponse
  campaignSearchEngine campaignSubscription campaignTemplate campaignVertical charge commerceCategory competitor couponCode creditCardCharge
  creditCardRefund customerMessage emailTemplate entityGroup fairValueFormula fairValuePrice fulfillmentRequest generalToken giftCertificate
  globalAccountMapping hcmJob impactSubcategory inboundShipment inventoryCostRevaluation inventoryCount inventoryStatus issue
  itemAccountMapping itemSupplyPlan manufacturingCostTemplate manufacturingOperationTask manufacturingRouting merchandiseHierarchyLevel
  merchandiseHierarchyNode merchandiseHierarchyVersion paycheck paycheckJournal paymentCard paymentCardToken payrollItem periodEndJournal
  phoneCall priceBook pricePlan purchaseContract revRecSchedule webSite`.split(/\s+/);

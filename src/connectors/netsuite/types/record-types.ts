// All record types that can be synced, in display order, and the definition of items, which are neither
// entities nor transactions.
import {
  defineColumns,
  ownIdAndTime,
  type RecordTypeDefinition,
  withAmounts,
  withTargets,
} from './definition.ts';
import {
  contactDefinition,
  customerDefinition,
  employeeDefinition,
  vendorDefinition,
} from './entity-types.ts';
import {
  creditMemoDefinition,
  customerPaymentDefinition,
  invoiceDefinition,
  salesOrderDefinition,
} from './transaction-types.ts';

const itemColumns = defineColumns(
  ['id', 'Internal ID', 'integer'],
  ['itemid', 'Item ID'],
  ['fullname', 'Full name'],
  ['displayname', 'Display name'],
  ['description', 'Description'],
  ['salesdescription', 'Sales description'],
  ['itemtype', 'Item type', 'list'],
  ['subtype', 'Subtype', 'list'],
  ['upccode', 'UPC code'],
  ['isinactive', 'Inactive', 'boolean'],
  ['parent', 'Parent item', 'reference'],
  ['class', 'Class', 'reference'],
  ['department', 'Department', 'reference'],
  ['location', 'Location', 'reference'],
  ['subsidiary', 'Subsidiaries', 'multiselect'],
  ['incomeaccount', 'Income account', 'reference'],
  ['expenseaccount', 'Expense account', 'reference'],
  ['assetaccount', 'Asset account', 'reference'],
  ['baseprice', 'Base price', 'number'],
  ['averagecost', 'Average cost', 'number', 'volatile'],
  ['totalquantityonhand', 'Quantity on hand', 'number', 'volatile'],
  ['externalid', 'External ID'],
  ['createddate', 'Created', 'time'],
  ['lastmodifieddate', 'Last modified', 'time'],
);

/** The record types by which NetSuite's list of deleted records names items. */
const deletedItems = `
  item inventoryitem invtpart lotnumberedinventoryitem serializedinventoryitem assembly assemblyitem
  assemblybillofmaterials lotnumberedassemblyitem serializedassemblyitem kit kititem kitpackage
  itemgroup noninvtpart noninventoryitem noninventorysaleitem noninventorypurchaseitem
  noninventoryresaleitem service serviceitem servicesaleitem servicepurchaseitem serviceresaleitem
  othcharge othercharge otherchargeitem otherchargesaleitem otherchargepurchaseitem
  otherchargeresaleitem discount discountitem markup markupitem subtotal subtotalitem descriptionitem
  paymentitem giftcertificateitem downloaditem
`;

const itemDefinition: RecordTypeDefinition = {
  ...ownIdAndTime,
  name: 'item',
  label: 'Item',
  table: 'item',
  filter: null,
  columns: withTargets(withAmounts(itemColumns, null, ['baseprice', 'averagecost']), { parent: 'item' }),
  lines: null,
  openWhen: [],
  shownAs: { number: ['itemid'], name: ['displayname'], date: [], amount: [] },
  // SuiteQL has one table for the many item types of the record service.
  catalogue: ['inventoryItem', 'nonInventorySaleItem', 'serviceSaleItem', 'assemblyItem', 'kitItem'],
  customPrefix: 'custitem',
  deletedAs: deletedItems.trim().split(/\s+/),
};

export const recordTypeDefinitions: readonly RecordTypeDefinition[] = [
  customerDefinition,
  itemDefinition,
  invoiceDefinition,
  creditMemoDefinition,
  salesOrderDefinition,
  customerPaymentDefinition,
  vendorDefinition,
  employeeDefinition,
  contactDefinition,
];

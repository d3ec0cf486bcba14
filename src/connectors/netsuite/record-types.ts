// The record types of this product, in the order in which they are shown, and items, which belong to no family.
import { columns, type RecordTypeDefinition } from './definition.ts';
import { contact, customer, employee, vendor } from './entity-types.ts';
import { creditMemo, customerPayment, invoice, salesOrder } from './transaction-types.ts';

const itemColumns = columns(
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
  ['subsidiary', 'Subsidiaries', 'list'],
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

const item: RecordTypeDefinition = {
  name: 'item',
  label: 'Item',
  table: 'item',
  filter: null,
  columns: itemColumns,
  lines: null,
  openWhen: [],
  // SuiteQL has one table for what the record service knows as many types.
  catalogue: ['inventoryItem', 'nonInventorySaleItem', 'serviceSaleItem', 'assemblyItem', 'kitItem'],
  customPrefix: 'custitem',
  deletedAs: [
    ...['item', 'inventoryitem', 'invtpart', 'lotnumberedinventoryitem', 'serializedinventoryitem', 'assembly', 'assemblyitem'],
    ...['assemblybillofmaterials', 'lotnumberedassemblyitem', 'serializedassemblyitem', 'kit', 'kititem', 'kitpackage', 'itemgroup'],
    ...['noninvtpart', 'noninventoryitem', 'noninventorysaleitem', 'noninventorypurchaseitem', 'noninventoryresaleitem'],
    ...['service', 'serviceitem', 'servicesaleitem', 'servicepurchaseitem', 'serviceresaleitem', 'othcharge', 'othercharge'],
    ...['otherchargeitem', 'otherchargesaleitem', 'otherchargepurchaseitem', 'otherchargeresaleitem', 'discount', 'discountitem'],
    ...['markup', 'markupitem', 'subtotal', 'subtotalitem', 'descriptionitem', 'paymentitem', 'giftcertificateitem', 'downloaditem'],
  ],
};

export const recordTypeDefinitions: readonly RecordTypeDefinition[] = [
  customer,
  item,
  invoice,
  creditMemo,
  salesOrder,
  customerPayment,
  vendor,
  employee,
  contact,
];

// The record types that only accounts with a profile have, and the properties that they add to the others.
// All are read-only. A property whose column the account's tables lack is left out.
import { UNAVAILABLE_TYPES } from '../tables/all-tables.ts';
import { CUSTOM_LISTS, CUSTOM_RECORD_TYPES } from '../tables/custom-records.ts';
import { defineProperty, LINE_PROPERTIES, type Property } from './property.ts';
import type { RecordSublist, RestRecordType } from './record-type.ts';
import { CHANGED, EXTERNAL_ID, ID, INACTIVE, PERSON, readOnly, TRANSACTION } from './shared-properties.ts';

const toTitle = (name: string): string =>
  name.replace(/([A-Z])/g, ' $1').replace(/^./, (first) => first.toUpperCase());

/** Names separated by spaces; `name=column` where the column isn't the name in lower case. */
const properties =
  (kind: Property['kind']) =>
  (names: string): Property[] =>
    names.split(/\s+/).map((given) => {
      const [name = '', column = name.toLowerCase()] = given.split('=');
      return defineProperty(name, toTitle(name), kind, column);
    });
const texts = properties('string');
const flags = properties('boolean');
const days = properties('date');
const times = properties('date-time');
const numbers = properties('number');
const integers = properties('integer');
const choices = properties('choices');
/** `name>type`, and `name=column>type`. */
const references = (given: string): Property[] =>
  given.split(/\s+/).flatMap((each) => {
    const [left = '', to = ''] = each.split('>');
    return properties('reference')(left).map((property) => ({ ...property, to }));
  });

const LIST = readOnly([ID, EXTERNAL_ID, INACTIVE, CHANGED]);
const list = (name: string, ...more: Property[][]): RestRecordType => ({
  name,
  title: toTitle(name),
  table: name.toLowerCase(),
  properties: [...LIST, ...more.flat()],
});
const HIERARCHY = texts('name fullName');

const LISTS: readonly RestRecordType[] = [
  list(
    'account',
    texts('acctNumber acctName=accountsearchdisplaynamecopy acctType=accttype description'),
    references(
      'parent>account currency>currency department>department class>classification location>location',
    ),
    flags('eliminate inventory revalue isSummary'),
  ),
  list(
    'accountingPeriod',
    texts('periodName'),
    days('startDate endDate closedOnDate'),
    references('parent>accountingPeriod'),
    flags('isAdjust isPosting isQuarter isYear closed allLocked arLocked apLocked'),
  ),
  list(
    'accountingBook',
    texts('name'),
    flags('isPrimary isAdjustmentOnly isConsolidated'),
    references('baseBook>accountingBook effectivePeriod>accountingPeriod'),
  ),
  list(
    'department',
    HIERARCHY,
    flags('includeChildren'),
    references('parent>department'),
    choices('subsidiary'),
  ),
  list(
    'classification',
    HIERARCHY,
    flags('includeChildren'),
    references('parent>classification'),
    choices('subsidiary'),
  ),
  list(
    'location',
    HIERARCHY,
    flags('makeInventoryAvailable useBins'),
    references('parent>location'),
    choices('subsidiary'),
    texts('locationType tranPrefix'),
  ),
  list('term', texts('name'), integers('daysUntilNetDue dayOfMonthNetDue'), numbers('discountPercent')),
  list(
    'currencyRate',
    references('baseCurrency>currency transactionCurrency>currency'),
    numbers('exchangeRate'),
    days('effectiveDate'),
  ),
  list(
    'consolidatedExchangeRate',
    references(
      'postingPeriod>accountingPeriod fromSubsidiary>subsidiary toSubsidiary>subsidiary fromCurrency>currency toCurrency>currency accountingBook>accountingBook',
    ),
    numbers('averageRate currentRate historicalRate'),
  ),
  list('customerCategory', texts('name')),
  list('vendorCategory', texts('name')),
  list('priceLevel', texts('name'), numbers('discountPct'), flags('isOnline')),
  list('paymentMethod', texts('name'), references('account>account')),
  list(
    'salesTaxItem',
    texts('itemId=itemid name description'),
    numbers('rate'),
    references('taxType>taxType'),
  ),
  list('taxType', texts('name description'), texts('country')),
  list('unitsType', texts('name')),
  list(
    'customerSubsidiaryRelationship',
    references('entity>customer subsidiary>subsidiary primaryCurrency>currency'),
    flags('isPrimarySub'),
    numbers('balance'),
  ),
  list(
    'vendorSubsidiaryRelationship',
    references('entity>vendor subsidiary>subsidiary primaryCurrency>currency'),
    flags('isPrimarySub'),
  ),
  list('nexus', texts('description country state')),
  list('salesRole', texts('name description')),
  {
    name: 'partner',
    title: 'Partner',
    table: 'partner',
    properties: readOnly([...PERSON, ...texts('companyName')]),
  },
];

const ITEM = readOnly([
  ID,
  EXTERNAL_ID,
  INACTIVE,
  CHANGED,
  ...texts('itemId displayName description subtype'),
  ...times('createdDate'),
]);
const ITEM_ACCOUNTS = references(
  'incomeAccount>account expenseAccount>account class>classification department>department location>location parent>inventoryItem',
);
const item = (name: string, itemType: string, ...more: Property[][]): RestRecordType => ({
  name,
  title: toTitle(name),
  table: 'item',
  itemType,
  properties: [...ITEM, ...more.flat()],
});
const ITEMS: readonly RestRecordType[] = [
  item('nonInventorySaleItem', 'NonInvtPart', ITEM_ACCOUNTS, numbers('basePrice')),
  item('serviceSaleItem', 'Service', ITEM_ACCOUNTS, numbers('basePrice')),
  item('otherChargeSaleItem', 'OthCharge', ITEM_ACCOUNTS),
  item('assemblyItem', 'Assembly', ITEM_ACCOUNTS, references('assetAccount>account')),
  item('kitItem', 'Kit', ITEM_ACCOUNTS),
  item('discountItem', 'Discount', references('account=incomeaccount>account')),
  item('subtotalItem', 'Subtotal'),
  item('shipItem', 'ShipItem', references('account=incomeaccount>account')),
];

const SEGMENTS = references('department>department class>classification location>location');
const HEADER = [
  ...texts('transactionNumber'),
  ...references('postingPeriod>accountingPeriod customForm>customForm createdFrom>transaction'),
  ...SEGMENTS,
  ...flags('toBePrinted toBeEmailed'),
];
const LINE_SEGMENTS = [...SEGMENTS, ...references('subsidiary>subsidiary')];
const LINES = [
  ...readOnly(LINE_PROPERTIES).map(({ isRequired: _required, ...rest }) => rest),
  ...LINE_SEGMENTS,
];
/** The books hold what is sold as negative, what is bought or comes back as positive. */
const SOLD = { lines: { isNegated: true, properties: LINES } };
const RECEIVED = { lines: { isNegated: false, properties: LINES } };
const transaction = (
  name: string,
  transactionType: string,
  more: readonly Property[] = [],
  parts: Partial<RestRecordType> = {},
): RestRecordType => ({
  name,
  title: toTitle(name),
  table: 'transaction',
  transactionType,
  properties: [...readOnly(TRANSACTION), ...HEADER, ...more],
  ...parts,
});
const negated = (all: Property[]): Property[] => all.map((property) => ({ ...property, isNegated: true }));
const TOTAL = numbers('total=foreigntotal');
/** Of what the company owes or pays. */
const OWED = negated(TOTAL);
const ACCOUNT = references('account>account');
const VENDOR = references('entity>vendor');
const CUSTOMER = references('entity>customer');
const PAYER = references('customer=entity>customer');
const DUE = [
  ...days('dueDate'),
  ...references('terms>term'),
  ...negated(numbers('amountPaid=foreignamountpaid amountRemaining=foreignamountunpaid')),
];
const sublist = (name: string, table: string, where: string, ...columns: Property[][]): RecordSublist[] => [
  { name, table, where, properties: columns.flat() },
];
/** Lines that name an account instead of an item. */
const EXPENSES = sublist(
  'expense',
  'transactionline',
  `"transaction" = $1 AND mainline = 'F' AND expenseaccount IS NOT NULL ORDER BY linesequencenumber`,
  integers('line=linesequencenumber'),
  references('account=expenseaccount>account'),
  numbers('amount=foreignamount'),
  texts('memo'),
  LINE_SEGMENTS,
);
const STOCK = sublist(
  'inventory',
  'transactionline',
  `"transaction" = $1 AND mainline = 'F' AND item IS NOT NULL ORDER BY linesequencenumber`,
  integers('line=linesequencenumber'),
  references('item>inventoryItem location>location'),
  numbers('adjustQtyBy=quantity'),
);
const addressBook = (owner: 'customer' | 'vendor'): RecordSublist[] =>
  sublist(
    'addressBook',
    `${owner}addressbook`,
    'entity = $1 ORDER BY internalid',
    integers('id=internalid internalId'),
    references('addressBookAddress>address'),
    texts('label'),
    flags('defaultBilling defaultShipping isResidential'),
  );

const TRANSACTIONS: readonly RestRecordType[] = [
  transaction('vendorBill', 'VendBill', [...OWED, ...VENDOR, ...DUE], { ...RECEIVED, sublists: EXPENSES }),
  transaction('vendorPayment', 'VendPymt', [...OWED, ...VENDOR, ...ACCOUNT], { applies: ['VendBill'] }),
  transaction('vendorCredit', 'VendCred', [...TOTAL, ...VENDOR], { ...SOLD, sublists: EXPENSES }),
  transaction('purchaseOrder', 'PurchOrd', [...OWED, ...VENDOR], RECEIVED),
  transaction('itemReceipt', 'ItemRcpt', VENDOR, RECEIVED),
  transaction('itemFulfillment', 'ItemShip', CUSTOMER, SOLD),
  transaction('estimate', 'Estimate', [...TOTAL, ...CUSTOMER], SOLD),
  transaction('cashSale', 'CashSale', [...TOTAL, ...CUSTOMER, ...ACCOUNT], SOLD),
  transaction('cashRefund', 'CashRfnd', [...OWED, ...CUSTOMER], RECEIVED),
  transaction('returnAuthorization', 'RtnAuth', [...OWED, ...CUSTOMER], RECEIVED),
  transaction('customerDeposit', 'CustDep', [...TOTAL, ...PAYER, ...ACCOUNT]),
  transaction('depositApplication', 'DepAppl', [...TOTAL, ...PAYER]),
  transaction('deposit', 'Deposit', [...TOTAL, ...ACCOUNT]),
  transaction('check', 'Check', [...OWED, ...VENDOR, ...ACCOUNT]),
  transaction('opportunity', 'Opprtnty', [...TOTAL, ...CUSTOMER], SOLD),
  transaction('inventoryAdjustment', 'InvAdjst', ACCOUNT, { sublists: STOCK }),
  transaction('inventoryTransfer', 'InvTrnfr', [], { sublists: STOCK }),
  transaction('transferOrder', 'TrnfrOrd', [], SOLD),
  transaction('workOrder', 'WorkOrd', [], SOLD),
  transaction('expenseReport', 'ExpRept', [...OWED, ...references('entity>employee')], {
    sublists: EXPENSES,
  }),
];

const CUSTOM: readonly RestRecordType[] = [
  ...CUSTOM_RECORD_TYPES.map(
    ({ name, title }): RestRecordType => ({
      name,
      title,
      table: name,
      properties: [
        ...readOnly([ID, EXTERNAL_ID, INACTIVE]),
        ...integers('recordId'),
        ...texts('scriptId name'),
        ...times('created lastModified'),
        ...references(`owner>employee parent>${name}`),
      ],
    }),
  ),
  ...CUSTOM_LISTS.map(
    ({ name, title }): RestRecordType => ({
      name,
      title,
      table: name,
      properties: [ID, ...texts('scriptId name'), ...flags('isInactive')],
    }),
  ),
];

export const PROFILE_TYPES: readonly RestRecordType[] = [
  ...LISTS,
  ...ITEMS,
  ...TRANSACTIONS,
  ...CUSTOM,
  ...UNAVAILABLE_TYPES.map((name): RestRecordType => ({ ...list(name), isUnavailable: true })),
];

/** By record type: what a profile adds. */
export const PROFILE_PROPERTIES: Readonly<Record<string, readonly Property[]>> = {
  customer: [
    ...references(
      'category>customerCategory terms>term priceLevel>priceLevel salesRep>employee parent>customer receivablesAccount>account partner>partner customForm>customForm',
    ),
    ...flags('giveAccess isBudgetApproved webLead'),
  ],
  inventoryItem: [
    ...ITEM_ACCOUNTS,
    ...references('assetAccount>account customForm>customForm'),
    ...numbers('averageCost totalQuantityOnHand'),
    ...flags('isSpecialOrderItem matchBillToReceipt'),
  ],
  invoice: [...HEADER, ...references('terms>term salesRep=employee>employee'), ...numbers('taxTotal')],
  creditMemo: [...HEADER, ...references('salesRep=employee>employee'), ...numbers('taxTotal')],
  salesOrder: [...HEADER, ...references('terms>term salesRep=employee>employee')],
  customerPayment: HEADER,
  customerRefund: HEADER,
  journalEntry: [...HEADER, ...flags('reversal=isreversal'), ...references('accountingBook>accountingBook')],
  vendor: [
    ...references('category>vendorCategory terms>term currency>currency customForm>customForm'),
    ...flags('is1099Eligible'),
  ],
  employee: [
    ...references('supervisor>employee department>department location>location customForm>customForm'),
    ...flags('isJobResource'),
  ],
  subsidiary: [
    ...texts('fullName legalName'),
    ...references('parent>subsidiary currency>currency'),
    ...flags('isElimination'),
  ],
};

/** By record type: the sublists that a profile adds. */
export const PROFILE_SUBLISTS: Readonly<Record<string, readonly RecordSublist[]>> = {
  customer: addressBook('customer'),
  vendor: addressBook('vendor'),
  journalEntry: sublist(
    'line',
    'transactionaccountingline',
    `"transaction" = $1 AND accountingbook =
      (SELECT min(k.accountingbook) FROM suiteql.transactionaccountingline k WHERE k."transaction" = $1) ORDER BY transactionline`,
    integers('line=transactionline'),
    references('account>account'),
    numbers('debit credit'),
  ),
};

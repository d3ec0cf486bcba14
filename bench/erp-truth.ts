// What the public interface must serve of a simulated account, worked out from the account's control
// interface and from what its README says about labels. Shares no code with the connector, the sync engine or
// the warehouse, so that it can disagree with them.
import type { NetsuiteAccount } from 'netsuite-simulator';
import { repeatRequest } from './repeat-request.ts';

export type TrueFields = Readonly<Record<string, string>>;
export type TrueRecord = {
  readonly id: string;
  readonly fields: TrueFields;
  readonly lines?: readonly { readonly fields: TrueFields }[];
};

/** A field as the metadata lists it. `lineFields` only for lines. */
export type ServedField = {
  readonly name: string;
  readonly type: string;
  readonly lineFields?: readonly ServedField[];
};

/** Transaction types by the code in the data. Other types of the code aren't compared. */
export const transactionTypes: ReadonlyMap<string, { readonly recordType: string; readonly label: string }> =
  new Map([
    ['CustInvc', { recordType: 'invoice', label: 'Invoice' }],
    ['CustCred', { recordType: 'creditMemo', label: 'Credit Memo' }],
    ['SalesOrd', { recordType: 'salesOrder', label: 'Sales Order' }],
    ['CustPymt', { recordType: 'customerPayment', label: 'Payment' }],
  ]);
const statuses: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  CustInvc: { A: 'Open', B: 'Paid In Full' },
  CustCred: { A: 'Open', B: 'Fully Applied' },
  SalesOrd: { B: 'Pending Fulfillment', F: 'Pending Billing', G: 'Billed' },
  CustPymt: { B: 'Not Deposited', C: 'Deposited' },
};
const approvals: Readonly<Record<string, string>> = { 1: 'Pending Approval', 2: 'Approved' };
const itemTypes: Readonly<Record<string, string>> = {
  InvtPart: 'Inventory Item',
  NonInvtPart: 'Non-inventory Item',
  ShipItem: 'Shipping Cost Item',
  TaxItem: 'Tax Item',
};

type Page = { readonly records: readonly TrueRecord[]; readonly next: string | null };
/** Small pages: while one is parsed, this process serves no request. */
const recordsPerPage = 200;

async function getControl<T>({ control }: NetsuiteAccount, path: string): Promise<T> {
  if (control === undefined) throw new Error('The account has no control interface');
  const response = await repeatRequest(() =>
    fetch(`${control.url}${path}`, { headers: { authorization: `Bearer ${control.token}` } }),
  );
  if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/**
 * All records of a table by pages, whatever is hidden from the role. Rejects with an Error unless the account
 * answers.
 */
export async function* readTruth(
  account: NetsuiteAccount,
  table: string,
): AsyncGenerator<readonly TrueRecord[]> {
  for (let after: string | null = ''; after !== null; ) {
    const path: string = `/records/${table}?limit=${recordsPerPage}${after === '' ? '' : `&after=${after}`}`;
    const page: Page = await getControl(account, path);
    yield page.records;
    after = page.next;
  }
}

/**
 * The column with the name of a record that labels show, by table; only accounts with a profile have most of
 * them.
 */
const namedBy: Readonly<Record<string, string>> = {
  customer: 'entityid',
  vendor: 'entityid',
  employee: 'entityid',
  item: 'itemid',
  currency: 'name',
  subsidiary: 'name',
  account: 'accountsearchdisplayname',
  accountingperiod: 'periodname',
  department: 'fullname',
  classification: 'fullname',
  location: 'fullname',
  term: 'name',
  pricelevel: 'name',
  customeraddressbookentityaddress: 'addr1',
  customercategory: 'name',
  vendorcategory: 'name',
};
const accounts = ['account'];
const addresses = ['customeraddressbookentityaddress'];
/** The tables that have the records that a field refers to. */
const targets: Readonly<Record<string, readonly string[]>> = {
  entity: ['customer', 'vendor', 'employee'],
  item: ['item'],
  currency: ['currency'],
  subsidiary: ['subsidiary'],
  postingperiod: ['accountingperiod'],
  department: ['department'],
  class: ['classification'],
  location: ['location'],
  terms: ['term'],
  pricelevel: ['pricelevel'],
  price: ['pricelevel'],
  employee: ['employee'],
  salesrep: ['employee'],
  supervisor: ['employee'],
  company: ['customer'],
  billingaddress: addresses,
  shippingaddress: addresses,
  receivablesaccount: accounts,
  incomeaccount: accounts,
  expenseaccount: accounts,
  assetaccount: accounts,
};

/**
 * A custom field of the control interface: one that has labels names its entries or the table that it refers
 * to.
 */
type CustomField = {
  readonly name: string;
  readonly type: string;
  readonly values?: readonly { readonly id: string; readonly name: string }[];
  readonly target?: string;
};
/** The names that labels show, by id: of the records of a table, and of the entries of a custom field. */
export type Names = {
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly entries: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** The table that a custom field refers to. */
  readonly targets: ReadonlyMap<string, string>;
};

/** Rejects as `readTruth` does. */
export async function readNames(account: NetsuiteAccount): Promise<Names> {
  const { fields } = await getControl<{ fields: readonly CustomField[] }>(account, '/state');
  const known = await getControl<{ tables: readonly { name: string }[] }>(account, '/tables');
  const referred = fields.flatMap(({ name, target }): [string, string][] =>
    target === undefined ? [] : [[name, target]],
  );
  const tables = new Map<string, Map<string, string>>();
  for (const table of new Set([...Object.keys(namedBy), ...referred.map(([, target]) => target)])) {
    if (!known.tables.some(({ name }) => name === table)) continue;
    const found = new Map<string, string>();
    for await (const page of readTruth(account, table))
      for (const { id, fields: row } of page) found.set(id, row[namedBy[table] ?? 'name'] ?? '');
    tables.set(table, found);
  }
  const lists = fields.filter(({ type }) => type === 'list' || type === 'multiselect');
  const entries = lists.map(
    ({ name, values = [] }) => [name, new Map(values.map((value) => [value.id, value.name]))] as const,
  );
  return { tables, entries: new Map(entries), targets: new Map(referred) };
}

const findName = (names: Names, tables: readonly string[], id: string): string | undefined =>
  tables.map((table) => names.tables.get(table)?.get(id)).find((name) => name !== undefined);

function findLabel(
  names: Names,
  type: string | undefined,
  field: string,
  value: string,
  row: TrueFields,
): string | undefined {
  if (field === 'itemtype') return itemTypes[value] ?? value;
  if (field === 'status' && type !== undefined)
    return `${transactionTypes.get(type)?.label} : ${statuses[type]?.[value]}`;
  if (field === 'createdfrom') return `${unreadDocument}${value}`;
  if (field === 'approvalstatus') return approvals[value];
  if (field === 'parent') return findName(names, ['itemid' in row ? 'item' : 'customer'], value);
  if (field === 'category')
    return findName(names, ['searchstage' in row ? 'customercategory' : 'vendorcategory'], value);
  if (field === 'subsidiary' && 'itemid' in row)
    return value
      .split(', ')
      .map((id) => findName(names, ['subsidiary'], id))
      .join(', ');
  const entries = names.entries.get(field);
  // A multiple select has the ids of its entries.
  if (entries !== undefined)
    return value
      .split(', ')
      .map((id) => entries.get(id))
      .join(', ');
  const tables = targets[field] ?? names.targets.get(field);
  return tables === undefined ? value : findName(names, [tables].flat(), value); // what BUILTIN.DF returns for a column without labels
}

/** A value as JSON serves it, numbers as text. */
export type ServedValue = string | boolean | null;

/** Numbers without trailing zeros, times to the second: equal values are equal texts. */
export function normalize(value: ServedValue | undefined, type: string): ServedValue | undefined {
  if (typeof value !== 'string') return value;
  if (type === 'number' || type === 'integer')
    return value.includes('.') ? value.replace(/\.?0+$/, '') : value;
  return type === 'time' ? value.replace(/\.0+Z$/, 'Z') : value;
}

function toServedValue(raw: string | undefined, type: string): ServedValue {
  if (raw === undefined) return null;
  if (type === 'boolean') return raw === 'T';
  return normalize(raw, type) ?? null;
}

/** What can be served of a field: its value, or its label as `<field>.name`. */
export type Source = {
  readonly source: string;
  readonly field: string;
  readonly type: string;
  readonly isLabel: boolean;
};

/** In the order of the fields; lines are left out. */
export const listSources = (fields: readonly ServedField[]): readonly Source[] =>
  fields
    .filter(({ type }) => type !== 'lines')
    .flatMap(({ name, type }) => [
      { source: name, field: name, type, isLabel: false },
      ...(type === 'reference' || type === 'list'
        ? [{ source: `${name}.name`, field: name, type: 'text', isLabel: true }]
        : []),
    ]);

/** Amounts of lines as documents show them, by the column in the books. */
const shownAmounts: Readonly<Record<string, string>> = {
  displayQuantity: 'quantity',
  displayNetAmount: 'netamount',
  displayForeignAmount: 'foreignamount',
};

/** The books hold negative what invoices and orders show as positive, and positive what credit memos show. */
function shownAmount(raw: string | undefined, transactionType: string | undefined): ServedValue {
  const amount = normalize(raw, 'number');
  if (typeof amount !== 'string' || amount === '0' || transactionType === 'CustCred') return amount ?? null;
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`;
}

/**
 * What must be served of one row of the account. `transactionType` is that of the transaction that it is or
 * belongs to.
 */
export function expectedValue(
  names: Names,
  { field, type, isLabel }: Source,
  transactionType: string | undefined,
  row: TrueFields,
): ServedValue {
  const amount = shownAmounts[field];
  if (amount !== undefined) return shownAmount(row[amount], transactionType);
  if (field === 'displayStatus') return statuses[transactionType ?? '']?.[row['status'] ?? ''] ?? null;
  const raw = row[field];
  if (!isLabel) return toServedValue(raw, type);
  return raw === undefined ? null : (findLabel(names, transactionType, field, raw, row) ?? null);
}

/**
 * What is expected of a label that names a transaction: this and its id, until all transactions were read.
 */
export const unreadDocument = 'transaction ';

/** The label of a reference to a transaction. */
export const documentName = ({ fields }: TrueRecord): string =>
  `${transactionTypes.get(fields['type'] ?? '')?.label ?? fields['type']} #${fields['tranid']}`;

/** The lines that a document shows, in their order. */
export const documentLines = ({ lines = [] }: TrueRecord): TrueFields[] =>
  lines
    .map(({ fields }) => fields)
    .filter((line) => line['mainline'] !== 'T' && line['taxline'] !== 'T' && line['iscogs'] !== 'T')
    .toSorted((one, other) => Number(one['linesequencenumber']) - Number(other['linesequencenumber']));

// What the public interface must serve of a simulated account, worked out from the account's control interface and from what its README
// says about labels. Shares no code with the connector, the sync engine or the warehouse, so that it can disagree with them.
import type { NetsuiteAccount } from 'netsuite-simulator';
import { repeatRequest } from './repeat-request.ts';

export type TrueFields = Readonly<Record<string, string>>;
export type TrueRecord = { readonly id: string; readonly fields: TrueFields; readonly lines?: readonly { readonly fields: TrueFields }[] };

/** A field as the metadata lists it. `lineFields` only for lines. */
export type ServedField = { readonly name: string; readonly type: string; readonly lineFields?: readonly ServedField[] };

/** Transaction types by the code in the data. Other types of the code aren't compared. */
export const transactionTypes: ReadonlyMap<string, { readonly recordType: string; readonly label: string }> = new Map([
  ['CustInvc', { recordType: 'invoice', label: 'Invoice' }],
  ['CustCred', { recordType: 'creditMemo', label: 'Credit Memo' }],
  ['SalesOrd', { recordType: 'salesOrder', label: 'Sales Order' }],
]);
const statuses: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  CustInvc: { A: 'Open', B: 'Paid In Full' },
  CustCred: { A: 'Open', B: 'Fully Applied' },
  SalesOrd: { B: 'Pending Fulfillment', G: 'Billed' },
};
const itemTypes: Readonly<Record<string, string>> = { InvtPart: 'Inventory Item' };

/** Small pages: while one is parsed, this process serves no request. */
const recordsPerPage = 200;

/** All records of a table by pages, whatever is hidden from the role. Rejects with an Error unless the account answers. */
export async function* readTruth(account: NetsuiteAccount, table: string): AsyncGenerator<readonly TrueRecord[]> {
  if (account.control === undefined) throw new Error('The account has no control interface');
  const { url, token } = account.control;
  for (let after: string | null = ''; after !== null; ) {
    const path: string = `/records/${table}?limit=${recordsPerPage}${after === '' ? '' : `&after=${after}`}`;
    const response = await repeatRequest(() => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } }));
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    const page = (await response.json()) as { records: readonly TrueRecord[]; next: string | null };
    yield page.records;
    after = page.next;
  }
}

/** The names that labels show, by id. */
export type Names = Readonly<Record<'customer' | 'item' | 'currency', ReadonlyMap<string, string>>>;

export async function readNames(account: NetsuiteAccount): Promise<Names> {
  const read = async (table: string, column: string): Promise<Map<string, string>> => {
    const names = new Map<string, string>();
    for await (const page of readTruth(account, table)) for (const { id, fields } of page) names.set(id, fields[column] ?? '');
    return names;
  };
  return { customer: await read('customer', 'entityid'), item: await read('item', 'itemid'), currency: await read('currency', 'name') };
}

function labelOf(names: Names, type: string | undefined, field: string, value: string): string | undefined {
  if (field === 'entity') return names.customer.get(value);
  if (field === 'item') return names.item.get(value);
  if (field === 'currency') return names.currency.get(value);
  if (field === 'itemtype') return itemTypes[value] ?? value;
  if (field === 'status' && type !== undefined) return `${transactionTypes.get(type)?.label} : ${statuses[type]?.[value]}`;
  return value; // what BUILTIN.DF returns for a column without labels
}

/** A value as JSON serves it, numbers as text. */
export type ServedValue = string | boolean | null;

/** Numbers without trailing zeros, times to the second: equal values are equal texts. */
export function normalize(value: ServedValue | undefined, type: string): ServedValue | undefined {
  if (typeof value !== 'string') return value;
  if (type === 'number' || type === 'integer') return value.includes('.') ? value.replace(/\.?0+$/, '') : value;
  return type === 'time' ? value.replace(/\.0+Z$/, 'Z') : value;
}

function servedValueOf(raw: string | undefined, type: string): ServedValue {
  if (raw === undefined) return null;
  if (type === 'boolean') return raw === 'T';
  return normalize(raw, type) ?? null;
}

/** What can be served of a field: its value, or its label as `<field>.name`. */
export type Source = { readonly source: string; readonly field: string; readonly type: string; readonly isLabel: boolean };

/** In the order of the fields; lines are left out. */
export const sourcesOf = (fields: readonly ServedField[]): readonly Source[] =>
  fields
    .filter(({ type }) => type !== 'lines')
    .flatMap(({ name, type }) => [
      { source: name, field: name, type, isLabel: false },
      ...(type === 'reference' || type === 'list' ? [{ source: `${name}.name`, field: name, type: 'text', isLabel: true }] : []),
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

/** What must be served of one row of the account. `transactionType` is that of the transaction that it is or belongs to. */
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
  if (!isLabel) return servedValueOf(raw, type);
  return raw === undefined ? null : (labelOf(names, transactionType, field, raw) ?? null);
}

/** The lines that a document shows, in their order. */
export const documentLines = ({ lines = [] }: TrueRecord): TrueFields[] =>
  lines
    .map(({ fields }) => fields)
    .filter((line) => line['mainline'] !== 'T' && line['taxline'] !== 'T' && line['iscogs'] !== 'T')
    .toSorted((one, other) => Number(one['linesequencenumber']) - Number(other['linesequencenumber']));

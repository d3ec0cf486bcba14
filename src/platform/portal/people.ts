// Everyone whom the portal knows, in bounded memory: for figures and invitations, never for what a visitor sees.
import { parseExact } from '../../core/text/exact-json.ts';
import { customerName, customersEndpoint, emailName, peopleEndpoint } from './access-document.ts';
import {
  type Address,
  accessTo,
  listAddresses,
  type Portal,
  type PortalCtx,
  readPage,
  readPortal,
  toRowConditions,
} from './visitor-scope.ts';

const pageSize = 1_000;
/** Of all entries of the settings together; what is more is left out. */
export const maxPeople = 200_000;

export type FoundPerson = {
  /** Id of the customer. */
  readonly customer: string;
  readonly addresses: readonly Address[];
  /** Whether the person is the customer. */
  readonly isCustomer: boolean;
};

type Reading = {
  readonly onPerson: (person: FoundPerson) => void;
  readonly signal: AbortSignal;
};

/** How many of the records that the entries select may be read, for all of them together. */
type Budget = { left: number };

async function readEntry(
  ctx: PortalCtx,
  portal: Portal,
  index: number,
  { onPerson, signal }: Reading,
  budget: Budget,
): Promise<void> {
  const entry = portal.settings.people[index];
  if (entry === undefined) return;
  const { recordType, customerField, conditions } = entry;
  const people = { name: peopleEndpoint(index), recordType, conditions: toRowConditions(conditions) };
  const isOwn = customerField === 'id';
  const fields = [emailName, ...(isOwn ? [] : [customerName])].join(',');
  for (let page = 1, read = 0, all = 1; read < all && budget.left > 0; page += 1) {
    signal.throwIfAborted();
    const query = { fields, page: String(page), pageSize: String(pageSize) };
    const { rows, total } = await readPage(ctx, portal, people, query, [emailName, customerName]);
    if (rows.length === 0) break;
    for (const row of rows.slice(0, budget.left)) {
      const customer = isOwn ? row['id'] : row[customerName];
      if (customer == null) continue;
      const addresses = listAddresses(row[emailName]);
      onPerson({ customer: String(customer), addresses, isCustomer: isOwn });
    }
    read += rows.length;
    budget.left -= rows.length;
    all = total;
  }
}

/**
 * Calls back for each person, in no order. False when there are more than may be read. Rejects with 503 while the
 * ERP doesn't deliver a field on which it depends who is a visitor, and when the signal is aborted.
 */
export async function readPeople(ctx: PortalCtx, portal: Portal, reading: Reading): Promise<boolean> {
  // One more than are counted shows that there are more.
  const budget = { left: maxPeople + 1 };
  let count = 0;
  const onPerson = (person: FoundPerson): void => {
    count += 1;
    if (count <= maxPeople) reading.onPerson(person);
  };
  for (const index of portal.settings.people.keys())
    await readEntry(ctx, portal, index, { ...reading, onPerson }, budget);
  return budget.left > 0;
}

/**
 * Calls back with the id of each customer whom the ERP has, in no order. False when there are more than may be
 * read. Rejects with 503 while the records can't be read, and when the signal is aborted.
 */
export async function readCustomers(
  ctx: PortalCtx,
  portal: Portal,
  onCustomer: (id: string) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const { customerType: recordType } = portal.settings;
  if (recordType === undefined) return true;
  const reads = accessTo([{ name: customersEndpoint, recordType, conditions: [] }], true);
  const reader = readPortal(ctx, portal, reads);
  for (let page = 1, read = 0; read < maxPeople; page += 1) {
    signal.throwIfAborted();
    const query = { fields: 'id', page: String(page), pageSize: String(pageSize) };
    const { records, total } = await reader.list(customersEndpoint, query);
    const rows = parseExact(records) as { readonly id: unknown }[];
    for (const { id } of rows) onCustomer(String(id));
    read += rows.length;
    if (rows.length === 0 || read >= total) return true;
  }
  return false;
}

// Whom an invitation reaches: the addresses of one person, or of all customers of a view.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { inTransaction } from '../../db/transaction.ts';
import { allRows, getRecordReader, readAvailable } from '../../public/index.ts';
import { findViewForCaller, toRecordQuery, toViewProblem } from '../views/views.service.ts';
import type { ViewRow } from '../views/views.store.ts';
import { findByCustomers } from './invitations.store.ts';
import { maxPeople, readPeople } from './people.ts';
import { unknownViewDetail } from './targets.ts';
import { findPerson, type Portal } from './visitor-scope.ts';
import { findVisitor } from './visitors.store.ts';

const pageSize = 1_000;

export type Invitees = {
  readonly customers: number;
  readonly withoutAddress: number;
  /** By address as it is compared, the address for the mail. */
  readonly addresses: ReadonlyMap<string, string>;
};

const refuse = (path: 'email' | 'viewId', code: string, message: string) =>
  invalid('No one can be invited', [{ path, code, message }]);

/** Throws 422 `no_customer` for an address that no customer has. */
export async function findInvitee(ctx: RequestCtx, portal: Portal, email: string): Promise<Invitees> {
  const { customers, writtenAs } = await findPerson(ctx, portal, email);
  // A blocked address has no customers; it is counted as such.
  if (customers.length === 0 && !(await isBlocked(ctx, email)))
    throw refuse('email', 'no_customer', 'No customer has this address');
  return {
    customers: customers.length,
    withoutAddress: 0,
    addresses: new Map([[email, writtenAs === '' ? email : writtenAs]]),
  };
}

const isBlocked = async (ctx: RequestCtx, email: string): Promise<boolean> => {
  const entry = await inTransaction(ctx, (tx) => findVisitor(tx, ctx.organizationId, email));
  return entry?.blocked === true;
};

/** The field of a record type that holds the customer's id; undefined for one that names no customer. */
async function findCustomerField(
  ctx: RequestCtx,
  { settings: { people, records, customerType } }: Portal,
  recordType: string,
): Promise<string | undefined> {
  if (recordType === customerType) return 'id';
  const entry = [...records, ...people].find((one) => one.recordType === recordType);
  if (entry !== undefined) return entry.customerField;
  const available = await readAvailable(ctx);
  const targets = Object.hasOwn(available, recordType) ? available[recordType]?.targets : undefined;
  return Object.entries(targets ?? {}).find(([, target]) => target === customerType)?.[0];
}

const customerKey = 'customer';

/** The ids of the customers of a view, as the caller may filter its records. */
async function listCustomers(ctx: RequestCtx, portal: Portal, view: ViewRow): Promise<Set<string>> {
  const source = await findCustomerField(ctx, portal, view.record_type);
  if (source === undefined)
    throw refuse('viewId', 'no_customers', 'The records of this view name no customer of the portal');
  const columns = source === 'id' ? [] : [{ name: customerKey, source }];
  const query = { ...toRecordQuery(view), columns, sort: [] };
  const rights = allRows({ unmasked: ctx.principal.reads.unmasked });
  const found = new Set<string>();
  for (let page = 1, read = 0; ; page += 1) {
    ctx.disconnected.throwIfAborted();
    const at = { page, pageSize };
    const { records, total, problems, heldBack } = await getRecordReader(ctx).list(ctx, query, at, rights);
    if (heldBack)
      throw invalid('A filter of the view does not work at the moment', problems.map(toViewProblem));
    if (total > maxPeople)
      throw refuse('viewId', 'too_many_records', `A view of at most ${maxPeople} records can be invited`);
    const rows = parseExact(records) as Readonly<Record<string, unknown>>[];
    for (const row of rows) {
      const id = source === 'id' ? row['id'] : row[customerKey];
      if (id != null) found.add(String(id));
    }
    read += rows.length;
    if (rows.length === 0 || read >= total) return found;
  }
}

/** Adds the addresses that have some of the customers by hand. */
async function addByHand(
  ctx: RequestCtx,
  customers: ReadonlySet<string>,
  add: (customer: string, address: string, writtenAs: string) => void,
): Promise<void> {
  const all = [...customers];
  for (let at = 0; at < all.length; at += pageSize) {
    const part = all.slice(at, at + pageSize);
    const rows = await inTransaction(ctx, (tx) => findByCustomers(tx, ctx.organizationId, part));
    for (const { email, customers: own } of rows)
      for (const customer of own) if (customers.has(customer)) add(customer, email, email);
  }
}

/**
 * Throws 422 `unknown_view` for a view that the caller may not see, `no_customers` for one whose records name no
 * customer, and for one of too many records.
 */
export async function findInvitees(ctx: RequestCtx, portal: Portal, viewId: string): Promise<Invitees> {
  const view = await inTransaction(ctx, (tx) => findViewForCaller(tx, ctx, viewId));
  if (view === undefined) throw invalid('No one can be invited', [unknownViewDetail('viewId')]);
  const customers = await listCustomers(ctx, portal, view);
  const addresses = new Map<string, string>();
  const reachable = new Set<string>();
  const add = (customer: string, address: string, writtenAs: string): void => {
    reachable.add(customer);
    if (!addresses.has(address)) addresses.set(address, writtenAs);
  };
  await readPeople(ctx, portal, {
    signal: ctx.disconnected,
    onPerson: ({ customer, addresses: own }) => {
      if (customers.has(customer))
        for (const { normalized, written } of own) add(customer, normalized, written);
    },
  });
  await addByHand(ctx, customers, add);
  return { customers: customers.size, withoutAddress: customers.size - reachable.size, addresses };
}

// What a visitor may see: the customers that the ERP's records name for their address now, and the records of the
// one that they chose. Every read of the portal is a read of its document under the access that is made here.
import { domainToUnicode } from 'node:url';
import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError, unavailable } from '../../core/errors.ts';
import { parseExact } from '../../core/exact-json.ts';
import type { RecordAccess, RowCondition } from '../../core/record-access.ts';
import { inTransaction } from '../../db/transaction.ts';
import { normalizeEmail } from '../../identity/email-address.ts';
import { getVersionReader, toQueryParameters } from '../../public/index.ts';
import type { StoredSettings } from './access.schemas.ts';
import { findAccess } from './access.store.ts';
import {
  customerName,
  customersEndpoint,
  emailName,
  parentName,
  peopleEndpoint,
  recordsEndpoint,
} from './access-document.ts';
import { findVisitor } from './visitors.store.ts';

export type PortalCtx = ReadingCtx & TenantCtx;
/** The portal of an organization as it is served. */
export type Portal = { readonly settings: StoredSettings; readonly document: string };

type Conditions = StoredSettings['people'][number]['conditions'];
type Row = Readonly<Record<string, unknown>>;

const pageSize = 1_000;
/** A text that is part of more addresses than these hold is none itself. */
const maxPages = 10;
const maxCustomers = 100;

/** Undefined while the organization's portal is off, or was never ready. */
export async function findPortal(ctx: TenantCtx): Promise<Portal | undefined> {
  const rows = await inTransaction(ctx, (tx) => findAccess(tx, ctx.organizationId));
  const { settings, document = null } = rows?.live ?? {};
  return settings === undefined || document === null ? undefined : { settings, document };
}

const toRowConditions = (conditions: Conditions): RowCondition[] =>
  conditions.map(({ field, in: values }) => ({ field, source: field, in: values }));

type Selection = {
  readonly name: string;
  readonly recordType: string;
  readonly conditions: readonly RowCondition[];
};

/** Access to these resources alone, and to the records that the conditions select. */
const accessTo = (resources: readonly Selection[], unmasked: boolean): RecordAccess => ({
  layers: [
    {
      versions: [],
      resources: [],
      rows: {
        resources: Object.fromEntries(
          resources.map(({ name, recordType, conditions }) => [name, { recordType, conditions }]),
        ),
        others: false,
      },
      fields: null,
    },
  ],
  unmasked,
});

/**
 * Everything that the parameters select, for decisions about access: no one is shown it, so that masks of its
 * fields don't matter. Rejects with 503 while one of the fields `needed` is stale.
 */
async function readAll(
  ctx: PortalCtx,
  { document }: Portal,
  selection: Selection,
  query: Readonly<Record<string, string>>,
  needed: readonly string[],
): Promise<Row[]> {
  const reads = accessTo([selection], true);
  const found: Row[] = [];
  for (let page = 1; page <= maxPages; page += 1) {
    const { records, total, stale } = await getVersionReader(ctx).list(ctx, {
      version: document,
      resource: selection.name,
      reads,
      query: toQueryParameters({ ...query, page: String(page), pageSize: String(pageSize) }),
    });
    if (stale.some(({ name }) => needed.includes(name)))
      throw unavailable('The ERP does not say at the moment who may see which records; try again', 60);
    found.push(...(parseExact(records) as Row[]));
    if (found.length >= total) return found;
  }
  throw unavailable('More people have this text in their address than can be read', 60);
}

/** The addresses in a field of the ERP, as `normalizeEmail` writes them. */
const listAddresses = (value: unknown): string[] =>
  String(value ?? '')
    .split(/[\s,;<>()[\]"]+/)
    .flatMap((part) => normalizeEmail(part) ?? []);

/** As the ERP may have the address: with its domain in ASCII or in the letters of its language. */
function spellings(address: string): string[] {
  const at = address.lastIndexOf('@') + 1;
  return [...new Set([address, address.slice(0, at) + domainToUnicode(address.slice(at))])];
}

/**
 * The ids of the customers whose people have this address now, and of those by hand, in no order; none for a
 * blocked address, which is as `normalizeEmail` writes it. Searching finds candidates, and comparing every letter decides. Rejects with 503 while the ERP
 * doesn't deliver a field on which this depends.
 */
export async function findCustomers(ctx: PortalCtx, portal: Portal, address: string): Promise<string[]> {
  const entry = await inTransaction(ctx, (tx) => findVisitor(tx, ctx.organizationId, { email: address }));
  if (entry?.blocked === true) return [];
  const found = new Set<string>(entry?.customers);
  for (const [index, { recordType, customerField, conditions }] of portal.settings.people.entries()) {
    const people = { name: peopleEndpoint(index), recordType, conditions: toRowConditions(conditions) };
    for (const text of spellings(address)) {
      const query = { [`${emailName}_contains`]: text };
      const rows = await readAll(ctx, portal, people, query, [emailName, customerName]);
      for (const row of rows) {
        const customer = customerField === 'id' ? row['id'] : row[customerName];
        if (customer != null && listAddresses(row[emailName]).includes(address)) found.add(String(customer));
      }
    }
  }
  return [...found];
}

const tooManyCustomers = (): AppError =>
  new AppError('FORBIDDEN', `More than ${maxCustomers} customers are below this one`, {
    details: [
      { path: '', code: 'too_many_customers', message: 'The company that runs the portal can change this' },
    ],
  });

/** The customer and, where the portal includes them, all customers below it. Throws 403 for more than 100. */
async function listFamily(ctx: PortalCtx, portal: Portal, customer: string): Promise<string[]> {
  const { includeChildren, customerType } = portal.settings;
  if (!includeChildren || customerType === undefined) return [customer];
  const family = [customer];
  for (const parent of family) {
    const below = {
      name: customersEndpoint,
      recordType: customerType,
      conditions: [{ field: parentName, source: 'parent', in: [parent] }],
    };
    for (const { id } of await readAll(ctx, portal, below, { fields: parentName }, [parentName]))
      if (!family.includes(String(id))) family.push(String(id));
    if (family.length > maxCustomers) throw tooManyCustomers();
  }
  return family;
}

/**
 * Access to the records of one customer, and to what the customer's record says. Rejects as `findCustomers`
 * does, and with 403 `too_many_customers`.
 */
export async function accessOfCustomer(
  ctx: PortalCtx,
  portal: Portal,
  customer: string,
): Promise<RecordAccess> {
  const { records, customerType } = portal.settings;
  const family = await listFamily(ctx, portal, customer);
  return accessTo(
    [
      ...records.map(({ recordType, customerField, conditions }) => ({
        name: recordsEndpoint(recordType),
        recordType,
        conditions: [
          { field: customerName, source: customerField, in: family },
          ...toRowConditions(conditions),
        ],
      })),
      ...(customerType === undefined
        ? []
        : [
            {
              name: customersEndpoint,
              recordType: customerType,
              conditions: [{ field: 'id', source: 'id', in: family }],
            },
          ]),
    ],
    false,
  );
}

/** Rejects as lists of the public interface do, with 404 for a record type that the portal doesn't show. */
export const listPortalRecords = (
  ctx: PortalCtx,
  { document }: Portal,
  reads: RecordAccess,
  recordType: string,
  query: Readonly<Record<string, string>> = {},
) =>
  getVersionReader(ctx).list(ctx, {
    version: document,
    resource: recordsEndpoint(recordType),
    reads,
    query: toQueryParameters(query),
  });

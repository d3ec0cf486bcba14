// What a visitor may see: the customers that the ERP's records name for their address now, and the records of the
// one that they chose. Every read of the portal is a read of its document under the access that is made here.
import { domainToUnicode } from 'node:url';
import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError, unavailable } from '../../core/errors.ts';
import type { RecordAccess, RowCondition } from '../../core/record-access.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { inTransaction } from '../../db/transaction.ts';
import { normalizeEmail } from '../../identity/email-address.ts';
import { type FileForm, getVersionReader, toQueryParameters } from '../../public/index.ts';
import type { StoredSettings } from './access.schemas.ts';
import { findAccess } from './access.store.ts';
import {
  customerName,
  customersEndpoint,
  emailName,
  nameName,
  parentName,
  peopleEndpoint,
  recordsEndpoint,
} from './access-document.ts';
import { findVisitor, type VisitorRow } from './visitors.store.ts';

export type PortalCtx = ReadingCtx & TenantCtx;
/** The portal of an organization as it is served. `document`: the label of what is read. */
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

export const toRowConditions = (conditions: Conditions): RowCondition[] =>
  conditions.map(({ field, in: values }) => ({ field, source: field, in: values }));

type Selection = {
  readonly name: string;
  readonly recordType: string;
  readonly conditions: readonly RowCondition[];
};

/** Access to these resources alone, and to the records that the conditions select. */
export const accessTo = (resources: readonly Selection[], unmasked: boolean): RecordAccess => ({
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

const peopleUnknown = (completeAt: string | null): AppError => {
  const message = 'The ERP does not say at the moment who may see which records';
  return new AppError('INTERNAL_ERROR', `${message}; try again`, {
    status: 503,
    headers: { 'Retry-After': '60' },
    details: [{ path: '', code: 'people_unknown', message }],
    completeAt,
  });
};

/** Rejects with 503 `people_unknown` while one of the fields `needed` is stale. */
export async function readPage(
  ctx: PortalCtx,
  { document }: Portal,
  selection: Selection,
  query: Readonly<Record<string, string>>,
  needed: readonly string[],
) {
  const { records, total, stale, syncedAt } = await getVersionReader(ctx).list(ctx, {
    version: document,
    resource: selection.name,
    reads: accessTo([selection], true),
    isKnown: true,
    query: toQueryParameters(query),
  });
  if (stale.some(({ name }) => needed.includes(name))) throw peopleUnknown(syncedAt);
  return { rows: parseExact(records) as Row[], total };
}

/**
 * Everything that the parameters select, for decisions about access: no one is shown it, so that masks of its
 * fields don't matter. Rejects as `readPage` does.
 */
async function readAll(
  ctx: PortalCtx,
  portal: Portal,
  selection: Selection,
  query: Readonly<Record<string, string>>,
  needed: readonly string[],
): Promise<Row[]> {
  const found: Row[] = [];
  for (let page = 1; page <= maxPages; page += 1) {
    const shown = { ...query, page: String(page), pageSize: String(pageSize) };
    const { rows, total } = await readPage(ctx, portal, selection, shown, needed);
    found.push(...rows);
    if (found.length >= total) return found;
  }
  throw unavailable('More people have this text in their address than can be read', 60);
}

/** As the ERP has it, and as `normalizeEmail` writes it. */
export type Address = { readonly written: string; readonly normalized: string };

/** The addresses in a field of the ERP. */
export const listAddresses = (value: unknown): Address[] =>
  String(value ?? '')
    .split(/[\s,;<>()[\]"]+/)
    .flatMap((written) => {
      const normalized = normalizeEmail(written);
      return normalized === null ? [] : [{ written, normalized }];
    });

/** As the ERP may have the address: with its domain in ASCII or in the letters of its language. */
function spellings(address: string): string[] {
  const at = address.lastIndexOf('@') + 1;
  return [...new Set([address, address.slice(0, at) + domainToUnicode(address.slice(at))])];
}

export type VisitorEntry = Pick<VisitorRow, 'email' | 'customers' | 'blocked'>;

/** `writtenAs`: the address as the ERP wrote it, or else a member of the organization, for mails. */
export type Person = { readonly customers: readonly string[]; readonly writtenAs: string };

const unknown: Person = { customers: [], writtenAs: '' };

/**
 * The customers whose people have this address now, and those by hand, in no order; none for a blocked address.
 * The address is as `normalizeEmail` writes it. Searching finds candidates, and comparing every letter decides.
 * Rejects with 503 while the ERP doesn't deliver a field on which this depends.
 */
export async function findPerson(ctx: PortalCtx, portal: Portal, address: string): Promise<Person> {
  const entry = await inTransaction(ctx, (tx) => findVisitor(tx, ctx.organizationId, address));
  return findPersonOf(ctx, portal, address, entry);
}

/** As `findPerson`, with what is known of the address beside the ERP. */
export async function findPersonOf(
  ctx: PortalCtx,
  portal: Portal,
  address: string,
  entry: VisitorEntry | undefined,
): Promise<Person> {
  if (entry?.blocked === true) return unknown;
  const needed = [emailName, customerName];
  const found = await Promise.all(
    portal.settings.people.flatMap(({ recordType, customerField, conditions }, index) => {
      const people = { name: peopleEndpoint(index), recordType, conditions: toRowConditions(conditions) };
      return spellings(address).map(async (text) => {
        const rows = await readAll(ctx, portal, people, { [`${emailName}_contains`]: text }, needed);
        return rows.flatMap((row) => {
          const customer = customerField === 'id' ? row['id'] : row[customerName];
          const written = listAddresses(row[emailName]).find((one) => one.normalized === address)?.written;
          return customer == null || written === undefined ? [] : [{ customer: String(customer), written }];
        });
      });
    }),
  );
  const people = found.flat();
  return {
    customers: [...new Set([...(entry?.customers ?? []), ...people.map(({ customer }) => customer)])],
    writtenAs: people[0]?.written ?? entry?.email ?? '',
  };
}

/** Rejects with 503 while the ERP doesn't deliver a field on which it depends who is a visitor. */
export async function assertPeopleKnown(ctx: PortalCtx, portal: Portal): Promise<void> {
  for (const [index, { recordType, conditions }] of portal.settings.people.entries()) {
    const people = { name: peopleEndpoint(index), recordType, conditions: toRowConditions(conditions) };
    await readPage(ctx, portal, people, { pageSize: '1' }, [emailName, customerName]);
  }
}

export type NamedCustomer = { readonly id: string; readonly name: string; readonly isFound: boolean };

/** The first 100 of the customers with their names; the id where no name is known. */
export async function nameCustomers(
  ctx: PortalCtx,
  portal: Portal,
  ids: readonly string[],
): Promise<readonly NamedCustomer[]> {
  const shown = ids.slice(0, maxCustomers);
  const names = new Map<string, string | undefined>();
  const { customerType: recordType } = portal.settings;
  if (recordType !== undefined && shown.length > 0) {
    const conditions = [{ field: 'id', source: 'id', in: shown }];
    const reads = accessTo([{ name: customersEndpoint, recordType, conditions }], false);
    const page = await readPortal(ctx, portal, reads).listKnown(customersEndpoint, {
      pageSize: String(maxCustomers),
    });
    for (const row of parseExact(page.records) as Row[])
      names.set(String(row['id']), typeof row[nameName] === 'string' ? row[nameName] : undefined);
  }
  return shown.map((id) => ({ id, name: names.get(id) ?? id, isFound: names.has(id) }));
}

const tooManyCustomers = (): AppError =>
  new AppError('FORBIDDEN', `More than ${maxCustomers} customers are below this one`, {
    details: [
      { path: '', code: 'too_many_customers', message: 'The company that runs the portal can change this' },
    ],
  });

/**
 * The customer and, where the portal includes them, all customers below it. Rejects as `findPerson` does, and with 403
 * `too_many_customers` for more than 100.
 */
export async function listFamily(ctx: PortalCtx, portal: Portal, customer: string): Promise<string[]> {
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

/** Access to the records of these customers, and to what the customers' own records say. */
export function accessOfFamily({ settings }: Portal, family: readonly string[]): RecordAccess {
  const { records, customerType } = settings;
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

/** The address of the customer with the most open invoices: for the demo. Undefined where none has one. */
export async function findTypicalAddress(ctx: PortalCtx, portal: Portal): Promise<string | undefined> {
  const { people, records } = portal.settings;
  const entry = records.find(({ role, fields }) => role === 'invoice' && fields.amountDue !== undefined);
  const index = people.findIndex(({ customerField }) => customerField === 'id');
  const person = people[index];
  if (entry === undefined || person === undefined) return undefined;
  const { recordType, conditions } = entry;
  const selection = {
    name: recordsEndpoint(recordType),
    recordType,
    conditions: toRowConditions(conditions),
  };
  const owing = await readPortal(ctx, portal, accessTo([selection], true)).summarize(selection.name, {
    ...{ by: customerName, count: 'true', sort: '-count', limit: String(maxCustomers), amountDue_gt: '0' },
  });
  const ids = (parseExact(owing.rows) as Row[]).map((row) => String(row[customerName]));
  const customers = { field: 'id', source: 'id', in: ids };
  const chosen = {
    ...{ name: peopleEndpoint(index), recordType: person.recordType },
    conditions: [...toRowConditions(person.conditions), customers],
  };
  const rows = await readAll(ctx, portal, chosen, {}, [emailName]);
  const addresses = new Map(rows.map((row) => [String(row['id']), listAddresses(row[emailName])[0]]));
  return ids.map((id) => addresses.get(id)?.normalized).find((address) => address !== undefined);
}

type Query = Readonly<Record<string, string>>;

/**
 * Reads what the access allows, as the public interface reads a version; 404 for what the portal doesn't show.
 * `noteRead` is called for each read.
 */
export const readPortal = (
  ctx: PortalCtx,
  { document: version }: Portal,
  reads: RecordAccess,
  noteRead: (resource: string) => void = () => {},
) => {
  const reader = getVersionReader(ctx);
  const of = (resource: string, query: Query) => {
    noteRead(resource);
    return { ...{ version, resource, reads }, query: toQueryParameters(query) };
  };
  return {
    list: (resource: string, query: Query = {}) => reader.list(ctx, of(resource, query)),
    /** Without a description of the fields. */
    listKnown: (resource: string, query: Query) =>
      reader.list(ctx, { ...of(resource, query), isKnown: true }),
    summarize: (resource: string, query: Query) => reader.summarize(ctx, of(resource, query)),
    /** `headings`: the columns by name, with the texts above them. */
    file: (
      resource: string,
      query: Query,
      headings: Readonly<Record<string, string>>,
      form: FileForm,
      signal: AbortSignal,
    ) => reader.file(ctx, { ...of(resource, query), headings }, form, signal),
  };
};
export type PortalReader = ReturnType<typeof readPortal>;

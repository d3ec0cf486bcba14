// Describes a record type that this connector doesn't know by name, by rules: its table, key, fields, lines,
// and how changes and deletions are found. What can't be synced is described with the reason.
import {
  ErpError,
  type FieldMetadata,
  type OpenWhen,
  type RecordTypeMetadata,
  type ShownAs,
} from '../../connector.ts';
import type { Reading, RecordFamily } from '../../discovery.ts';
import { shorten } from '../requests/probe.ts';
import { maxRowsPerQuery, type SuiteqlRow } from '../requests/suiteql.ts';
import type { ReadDefinition } from '../types/definition.ts';
import { isColumnName, probeQuery, recordsQuery } from '../types/queries.ts';
import { readStored } from '../types/read-plan.ts';
import { parentModifiedField, type StoredDefinition } from '../types/stored-definition.ts';
import type { Account } from './account.ts';
import { findCandidates, modifiedColumns } from './candidates.ts';
import { type CatalogueSchema, readCatalogueEntry } from './catalogue.ts';
import { type Candidate, describeColumns } from './describe-columns.ts';
import { describeTransactionLines, storedLines } from './describe-lines.ts';
import { findKnownTable, type KnownTable, withoutKey } from './known-tables.ts';
import { classifyFamily, inItems, isItemType, toLabel } from './names.ts';

/** A record type whose rows were found. */
type Found = {
  readonly name: string;
  readonly label: string;
  readonly family: RecordFamily;
  readonly table: string;
  readonly filter: StoredDefinition['filter'];
  readonly key: StoredDefinition['key'];
  readonly rows: readonly SuiteqlRow[];
  readonly schema: CatalogueSchema | null;
  readonly known: KnownTable | undefined;
};

/**
 * Undefined for a name that the account doesn't list. Rejects with `ErpError` for an outage or a refused
 * login, or with the signal's reason.
 */
export async function describeType(account: Account, name: string): Promise<RecordTypeMetadata | undefined> {
  const table = name.toLowerCase();
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(table) || !(await isListed(account, name))) return undefined;
  const known = findKnownTable(table);
  const schema = known === undefined ? await readCatalogueEntry(account, name) : null;
  const customLabel = table.startsWith('custom') ? (await account.lists.customTypes()).get(table) : undefined;
  const label = customLabel ?? known?.label ?? toLabel(name);
  const named = { name, label, table, schema, known };
  const found = await findType(account, named);
  if ('reason' in found) return unreadable(found, schema);
  try {
    return await describeFound(account, found);
  } catch (error) {
    if (!(error instanceof ErpError) || (error.kind !== 'query' && error.kind !== 'forbidden')) throw error;
    return unreadable(
      { ...found, reason: `NetSuite refuses a query that describes it: ${shorten(error.message)}` },
      schema,
    );
  }
}

/** Under exactly this name: names never differ in case alone. A refused catalogue may have any name. */
async function isListed({ lists }: Account, name: string): Promise<boolean> {
  const catalogue = await lists.catalogue();
  if (catalogue === null || catalogue.includes(name)) return true;
  if (name !== name.toLowerCase() || catalogue.some((other) => other.toLowerCase() === name)) return false;
  const isKnown = findKnownTable(name) !== undefined || (await lists.customTypes()).has(name);
  return isKnown || ((await lists.transactionTypes())?.has(name) ?? false);
}

type Named = Pick<Found, 'name' | 'label' | 'table' | 'schema' | 'known'>;
type Unreadable = Pick<Found, 'name' | 'label' | 'table' | 'family'> & { readonly reason: string };

async function findType(account: Account, named: Named): Promise<Found | Unreadable> {
  const { name, label, table, schema, known } = named;
  const rows = await account.findRows({ from: `${table} t`, alias: 't', key: known?.key });
  const family = known?.family ?? classifyFamily(name, new Set());
  if (!('error' in rows)) {
    const hasPeople = family === 'list' && rows.rows.some((row) => row['entityid'] !== undefined);
    const readable = {
      ...named,
      family: hasPeople ? ('entity' as const) : family,
      filter: null,
      rows: rows.rows,
    };
    return rows.key === null ? { ...readable, reason: withoutKey } : { ...readable, key: rows.key };
  }
  if (!/Invalid search type/i.test(rows.error.message)) {
    if (rows.error.kind === 'down') throw rows.error;
    return {
      name,
      label,
      table,
      family,
      reason: `The role of this connection cannot read ${label.toLowerCase()} records: ${shorten(rows.error.message)}`,
    };
  }
  if (isItemType(name) || schema?.body.some((property) => property.name === 'itemid'))
    return { name, label, table, family: 'item', reason: inItems };
  if (await isTransaction(account, named)) return findTransactions(account, named);
  return {
    name,
    label,
    table,
    family,
    reason: `Queries have no table for it: ${shorten(rows.error.message)} What queries have of it can be read with a query source`,
  };
}

async function isTransaction({ lists }: Account, { table, schema }: Named): Promise<boolean> {
  const names = new Set(schema?.body.map(({ name }) => name));
  if (table.startsWith('customtransaction') || (names.has('trandate') && names.has('tranid'))) return true;
  return (await lists.transactionTypes())?.has(table) ?? false;
}

async function findTransactions(account: Account, named: Named): Promise<Found | Unreadable> {
  const { name, label, table: value } = named;
  const family = value.startsWith('customtransaction') ? 'customTransaction' : 'transaction';
  const key = [{ column: 'id', digits: 18 }];
  const rows = await account.findRows({
    from: `transaction t WHERE t.recordtype = '${value}'`,
    alias: 't',
    key,
  });
  if (!('error' in rows))
    return {
      ...named,
      family,
      table: 'transaction',
      filter: { column: 'recordtype', value },
      key,
      rows: rows.rows,
    };
  if (rows.error.kind === 'down') throw rows.error;
  return {
    name,
    label,
    table: 'transaction',
    family,
    reason: `The role of this connection cannot read transactions: ${shorten(rows.error.message)}`,
  };
}

const nothingShown: ShownAs = { number: null, name: null, date: null, amount: null };

function unreadable(
  { name, label, table, family, reason }: Unreadable,
  schema: CatalogueSchema | null,
): RecordTypeMetadata {
  const toField = ({ target: _, ...property }: CatalogueSchema['body'][number]): FieldMetadata => ({
    ...property,
    syncable: false,
    volatile: false,
    reason,
  });
  return {
    ...{ name, label, table, family, reason, custom: isCustom(family) },
    source: schema === null ? 'probe' : 'catalogue+probe',
    idType: 'integer',
    openWhen: null,
    modifiedField: null,
    linesModifiedField: null,
    shownAs: nothingShown,
    fields: (schema?.body ?? []).filter((each) => isColumnName(each.name)).map(toField),
  };
}

const isCustom = (family: RecordFamily): boolean => family.startsWith('custom');

/** Without lines, and with the modification time only where the parent has it. */
function storedHeader(found: Found): StoredDefinition {
  const { table, filter, key, known } = found;
  const { parent = null } = known ?? {};
  return {
    ...{ table, filter, key, lines: null },
    parent: parent && { table: parent.table, key: parent.key, column: parent.column },
    renamed: key.length > 1 || key[0]?.column !== 'id' ? { ownId: 'id' } : {},
    modified: parent && { column: parent.modified, from: 'parent' },
    deletedAs: deletionNames(found),
  };
}

async function describeFound(account: Account, found: Found): Promise<RecordTypeMetadata> {
  const { name, label, table, family, rows, schema, known } = found;
  const stored = storedHeader(found);
  const columns = await findCandidates(account.lists, table, schema?.body ?? [], rows);
  const candidates = withKey(columns, stored, known);
  const header = await describeHeader(account, stored, name, rows, candidates);
  const modified = modifiedBy(found, header);
  const isDocument = family === 'transaction' || family === 'customTransaction';
  const lines = isDocument
    ? await describeTransactionLines(account, { ...stored, modified }, name, schema)
    : null;
  const linesKey = lines?.syncable === true ? storedLines(lines) : null;
  const fields = [
    ...header.filter((field) => field.name !== parentModifiedField || modified?.from === 'parent'),
    ...(lines === null ? [] : [lines]),
  ];
  const definition: StoredDefinition = {
    ...stored,
    modified,
    renamed: fields.some((field) => field.name === 'ownId') ? stored.renamed : {},
    lines: linesKey,
  };
  const open = isDocument ? await openWhen(account, stored, header, rows) : openRows(family, header);
  return {
    ...{ name, label, table, family, custom: isCustom(family), reason: null, definition },
    source: describeSource(found),
    idType: 'integer',
    fields,
    shownAs: shownAs(header),
    currencyField: currencyField(header),
    modifiedField:
      modified === null ? null : modified.from === 'parent' ? parentModifiedField : modified.column,
    linesModifiedField: linesKey?.modified ?? null,
    openWhen: open,
    reading: describeReading(definition, known, open),
  };
}

const currencyField = (header: readonly FieldMetadata[]): string | null =>
  header.find(({ name, type, syncable }) => name === 'currency' && type === 'reference' && syncable)?.name ??
  null;

const describeSource = ({ schema, known }: Found): string =>
  `${schema === null ? (known === undefined ? '' : 'known table+') : 'catalogue+'}probe`;

/** The key as `id`, a column `id` that isn't the key by another name, and the parent's modification time. */
function withKey(
  columns: readonly Candidate[],
  { renamed, modified, key }: StoredDefinition,
  known: KnownTable | undefined,
): Candidate[] {
  const isKey = (name: string): boolean => key.some(({ column }) => column === name);
  const plain = { custom: false, volatile: false, excluded: null };
  const id: Candidate = { ...plain, name: 'id', label: 'Internal ID', type: 'integer', namedBy: 'The key' };
  const own =
    'ownId' in renamed
      ? columns
          .filter(({ name }) => name === 'id')
          .map((column) => ({ ...column, name: 'ownId', label: 'ID (column id)' }))
      : [];
  const parent: Candidate[] =
    modified?.from === 'parent'
      ? [
          {
            ...plain,
            name: parentModifiedField,
            label: `Last modified (${known?.parent?.table})`,
            type: 'time',
            namedBy: 'Its name',
          },
        ]
      : [];
  return [
    id,
    ...own,
    ...columns
      .filter(({ name }) => name !== 'id')
      .map((column) =>
        isKey(column.name) ? { ...column, type: 'integer' as const, namedBy: 'The key' } : column,
      ),
    ...parent,
  ];
}

function describeHeader(
  account: Account,
  stored: StoredDefinition,
  name: string,
  rows: readonly SuiteqlRow[],
  candidates: readonly Candidate[],
): Promise<FieldMetadata[]> {
  const source = toSource(name, stored);
  const toColumn = (field: string): string => stored.renamed[field] ?? field;
  return describeColumns(
    account,
    {
      ...{ table: stored.table, rows, toColumn, alias: 't' },
      from: `${stored.table} t${source.filter === null ? '' : ` WHERE ${source.filter}`}`,
      probe: (fields) => probeQuery(source, withId(fields)),
      read: (fields) => recordsQuery(source, withId(fields), {}),
    },
    candidates,
  );
}

const withId = (fields: readonly { readonly name: string; readonly type: FieldMetadata['type'] }[]) =>
  fields.some(({ name }) => name === 'id') ? fields : [{ name: 'id', type: 'integer' as const }, ...fields];

function toSource(name: string, stored: StoredDefinition): ReadDefinition {
  const source = readStored(name, stored);
  if (source === undefined) throw new TypeError(`no definition of ${name}`);
  return source;
}

/** A posting line changes with its transaction; other rows by their own time where they have one. */
function modifiedBy(
  { family, known }: Found,
  fields: readonly FieldMetadata[],
): StoredDefinition['modified'] {
  const isTime = (name: string): boolean =>
    fields.some((field) => field.name === name && field.syncable && field.type === 'time');
  const own = modifiedColumns.find(isTime);
  const parent =
    known?.parent !== undefined && isTime(parentModifiedField)
      ? { column: known.parent.modified, from: 'parent' as const }
      : null;
  return parent !== null && (family === 'posting' || own === undefined)
    ? parent
    : own === undefined
      ? null
      : { column: own, from: 'own' };
}

/** Rows of link tables, and lists behind other lists, are no records to NetSuite's list of deletions. */
function deletionNames({ table, filter, name, rows, known }: Found): string[] {
  if (known !== undefined) return [];
  const codes =
    filter === null
      ? []
      : rows.flatMap(({ type }) =>
          typeof type === 'string' ? [type.toLowerCase().replaceAll(/[^a-z0-9_]/g, '')] : [],
        );
  return [...new Set([filter === null ? table : name.toLowerCase(), ...codes])];
}

const shownColumns: Readonly<Record<keyof ShownAs, readonly string[]>> = {
  number: ['tranid', 'entityid', 'itemid', 'acctnumber', 'transaction', 'scriptid'],
  name: ['entity', 'fullname', 'name', 'periodname', 'altname', 'label', 'account', 'item', 'description'],
  date: ['trandate', 'startdate', 'effectivedate', 'created', 'datecreated', 'createddate'],
  amount: ['foreigntotal', 'amount', 'total', 'netamount', 'unitprice', 'price'],
};

function shownAs(fields: readonly FieldMetadata[]): ShownAs {
  const first = (names: readonly string[]): string | null =>
    names.find((name) => fields.some((field) => field.name === name && field.syncable)) ?? null;
  return {
    number: first(shownColumns.number),
    name: first(shownColumns.name),
    date: first(shownColumns.date),
    amount: first(shownColumns.amount),
  };
}

/**
 * Which documents may still change without their modification time moving: those with an unpaid amount where
 * the type has such amounts, otherwise those in a status in which none has been closed yet.
 */
async function openWhen(
  { suiteql, signal }: Account,
  { filter }: StoredDefinition,
  fields: readonly FieldMetadata[],
  rows: readonly SuiteqlRow[],
): Promise<OpenWhen> {
  const isReadable = (name: string): boolean => fields.some((field) => field.name === name && field.syncable);
  if (!fields.some(({ syncable, volatile }) => syncable && volatile)) return null;
  const closedOn = isReadable('closedate') ? 'closedate' : null;
  const unpaid = 'foreignamountunpaid';
  if (isReadable(unpaid) && rows.some((row) => row[unpaid] !== undefined))
    return { field: unpaid, isNoneOf: ['0'], closedOn };
  if (closedOn === null || !isReadable('status') || rows.length === 0) return 'always';
  const query = `SELECT t.status AS status, COUNT(*) AS n, COUNT(t.closedate) AS closed FROM transaction t WHERE t.${filter?.column} = '${filter?.value}' GROUP BY t.status`;
  const counts = await suiteql.query(query, maxRowsPerQuery, signal);
  const closed = counts.rows.flatMap(({ status, n, closed }) =>
    typeof status === 'string' && n === closed ? [status] : [],
  );
  return closed.length === 0 ? 'always' : { field: 'status', isNoneOf: closed.sort(), closedOn };
}

/** There are too many posting lines to compare all of them in each run: the daily scan does. */
const openRows = (family: RecordFamily, fields: readonly FieldMetadata[]): OpenWhen =>
  family !== 'posting' && fields.some(({ syncable, volatile }) => syncable && volatile) ? 'always' : null;

function describeReading(
  { modified, deletedAs }: StoredDefinition,
  known: KnownTable | undefined,
  open: OpenWhen,
): Reading {
  const changes = modified === null ? 'full' : modified.from === 'parent' ? 'parent' : 'modified';
  const deletions = deletedAs.length === 0 ? 'compared' : 'listed';
  const notes = {
    full: 'No column has the time of a record’s last change: each run reads all records',
    parent: `Changes are found by the modification time of the ${known?.parent?.table} that a record belongs to: what changes without it is found when all records are read again`,
    modified:
      'Which fields change without the modification time is not known of this record type: they are found when all records are read again',
    always:
      'In which status a record no longer changes is not known: each run compares the fields that may change of all records',
    compared: 'NetSuite does not list its deletions: they are found when all ids are compared',
  };
  const always = open === 'always' ? [notes.always] : [];
  return {
    curated: false,
    changes,
    deletions,
    notes: [notes[changes], ...always, ...(deletions === 'compared' ? [notes.compared] : [])],
  };
}

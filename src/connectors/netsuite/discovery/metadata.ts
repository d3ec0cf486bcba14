// Describes the record types of an account: our definitions and its custom fields, with each column probed on
// the account itself. A field that can't be read stays in the description with the reason, so that nothing
// disappears silently; a record type that the role can't see at all is described without a readable field.
import {
  ErpError,
  type FieldMetadata,
  hasLabel,
  type OpenWhen,
  type RecordTypeMetadata,
  type ShownAs,
} from '../../connector.ts';
import { isUnknown, type ProbeQuery, type Probes, type QueryRefusal } from '../requests/probe.ts';
import type { SuiteqlRow } from '../requests/suiteql.ts';
import {
  type ColumnDefinition,
  findModifiedField,
  type LinesDefinition,
  type RecordTypeDefinition,
} from '../types/definition.ts';
import { linesProbeQuery, probeQuery, recordsQuery, type SuiteqlColumn } from '../types/queries.ts';
import { recordTypeDefinitions } from '../types/record-types.ts';
import { parseValue } from '../types/values.ts';
import { type Account, openAccount } from './account.ts';
import { findUnlisted } from './candidates.ts';
import type { AccountParts } from './catalogue.ts';
import { bodyFields, type CustomFields, findCustomFields, lineFields } from './custom-fields.ts';
import { type ColumnSource, describeColumns, findRefusal } from './describe-columns.ts';
import { describeType } from './describe-type.ts';
import { withEntries } from './entry-lists.ts';
import type { RowsAt } from './find-rows.ts';
import { withKeptFields } from './keep-fields.ts';
import { withListedTypes } from './listed-types.ts';
import { curatedFamily } from './names.ts';

/**
 * The record types that are known by name, or those that `only` names, which may be any of the account.
 * Rejects with `ErpError` for an outage or a refused login, or with the signal's reason. A refused record
 * type or column is no error. `last`: as they were described before.
 */
export async function describeRecordTypes(
  parts: AccountParts,
  only?: readonly string[],
  last?: readonly RecordTypeMetadata[],
): Promise<readonly RecordTypeMetadata[]> {
  const account = openAccount(parts, last);
  const names = new Set(only ?? recordTypeDefinitions.map(({ name }) => name));
  const listed = await account.lists.customFields(); // first: a type that changes from here on differs from this list
  const describe = (name: string): Promise<RecordTypeMetadata | undefined> => {
    const definition = recordTypeDefinitions.find((known) => known.name === name);
    if (definition === undefined) return describeType(account, name);
    const siblings = recordTypeDefinitions.filter(
      (other) => other.table === definition.table && names.has(other.name),
    );
    return describeRecordType(account, definition, siblings);
  };
  const [first = '', ...others] = names;
  const described = [await describe(first), ...(await Promise.all(others.map(describe)))]; // the others use what the first one found out
  return Promise.all(
    described
      .filter((type) => type !== undefined)
      .map(async (type) =>
        withEntries(account, withListedTypes(await withKeptFields(account, type), listed)),
      ),
  );
}

const describeHead = ({ name, label, table }: RecordTypeDefinition) =>
  ({ name, label, table, idType: 'integer', family: curatedFamily(table), custom: false }) as const;

function describeHidden(definition: RecordTypeDefinition, message: string): RecordTypeMetadata {
  const reason = `The role of this connection cannot read ${definition.label.toLowerCase()} records: ${message}`;
  return {
    ...describeHead(definition),
    ...{ source: 'probe', reason, openWhen: null, modifiedField: null, linesModifiedField: null },
    shownAs: { number: null, name: null, date: null, amount: null },
    fields: definition.columns.map((column) => toField(column, reason)),
  };
}

/** `siblings`: also described, of the same table; their columns are probed in the same queries. */
async function describeRecordType(
  account: Account,
  definition: RecordTypeDefinition,
  siblings: readonly RecordTypeDefinition[],
): Promise<RecordTypeMetadata> {
  const { suiteql, signal } = account;
  const { table } = definition;
  const from = `${table} t${definition.filter === null ? '' : ` WHERE ${definition.filter}`}`;
  const rows = await readFirstRows(account, { from, alias: 't', key: definition.key });
  const hidden =
    rows.length > 0
      ? null
      : rethrowOutage(await findRefusal(suiteql, probeQuery(definition, idColumn), signal));
  if (hidden !== null) return describeHidden(definition, hidden.error.message);
  const custom = await findCustomFields(account, definition);
  const own = bodyFields(custom, definition);
  const runProbe: ProbeQuery<ColumnDefinition> = (columns) =>
    findRefusal(suiteql, probeQuery(definition, withId(columns)), signal);
  const known = await probeAll(
    account.probes,
    { table, rows, runProbe, alsoProbed: siblings.flatMap(({ columns }) => columns) },
    [...definition.columns, ...own],
    own,
  );
  const unlisted = await describeUnlisted(account, definition, known, { from, rows });
  const lines =
    definition.lines === null
      ? []
      : [await describeLines(account, definition, definition.lines, custom, siblings)];
  const fields = [...known, ...unlisted];
  const source = custom.source === null ? 'probe' : `${custom.source}+probe`;
  return {
    ...describeHead(definition),
    source,
    reason: null,
    currencyField: firstReadable(fields, ['currency']),
    openWhen: openWhen(definition, [...fields, ...lines]),
    modifiedField: firstReadable(fields, [findModifiedField(definition)]),
    linesModifiedField: linesModifiedField(definition.lines, lines[0]),
    shownAs: shownAs(definition, fields),
    reading: { curated: true, changes: 'modified', deletions: 'listed', notes: [] },
    fields: [...fields, ...lines],
  };
}

/** Empty where they can't be read. */
async function readFirstRows(account: Account, at: RowsAt): Promise<readonly SuiteqlRow[]> {
  const found = await account.findRows(at);
  return 'error' in found ? [] : found.rows;
}

/** The custom fields that only queries have: those that the first records have a value of. */
async function describeUnlisted(
  account: Account,
  definition: RecordTypeDefinition,
  known: readonly FieldMetadata[],
  { from, rows }: { readonly from: string; readonly rows: readonly SuiteqlRow[] },
): Promise<FieldMetadata[]> {
  const candidates = await findUnlisted(account.lists, definition.customPrefix, known, rows);
  const source: ColumnSource = {
    ...{ table: definition.table, from, rows, alias: 't', toColumn: (name) => name, trustsRows: true },
    probe: (fields) => probeQuery(definition, withId(fields)),
    read: (fields) => recordsQuery(definition, withId(fields), {}),
  };
  return describeColumns(account, source, candidates);
}

/** As `describeUnlisted`; reads the first lines only if a listed custom field isn't described yet. */
async function describeUnlistedOfLines(
  account: Account,
  definition: RecordTypeDefinition,
  lines: LinesDefinition,
  known: readonly FieldMetadata[],
): Promise<FieldMetadata[]> {
  const { customPrefix: prefix, table, parent, key } = lines;
  const isUnlisted = ({ name }: { name: string }): boolean =>
    prefix !== null && name.startsWith(prefix) && !known.some((field) => field.name === name);
  if (prefix === null || !(await account.lists.customFields())?.some(isUnlisted)) return [];
  const from = `${table} l INNER JOIN ${definition.table} t ON t.id = l.${parent}${definition.filter === null ? '' : ` WHERE ${definition.filter}`}`;
  const rows = await readFirstRows(account, {
    from,
    alias: 'l',
    key: [parent, key].map((column) => ({ column, digits: 9 })),
  });
  const source: ColumnSource = {
    ...{ table, from, rows, alias: 'l', toColumn: (name) => name, trustsRows: true },
    probe: (fields) => linesProbeQuery(definition, lines, fields),
    read: (fields) => `${linesProbeQuery(definition, lines, fields)} ORDER BY l.${parent} ASC, l.${key} ASC`,
  };
  return describeColumns(account, source, await findUnlisted(account.lists, prefix, known, rows));
}

const firstReadable = (fields: readonly FieldMetadata[], names: readonly (string | null)[]): string | null =>
  names.find((name) => fields.some((field) => field.name === name && field.syncable)) ?? null;

const linesModifiedField = (definition: LinesDefinition | null, lines: FieldMetadata | undefined) =>
  definition === null || lines?.syncable !== true
    ? null
    : firstReadable(lines.fields ?? [], [definition.modified]);

const shownAs = (definition: RecordTypeDefinition, fields: readonly FieldMetadata[]): ShownAs => ({
  number: firstReadable(fields, definition.shownAs.number),
  name: firstReadable(fields, definition.shownAs.name),
  date: firstReadable(fields, definition.shownAs.date),
  amount: firstReadable(fields, definition.shownAs.amount),
});

function openWhen(definition: RecordTypeDefinition, fields: readonly FieldMetadata[]): OpenWhen {
  const readable = fields.filter(({ syncable }) => syncable);
  if (!readable.some(({ volatile }) => volatile)) return null;
  const found = definition.openWhen.find(({ field }) => firstReadable(fields, [field]) !== null);
  if (found === undefined) return 'always';
  return { ...found, closedOn: found.closedOn === null ? null : firstReadable(fields, [found.closedOn]) };
}

const idColumn = [{ name: 'id', type: 'integer' }] as const;
const withId = (columns: readonly SuiteqlColumn[]): readonly SuiteqlColumn[] =>
  columns.some(({ name }) => name === 'id') ? columns : [...idColumn, ...columns];

type ProbedTable = {
  readonly table: string;
  readonly rows: readonly SuiteqlRow[];
  readonly runProbe: ProbeQuery<ColumnDefinition>;
  readonly alsoProbed: readonly ColumnDefinition[];
};

async function probeAll(
  probes: Probes,
  { table, rows, runProbe, alsoProbed }: ProbedTable,
  columns: readonly ColumnDefinition[],
  own: readonly ColumnDefinition[],
): Promise<FieldMetadata[]> {
  const custom = new Set(own.map(({ name }) => name));
  const isPhysical = ({ derived }: ColumnDefinition): boolean => derived === undefined;
  const physical = columns.filter(isPhysical);
  const seen = new Set(rows.flatMap((row) => Object.keys(row)));
  const probe = (some: readonly ColumnDefinition[]) => probes.probe(table, runProbe, some, seen);
  const all = new Map([...alsoProbed.filter(isPhysical), ...physical].map((column) => [column.name, column]));
  const reasons = await probe([...all.values()].filter(({ excluded }) => excluded === null));
  const plain = await findUnlabelled(probe, physical, reasons);
  const fields = physical.map((column) => {
    const isCustom = custom.has(column.name);
    if (plain.has(column.name)) return toField(asText(column), null, isCustom);
    if (
      column.type === 'multiselect' &&
      rows.some((row) => parseValue(row[column.name], column.type) === undefined)
    )
      return toField(
        { ...column, type: 'list', warning: notIds },
        reasons.get(column.name) ?? null,
        isCustom,
      );
    return toField(column, column.excluded ?? reasons.get(column.name) ?? null, isCustom);
  });
  const described = new Map(fields.map((field) => [field.name, field]));
  return columns.map(
    (column) => described.get(column.name) ?? toField(column, underivable(column, described)),
  );
}

const notIds = 'It is called a multiple select, but has values that are no ids';

/** Why a derived field can't be read; null where it can. */
function underivable({ derived }: ColumnDefinition, fields: ReadonlyMap<string, FieldMetadata>) {
  const source = derived === undefined ? undefined : fields.get(derived.from);
  if (derived === undefined || source === undefined)
    return 'It comes from a field that NetSuite does not have';
  if (!source.syncable) return `It comes from ${source.name}. ${source.reason}`;
  return derived.part === 'label' && !hasLabel(source)
    ? `It comes from the display text of ${source.name}, which this account does not have`
    : null;
}

/** Columns that have a value but no display text in this account: better read as plain text than not. */
async function findUnlabelled(
  probe: (columns: readonly ColumnDefinition[]) => Promise<ReadonlyMap<string, string>>,
  columns: readonly ColumnDefinition[],
  reasons: ReadonlyMap<string, string>,
): Promise<ReadonlySet<string>> {
  const candidates = columns
    .filter((column) => hasLabel(column) && reasons.has(column.name) && !isUnknown(reasons.get(column.name)))
    .map(asText);
  if (candidates.length === 0) return new Set();
  const refused = await probe(candidates);
  return new Set(candidates.map(({ name }) => name).filter((name) => !refused.has(name)));
}

const asText = ({ target: _, ...column }: ColumnDefinition): ColumnDefinition => ({
  ...column,
  type: 'text',
});

const toField = (
  { name, label, type, volatile, target, currency, warning }: ColumnDefinition,
  reason: string | null,
  custom = false,
): FieldMetadata => ({
  name,
  label,
  type,
  custom,
  syncable: reason === null,
  volatile,
  reason,
  ...(target !== undefined && { target }),
  ...(currency !== undefined && { currency }),
  ...(warning !== undefined && { warning }),
});

async function describeLines(
  account: Account,
  definition: RecordTypeDefinition,
  lines: LinesDefinition,
  found: CustomFields,
  siblings: readonly RecordTypeDefinition[],
): Promise<FieldMetadata> {
  const { suiteql, probes, signal } = account;
  const described = {
    name: 'lines',
    label: lines.label,
    type: 'lines' as const,
    custom: false,
    volatile: false,
  };
  const custom = lineFields(found, lines);
  const runProbe: ProbeQuery<ColumnDefinition> = (columns) =>
    findRefusal(suiteql, linesProbeQuery(definition, lines, columns), signal);
  const alsoProbed = siblings.flatMap((sibling) =>
    sibling.lines?.table === lines.table ? sibling.lines.columns : [],
  );
  const probed = { table: lines.table, rows: [], runProbe, alsoProbed };
  const fields = await probeAll(probes, probed, [...lines.columns, ...custom], custom).catch(
    rethrowUnlessRefused,
  );
  if (fields instanceof ErpError) {
    const reason = `The role of this connection cannot read lines: ${fields.message}`;
    return {
      ...described,
      syncable: false,
      reason,
      fields: lines.columns.map((column) => toField(column, reason)),
    };
  }
  const key = fields.find(({ name }) => name === lines.key);
  if (key?.syncable !== true) {
    const reason = `Lines cannot be paginated without ${lines.key}: ${key?.reason ?? 'it is missing'}`;
    return { ...described, syncable: false, reason, fields };
  }
  const all = [...fields, ...(await describeUnlistedOfLines(account, definition, lines, fields))];
  return {
    ...described,
    syncable: true,
    volatile: all.some(({ syncable, volatile }) => syncable && volatile),
    reason: null,
    fields: all,
  };
}

/** The refusal of a query that has no column that could be the reason. */
function rethrowUnlessRefused(error: unknown): ErpError {
  if (error instanceof ErpError && (error.kind === 'query' || error.code === 'RECORD_TYPE_HIDDEN'))
    return error;
  throw error;
}

/** A server error on the simplest query is an outage, not a missing permission: throws it. */
function rethrowOutage(refusal: QueryRefusal | null): QueryRefusal | null {
  if (refusal?.error.kind === 'down') throw refusal.error;
  return refusal;
}

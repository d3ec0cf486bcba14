// Describes the record types of an account: our definitions and its custom fields, with each column probed on the account itself. A field
// that can't be read stays in the description with the reason, so that nothing disappears silently; a record type that the role can't
// see at all is described without a readable field.
import { type FieldMetadata, hasLabel, type OpenWhen, type RecordTypeMetadata, type ShownAs } from '../connector.ts';
import { bodyFields, type CustomFields, findCustomFields, lineFields } from './custom-fields.ts';
import type { ColumnDefinition, LinesDefinition, RecordTypeDefinition } from './definition.ts';
import type { NetsuiteHttp } from './http.ts';
import { type ProbeQuery, probeColumns, type QueryRefusal, toQueryRefusal } from './probe.ts';
import { linesProbeQuery, modifiedColumn, probeQuery } from './queries.ts';
import { recordTypeDefinitions } from './record-types.ts';
import type { Suiteql } from './suiteql.ts';

type Parts = { readonly http: NetsuiteHttp; readonly suiteql: Suiteql };

/**
 * All record types, or those that `only` names. Rejects with `ErpError` for an outage or a refused login, or with the signal's reason. A
 * refused record type or column is no error.
 */
export async function describeRecordTypes(
  parts: Parts,
  signal: AbortSignal,
  only?: readonly string[],
): Promise<readonly RecordTypeMetadata[]> {
  const described = recordTypeDefinitions.filter(({ name }) => only === undefined || only.includes(name));
  return Promise.all(described.map((definition) => describeRecordType(parts, definition, signal)));
}

async function describeRecordType(
  { http, suiteql }: Parts,
  definition: RecordTypeDefinition,
  signal: AbortSignal,
): Promise<RecordTypeMetadata> {
  const { name, label, table } = definition;
  const described = { name, label, table, idType: 'integer' as const };
  const hidden = rethrowOutage(await findRefusal(suiteql, probeQuery(definition, idColumn), signal));
  if (hidden !== null) {
    const reason = `The role of this connection cannot read ${label.toLowerCase()} records: ${hidden.error.message}`;
    return {
      ...described,
      source: 'probe',
      openWhen: null,
      modifiedField: null,
      linesModifiedField: null,
      shownAs: { number: null, name: null, date: null, amount: null },
      fields: definition.columns.map((column) => toField(column, reason)),
    };
  }
  const custom = await findCustomFields(http, suiteql, definition, signal);
  const own = bodyFields(custom, definition);
  const isCustom = new Set(own.map((column) => column.name));
  const runProbe: ProbeQuery<ColumnDefinition> = (columns) => findRefusal(suiteql, probeQuery(definition, withId(columns)), signal);
  const fields = await probeAll(runProbe, [...definition.columns, ...own], isCustom);
  const lines = definition.lines === null ? [] : [await describeLines(suiteql, definition, definition.lines, custom, signal)];
  const source = custom.source === null ? 'probe' : `${custom.source}+probe`;
  return {
    ...described,
    source,
    openWhen: openWhen(definition, [...fields, ...lines]),
    modifiedField: firstReadable(fields, [modifiedColumn]),
    linesModifiedField: linesModifiedField(definition.lines, lines[0]),
    shownAs: shownAs(definition, fields),
    fields: [...fields, ...lines],
  };
}

const firstReadable = (fields: readonly FieldMetadata[], names: readonly string[]): string | null =>
  names.find((name) => fields.some((field) => field.name === name && field.syncable)) ?? null;

const linesModifiedField = (definition: LinesDefinition | null, lines: FieldMetadata | undefined): string | null =>
  definition === null || lines?.syncable !== true ? null : firstReadable(lines.fields ?? [], [definition.modified]);

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
const withId = (columns: readonly ColumnDefinition[]): readonly { name: string; type: ColumnDefinition['type'] }[] =>
  columns.some(({ name }) => name === 'id') ? columns : [...idColumn, ...columns];

async function probeAll(
  runProbe: ProbeQuery<ColumnDefinition>,
  columns: readonly ColumnDefinition[],
  custom: ReadonlySet<string>,
): Promise<FieldMetadata[]> {
  const physical = columns.filter(({ derived }) => derived === undefined);
  const reasons = await probeColumns(
    runProbe,
    physical.filter(({ excluded }) => excluded === null),
  );
  const plain = await findUnlabelled(runProbe, physical, reasons);
  const fields = physical.map((column) => {
    const isCustom = custom.has(column.name);
    if (plain.has(column.name)) return toField(asText(column), null, isCustom);
    return toField(column, column.excluded ?? reasons.get(column.name) ?? null, isCustom);
  });
  const described = new Map(fields.map((field) => [field.name, field]));
  return columns.map((column) => described.get(column.name) ?? toField(column, underivable(column, described)));
}

/** Why a derived field can't be read; null where it can. */
function underivable({ derived }: ColumnDefinition, fields: ReadonlyMap<string, FieldMetadata>): string | null {
  const source = derived === undefined ? undefined : fields.get(derived.from);
  if (derived === undefined || source === undefined) return 'It comes from a field that NetSuite does not have';
  if (!source.syncable) return `It comes from ${source.name}. ${source.reason}`;
  return derived.part === 'label' && !hasLabel(source)
    ? `It comes from the display text of ${source.name}, which this account does not have`
    : null;
}

/** Columns that have a value but no display text in this account: better read as plain text than not at all. */
async function findUnlabelled(
  runProbe: ProbeQuery<ColumnDefinition>,
  columns: readonly ColumnDefinition[],
  reasons: ReadonlyMap<string, string>,
): Promise<ReadonlySet<string>> {
  const candidates = columns
    .filter((column) => hasLabel(column) && reasons.has(column.name) && !isUnknown(reasons.get(column.name)))
    .map(asText);
  if (candidates.length === 0) return new Set();
  const refused = await probeColumns(runProbe, candidates);
  return new Set(candidates.map(({ name }) => name).filter((name) => !refused.has(name)));
}

const asText = ({ target: _, ...column }: ColumnDefinition): ColumnDefinition => ({ ...column, type: 'text' });

const isUnknown = (reason: string | undefined): boolean => /Unknown identifier/i.test(reason ?? '');

const toField = (
  { name, label, type, volatile, target, currency }: ColumnDefinition,
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
});

async function describeLines(
  suiteql: Suiteql,
  definition: RecordTypeDefinition,
  lines: LinesDefinition,
  found: CustomFields,
  signal: AbortSignal,
): Promise<FieldMetadata> {
  const described = { name: 'lines', label: lines.label, type: 'lines' as const, custom: false, volatile: false };
  const custom = lineFields(found, lines);
  const runProbe: ProbeQuery<ColumnDefinition> = (columns) => findRefusal(suiteql, linesProbeQuery(definition, lines, columns), signal);
  const hidden = rethrowOutage(await runProbe([]));
  if (hidden !== null) {
    const reason = `The role of this connection cannot read lines: ${hidden.error.message}`;
    return { ...described, syncable: false, reason, fields: lines.columns.map((column) => toField(column, reason)) };
  }
  const fields = await probeAll(runProbe, [...lines.columns, ...custom], new Set(custom.map(({ name }) => name)));
  const key = fields.find(({ name }) => name === lines.key);
  if (key?.syncable !== true) {
    const reason = `Lines cannot be paginated without ${lines.key}: ${key?.reason ?? 'it is missing'}`;
    return { ...described, syncable: false, reason, fields };
  }
  return { ...described, syncable: true, volatile: fields.some(({ syncable, volatile }) => syncable && volatile), reason: null, fields };
}

/** A server error on the simplest query is an outage, not a missing permission: throws it. */
function rethrowOutage(refusal: QueryRefusal | null): QueryRefusal | null {
  if (refusal?.error.kind === 'down') throw refusal.error;
  return refusal;
}

async function findRefusal(suiteql: Suiteql, query: string, signal: AbortSignal): Promise<QueryRefusal | null> {
  try {
    await suiteql.query(query, 1, signal);
    return null;
  } catch (error) {
    return toQueryRefusal(error);
  }
}

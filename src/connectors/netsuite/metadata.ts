// Describes the record types of an account: our definitions and its custom fields, with each column probed on the account itself. A field
// that can't be read stays in the description with the reason, so that nothing disappears silently; a record type that the role can't
// see at all is described without a readable field.
import { type FieldMetadata, hasLabel, type OpenWhen, type RecordTypeMetadata } from '../connector.ts';
import { bodyFields, type CustomFields, findCustomFields, lineFields } from './custom-fields.ts';
import type { ColumnDefinition, LinesDefinition, RecordTypeDefinition } from './definition.ts';
import type { NetsuiteHttp } from './http.ts';
import { type ProbeQuery, probeColumns, type QueryRefusal, toQueryRefusal } from './probe.ts';
import { linesProbeQuery, modifiedColumn, probeQuery } from './queries.ts';
import { recordTypeDefinitions } from './record-types.ts';
import type { Suiteql } from './suiteql.ts';

type Parts = { readonly http: NetsuiteHttp; readonly suiteql: Suiteql };

/** Rejects with `ErpError` for an outage or a refused login, or with the signal's reason. A refused record type or column is no error. */
export async function describeRecordTypes(parts: Parts, signal: AbortSignal): Promise<readonly RecordTypeMetadata[]> {
  return Promise.all(recordTypeDefinitions.map((definition) => describeRecordType(parts, definition, signal)));
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
  const modifiedField = fields.some(({ name, syncable }) => syncable && name === modifiedColumn) ? modifiedColumn : null;
  return { ...described, source, openWhen: openWhen(definition, [...fields, ...lines]), modifiedField, fields: [...fields, ...lines] };
}

function openWhen(definition: RecordTypeDefinition, fields: readonly FieldMetadata[]): OpenWhen {
  const readable = fields.filter(({ syncable }) => syncable);
  if (!readable.some(({ volatile }) => volatile)) return null;
  return definition.openWhen.find(({ field }) => readable.some(({ name }) => name === field)) ?? 'always';
}

const idColumn = [{ name: 'id', type: 'integer' }] as const;
const withId = (columns: readonly ColumnDefinition[]): readonly { name: string; type: ColumnDefinition['type'] }[] =>
  columns.some(({ name }) => name === 'id') ? columns : [...idColumn, ...columns];

async function probeAll(
  runProbe: ProbeQuery<ColumnDefinition>,
  columns: readonly ColumnDefinition[],
  custom: ReadonlySet<string>,
): Promise<FieldMetadata[]> {
  const reasons = await probeColumns(
    runProbe,
    columns.filter(({ excluded }) => excluded === null),
  );
  const plain = await findUnlabelled(runProbe, columns, reasons);
  return columns.map((column) => {
    const isCustom = custom.has(column.name);
    if (plain.has(column.name)) return toField({ ...column, type: 'text' }, null, isCustom);
    return toField(column, column.excluded ?? reasons.get(column.name) ?? null, isCustom);
  });
}

/** Columns that have a value but no display text in this account: better read as plain text than not at all. */
async function findUnlabelled(
  runProbe: ProbeQuery<ColumnDefinition>,
  columns: readonly ColumnDefinition[],
  reasons: ReadonlyMap<string, string>,
): Promise<ReadonlySet<string>> {
  const candidates = columns
    .filter((column) => hasLabel(column) && reasons.has(column.name) && !isUnknown(reasons.get(column.name)))
    .map((column) => ({ ...column, type: 'text' as const }));
  if (candidates.length === 0) return new Set();
  const refused = await probeColumns(runProbe, candidates);
  return new Set(candidates.map(({ name }) => name).filter((name) => !refused.has(name)));
}

const isUnknown = (reason: string | undefined): boolean => /Unknown identifier/i.test(reason ?? '');

const toField = ({ name, label, type, volatile }: ColumnDefinition, reason: string | null, custom = false): FieldMetadata => ({
  name,
  label,
  type,
  custom,
  syncable: reason === null,
  volatile,
  reason,
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

// Describes the record types of an account: our definitions and its custom fields, each column tried on the account itself.
// What can't be read stays in the description with the reason, so that nothing vanishes in silence; a record type that the
// role can't see at all is described with no readable field.
import { type FieldMetadata, hasLabel, type OpenWhen, type RecordTypeMetadata } from '../connector.ts';
import { bodyFields, type CustomFields, findCustomFields, lineFields } from './custom-fields.ts';
import type { ColumnDefinition, LinesDefinition, RecordTypeDefinition } from './definition.ts';
import type { NetsuiteHttp } from './http.ts';
import { type Ask, asRefusal, probeColumns, type Refusal } from './probe.ts';
import { linesProbeQuery, modifiedColumn, probeQuery } from './queries.ts';
import { recordTypeDefinitions } from './record-types.ts';
import type { Suiteql } from './suiteql.ts';

type Parts = { readonly http: NetsuiteHttp; readonly suiteql: Suiteql };

export async function readMetadata(parts: Parts, signal: AbortSignal): Promise<readonly RecordTypeMetadata[]> {
  return Promise.all(recordTypeDefinitions.map((definition) => describeRecordType(parts, definition, signal)));
}

async function describeRecordType(
  { http, suiteql }: Parts,
  definition: RecordTypeDefinition,
  signal: AbortSignal,
): Promise<RecordTypeMetadata> {
  const { name, label, table } = definition;
  const described = { name, label, table, idType: 'integer' as const };
  const hidden = lasting(await refusalOf(suiteql, probeQuery(definition, idAlone), signal));
  if (hidden !== null) {
    const reason = `The role of this connection can not read ${label.toLowerCase()} records: ${hidden.error.message}`;
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
  const ask: Ask<ColumnDefinition> = (columns) => refusalOf(suiteql, probeQuery(definition, withId(columns)), signal);
  const fields = await probeAll(ask, [...definition.columns, ...own], isCustom);
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

const idAlone = [{ name: 'id', type: 'integer' }] as const;
const withId = (columns: readonly ColumnDefinition[]): readonly { name: string; type: ColumnDefinition['type'] }[] =>
  columns.some(({ name }) => name === 'id') ? columns : [...idAlone, ...columns];

async function probeAll(
  ask: Ask<ColumnDefinition>,
  columns: readonly ColumnDefinition[],
  custom: ReadonlySet<string>,
): Promise<FieldMetadata[]> {
  const reasons = await probeColumns(
    ask,
    columns.filter(({ excluded }) => excluded === null),
  );
  const plain = await withoutLabels(ask, columns, reasons);
  return columns.map((column) => {
    const isCustom = custom.has(column.name);
    if (plain.has(column.name)) return toField({ ...column, type: 'text' }, null, isCustom);
    return toField(column, column.excluded ?? reasons.get(column.name) ?? null, isCustom);
  });
}

/** Columns that have no display text in this account, but a value: better as plain text than not at all. */
async function withoutLabels(
  ask: Ask<ColumnDefinition>,
  columns: readonly ColumnDefinition[],
  reasons: ReadonlyMap<string, string>,
): Promise<ReadonlySet<string>> {
  const candidates = columns
    .filter((column) => hasLabel(column) && reasons.has(column.name) && !isUnknown(reasons.get(column.name)))
    .map((column) => ({ ...column, type: 'text' as const }));
  if (candidates.length === 0) return new Set();
  const refused = await probeColumns(ask, candidates);
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
  const ask: Ask<ColumnDefinition> = (columns) => refusalOf(suiteql, linesProbeQuery(definition, lines, columns), signal);
  const hidden = lasting(await ask([]));
  if (hidden !== null) {
    const reason = `The role of this connection can not read lines: ${hidden.error.message}`;
    return { ...described, syncable: false, reason, fields: lines.columns.map((column) => toField(column, reason)) };
  }
  const fields = await probeAll(ask, [...lines.columns, ...custom], new Set(custom.map(({ name }) => name)));
  const key = fields.find(({ name }) => name === lines.key);
  if (key?.syncable !== true) {
    const reason = `Lines can not be told apart without ${lines.key}: ${key?.reason ?? 'it is missing'}`;
    return { ...described, syncable: false, reason, fields };
  }
  return { ...described, syncable: true, volatile: fields.some(({ syncable, volatile }) => syncable && volatile), reason: null, fields };
}

/** A server error on the plainest question is an outage, not a missing permission. */
function lasting(refusal: Refusal | null): Refusal | null {
  if (refusal?.error.kind === 'down') throw refusal.error;
  return refusal;
}

async function refusalOf(suiteql: Suiteql, query: string, signal: AbortSignal): Promise<Refusal | null> {
  try {
    await suiteql.ask(query, 1, signal);
    return null;
  } catch (error) {
    return asRefusal(error);
  }
}

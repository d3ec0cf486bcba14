// Describes the record types of an account: our definitions and its custom fields, each column tried on the account itself.
// What can't be read stays in the description with the reason, so that nothing vanishes in silence; a record type that the
// role can't see at all is described with no readable field.
import type { FieldMetadata, RecordTypeMetadata } from '../connector.ts';
import { bodyFields, findCustomFields, lineFields } from './custom-fields.ts';
import type { NetsuiteHttp } from './http.ts';
import { type Ask, asRefusal, probeColumns, type Refusal } from './probe.ts';
import { linesProbeQuery, probeQuery } from './queries.ts';
import { type ColumnDefinition, type LinesDefinition, type RecordTypeDefinition, recordTypeDefinitions } from './record-types.ts';
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
    return { ...described, source: 'probe', fields: definition.columns.map((column) => toField(column, reason)) };
  }
  const custom = await findCustomFields(http, suiteql, definition, signal);
  const own = bodyFields(custom, definition);
  const isCustom = new Set(own.map((column) => column.name));
  const ask: Ask<ColumnDefinition> = (columns) => refusalOf(suiteql, probeQuery(definition, withId(columns)), signal);
  const fields = await probeAll(ask, [...definition.columns, ...own], isCustom);
  const lines = definition.lines === null ? [] : [await describeLines(suiteql, definition, definition.lines, lineFields(custom), signal)];
  return { ...described, source: custom.source === null ? 'probe' : `${custom.source}+probe`, fields: [...fields, ...lines] };
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
  return columns.map((column) => toField(column, column.excluded ?? reasons.get(column.name) ?? null, custom.has(column.name)));
}

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
  custom: readonly ColumnDefinition[],
  signal: AbortSignal,
): Promise<FieldMetadata> {
  const described = { name: 'lines', label: 'Lines', type: 'lines' as const, custom: false, volatile: false };
  const ask: Ask<ColumnDefinition> = (columns) => refusalOf(suiteql, linesProbeQuery(definition, lines, withId(columns)), signal);
  const hidden = lasting(await ask([]));
  if (hidden !== null) {
    const reason = `The role of this connection can not read lines: ${hidden.error.message}`;
    return { ...described, syncable: false, reason, fields: lines.columns.map((column) => toField(column, reason)) };
  }
  const fields = await probeAll(ask, [...lines.columns, ...custom], new Set(custom.map(({ name }) => name)));
  return { ...described, syncable: true, reason: null, fields };
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

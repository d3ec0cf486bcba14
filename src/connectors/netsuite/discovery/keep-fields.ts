// Keeps fields that only the values of the first rows show: the account still has them when these rows are
// emptied, deleted or hidden from the role.
import type { FieldMetadata, RecordTypeMetadata } from '../../connector.ts';
import type { ProbeQuery } from '../requests/probe.ts';
import { linesProbeQuery, probeQuery, type SuiteqlColumn } from '../types/queries.ts';
import { getDefinition } from '../types/read-plan.ts';
import type { Account } from './account.ts';
import { findRefusal } from './describe-columns.ts';
import { typesByName } from './listed-types.ts';

type Query = (fields: readonly SuiteqlColumn[]) => string;

/** Those that queries of the table have. Rejects for an outage. */
async function filterReadable(
  { probes, suiteql, signal }: Account,
  table: string,
  fields: readonly FieldMetadata[],
  query: Query,
): Promise<readonly FieldMetadata[]> {
  const runProbe: ProbeQuery<FieldMetadata> = (some) => findRefusal(suiteql, query(some), signal);
  const refused = await probes.probe(table, runProbe, fields);
  return fields.flatMap(({ entries: _, ...field }) => (refused.has(field.name) ? [] : [field]));
}

/**
 * Adds the fields that were readable at the last description, that this one lacks, and that queries still
 * have, as they were described; of custom ones those that the account's list names as it did then. Rejects
 * with `ErpError` for an outage.
 */
export async function withKeptFields(
  account: Account,
  recordType: RecordTypeMetadata,
): Promise<RecordTypeMetadata> {
  const last = account.last.get(recordType.name);
  if (last === undefined || recordType.reason !== null) return recordType;
  const definition = getDefinition(recordType);
  const listed = (await account.lists.customFields()) ?? [];
  const findMissing = (
    before: readonly FieldMetadata[] = [],
    now: readonly FieldMetadata[] = [],
  ): readonly FieldMetadata[] => {
    const names = new Set(now.map(({ name }) => name));
    const lost = before.filter(({ name, syncable }) => syncable && !names.has(name));
    const types = typesByName(
      lost.map(({ name }) => name),
      listed,
    );
    return lost.filter(
      ({ name, custom }) => !custom || (types[name] !== '' && types[name] === last.listedTypes?.[name]),
    );
  };
  const withLines = async (field: FieldMetadata): Promise<FieldMetadata> => {
    const { lines } = definition;
    if (field.type !== 'lines' || !field.syncable || lines === null) return field;
    const before = last.fields.find(({ name }) => name === field.name);
    const missing = findMissing(before?.fields, field.fields);
    const kept = await filterReadable(account, lines.table, missing, (columns) =>
      linesProbeQuery(definition, lines, columns),
    );
    return { ...field, fields: [...(field.fields ?? []), ...kept] };
  };
  const missing = findMissing(last.fields, recordType.fields).filter(({ type }) => type !== 'lines');
  const kept = await filterReadable(account, definition.table, missing, (columns) =>
    probeQuery(definition, [{ name: 'id', type: 'integer' }, ...columns]),
  );
  return { ...recordType, fields: [...(await Promise.all(recordType.fields.map(withLines))), ...kept] };
}

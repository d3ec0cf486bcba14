// What to read of a record type, validated against the account's metadata: only field names that are syncable there ever reach a query.
import type { RecordTypeMetadata } from '../connector.ts';
import type { LinesDefinition, RecordTypeDefinition } from './definition.ts';
import { erpError } from './errors.ts';
import { modifiedColumn, type SuiteqlColumn } from './queries.ts';
import { recordTypeDefinitions } from './record-types.ts';
import { maxRowsPerQuery } from './suiteql.ts';

export type LinesPlan = { readonly definition: LinesDefinition; readonly columns: readonly SuiteqlColumn[] };
/** `lines` is null for a read without lines. `hasModified`: the record type's modification time can be read. */
export type ReadPlan = {
  readonly definition: RecordTypeDefinition;
  readonly columns: readonly SuiteqlColumn[];
  readonly lines: LinesPlan | null;
  readonly hasModified: boolean;
};

/** Throws `ErpError` of kind `query`, code `FIELD_NOT_SYNCABLE`, for an unknown record type. */
export function getDefinition(recordType: Pick<RecordTypeMetadata, 'name'>): RecordTypeDefinition {
  const definition = recordTypeDefinitions.find(({ name }) => name === recordType.name);
  if (definition === undefined) throw erpError('query', 'FIELD_NOT_SYNCABLE', `Unknown record type: ${recordType.name}`);
  return definition;
}

/** Throws a RangeError for more ids than one query takes. */
export function distinctIds(ids: readonly string[]): string[] {
  const distinct = [...new Set(ids)];
  if (distinct.length > maxRowsPerQuery) throw new RangeError(`at most ${maxRowsPerQuery} ids per call, got ${distinct.length}`);
  return distinct;
}

export const pageLimit = (limit: number): number => Math.min(Math.max(1, Math.trunc(limit)), maxRowsPerQuery);

/**
 * Adds the id and the modification time to the requested fields. Throws `ErpError` of kind `query`, code `FIELD_NOT_SYNCABLE`, for an
 * unknown record type or a field that isn't syncable.
 */
export function planRead(recordType: RecordTypeMetadata, fields: readonly string[]): ReadPlan {
  const definition = getDefinition(recordType);
  const known = new Map(recordType.fields.map((field) => [field.name, field]));
  const hasModified = known.get(modifiedColumn)?.syncable === true;
  const wanted = new Set(['id', ...(hasModified ? [modifiedColumn] : []), ...fields]);
  const chosen = [...wanted].map((name) => {
    const field = known.get(name);
    if (field?.syncable !== true) throw erpError('query', 'FIELD_NOT_SYNCABLE', `${recordType.name} has no syncable field ${name}`);
    return field;
  });
  const lineColumns = chosen.find(({ type }) => type === 'lines')?.fields?.filter(({ syncable }) => syncable);
  const lines = definition.lines === null || lineColumns === undefined ? null : { definition: definition.lines, columns: lineColumns };
  return { definition, columns: chosen.filter(({ type }) => type !== 'lines'), lines, hasModified };
}

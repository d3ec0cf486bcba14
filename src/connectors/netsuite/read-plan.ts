// What to read of a record type, validated against the account's metadata: only field names that are syncable there ever reach a query.
import type { FieldMetadata, RecordTypeMetadata } from '../connector.ts';
import type { ColumnDefinition, LinesDefinition, RecordTypeDefinition } from './definition.ts';
import type { ReadColumn } from './display-fields.ts';
import { erpError } from './errors.ts';
import { modifiedColumn } from './queries.ts';
import { recordTypeDefinitions } from './record-types.ts';
import { maxRowsPerQuery } from './suiteql.ts';

export type LinesPlan = { readonly definition: LinesDefinition; readonly columns: readonly ReadColumn[] };
/** `lines` is null for a read without lines. `hasModified`: the record type's modification time can be read. */
export type ReadPlan = {
  readonly definition: RecordTypeDefinition;
  readonly columns: readonly ReadColumn[];
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

type Described = { readonly columns: readonly ColumnDefinition[] };

/** The field of this name. Throws `ErpError` `FIELD_NOT_SYNCABLE` where it can't be read. */
function getField(typeName: string, fields: readonly FieldMetadata[], name: string): FieldMetadata {
  const field = fields.find((candidate) => candidate.name === name);
  if (field?.syncable !== true) throw erpError('query', 'FIELD_NOT_SYNCABLE', `${typeName} has no syncable field ${name}`);
  return field;
}

/** With its source where the field is derived. Throws `ErpError` `FIELD_NOT_SYNCABLE` where that can't be read. */
function toReadColumn(typeName: string, { columns }: Described, fields: readonly FieldMetadata[], field: FieldMetadata): ReadColumn {
  const derivation = columns.find(({ name }) => name === field.name)?.derived;
  if (derivation === undefined) return field;
  return { ...field, derived: { ...derivation, source: getField(typeName, fields, derivation.from) } };
}

/**
 * Adds the id and the modification time to the requested fields. Throws `ErpError` of kind `query`, code `FIELD_NOT_SYNCABLE`, for an
 * unknown record type or a field that isn't syncable.
 */
export function planRead(recordType: RecordTypeMetadata, fields: readonly string[]): ReadPlan {
  const definition = getDefinition(recordType);
  const hasModified = recordType.fields.some(({ name, syncable }) => name === modifiedColumn && syncable);
  const wanted = new Set(['id', ...(hasModified ? [modifiedColumn] : []), ...fields]);
  const chosen = [...wanted].map((name) => getField(recordType.name, recordType.fields, name));
  const isLines = ({ type }: FieldMetadata): boolean => type === 'lines';
  const columns = chosen
    .filter((field) => !isLines(field))
    .map((field) => toReadColumn(recordType.name, definition, recordType.fields, field));
  return { definition, columns, lines: planLines(recordType.name, definition, chosen.find(isLines)), hasModified };
}

function planLines(typeName: string, { lines }: RecordTypeDefinition, field: FieldMetadata | undefined): LinesPlan | null {
  const offered = field?.fields?.filter(({ syncable }) => syncable);
  if (lines === null || offered === undefined) return null;
  return { definition: lines, columns: offered.map((column) => toReadColumn(typeName, lines, offered, column)) };
}

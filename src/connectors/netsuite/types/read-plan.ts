// What to read of a record type, validated against the account's metadata: only field names that are syncable
// there ever reach a query.
import type { FieldMetadata, RecordTypeMetadata } from '../../connector.ts';
import { erpError } from '../requests/errors.ts';
import { maxRowsPerQuery } from '../requests/suiteql.ts';
import {
  type ColumnDefinition,
  findModifiedField,
  type LinesDefinition,
  type ReadDefinition,
} from './definition.ts';
import type { ReadColumn } from './display-fields.ts';
import { recordTypeDefinitions } from './record-types.ts';
import { StoredDefinition } from './stored-definition.ts';
import { isIdText } from './values.ts';

export type LinesPlan = { readonly definition: LinesDefinition; readonly columns: readonly ReadColumn[] };
/** `lines` is null for a read without lines, `modifiedField` where no modification time can be read. */
export type ReadPlan = {
  readonly definition: ReadDefinition;
  readonly columns: readonly ReadColumn[];
  readonly lines: LinesPlan | null;
  readonly modifiedField: string | null;
};

/**
 * How the record type is read, narrowed to the records that pass its filter. Throws `ErpError` of kind
 * `query`, code `FIELD_NOT_SYNCABLE`, for an unknown record type, for a stored definition that can't be read,
 * and for a filter by subsidiaries of records that have none.
 */
export function getDefinition(recordType: RecordTypeMetadata): ReadDefinition {
  const { name, definition: stored } = recordType;
  const definition =
    stored === undefined
      ? recordTypeDefinitions.find((known) => known.name === name)
      : readStored(name, StoredDefinition.safeParse(stored).data);
  if (definition === undefined) throw erpError('query', 'FIELD_NOT_SYNCABLE', `Unknown record type: ${name}`);
  const filters = [definition.filter, subsidiaryFilter(recordType)].filter((filter) => filter !== null);
  return { ...definition, filter: filters.length === 0 ? null : filters.join(' AND ') };
}

/** Undefined for a definition that cannot be read. */
export function readStored(name: string, stored: StoredDefinition | undefined): ReadDefinition | undefined {
  if (stored === undefined) return undefined;
  const { filter, lines } = stored;
  return {
    ...stored,
    name,
    columns: [],
    filter: filter === null ? null : `t.${filter.column} = '${filter.value}'`,
    lines:
      lines === null ? null : { ...lines, keyIsUnique: true, filter: null, columns: [], customPrefix: null },
  };
}

function subsidiaryFilter({ name, filter, fields }: RecordTypeMetadata): string | null {
  if (filter === undefined) return null;
  const hasOne = fields.some(
    (field) => field.name === 'subsidiary' && field.type === 'reference' && field.syncable,
  );
  if (!hasOne || filter.subsidiaries.length === 0 || !filter.subsidiaries.every(isIdText))
    throw erpError('query', 'FIELD_NOT_SYNCABLE', `${name} can't be filtered by these subsidiaries`);
  return `t.subsidiary IN (${filter.subsidiaries.join(', ')})`;
}

/** Null where none can be read. */
function readableTime(recordType: RecordTypeMetadata, definition: ReadDefinition): string | null {
  const timeField = findModifiedField(definition);
  return recordType.fields.some(({ name, syncable }) => name === timeField && syncable) ? timeField : null;
}

/**
 * The field by which changed records are selected. Throws `ErpError` `FIELD_NOT_SYNCABLE` where none can be
 * read, and as `getDefinition`.
 */
export function requireModifiedField(recordType: RecordTypeMetadata): string {
  const field = readableTime(recordType, getDefinition(recordType));
  if (field === null)
    throw erpError(
      'query',
      'FIELD_NOT_SYNCABLE',
      `${recordType.name} has no modification time to select changed records by`,
    );
  return field;
}

/** Throws a RangeError for more ids than one query takes. */
export function distinctIds(ids: readonly string[]): string[] {
  const distinct = [...new Set(ids)];
  if (distinct.length > maxRowsPerQuery)
    throw new RangeError(`at most ${maxRowsPerQuery} ids per call, got ${distinct.length}`);
  return distinct;
}

export const pageLimit = (limit: number): number => Math.min(Math.max(1, Math.trunc(limit)), maxRowsPerQuery);

/** The field of this name. Throws `ErpError` `FIELD_NOT_SYNCABLE` where it can't be read. */
function getField(typeName: string, fields: readonly FieldMetadata[], name: string): FieldMetadata {
  const field = fields.find((candidate) => candidate.name === name);
  if (field?.syncable !== true)
    throw erpError('query', 'FIELD_NOT_SYNCABLE', `${typeName} has no syncable field ${name}`);
  return field;
}

/** With the source of a derived field. Throws `ErpError` `FIELD_NOT_SYNCABLE` if that can't be read. */
function toReadColumn(
  typeName: string,
  { columns }: { readonly columns: readonly ColumnDefinition[] },
  fields: readonly FieldMetadata[],
  field: FieldMetadata,
): ReadColumn {
  const derivation = columns.find(({ name }) => name === field.name)?.derived;
  if (derivation === undefined) return field;
  return { ...field, derived: { ...derivation, source: getField(typeName, fields, derivation.from) } };
}

/**
 * Adds the id and the modification time to the requested fields. Throws `ErpError` of kind `query`, code
 * `FIELD_NOT_SYNCABLE`, for an unknown record type or a field that isn't syncable.
 */
export function planRead(recordType: RecordTypeMetadata, fields: readonly string[]): ReadPlan {
  const definition = getDefinition(recordType);
  const modifiedField = readableTime(recordType, definition);
  const wanted = new Set(['id', ...(modifiedField === null ? [] : [modifiedField]), ...fields]);
  const chosen = [...wanted].map((name) => getField(recordType.name, recordType.fields, name));
  const isLines = ({ type }: FieldMetadata): boolean => type === 'lines';
  const columns = chosen
    .filter((field) => !isLines(field))
    .map((field) => toReadColumn(recordType.name, definition, recordType.fields, field));
  return {
    definition,
    columns,
    lines: planLines(recordType.name, definition, chosen.find(isLines)),
    modifiedField,
  };
}

function planLines(
  typeName: string,
  { lines }: ReadDefinition,
  field: FieldMetadata | undefined,
): LinesPlan | null {
  const offered = field?.fields?.filter(({ syncable }) => syncable);
  if (lines === null || offered === undefined) return null;
  return {
    definition: lines,
    columns: offered.map((column) => toReadColumn(typeName, lines, offered, column)),
  };
}

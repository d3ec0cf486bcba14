// What is to be read of a record type, checked against the metadata that the account gave: only names that stand there as
// syncable ever reach a query.
import type { RecordTypeMetadata } from '../connector.ts';
import { erpError } from './errors.ts';
import { type Column, modifiedColumn } from './queries.ts';
import { type RecordTypeDefinition, recordTypeDefinitions } from './record-types.ts';

/** `lines` null: without lines. */
export type ReadPlan = {
  readonly definition: RecordTypeDefinition;
  readonly columns: readonly Column[];
  readonly lines: readonly Column[] | null;
  readonly hasModified: boolean;
};

export function definitionOf(recordType: Pick<RecordTypeMetadata, 'name'>): RecordTypeDefinition {
  const definition = recordTypeDefinitions.find(({ name }) => name === recordType.name);
  if (definition === undefined) throw erpError('query', 'FIELD_NOT_SYNCABLE', `There is no record type ${recordType.name}`);
  return definition;
}

export function planRead(recordType: RecordTypeMetadata, fields: readonly string[]): ReadPlan {
  const definition = definitionOf(recordType);
  const known = new Map(recordType.fields.map((field) => [field.name, field]));
  const hasModified = known.get(modifiedColumn)?.syncable === true;
  const wanted = new Set(['id', ...(hasModified ? [modifiedColumn] : []), ...fields]);
  const chosen = [...wanted].map((name) => {
    const field = known.get(name);
    if (field?.syncable !== true) throw erpError('query', 'FIELD_NOT_SYNCABLE', `${recordType.name} has no syncable field ${name}`);
    return field;
  });
  const lines = chosen.find(({ type }) => type === 'lines')?.fields?.filter(({ syncable }) => syncable) ?? null;
  return { definition, columns: chosen.filter(({ type }) => type !== 'lines'), lines, hasModified };
}

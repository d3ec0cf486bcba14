// What is to be read of a record type, checked against the metadata that the account gave: only names that stand there as
// syncable ever reach a query.
import type { RecordTypeMetadata } from '../connector.ts';
import type { LinesDefinition, RecordTypeDefinition } from './definition.ts';
import { erpError } from './errors.ts';
import { type Column, modifiedColumn } from './queries.ts';
import { recordTypeDefinitions } from './record-types.ts';

export type LinesPlan = { readonly definition: LinesDefinition; readonly columns: readonly Column[] };
/** `lines` null: without lines. */
export type ReadPlan = {
  readonly definition: RecordTypeDefinition;
  readonly columns: readonly Column[];
  readonly lines: LinesPlan | null;
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
  const lineColumns = chosen.find(({ type }) => type === 'lines')?.fields?.filter(({ syncable }) => syncable);
  const lines = definition.lines === null || lineColumns === undefined ? null : { definition: definition.lines, columns: lineColumns };
  return { definition, columns: chosen.filter(({ type }) => type !== 'lines'), lines, hasModified };
}

// The fields of a record type that the portal and its templates can use: those that are synced now.
import { type Available, isListType, type ListType, toSource } from '../../public/index.ts';

type Column = Available[string]['columns'][number];
export type SourceType = Exclude<Column['type'], ListType>;

/**
 * Types by source, without fields that vanished from the ERP and the entries of multiselects. Empty for a
 * record type without synced fields.
 */
export function sourceTypes(available: Available, recordType: string): ReadonlyMap<string, SourceType> {
  const columns = Object.hasOwn(available, recordType) ? (available[recordType]?.columns ?? []) : [];
  return new Map(
    columns.flatMap(({ state, type, ...column }) =>
      state === 'vanished' || state === 'replaced' || isListType(type) ? [] : [[toSource(column), type]],
    ),
  );
}

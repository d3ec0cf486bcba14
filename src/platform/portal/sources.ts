// The fields of a record type that the portal and its templates can use: those that are synced now.
import { type Available, sourceOf } from '../../public/index.ts';

type Column = Available[string]['columns'][number];
export type SourceType = Column['type'];

/** Types by source, without fields that vanished from the ERP. Empty for a record type without synced fields. */
export function sourceTypes(available: Available, recordType: string): ReadonlyMap<string, SourceType> {
  const columns = Object.hasOwn(available, recordType) ? (available[recordType]?.columns ?? []) : [];
  return new Map(
    columns.filter(({ state }) => state !== 'vanished' && state !== 'replaced').map((column) => [sourceOf(column), column.type]),
  );
}

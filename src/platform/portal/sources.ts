// The fields of a record type that the portal and its templates can use: those that are synced now.
import { type Available, sourceOf } from '../../public/index.ts';

type Column = Available[string]['columns'][number];
export type SourceType = Column['type'];

/** Types by source, without fields that vanished from the ERP. Empty for a record type without synced fields. */
export function sourceTypes(available: Available, recordType: string): ReadonlyMap<string, SourceType> {
  const columns = Object.hasOwn(available, recordType) ? (available[recordType]?.columns ?? []) : [];
  return new Map(columns.filter(({ state }) => state === 'live' || state === 'loading').map((column) => [sourceOf(column), column.type]));
}

type Values = Readonly<Record<string, unknown>>;
const label = /\.name$/;

/**
 * A record as templates see it: `record` has its values by field, `labels` the ERP's names of references and list values, by the same keys.
 */
export function splitLabels(values: Values): { readonly record: Values; readonly labels: Values } {
  const all = Object.entries(values);
  return {
    record: Object.fromEntries(all.filter(([source]) => !label.test(source))),
    labels: Object.fromEntries(all.filter(([source]) => label.test(source)).map(([source, value]) => [source.replace(label, ''), value])),
  };
}

// What the portal and its templates may name of a record type: the fields that are synced now.
import { type Available, sourceOf } from '../../public/index.ts';

type Column = Available[string]['columns'][number];
export type ColumnType = Column['type'];

/** Types by source, without what vanished from the ERP. Empty for a record type of which nothing is synced. */
export function sourcesOf(available: Available, recordType: string): ReadonlyMap<string, ColumnType> {
  const columns = Object.hasOwn(available, recordType) ? (available[recordType]?.columns ?? []) : [];
  return new Map(columns.filter(({ state }) => state === 'live' || state === 'loading').map((column) => [sourceOf(column), column.type]));
}

type Values = Readonly<Record<string, unknown>>;
const label = /\.name$/;

/** A record as templates see it: its values by field, and what the ERP calls references and list values, by the same names. */
export function withoutLabels(values: Values): { readonly record: Values; readonly labels: Values } {
  const all = Object.entries(values);
  return {
    record: Object.fromEntries(all.filter(([source]) => !label.test(source))),
    labels: Object.fromEntries(all.filter(([source]) => label.test(source)).map(([source, value]) => [source.replace(label, ''), value])),
  };
}

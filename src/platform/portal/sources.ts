// What the portal may name of a record type: the fields that are synced now.
import type { Available } from '../../public/index.ts';

type Column = Available[string]['columns'][number];

/** `<field>.name` is the label of a reference or list field, `lines` are the record's lines. */
export const sourceOf = ({ field, part }: Pick<Column, 'field' | 'part'>): string =>
  part === 'lines' ? 'lines' : part === 'label' ? `${field}.name` : field;

/** Types by source, without what vanished from the ERP. Empty for a record type of which nothing is synced. */
export function sourcesOf(available: Available, recordType: string): ReadonlyMap<string, Column['type']> {
  const columns = Object.hasOwn(available, recordType) ? (available[recordType]?.columns ?? []) : [];
  return new Map(columns.filter(({ state }) => state === 'live' || state === 'loading').map((column) => [sourceOf(column), column.type]));
}

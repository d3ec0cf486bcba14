// What a version shows of each record type: the columns that its fields are bound to. Filters and sorts use
// fields that are shown. Pure.
import type { ShownColumn } from '../../warehouse/record-state.ts';
import { boundSource } from './bind.ts';
import type { Bindings, EndpointDefinition } from './schema-document.ts';

type Shown = {
  readonly recordType: string;
  readonly column: string;
  readonly lineFields: readonly string[] | null;
  readonly scopable: boolean;
};

function shownBy({ recordType, fields }: EndpointDefinition, bindings: Bindings): Shown[] {
  const columns = Object.hasOwn(bindings, recordType) ? bindings[recordType]?.columns : undefined;
  return fields.flatMap(({ fields: lines, scopable = false, ...field }) => {
    const source = boundSource(field);
    const bound = columns !== undefined && Object.hasOwn(columns, source) ? columns[source] : undefined;
    if (bound === undefined) return [];
    const lineFields = bound.type === 'lines' ? (lines ?? []).map(boundSource) : null;
    return [{ recordType, column: bound.column, lineFields, scopable }];
  });
}

/** By record type. Columns are in the order of their names. */
export function listShownColumns(
  endpoints: readonly EndpointDefinition[],
  bindings: Bindings,
): ReadonlyMap<string, readonly ShownColumn[]> {
  const found = new Map<string, Map<string, ShownColumn>>();
  for (const { recordType, column, lineFields, scopable } of endpoints.flatMap((endpoint) =>
    shownBy(endpoint, bindings),
  )) {
    const ofType = found.get(recordType) ?? new Map<string, ShownColumn>();
    found.set(recordType, ofType);
    const known = ofType.get(column);
    ofType.set(column, {
      column,
      ...(lineFields !== null && {
        lineFields: [...new Set([...(known?.lineFields ?? []), ...lineFields])].sort(),
      }),
      ...((scopable || known?.scopable) && { scopable: true }),
    });
  }
  const byName = (a: ShownColumn, b: ShownColumn): number => (a.column < b.column ? -1 : 1);
  return new Map([...found].map(([recordType, columns]) => [recordType, [...columns.values()].sort(byName)]));
}

// The indexes that a version's filters and sorts deserve, in the very expressions that sql.ts compares and orders by.
import type { IndexSpec } from '../warehouse/indexes.ts';
import { quoted } from '../warehouse/table.ts';
import { type Column, type CompiledEndpoint, compileSchema } from './compile.ts';
import { foldedSql } from './conditions.ts';
import type { Bindings, Operator, SchemaDocument } from './schema-document.ts';

/** Served by an index of the values themselves; `not` selects too much for any index. */
const byValue: readonly Operator[] = ['eq', 'after', 'before', 'gte', 'lte', 'gt', 'lt', 'null'];

/** By record type, without duplicates. The document must be completely bound. */
export function indexesOf(document: SchemaDocument, bindings: Bindings): ReadonlyMap<string, readonly IndexSpec[]> {
  const schema = compileSchema({ ...document, bindings, id: '', version: '' });
  const found = new Map<string, Map<string, IndexSpec>>();
  for (const endpoint of schema.endpoints.values()) {
    const specs = found.get(endpoint.recordType) ?? new Map<string, IndexSpec>();
    found.set(endpoint.recordType, specs);
    for (const spec of endpointIndexes(endpoint)) specs.set(`${spec.method} ${spec.expression}`, spec);
  }
  return new Map([...found].map(([recordType, specs]) => [recordType, [...specs.values()]]));
}

// The id stands last in each, so that the order is total and pages and counts are read from the index alone. Walked backwards, the
// same index serves the other direction: see ranges.ts.
const over = (...columns: readonly Column[]): IndexSpec => ({
  method: 'btree',
  expression: [...columns.map(({ column }) => quoted(column)), 'id'].join(', '),
});

/** What changes are read by, in the order of commits. */
const byChange: IndexSpec = { method: 'btree', expression: 'generation, id' };

function endpointIndexes(endpoint: CompiledEndpoint): IndexSpec[] {
  const { column: usual } = endpoint.defaultSort;
  const filters = [...endpoint.filters.values()].filter(({ column }) => column.column !== 'id');
  const equalled = new Set(filters.filter(({ operator }) => operator === 'eq').map(({ column }) => column.column));
  const sorted = new Set([usual, ...endpoint.sorts.values()].map(({ column }) => column));
  const specs = filters.flatMap(({ column, operator }): IndexSpec[] => {
    const folded = foldedSql(quoted(column.column));
    if (operator === 'contains') return [{ method: 'gin', expression: `${folded} gin_trgm_ops` }];
    if (operator === 'starts_with') return [{ method: 'btree', expression: `${folded} text_pattern_ops` }];
    if (!byValue.includes(operator)) return [];
    // What equals a value is walked in the usual order. One index more per filter and sort would cost each sync more than it gives.
    if (equalled.has(column.column) && usual.column !== 'id' && usual.column !== column.column) return [over(column, usual)];
    return sorted.has(column.column) ? [] : [over(column)];
  });
  const sorts = [usual, ...endpoint.sorts.values()].filter(({ column }) => column !== 'id');
  return [byChange, ...specs, ...sorts.map((column) => over(column))];
}

// Derives the indexes for the filters, sorts and row scopes of a version, using exactly the expressions that
// list-sql.ts compares and orders by.
import { isListType } from '../../../warehouse/columns.ts';
import type { IndexSpec } from '../../../warehouse/indexes.ts';
import { quoteIdentifier } from '../../../warehouse/table.ts';
import {
  type CompiledColumn,
  type CompiledEndpoint,
  type CompiledSort,
  compileSchema,
} from '../../version/compile.ts';
import type { Bindings, Operator, SchemaDocument } from '../../version/schema-document.ts';
import { searchedSql } from './conditions.ts';
import { lineBoundSql, rangeEnd } from './line-conditions.ts';

/** Operators served by an index on the values themselves; `not` selects too much for any index. */
const byValue: readonly Operator[] = ['eq', 'after', 'before', 'gte', 'lte', 'gt', 'lt', 'null'];

/** By record type, without duplicates. Throws an Error when the document is not completely bound. */
export function listIndexes(
  document: SchemaDocument,
  bindings: Bindings,
): ReadonlyMap<string, readonly IndexSpec[]> {
  const schema = compileSchema({ ...document, bindings, id: '', version: '' });
  const found = new Map<string, Map<string, IndexSpec>>();
  for (const endpoint of schema.endpoints.values()) {
    const specs = found.get(endpoint.recordType) ?? new Map<string, IndexSpec>();
    found.set(endpoint.recordType, specs);
    for (const spec of endpointIndexes(endpoint)) specs.set(`${spec.method} ${spec.expression}`, spec);
  }
  return new Map([...found].map(([recordType, specs]) => [recordType, [...specs.values()]]));
}

// Each index ends with the id, so that the order is total and pages and counts need only the index. Walked
// backwards, the same index serves the other direction: see ranges.ts.
const over = (...columns: readonly CompiledColumn[]): IndexSpec => ({
  method: 'btree',
  expression: [...columns.map(({ column }) => quoteIdentifier(column)), 'id'].join(', '),
});

/** Serves the change feed, in commit order; under a row scope, that of one value of its column. */
const byChange = (column?: CompiledColumn): IndexSpec => ({
  method: 'btree',
  expression: [...(column === undefined ? [] : [quoteIdentifier(column.column)]), 'generation', 'id'].join(
    ', ',
  ),
});

/**
 * Walked forward only, so each direction that is declared has an index of its own, with nulls where orderSql
 * writes them.
 */
const bySet = (set: CompiledSort): IndexSpec => {
  const keys = set.map(
    ({ column, order }) => `${quoteIdentifier(column.column)}${order === 'desc' ? ' desc nulls last' : ''}`,
  );
  return {
    method: 'btree',
    expression: [...keys, `id${set[0]?.order === 'desc' ? ' desc' : ''}`].join(', '),
  };
};

/**
 * One index serves equality on all fields of the lines; a range is served by that on its end. Equal times are
 * a range.
 */
function lineIndexes(
  { column, type, line }: CompiledColumn & { readonly line: string },
  operator: Operator,
): IndexSpec[] {
  const lines = quoteIdentifier(column);
  if (operator === 'eq' && type !== 'time') return [{ method: 'gin', expression: `${lines} jsonb_path_ops` }];
  const ends = operator === 'eq' ? (['min', 'max'] as const) : [rangeEnd(operator)];
  return ends.map((end) => ({
    method: 'btree',
    expression: `${lineBoundSql(lines, { line, type }, end)}, id`,
  }));
}

/** Undefined for a condition that an index on the values serves, which may continue in an order. */
function unorderedIndexes(column: CompiledColumn, operator: Operator): IndexSpec[] | undefined {
  if (column.line !== undefined) return lineIndexes({ ...column, line: column.line }, operator);
  if (isListType(column.type))
    return operator === 'eq' || operator === 'all'
      ? [{ method: 'gin', expression: quoteIdentifier(column.column) }]
      : [];
  const folded = searchedSql(column, quoteIdentifier(column.column));
  if (operator === 'contains') return [{ method: 'gin', expression: `${folded} gin_trgm_ops` }];
  if (operator === 'starts_with') return [{ method: 'btree', expression: `${folded} text_pattern_ops` }];
  return byValue.includes(operator) ? undefined : [];
}

function endpointIndexes(endpoint: CompiledEndpoint): IndexSpec[] {
  const { column: defaultColumn } = endpoint.defaultSort;
  const scopable = [...endpoint.scopable.values()].filter(({ column }) => column !== 'id');
  // A row scope is an equality filter of every read.
  const scopes = scopable.map((column) => ({ column, operator: 'eq' as const }));
  const filters = [...endpoint.filters.values(), ...scopes].filter(({ column }) => column.column !== 'id');
  const search = endpoint.search.map(({ column }) => ({ column, operator: 'contains' as const }));
  const equalled = new Set(
    filters.filter(({ operator }) => operator === 'eq').map(({ column }) => column.column),
  );
  const sorted = new Set([defaultColumn, ...endpoint.sorts.values()].map(({ column }) => column));
  const specs = [...filters, ...search].flatMap(({ column, operator }): IndexSpec[] => {
    const unordered = unorderedIndexes(column, operator);
    if (unordered !== undefined) return unordered;
    // An equality filter is walked in the default order. One index per combination of filter and sort would
    // cost every sync more than it gains.
    if (
      equalled.has(column.column) &&
      defaultColumn.column !== 'id' &&
      defaultColumn.column !== column.column
    )
      return [over(column, defaultColumn)];
    return sorted.has(column.column) ? [] : [over(column)];
  });
  const sorts = [defaultColumn, ...endpoint.sorts.values()].filter(({ column }) => column !== 'id');
  return [
    byChange(),
    ...scopable.map(byChange),
    ...specs,
    ...sorts.map((column) => over(column)),
    ...[...endpoint.sortSets.values()].map(bySet),
  ];
}

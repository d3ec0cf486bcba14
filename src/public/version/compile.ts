// Compiles a definition and its bindings into the structure that requests are planned against. Each parameter name maps to a column object,
// so no text of a request ever becomes part of a statement. Done once per version.

import { type FieldMask, fieldMask } from './masks.ts';
import { suffixOf, type ValueType } from './operators.ts';
import type {
  Bindings,
  BoundColumn,
  EndpointDefinition,
  FieldDefinition,
  Operator,
  SchemaDocument,
  SortDefinition,
} from './schema-document.ts';
import type { Value } from './values.ts';

export type CompiledColumn = { readonly column: string; readonly type: ValueType };

/** `declared`: what the version declares; `mask`: what is written for this reader. */
type Maskable = { readonly declared: FieldMask | null; readonly mask: FieldMask | null };

export type LineOutput = Maskable & {
  readonly name: string;
  readonly key: string;
  readonly type: ValueType;
  readonly asString: boolean;
};

export type OutputField =
  | (Sourced & Maskable & { readonly kind: 'value'; readonly column: CompiledColumn; readonly asString: boolean })
  | (Sourced & { readonly kind: 'lines'; readonly column: string; readonly lines: readonly LineOutput[] })
  /** Always null: the source has no column. Only saved queries have this, never a version. */
  | { readonly kind: 'absent'; readonly name: string };

/** `source` is as in a definition: a field of the record type, `<field>.name` for its label, or `lines`. */
type Sourced = { readonly name: string; readonly source: string };

export type FilterParameter = {
  readonly name: string;
  readonly field: string;
  readonly column: CompiledColumn;
  readonly operator: Operator;
};

export type CompiledEndpoint = {
  readonly name: string;
  /** Unique to this endpoint of this version. */
  readonly key: string;
  readonly recordType: string;
  readonly idType: 'integer' | 'text';
  /** In the order of the definition; `id` precedes them and is not listed. */
  readonly fields: readonly OutputField[];
  /** By the full parameter name, such as `trandate_after`; includes `id`. */
  readonly filters: ReadonlyMap<string, FilterParameter>;
  readonly sorts: ReadonlyMap<string, CompiledColumn>;
  readonly defaultSort: { readonly column: CompiledColumn; readonly order: SortDefinition['order'] };
  /** Columns that row scopes may name, by source; `id` is always one of them. */
  readonly scopable: ReadonlyMap<string, CompiledColumn>;
  readonly maxPageSize: number;
};

/** A condition of a row scope; without values it matches no record. */
export type ScopeCondition = { readonly column: CompiledColumn; readonly operator: 'eq'; readonly values: readonly Value[] };

/** An endpoint as one reader may read it: `narrowEndpoint` makes it, and every read needs it. */
export type ReadableEndpoint = CompiledEndpoint & {
  /** Conditions of every read, in addition to those of the request; empty: every record. In the order of the columns, one for each. */
  readonly scope: readonly ScopeCondition[];
  /** Names of fields that this reader sees masked. */
  readonly masked: ReadonlySet<string>;
  /** Filter parameters of those fields, which this reader may not use. */
  readonly maskedFilters: ReadonlySet<string>;
  /** Whether this reader can't sort by the default of the version, and gets the order of ids: `defaultSort` has no index after a filter. */
  readonly lacksDefaultSort: boolean;
  /** `key` of the endpoint before it was narrowed. */
  readonly contentKey: string;
  /** Identifies the conditions, fields and masks; empty for a reader without limits of an endpoint without masks. */
  readonly reach: string;
};

export type CompiledSchema = { readonly id: string; readonly version: string; readonly endpoints: ReadonlyMap<string, CompiledEndpoint> };

export type SchemaContent = SchemaDocument & {
  readonly id: string;
  readonly version: string;
  readonly bindings: Bindings;
  /** The organization's secret for masks of the kind `hash`; without it they can be declared, not written. */
  readonly maskSecret?: Buffer | undefined;
};

/** Throws an Error when the definition is not completely bound; a published one always is. */
export function compileSchema(content: SchemaContent): CompiledSchema {
  const endpoints = content.endpoints.map((endpoint) => compileEndpoint(endpoint, content));
  return Object.freeze({
    id: content.id,
    version: content.version,
    endpoints: new Map(endpoints.map((endpoint) => [endpoint.name, endpoint])),
  });
}

export const idColumn = (idType: 'integer' | 'text'): CompiledColumn => ({ column: 'id', type: idType });

function compileEndpoint(endpoint: EndpointDefinition, { id: version, bindings, maskSecret }: SchemaContent): CompiledEndpoint {
  const binding = getOwn(bindings, endpoint.recordType);
  const columns = new Map(endpoint.fields.map((field) => [field.name, getOwn(binding.columns, field.source)]));
  const columnOf = (name: string): CompiledColumn => valueColumn(columns.get(name), name);
  const id = idColumn(binding.idType);
  const filters: FilterParameter[] = [{ name: 'id', field: 'id', column: id, operator: 'eq' }];
  for (const { field, operators } of endpoint.filters) {
    for (const operator of operators) filters.push({ name: field + suffixOf(operator), field, column: columnOf(field), operator });
  }
  const { defaultSort } = endpoint;
  return Object.freeze<CompiledEndpoint>({
    name: endpoint.name,
    key: `${version}/${endpoint.name}`,
    recordType: endpoint.recordType,
    idType: binding.idType,
    fields: Object.freeze(
      endpoint.fields.map((field) =>
        outputOf(field, columns.get(field.name), ({ mask, source }) => fieldMask(mask, maskSecret, endpoint.recordType, source)),
      ),
    ),
    filters: new Map(filters.map((filter) => [filter.name, Object.freeze(filter)])),
    sorts: new Map(endpoint.sorts.map((name) => [name, columnOf(name)])),
    defaultSort: defaultSort === null ? { column: id, order: 'asc' } : { column: columnOf(defaultSort.field), order: defaultSort.order },
    scopable: new Map([
      ['id', id],
      ...endpoint.fields.flatMap(({ name, source, scopable }) => (scopable === true ? [[source, columnOf(name)] as const] : [])),
    ]),
    maxPageSize: endpoint.maxPageSize,
  });
}

function getOwn<T>(record: Readonly<Record<string, T>>, key: string): T {
  const found = Object.hasOwn(record, key) ? record[key] : undefined;
  if (found === undefined) throw new Error(`a published schema lacks the binding of "${key}"`);
  return found;
}

function valueColumn(bound: BoundColumn | undefined, name: string): CompiledColumn {
  if (bound === undefined || bound.type === 'lines')
    throw new Error(`a published schema filters or sorts by "${name}", which has no column`);
  return Object.freeze({ column: bound.column, type: bound.type });
}

type MaskOf = (field: Pick<FieldDefinition, 'mask' | 'source'>) => FieldMask | null;

function outputOf(field: FieldDefinition, bound: BoundColumn | undefined, maskOf: MaskOf): OutputField {
  if (bound?.type !== 'lines')
    return Object.freeze({
      kind: 'value',
      name: field.name,
      source: field.source,
      column: valueColumn(bound, field.name),
      asString: field.as === 'string',
      declared: maskOf(field),
      mask: null,
    });
  const lines = (field.fields ?? []).map((line): LineOutput => {
    const type = bound.lineFields?.find(({ name }) => name === line.source)?.type;
    if (type === undefined) throw new Error(`a published schema lacks the line field "${line.source}"`);
    const declared = maskOf({ ...line, source: `${field.source}.${line.source}` });
    return Object.freeze({ name: line.name, key: line.source, type, asString: line.as === 'string', declared, mask: null });
  });
  return Object.freeze({ kind: 'lines', name: field.name, source: field.source, column: bound.column, lines: Object.freeze(lines) });
}

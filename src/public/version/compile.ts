// Compiles a definition and its bindings into the structure that requests are planned against. Each parameter
// name maps to a column object, so no text of a request ever becomes part of a statement. Once per version.

import { isNumeric } from '../../warehouse/columns.ts';
import { boundSource } from './bind.ts';
import { type FieldMask, fieldMask } from './masks.ts';
import { findCurrency, type Money } from './money.ts';
import { toSuffix, type ValueType } from './operators.ts';
import type {
  AggregateFunction,
  Bindings,
  BoundColumn,
  DocumentBinding,
  EndpointDefinition,
  FieldDefinition,
  Operator,
  Period,
  RecordTypeBinding,
  SchemaDocument,
  SortDefinition,
} from './schema-document.ts';
import type { Value } from './values.ts';

/**
 * With `line`: the values under this key in the lines that `column` holds; a condition matches when one of
 * the lines does. `lowered`: texts are searched in lower case, as in versions from before texts were folded.
 */
export type CompiledColumn = {
  readonly column: string;
  readonly type: ValueType;
  readonly line?: string;
  readonly lowered?: true;
};

/** `declared`: what the version declares; `mask`: what is written for this reader. */
type Maskable = { readonly declared: FieldMask | null; readonly mask: FieldMask | null };

export type LineOutput = Maskable & {
  readonly name: string;
  readonly key: string;
  readonly type: ValueType;
  readonly asString: boolean;
};

export type OutputField =
  | (Sourced &
      Maskable & { readonly kind: 'value'; readonly column: CompiledColumn; readonly asString: boolean })
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

export type ValueField = Extract<OutputField, { kind: 'value' }>;
export type LinesField = Extract<OutputField, { kind: 'lines' }>;

/** What a summary computes over one field. `isMoney`: amounts of several currencies are never added up. */
export type CompiledAggregate = {
  readonly field: ValueField;
  readonly functions: readonly AggregateFunction[];
  readonly isMoney: boolean;
};

/** A group key by the name that requests use: a field, or `<field>.<period>`. */
export type CompiledGroup = {
  readonly name: string;
  readonly field: ValueField;
  readonly period: Period | null;
};

/** Which fields are amounts, and the zone of days and months. */
export type SummaryBasis = { readonly money: Money; readonly utcOffsetMinutes: number };

export type CompiledSummary = SummaryBasis & {
  /** By field. Empty: counts only. */
  readonly aggregates: ReadonlyMap<string, CompiledAggregate>;
  /** By name, such as `customerId` or `date.month`. */
  readonly groups: ReadonlyMap<string, CompiledGroup>;
  readonly limitNeedsGroups: boolean;
};

export type CompiledRelation = {
  readonly name: string;
  /** The field of the endpoint whose value is the id of the related record. */
  readonly field: ValueField;
  /** Name of the related endpoint, of the same version. */
  readonly resource: string;
  /** That endpoint. Throws when the version has none of this name, which no published one lacks. */
  readonly target: () => CompiledEndpoint;
};

export type CompiledSort = readonly {
  readonly field: string;
  readonly column: CompiledColumn;
  readonly order: SortDefinition['order'];
}[];

/** Records of one table: what statements need to know. */
export type RecordSource = {
  readonly name: string;
  /** Unique to these fields, such as this endpoint of this version. */
  readonly key: string;
  readonly recordType: string;
  readonly idType: 'integer' | 'text';
  /** In the order of the definition; `id` precedes them and is not listed. */
  readonly fields: readonly OutputField[];
  /** Columns that row scopes may name, by source. */
  readonly scopable: ReadonlyMap<string, CompiledColumn>;
};

/** What a version declares to filter and sort by, which indexes serve. */
type DeclaredOrders = {
  /** By the full parameter name, such as `trandate_after`; includes `id`. */
  readonly filters: ReadonlyMap<string, FilterParameter>;
  readonly sorts: ReadonlyMap<string, CompiledColumn>;
  /** Combinations of sort keys, by the text that requests use, such as `date,-total`. */
  readonly sortSets: ReadonlyMap<string, CompiledSort>;
  readonly defaultSort: { readonly column: CompiledColumn; readonly order: SortDefinition['order'] };
};

/** `id` is always scopable. */
export type CompiledEndpoint = RecordSource &
  DeclaredOrders & {
    readonly maxPageSize: number;
    /** Null unless the version declares aggregates or groups: `/summary` is then the id of a record. */
    readonly summary: CompiledSummary | null;
    /** By name. Empty: `expand` is not a parameter. */
    readonly relations: ReadonlyMap<string, CompiledRelation>;
    /** The text fields that `q` searches. Empty: `q` is not a parameter. */
    readonly search: readonly ValueField[];
    /** Whether `or` is a parameter. */
    readonly takesOr: boolean;
    /**
     * Whether the version declares sort sets, also where this reader may use none of them: `sort` then accepts
     * a leading `-`.
     */
    readonly takesSortSets: boolean;
    /** Whether `format` and `bom` are parameters of the list. */
    readonly takesFormat: boolean;
    /** How a record is set as PDF; null unless the version declares it. */
    readonly document: CompiledDocument | null;
  };

/** `money`: which fields are amounts, and whose currency they have. */
export type CompiledDocument = DocumentBinding & { readonly money: Money };

/** A condition of a row scope; without values it matches no record. */
export type ScopeCondition = {
  readonly column: CompiledColumn;
  readonly operator: 'eq';
  readonly values: readonly Value[];
};

/**
 * Records as one reader may read them, which every read needs. The orders are absent in saved queries, which
 * no version declares.
 */
export type ReadableSource = RecordSource &
  Partial<DeclaredOrders & Pick<ReadableEndpoint, 'lacksDefaultSort'>> & {
    /**
     * Conditions of every read, in addition to those of the request; empty: every record. In the order of the
     * columns, one for each.
     */
    readonly scope: readonly ScopeCondition[];
  };

/** An endpoint as one reader may read it: `narrowEndpoint` makes it. */
export type ReadableEndpoint = CompiledEndpoint & {
  readonly scope: ReadableSource['scope'];
  /** Names of fields that this reader sees masked. */
  readonly masked: ReadonlySet<string>;
  /** Filter parameters of those fields, which this reader may not use. */
  readonly maskedFilters: ReadonlySet<string>;
  /**
   * Whether this reader can't sort by the default of the version, and gets the order of ids: `defaultSort`
   * has no index after a filter.
   */
  readonly lacksDefaultSort: boolean;
  /** `key` of the endpoint before it was narrowed. */
  readonly contentKey: string;
  /** Identifies conditions, fields and masks; empty without limits and masks. */
  readonly reach: string;
  /** Names of relations whose field this reader sees masked. */
  readonly maskedRelations: ReadonlySet<string>;
  /** The endpoint of a relation as this reader may read it; null when the reader may not read it. */
  readonly findRelated: (relation: CompiledRelation) => ReadableEndpoint | null;
};

export type CompiledSchema = {
  readonly id: string;
  readonly version: string;
  readonly endpoints: ReadonlyMap<string, CompiledEndpoint>;
};

export type SchemaContent = SchemaDocument & {
  readonly id: string;
  readonly version: string;
  readonly bindings: Bindings;
  /** The organization's secret for masks of the kind `hash`; without it they can be declared, not written. */
  readonly maskSecret?: Buffer | undefined;
};

/** Throws an Error when the definition is not completely bound; a published one always is. */
export function compileSchema(content: SchemaContent): CompiledSchema {
  const endpoints = new Map<string, CompiledEndpoint>();
  const getEndpoint = (name: string): CompiledEndpoint => {
    const found = endpoints.get(name);
    if (found === undefined)
      throw new Error(`a published schema has a relation to "${name}", which is no endpoint of it`);
    return found;
  };
  for (const endpoint of content.endpoints)
    endpoints.set(endpoint.name, compileEndpoint(endpoint, content, getEndpoint));
  return Object.freeze({ id: content.id, version: content.version, endpoints });
}

export const idColumn = (idType: 'integer' | 'text'): CompiledColumn => ({ column: 'id', type: idType });

type ColumnOf = (name: string) => CompiledColumn;
type FieldOf = (name: string) => ValueField;
type GetEndpoint = (name: string) => CompiledEndpoint;

function compileEndpoint(
  endpoint: EndpointDefinition,
  { id: version, bindings, maskSecret }: SchemaContent,
  getEndpoint: GetEndpoint,
): CompiledEndpoint {
  const binding = getOwn(bindings, endpoint.recordType);
  const columns = columnsByField(endpoint, binding);
  const getColumn = (name: string): CompiledColumn => valueColumn(columns.get(name), name);
  const id = idColumn(binding.idType);
  const fields = endpoint.fields.map((field) =>
    compileOutput(field, columns.get(field.name), ({ mask, source }) =>
      fieldMask(mask, maskSecret, endpoint.recordType, source),
    ),
  );
  const getField = (name: string): ValueField => {
    const found = fields.find((field) => field.name === name);
    if (found?.kind !== 'value')
      throw new Error(`a published schema uses "${name}", which is not a field with a column`);
    return found;
  };
  const { defaultSort } = endpoint;
  return Object.freeze<CompiledEndpoint>({
    name: endpoint.name,
    key: `${version}/${endpoint.name}`,
    recordType: endpoint.recordType,
    idType: binding.idType,
    fields: Object.freeze(fields),
    filters: compileFilters(endpoint, id, (name) => lineColumn(endpoint, columns, name) ?? getColumn(name)),
    sorts: new Map(endpoint.sorts.map((name) => [name, getColumn(name)])),
    defaultSort:
      defaultSort === null
        ? { column: id, order: 'asc' }
        : { column: getColumn(defaultSort.field), order: defaultSort.order },
    scopable: new Map([['id', id], ...listScopable(endpoint, getColumn)]),
    maxPageSize: endpoint.maxPageSize,
    summary: compileSummary(endpoint, binding, getField),
    relations: compileRelations(endpoint, getField, getEndpoint),
    search: Object.freeze((endpoint.search ?? []).map(getField)),
    takesOr: endpoint.or === true,
    ...compileSortSets(endpoint, getColumn),
    takesFormat: binding.takesFormat === true,
    document: compileDocument(endpoint, binding),
  });
}

/** Null also where a process of the version before published it. */
const compileDocument = (
  { document: declared }: EndpointDefinition,
  { document, currency, amounts }: RecordTypeBinding,
): CompiledDocument | null =>
  declared === undefined || document === undefined
    ? null
    : Object.freeze({
        ...document,
        money: { ...(currency !== undefined && { currency }), ...(amounts !== undefined && { amounts }) },
      });

const compileSortSets = ({ sortSets }: EndpointDefinition, getColumn: ColumnOf) => ({
  sortSets: new Map((sortSets ?? []).map((names) => [names.join(), compileSort(names, getColumn)])),
  takesSortSets: sortSets !== undefined,
});

function compileFilters({ filters: declared }: EndpointDefinition, id: CompiledColumn, getColumn: ColumnOf) {
  const filters: FilterParameter[] = [{ name: 'id', field: 'id', column: id, operator: 'eq' }];
  for (const { field, operators } of declared) {
    for (const operator of operators)
      filters.push({ name: field + toSuffix(operator), field, column: getColumn(field), operator });
  }
  return new Map(filters.map((filter) => [filter.name, Object.freeze(filter)]));
}

/** By source, the columns that row scopes may name in addition to the id. */
const listScopable = ({ fields }: EndpointDefinition, getColumn: ColumnOf) =>
  fields.flatMap(({ name, source, scopable }) =>
    scopable === true ? [[source, getColumn(name)] as const] : [],
  );

const compileRelations = (
  { relations = [] }: EndpointDefinition,
  getField: FieldOf,
  getEndpoint: GetEndpoint,
) =>
  new Map(
    relations.map(({ name, field, resource }) => [
      name,
      Object.freeze({ name, field: getField(field), resource, target: () => getEndpoint(resource) }),
    ]),
  );

function compileSummary(
  { aggregates = [], groups = [] }: EndpointDefinition,
  binding: RecordTypeBinding,
  getField: FieldOf,
): CompiledSummary | null {
  const { utcOffsetMinutes = 0, limitNeedsGroups = false } = binding;
  if (aggregates.length + groups.length === 0) return null;
  const keys = groups.flatMap((group): CompiledGroup[] => {
    if (typeof group === 'string') return [{ name: group, field: getField(group), period: null }];
    return group.periods.map((period) => ({
      name: `${group.field}.${period}`,
      field: getField(group.field),
      period,
    }));
  });
  const computed = aggregates.map(({ field, functions, currency: own }): [string, CompiledAggregate] => [
    field,
    Object.freeze({
      field: getField(field),
      functions,
      isMoney: own !== 'none' && isMoney(getField(field), binding),
    }),
  ]);
  return Object.freeze({
    aggregates: new Map(computed),
    groups: new Map(keys.map((key) => [key.name, Object.freeze(key)])),
    money: binding,
    utcOffsetMinutes,
    limitNeedsGroups,
  });
}

export const isMoney = ({ column: { type }, source }: ValueField, money: Money): boolean =>
  isNumeric(type) && findCurrency(money, source) !== undefined;

type ColumnOfVersion = BoundColumn & { readonly lowered?: true };

function columnsByField(
  { fields }: EndpointDefinition,
  { columns, foldsText }: RecordTypeBinding,
): Map<string, ColumnOfVersion> {
  const lowered = foldsText !== true && { lowered: true as const };
  return new Map(fields.map((field) => [field.name, { ...getOwn(columns, boundSource(field)), ...lowered }]));
}

const compileSort = (names: readonly string[], getColumn: (name: string) => CompiledColumn): CompiledSort =>
  Object.freeze(
    names.map((name) => {
      const field = name.replace(/^-/, '');
      return Object.freeze({
        field,
        column: getColumn(field),
        order: name.startsWith('-') ? ('desc' as const) : ('asc' as const),
      });
    }),
  );

/** The column of `<lines>.<field>`; undefined for a name of another form. */
function lineColumn(
  { fields }: EndpointDefinition,
  columns: ReadonlyMap<string, BoundColumn>,
  name: string,
): CompiledColumn | undefined {
  const [lines = '', ...rest] = name.split('.');
  if (rest.length === 0) return undefined;
  const line = fields
    .find((field) => field.name === lines)
    ?.fields?.find((field) => field.name === rest.join('.'));
  const bound = columns.get(lines);
  const key = line && boundSource(line);
  const type = bound?.lineFields?.find((field) => field.name === key)?.type;
  if (bound === undefined || key === undefined || type === undefined)
    throw new Error(`a published schema filters by "${name}", which is no field of lines`);
  return Object.freeze({ column: bound.column, type, line: key });
}

function getOwn<T>(record: Readonly<Record<string, T>>, key: string): T {
  const found = Object.hasOwn(record, key) ? record[key] : undefined;
  if (found === undefined) throw new Error(`a published schema lacks the binding of "${key}"`);
  return found;
}

function valueColumn(bound: ColumnOfVersion | undefined, name: string): CompiledColumn {
  if (bound === undefined || bound.type === 'lines')
    throw new Error(`a published schema filters or sorts by "${name}", which has no column`);
  return Object.freeze({
    column: bound.column,
    type: bound.type,
    ...(bound.lowered && bound.type === 'text' && { lowered: true as const }),
  });
}

type MaskOf = (field: Pick<FieldDefinition, 'mask' | 'source'>) => FieldMask | null;

function compileOutput(
  field: FieldDefinition,
  bound: ColumnOfVersion | undefined,
  findMask: MaskOf,
): OutputField {
  if (bound?.type !== 'lines')
    return Object.freeze({
      kind: 'value',
      name: field.name,
      source: field.source,
      column: valueColumn(bound, field.name),
      asString: field.as === 'string',
      declared: findMask(field),
      mask: null,
    });
  const lines = (field.fields ?? []).map((line): LineOutput => {
    const key = boundSource(line);
    const type = bound.lineFields?.find(({ name }) => name === key)?.type;
    if (type === undefined) throw new Error(`a published schema lacks the line field "${key}"`);
    const declared = findMask({ ...line, source: `${field.source}.${line.source}` });
    return Object.freeze({
      name: line.name,
      key,
      type,
      asString: line.as === 'string',
      declared,
      mask: null,
    });
  });
  return Object.freeze({
    kind: 'lines',
    name: field.name,
    source: field.source,
    column: bound.column,
    lines: Object.freeze(lines),
  });
}

// Finds the physical column behind each source of a definition. Those of publish time are stored for good.
import {
  type ColumnState,
  entriesKey,
  type LineField,
  type PlainColumn,
  type RecordColumn,
} from '../../warehouse/columns.ts';
import type { Money } from './money.ts';
import type {
  Bindings,
  BoundColumn,
  LineFieldDefinition,
  RecordTypeBinding,
  SchemaDocument,
} from './schema-document.ts';

/** What the warehouse holds of one record type. */
export type AvailableRecordType = Money & {
  readonly label: string;
  readonly idType: 'integer' | 'text';
  readonly columns: readonly RecordColumn[];
  /** Whether a complete run has ever been published. */
  readonly hasData: boolean;
  /** Fields whose values change without the record's modification time. */
  readonly volatileFields?: readonly string[];
  /** Record types by the name of the reference field that names their records; only those that are known. */
  readonly targets?: Readonly<Record<string, string>>;
  /** How far the zone of the account's dates is ahead of UTC; absent where it isn't known. */
  readonly utcOffsetMinutes?: number;
  /** The field that numbers the records; absent where the ERP names none. */
  readonly number?: string;
};

/** By record type. */
export type Available = Readonly<Record<string, AvailableRecordType>>;

/** Looks up own properties only, so that a record type named `constructor` is not found by accident. */
export const availableType = (available: Available, recordType: string): AvailableRecordType | undefined =>
  Object.hasOwn(available, recordType) ? available[recordType] : undefined;

const labelEnding = '.name';

/**
 * What a column is bound by: the field, `<field>.name` for its label, `lines`, or what `boundSource` says of
 * the entries of a multiselect.
 */
export function toSource({ field, part }: Pick<RecordColumn, 'field' | 'part'>): string {
  if (part === 'lines') return 'lines';
  if (part === 'label') return field + labelEnding;
  return part === 'value' ? field : entriesKey(field, part);
}

/**
 * What a field of a definition is bound by, also among the fields of lines. Written as a list, it is the
 * entries, or their names.
 */
export function boundSource({ source, as }: Pick<LineFieldDefinition, 'source' | 'as'>): string {
  if (as !== 'list') return source;
  return source.endsWith(labelEnding)
    ? entriesKey(source.slice(0, -labelEnding.length), 'names')
    : entriesKey(source, 'ids');
}

const preference: Readonly<Record<ColumnState, number>> = {
  live: 0,
  returned: 1,
  stale: 1,
  loading: 2,
  vanished: 3,
  replaced: 4,
};

/** Whether `toSource` would return it; makes no text, because there may be thousands of columns. */
const hasSource = ({ field, part }: RecordColumn, source: string): boolean => {
  if (part === 'lines') return source === 'lines';
  if (part !== 'label') return part === 'value' && source === field;
  return (
    source.length === field.length + labelEnding.length &&
    source.endsWith(labelEnding) &&
    source.startsWith(field)
  );
};

/** The column that currently holds the source, which is no list; never one that a type change replaced. */
export function choosePlainColumn(columns: readonly RecordColumn[], source: string): PlainColumn | undefined {
  return columns
    .filter((column): column is PlainColumn => hasSource(column, source) && column.state !== 'replaced')
    .sort((a, b) => preference[a.state] - preference[b.state])[0];
}

/** A record type with its columns by source, for documents that name thousands. */
export type IndexedRecordType = AvailableRecordType & {
  readonly bySource: ReadonlyMap<string, RecordColumn>;
  /** Of the fields of its lines, by name. */
  readonly lineTypes: ReadonlyMap<string, LineField['type']>;
};

/** `choosePlainColumn` of every source. */
export function indexSources(type: AvailableRecordType): IndexedRecordType {
  const bySource = new Map<string, RecordColumn>();
  for (const column of type.columns) {
    const known = bySource.get(toSource(column));
    if (
      column.state === 'replaced' ||
      (known !== undefined && preference[known.state] <= preference[column.state])
    )
      continue;
    bySource.set(toSource(column), column);
  }
  return {
    ...type,
    bySource,
    lineTypes: new Map(bySource.get('lines')?.lineFields?.map((field) => [field.name, field.type])),
  };
}

type NewBinding = RecordTypeBinding & { readonly columns: Record<string, BoundColumn> };

/** What summaries and documents need besides columns; nothing for record types without any. */
function bindDeclared({ endpoints }: SchemaDocument, name: string, available: AvailableRecordType) {
  const own = endpoints.filter(({ recordType }) => recordType === name);
  const isSummarized = own.some(({ aggregates, groups }) => (aggregates ?? groups) !== undefined);
  const hasDocument = own.some(({ document }) => document !== undefined);
  if (!isSummarized && !hasDocument) return {};
  const { currency, amounts, utcOffsetMinutes, label, number = null } = available;
  const sources = new Set(own.flatMap(({ fields }) => fields.map(({ source }) => source)));
  return {
    ...(isSummarized && { limitNeedsGroups: true as const }),
    ...(currency !== undefined && { currency }),
    ...(amounts !== undefined && {
      amounts: Object.fromEntries(Object.entries(amounts).filter(([source]) => sources.has(source))),
    }),
    ...(isSummarized && utcOffsetMinutes !== undefined && { utcOffsetMinutes }),
    ...(hasDocument && { document: { layout: 'invoice-1' as const, label, number } }),
  };
}

/** Binds every source that has a column; a definition that validated without problems is bound completely. */
export function bindDocument(document: SchemaDocument, available: Available): Bindings {
  const bindings: Record<string, NewBinding> = {};
  for (const endpoint of document.endpoints) {
    const recordType = availableType(available, endpoint.recordType);
    if (recordType === undefined) continue;
    const declared = bindDeclared(document, endpoint.recordType, recordType);
    const bound = bindings[endpoint.recordType] ?? {
      idType: recordType.idType,
      columns: {},
      foldsText: true,
      takesFormat: true,
      ...declared,
    };
    bindings[endpoint.recordType] = bound;
    const { bySource } = indexSources(recordType);
    for (const field of endpoint.fields) {
      const source = boundSource(field);
      const found = bySource.get(source);
      if (found !== undefined)
        bound.columns[source] = { column: found.column, type: found.type, lineFields: found.lineFields };
    }
  }
  return bindings;
}

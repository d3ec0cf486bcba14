// Maps the fields of the ERP to columns of a typed table. A field that changes its type gets a new column;
// the old one stays, so that published versions can still read it.
import type { PoolClient } from 'pg';
import { type FieldMetadata, type FieldType, hasLabel } from '../connectors/connector.ts';
import { idsKey, namesKey, type SourceRecord, type SourceValue } from '../connectors/source-records.ts';

export const allColumnTypes = [
  ...(['text', 'number', 'integer', 'boolean', 'date', 'time', 'integers', 'texts', 'lines'] as const),
];
export type ColumnType = (typeof allColumnTypes)[number];
/** Columns with several values, in an order, and the type of each value. */
const elementTypes = { integers: 'integer', texts: 'text' } as const;
export type ListType = keyof typeof elementTypes;
export type PlainType = Exclude<ColumnType, ListType>;
export const isListType = (type: ColumnType | undefined): type is ListType =>
  type === 'integers' || type === 'texts';
/** The type of each value of a list; of another column, that of its value. */
export const elementType = <T extends ColumnType>(type: T): Exclude<T, ListType> | 'integer' | 'text' =>
  isListType(type) ? elementTypes[type] : (type as Exclude<T, ListType>);
/** False for a type that isn't known. */
export const isNumeric = (type: ColumnType | null | undefined): type is 'number' | 'integer' =>
  type === 'number' || type === 'integer';
export const isDated = (type: ColumnType | null | undefined): type is 'date' | 'time' =>
  type === 'date' || type === 'time';
/** The states are described at the table record_columns, in state-tables.ts. */
export type ColumnState = 'loading' | 'live' | 'stale' | 'returned' | 'vanished' | 'replaced';
/**
 * Whether rows with the same content hash may differ in the column: hashes leave out columns of a former type,
 * and those that were not read when the row was written.
 */
export const isOutsideHash = ({ state }: Pick<RecordColumn, 'state'>): boolean =>
  state === 'returned' || state === 'replaced';
export type LineField = { readonly name: string; readonly type: Exclude<ColumnType, 'lines'> };

export type RecordColumn = {
  /** Physical name. Its prefix keeps it from clashing with the system columns. */
  readonly column: string;
  readonly field: string;
  /**
   * `value` is the field itself, `label` its display text in the ERP, `ids` and `names` the entries of a
   * multiselect in its order, `lines` the record's lines as one jsonb array.
   */
  readonly part: 'value' | 'label' | 'ids' | 'names' | 'lines';
  readonly type: ColumnType;
  readonly state: ColumnState;
  readonly lineFields: readonly LineField[] | null;
};

/** Of one value, or of lines. */
export type PlainColumn = RecordColumn & { readonly type: PlainType };

/** The columns that every typed table has in addition to those of its fields. */
export const systemColumns = ['id', 'generation', 'content_hash', 'changed_at'] as const;

/** Of values, such as parameters. */
export const sqlTypes: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  number: 'numeric',
  integer: 'bigint',
  boolean: 'boolean',
  date: 'date',
  time: 'timestamptz',
  integers: 'bigint[]',
  texts: 'text[]',
  lines: 'jsonb',
};
/** Of columns. Texts are in the order of their bytes. */
export const toSqlType = (type: ColumnType): string =>
  type === 'text' || type === 'texts' ? `${sqlTypes[type]} collate "C"` : sqlTypes[type];

const columnTypes: Readonly<Record<FieldType, ColumnType>> = {
  text: 'text',
  number: 'number',
  integer: 'integer',
  boolean: 'boolean',
  date: 'date',
  time: 'time',
  reference: 'text',
  list: 'text',
  multiselect: 'text',
  lines: 'lines',
};

/** What the entries of a multiselect, or their names, are called in records. */
export const entriesKey = (field: string, part: 'ids' | 'names'): string =>
  part === 'ids' ? idsKey(field) : namesKey(field);

/** What a column holds of a record; undefined for the part `lines`. */
export function sourceValue(
  { values, labels, lists }: Omit<SourceRecord, 'lines'>,
  { field, part }: Pick<RecordColumn, 'field' | 'part'>,
): SourceValue | undefined {
  if (part === 'value') return values[field];
  if (part === 'label') return labels[field];
  return part === 'lines' ? undefined : lists?.[entriesKey(field, part)];
}

const prefixes: Readonly<Record<RecordColumn['part'], string>> = {
  value: 'f_',
  lines: 'f_',
  label: 'l_',
  ids: 'i_',
  names: 'n_',
};

/** Cut at 60 characters: PostgreSQL truncates names at 63 bytes. A number at the end keeps them unique. */
function uniqueName(wanted: string, taken: ReadonlySet<string>): string {
  const legal = wanted.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_');
  for (let n = 1; ; n += 1) {
    const ending = n === 1 ? '' : `_${n}`;
    const name = legal.slice(0, 60 - ending.length) + ending;
    if (!taken.has(name)) return name;
  }
}

/** The fields of one line as they are stored, labels included; empty unless the field is `lines`. */
export function toLineFields(field: FieldMetadata): LineField[] {
  return (field.fields ?? [])
    .filter(({ syncable }) => syncable)
    .flatMap((line) => {
      const type = columnTypes[line.type];
      if (type === 'lines') return [];
      const label = hasLabel(line) ? [{ name: `${line.name}.name`, type: 'text' as const }] : [];
      const entries = listParts(line).map((part) => ({
        name: entriesKey(line.name, part),
        type: listTypes[part],
      }));
      return [{ name: line.name, type }, ...label, ...entries];
    });
}

const listTypes = { ids: 'integers', names: 'texts' } as const;
/** The lists of a multiselect: its entries, and their names where the ERP says them. */
const listParts = ({ type, entries }: FieldMetadata): ('ids' | 'names')[] =>
  type !== 'multiselect' ? [] : entries === undefined ? ['ids'] : ['ids', 'names'];

/** The columns that this field needs, without physical names. */
function wantedColumns(field: FieldMetadata): Pick<RecordColumn, 'field' | 'part' | 'type' | 'lineFields'>[] {
  if (field.type === 'lines')
    return [{ field: field.name, part: 'lines', type: 'lines', lineFields: toLineFields(field) }];
  const plain = { field: field.name, lineFields: null };
  return [
    { ...plain, part: 'value', type: columnTypes[field.type] },
    ...(hasLabel(field) ? [{ ...plain, part: 'label' as const, type: 'text' as const }] : []),
    ...listParts(field).map((part) => ({ ...plain, part, type: listTypes[part] })),
  ];
}

export type ColumnChanges = {
  /** New columns, to be added to the tables in state 'loading'. */
  readonly added: readonly RecordColumn[];
  /**
   * Existing columns whose row in record_columns changes: the field vanished, returned, was retyped, or has
   * other line fields.
   */
  readonly changed: readonly RecordColumn[];
};

/** A filled column is updated in place when its field returns or the fields of its lines change. */
const stateOfOffered = ({ state }: RecordColumn, lineFieldsDiffer: boolean): ColumnState => {
  if (state === 'vanished' || state === 'stale') return 'returned';
  return lineFieldsDiffer && state === 'live' ? 'returned' : state;
};

/**
 * The changes that make the tables match the fields that the ERP offers. `stale` are the fields that it
 * should offer and doesn't: their columns keep their values until it does. Pure.
 */
export function planColumns(
  existing: readonly RecordColumn[],
  fields: readonly FieldMetadata[],
  stale: ReadonlySet<string> = new Set(),
): ColumnChanges {
  const taken = new Set<string>([...systemColumns, ...existing.map(({ column }) => column)]);
  const added: RecordColumn[] = [];
  const changed: RecordColumn[] = [];
  const kept = new Set<string>();
  for (const wanted of fields.flatMap(wantedColumns)) {
    const current = existing.filter(
      (column) => column.field === wanted.field && column.part === wanted.part && column.state !== 'replaced',
    );
    const same = current.find((column) => column.type === wanted.type);
    for (const old of current) {
      if (old === same) continue;
      kept.add(old.column);
      changed.push({ ...old, state: 'replaced' });
    }
    if (same === undefined) {
      const column = uniqueName(prefixes[wanted.part] + wanted.field, taken);
      taken.add(column);
      added.push({ ...wanted, column, state: 'loading' });
      continue;
    }
    kept.add(same.column);
    const lineFieldsDiffer = JSON.stringify(same.lineFields) !== JSON.stringify(wanted.lineFields);
    const state = stateOfOffered(same, lineFieldsDiffer);
    if (state !== same.state || lineFieldsDiffer)
      changed.push({ ...same, lineFields: wanted.lineFields, state });
  }
  for (const column of existing) {
    if (kept.has(column.column) || column.state === 'replaced') continue;
    const state = stale.has(column.field) ? 'stale' : 'vanished';
    if (column.state !== state) changed.push({ ...column, state });
  }
  return { added, changed };
}

/**
 * The columns of one record type, in the order of their creation. Rejects with 3F000 or 42P01 when the
 * tenant's schema does not exist.
 */
export async function readRecordColumns(
  client: Pick<PoolClient, 'query'>,
  schema: string,
  recordType: string,
): Promise<RecordColumn[]> {
  const { rows } = await client.query<RecordColumn>(
    `select column_name as "column", field, part, type, state, line_fields as "lineFields" from ${schema}.record_columns
     where record_type = $1 order by position, column_name`,
    [recordType],
  );
  return rows;
}

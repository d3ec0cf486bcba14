// What to read of a record type, checked against its metadata, and the query options that request it.
import type { FieldMetadata, RecordTypeMetadata } from '../../connector.ts';
import { getDefinition, idField, type OdataDefinition } from '../metadata/definition.ts';
import { erpError } from '../requests/errors.ts';

export type Column = Pick<FieldMetadata, 'name' | 'type'> & { readonly path: string };
export type Plan = {
  readonly definition: OdataDefinition;
  readonly columns: readonly Column[];
  /** Null for a read without lines. */
  readonly lines: (NonNullable<OdataDefinition['lines']> & { readonly columns: readonly Column[] }) | null;
  readonly modified: Column | null;
};

const toColumns = (fields: readonly FieldMetadata[], renamed: OdataDefinition['renamed'] = {}): Column[] =>
  fields
    .filter(({ syncable }) => syncable)
    .map(({ name, type }) => {
      const own = Object.hasOwn(renamed, name) ? renamed[name] : undefined;
      return { name, type, path: own ?? name.replaceAll('.', '/') };
    });

/** Throws `ErpError` FIELD_NOT_SYNCABLE for a field that the record type doesn't offer, and as `getDefinition`. */
export function planRead(recordType: RecordTypeMetadata, names: readonly string[]): Plan {
  const definition = getDefinition(recordType);
  const columns = toColumns(recordType.fields, definition.renamed);
  const missing = names.find((name) => name !== idField && !columns.some((column) => column.name === name));
  if (missing !== undefined)
    throw erpError('query', 'FIELD_NOT_SYNCABLE', `${recordType.name} has no syncable field ${missing}`);
  const modified = columns.find(({ name }) => name === recordType.modifiedField) ?? null;
  const lines = recordType.fields.find(({ name, type }) => type === 'lines' && names.includes(name));
  const isWanted = (column: Column) => column === modified || [idField, ...names].includes(column.name);
  return {
    definition,
    modified,
    columns: columns.filter((column) => column.type !== 'lines' && isWanted(column)),
    lines:
      lines === undefined || definition.lines === null
        ? null
        : { ...definition.lines, columns: toColumns(lines.fields ?? []) },
  };
}

/** The properties of these paths, without those within complex ones. */
export const toSelect = (paths: readonly string[]): string =>
  [...new Set(paths.map((path) => path.split('/')[0] ?? path))].join(',');

/** Some servers refuse longer addresses: then all properties are read. */
const maxSelectLength = 4_000;
const ifShort = (select: string): { $select?: string } =>
  select.length > maxSelectLength ? {} : { $select: select };

export const keyPaths = (key: OdataDefinition['key']): string[] => key.map(({ path }) => path);

export function toOptions({ definition, columns, lines }: Plan): Readonly<Record<string, string>> {
  const own = columns.filter(({ name }) => name !== idField).map(({ path }) => path);
  const ofRecord = ifShort(toSelect([...keyPaths(definition.key), ...own]));
  if (lines === null) return ofRecord;
  const { $select } = ifShort(toSelect([...lines.key, ...lines.columns.map(({ path }) => path)]));
  const options = [
    ...($select === undefined ? [] : [`$select=${$select}`]),
    ...(lines.isCounted ? ['$count=true'] : []),
  ].join(';');
  return { ...ofRecord, $expand: options === '' ? lines.navigation : `${lines.navigation}(${options})` };
}

/** Throws `ErpError` FIELD_NOT_SYNCABLE where there is no modification time. */
export function changedFilter({ modified, definition }: Plan, since: Date | null): string[] {
  if (since === null) return [];
  if (modified === null)
    throw erpError('query', 'FIELD_NOT_SYNCABLE', `${definition.set} has no modification time`);
  return [`${modified.path} ge ${since.toISOString()}`];
}

/** The option for records that pass all of these; none for none. */
export function allOf(filters: readonly string[]): { $filter?: string } {
  const [first, ...more] = filters;
  if (first === undefined || more.length === 0) return first === undefined ? {} : { $filter: first };
  return { $filter: filters.map((one) => `(${one})`).join(' and ') };
}

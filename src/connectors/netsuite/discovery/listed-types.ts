// The types of custom fields by the account's own list of them. A field keeps its name when it is deleted and
// created again with another type, and a query for the old type may then go on to answer, with texts: so runs
// compare the list with what it was at the description.
import { isDeepStrictEqual } from 'node:util';
import type { FieldMetadata, RecordTypeMetadata, TypeChecks } from '../../connector.ts';
import type { Suiteql } from '../requests/suiteql.ts';
import { StoredDefinition } from '../types/stored-definition.ts';
import { customPrefixes, type ListedField, readCustomFields } from './account-lists.ts';
import { nullWhenRefused } from './catalogue.ts';
import { isDateText } from './column-types.ts';

type Types = NonNullable<RecordTypeMetadata['listedTypes']>;

const findPrefix = (name: string) => customPrefixes.find((prefix) => name.startsWith(prefix));

/** The custom fields that the text of a query names. */
export const namesInQuery = (sql: string): string[] => [
  ...new Set((sql.toLowerCase().match(/\b\w+/g) ?? []).filter((name) => findPrefix(name) !== undefined)),
];

const readable = ({
  fields = [],
}: {
  readonly fields?: readonly FieldMetadata[];
}): readonly FieldMetadata[] =>
  fields.filter(({ syncable }) => syncable).flatMap((field) => [field, ...readable(field)]);

/** The custom fields that are read for the record type's fields. */
function listedNames({ fields, definition }: Pick<RecordTypeMetadata, 'fields' | 'definition'>): string[] {
  const table = StoredDefinition.safeParse(definition).data?.table ?? '';
  if (table.startsWith('(')) return namesInQuery(table);
  return readable({ fields }).flatMap(({ name, custom }) =>
    custom && findPrefix(name) !== undefined ? [name] : [],
  );
}

/** Types that an earlier version read in another way: its descriptions differ, and so are made again. */
const readAs: Readonly<Record<string, string>> = { 'Multiple Select': 'Multiple Select by ids' };

/** By name; several fields may share one. */
export const typesByName = (names: readonly string[], listed: readonly ListedField[]): Types =>
  Object.fromEntries(
    names.map((name) => {
      const found = listed.filter((field) => field.name === name);
      return [name, found.map(({ id, valueType }) => `${readAs[valueType] ?? valueType} (${id})`).join(', ')];
    }),
  );

/** The record type with what runs compare. `listed`: the list from before; null where it is refused. */
export function withListedTypes(
  recordType: RecordTypeMetadata,
  listed: readonly ListedField[] | null,
): RecordTypeMetadata {
  const known = new Set(listed?.map(({ name }) => name));
  const mark = (field: FieldMetadata): FieldMetadata => ({
    ...field,
    ...(field.custom &&
      field.type === 'text' &&
      field.syncable &&
      !known.has(field.name) && { unconfirmed: 'values' as const }),
    ...(field.fields !== undefined && { fields: field.fields.map(mark) }),
  });
  return {
    ...recordType,
    fields: recordType.fields.map(mark),
    listedTypes: listed && typesByName(listedNames(recordType), listed),
  };
}

/**
 * What `TypeChecks` promises. One request for each 1,000 custom fields of the kinds that the record type has;
 * none where it has none.
 */
export const createTypeChecks = (suiteql: Suiteql): TypeChecks => ({
  async compare(recordType, signal) {
    const names = listedNames(recordType);
    if (names.length === 0) return 'same';
    const { listedTypes: before } = recordType;
    if (before === undefined) return 'unknown';
    const prefixes = [...new Set(names.flatMap((name) => findPrefix(name) ?? []))];
    const listed = await nullWhenRefused({ suiteql, signal }, () =>
      readCustomFields(suiteql, prefixes, signal),
    );
    if (listed === null || before === null) return listed === before ? 'same' : 'unknown';
    const isSame = isDeepStrictEqual(
      typesByName(names, listed),
      Object.fromEntries(names.map((name) => [name, before[name]])),
    );
    return isSame ? 'same' : 'changed';
  },
  isDoubtful: isDateText,
});

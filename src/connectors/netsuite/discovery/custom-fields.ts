// Finds the custom fields of a record type that is known by name: in the metadata catalogue, or in the list
// of custom fields where the catalogue is refused, and in the first records, because queries have custom
// fields that the catalogue lacks. These are candidates; only a probe shows whether a field can be read.
import type { ColumnDefinition, LinesDefinition, RecordTypeDefinition } from '../types/definition.ts';
import { isColumnName } from '../types/queries.ts';
import { recordTypeDefinitions } from '../types/record-types.ts';
import type { Account } from './account.ts';
import type { ListedField } from './account-lists.ts';
import { toTarget } from './candidates.ts';
import { type CatalogueProperty, distinct, readCatalogueEntry } from './catalogue.ts';
import { listedTypes } from './column-types.ts';

export type CustomFields = {
  /** Where they were found; null when this role may read neither. */
  readonly source: 'catalogue' | 'custom field list' | null;
  readonly fields: readonly ColumnDefinition[];
};

const withPrefix = (fields: readonly ColumnDefinition[], prefix: string): ColumnDefinition[] =>
  fields.filter(({ name }) => name.startsWith(prefix) && isColumnName(name));

/**
 * Rejects with `ErpError` for an outage, a refused login or an unreadable response; a refusal to read either
 * list is no error.
 */
export async function findCustomFields(
  account: Account,
  definition: RecordTypeDefinition,
): Promise<CustomFields> {
  const custom: CatalogueProperty[] = [];
  const { lists } = account;
  const listed = definition.catalogue.length > 1 ? await lists.customFields() : null;
  let isRefused = true;
  for (const entry of definition.catalogue) {
    const isComplete = listed?.every(
      ({ name }) => !name.startsWith(definition.customPrefix) || custom.some((known) => known.name === name),
    );
    const schema = !isRefused && isComplete === true ? null : await readCatalogueEntry(account, entry);
    if (schema === null) continue;
    isRefused = false;
    custom.push(...[...schema.body, ...schema.lines].filter((property) => property.custom));
  }
  if (!isRefused) return { source: 'catalogue', fields: distinct(custom.map(ofProperty)) };
  return listedFields(await lists.customFields());
}

function listedFields(listed: readonly ListedField[] | null): CustomFields {
  if (listed === null) return { source: null, fields: [] };
  return {
    source: 'custom field list',
    fields: distinct(listed.map(({ name, label, valueType }) => ofListed(name, label, valueType))),
  };
}

const named = recordTypeDefinitions.map(({ name }) => name);

/** Names a target only where it is a record type that is known by name, or a custom one. */
function ofProperty({ custom: _, target: entry, ...property }: CatalogueProperty): ColumnDefinition {
  const target = entry?.startsWith('custom') && entry.includes('_') ? entry : entry && toTarget(entry, named);
  return { ...property, volatile: false, excluded: null, ...(target && { target }) };
}

const ofListed = (name: string, label: string, valueType: string): ColumnDefinition => ({
  ...{ name, label, type: listedTypes[valueType] ?? 'text' },
  ...{ volatile: false, excluded: null },
});

export const bodyFields = ({ fields }: CustomFields, definition: RecordTypeDefinition): ColumnDefinition[] =>
  withPrefix(fields, definition.customPrefix);
export const lineFields = ({ fields }: CustomFields, { customPrefix }: LinesDefinition) =>
  customPrefix === null ? [] : withPrefix(fields, customPrefix);

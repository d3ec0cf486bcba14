// Finds the custom fields of an account: in the metadata catalogue, or in the list of custom fields where the catalogue is refused.
// These are candidates; only a probe shows whether a field can be read.
import { ErpError } from '../connector.ts';
import type { ColumnDefinition, LinesDefinition, RecordTypeDefinition } from './definition.ts';
import type { NetsuiteHttp } from './http.ts';
import { customFieldsQuery, isColumnName } from './queries.ts';
import { assertIdOrder } from './rows.ts';
import { maxRowsPerQuery, type Suiteql, type SuiteqlRow } from './suiteql.ts';

export type CustomFields = {
  /** Where they were found; null when this role may read neither. */
  readonly source: 'catalogue' | 'custom field list' | null;
  readonly fields: readonly ColumnDefinition[];
};

const withPrefix = (fields: readonly ColumnDefinition[], prefix: string): ColumnDefinition[] =>
  fields.filter(({ name }) => name.startsWith(prefix) && isColumnName(name));

/** Rejects with `ErpError` for an outage, a refused login or an unreadable response; a refusal to read either list is no error. */
export async function findCustomFields(
  http: NetsuiteHttp,
  suiteql: Suiteql,
  definition: RecordTypeDefinition,
  signal: AbortSignal,
): Promise<CustomFields> {
  const entries: readonly (readonly ColumnDefinition[] | null)[] = await Promise.all(
    definition.catalogue.map((entry) => nullWhenRefused(readCatalogue(http, entry, signal))),
  );
  const found = entries.filter((entry) => entry !== null);
  if (found.length > 0) return { source: 'catalogue', fields: distinct(found.flat()) };
  const listed = await nullWhenRefused(readList(suiteql, definition, signal));
  return listed === null ? { source: null, fields: [] } : { source: 'custom field list', fields: distinct(listed) };
}

/** Null where NetSuite refuses this role or fails on the request itself (UNEXPECTED_ERROR); an outage is still an error. */
async function nullWhenRefused<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    const refused =
      error instanceof ErpError && (error.kind === 'forbidden' || error.kind === 'query' || error.code === 'UNEXPECTED_ERROR');
    if (refused) return null;
    throw error;
  }
}

const distinct = (fields: readonly ColumnDefinition[]): ColumnDefinition[] =>
  [...new Map(fields.toReversed().map((field) => [field.name, field])).values()].toReversed();

export const bodyFields = ({ fields }: CustomFields, definition: RecordTypeDefinition): ColumnDefinition[] =>
  withPrefix(fields, definition.customPrefix);
export const lineFields = ({ fields }: CustomFields, { customPrefix }: LinesDefinition): ColumnDefinition[] =>
  customPrefix === null ? [] : withPrefix(fields, customPrefix);

async function readCatalogue(http: NetsuiteHttp, entry: string, signal: AbortSignal): Promise<ColumnDefinition[]> {
  const headers = { accept: 'application/schema+json' };
  const { json } = await http.send({ method: 'GET', path: `record/v1/metadata-catalog/${entry}`, headers, signal });
  return collectCustom(json);
}

type JsonObject = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every property marked as custom, at any depth: those of lines are nested in the sublists. */
function collectCustom(schema: unknown): ColumnDefinition[] {
  if (Array.isArray(schema)) return schema.flatMap(collectCustom);
  if (!isObject(schema)) return [];
  const own = isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  const found = own.flatMap(([name, property]) =>
    isObject(property) && property['x-ns-custom-field'] === true ? [describe(name, property)] : [],
  );
  return [...found, ...Object.values(schema).flatMap(collectCustom)];
}

function describe(name: string, property: JsonObject): ColumnDefinition {
  const title = property['title'];
  const label = typeof title === 'string' && title !== '' ? title : name;
  return { name: name.toLowerCase(), label, type: catalogueType(property), volatile: false, excluded: null };
}

function catalogueType(property: JsonObject): ColumnDefinition['type'] {
  const { type, format, properties, items } = property;
  if (typeof property['$ref'] === 'string') return 'reference';
  if (type === 'array' || items !== undefined) return 'text'; // several choices, joined by commas
  if (type === 'object' && isObject(properties)) {
    if (properties['items'] !== undefined) return 'text';
    return isObject(properties['id']) && properties['id']['enum'] !== undefined ? 'list' : 'reference';
  }
  if (type === 'object') return 'reference';
  if (format === 'date') return 'date';
  if (format === 'date-time') return 'time';
  if (type === 'boolean') return 'boolean';
  if (type === 'integer') return 'integer';
  return type === 'number' ? 'number' : 'text';
}

const listTypes: Readonly<Record<string, ColumnDefinition['type']>> = {
  'Decimal Number': 'number',
  Currency: 'number',
  Percent: 'number',
  'Integer Number': 'integer',
  'Check Box': 'boolean',
  Date: 'date',
  'Date/Time': 'time',
  'List/Record': 'reference',
  'Multiple Select': 'text',
};

async function readList(suiteql: Suiteql, definition: RecordTypeDefinition, signal: AbortSignal): Promise<ColumnDefinition[]> {
  const prefixes = [definition.customPrefix, definition.lines?.customPrefix ?? null].filter((prefix) => prefix !== null);
  const fields: ColumnDefinition[] = [];
  let afterId: string | null = null;
  for (let hasMore = true; hasMore; ) {
    const page = await suiteql.query(customFieldsQuery(prefixes, afterId), maxRowsPerQuery, signal);
    assertIdOrder(page.rows, { afterId });
    fields.push(...page.rows.map(describeListed));
    afterId = String(page.rows.at(-1)?.['id'] ?? afterId);
    hasMore = page.hasMore;
  }
  return fields;
}

function describeListed(row: SuiteqlRow): ColumnDefinition {
  const name = String(row['scriptid'] ?? '').toLowerCase();
  const type = listTypes[String(row['fieldvaluetype'] ?? '')] ?? 'text';
  return { name, label: String(row['name'] ?? name), type, volatile: false, excluded: null };
}

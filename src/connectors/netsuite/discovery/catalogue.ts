// The metadata catalogue of the record service: which record types there are, and the properties of one.
// Queries may lack any of them and have others: only a probe shows what can be read. See facts: a schema is
// JSON Schema draft 06 with NetSuite's own keys.
import { ErpError } from '../../connector.ts';
import type { NetsuiteHttp } from '../requests/http.ts';
import type { Suiteql } from '../requests/suiteql.ts';
import type { ColumnDefinition } from '../types/definition.ts';
import { todayQuery } from '../types/queries.ts';

export type AccountParts = {
  readonly http: NetsuiteHttp;
  readonly suiteql: Suiteql;
  readonly signal: AbortSignal;
};
export type CatalogueProperty = {
  /** The property's name in lower case, which is the column's name where queries have it. */
  readonly name: string;
  readonly label: string;
  readonly type: ColumnDefinition['type'];
  readonly custom: boolean;
  /** Only for a reference: the catalogue's name of the record type that it names. */
  readonly target?: string;
};
export type CatalogueSchema = {
  /** Properties of the record itself. */
  readonly body: readonly CatalogueProperty[];
  /** Properties of its sublists' lines, of all sublists together. */
  readonly lines: readonly CatalogueProperty[];
};

/**
 * What `ask` resolves to. An outage can look like the generic server error of a refusal: this rejects with it
 * only where NetSuite answers another query and fails on this request again.
 */
export async function confirmRefusal<T>(
  { suiteql, signal }: Omit<AccountParts, 'http'>,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ErpError) || error.code !== 'UNEXPECTED_ERROR') throw error;
  }
  await suiteql.query(todayQuery('SYSDATE'), 1, signal);
  return ask();
}

/**
 * Null where NetSuite refuses this role or fails on the request itself (UNEXPECTED_ERROR). Rejects for an
 * outage, a refused login or an unreadable response, as `ask` does.
 */
export async function nullWhenRefused<T>(
  at: Omit<AccountParts, 'http'>,
  ask: () => Promise<T>,
): Promise<T | null> {
  try {
    return await confirmRefusal(at, ask);
  } catch (error) {
    const refused =
      error instanceof ErpError &&
      (error.kind === 'forbidden' || error.kind === 'query' || error.code === 'UNEXPECTED_ERROR');
    if (refused) return null;
    throw error;
  }
}

/** The schema of one entry; null where it is refused or unknown. Rejects as `nullWhenRefused`. */
export async function readCatalogueEntry(
  parts: AccountParts,
  entry: string,
): Promise<CatalogueSchema | null> {
  const headers = { accept: 'application/schema+json' };
  const { http, signal } = parts;
  const path = `record/v1/metadata-catalog/${entry}`;
  const answer = await nullWhenRefused(parts, () => http.send({ method: 'GET', path, headers, signal }));
  return answer === null ? null : parseSchema(answer.json);
}

/** All names, as the catalogue spells them; null where it is refused. Rejects as `nullWhenRefused`. */
export async function listCatalogue(parts: AccountParts): Promise<readonly string[] | null> {
  const { http, signal } = parts;
  const answer = await nullWhenRefused(parts, () =>
    http.send({ method: 'GET', path: 'record/v1/metadata-catalog', signal }),
  );
  if (answer === null) return null;
  const items = isObject(answer.json) ? answer.json['items'] : undefined;
  return Array.isArray(items)
    ? items.flatMap((item: unknown) =>
        isObject(item) && typeof item['name'] === 'string' ? [item['name']] : [],
      )
    : [];
}

type JsonObject = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listProperties = (schema: unknown): readonly (readonly [string, JsonObject])[] =>
  isObject(schema) && isObject(schema['properties'])
    ? Object.entries(schema['properties']).flatMap(([name, property]) =>
        isObject(property) ? [[name, property] as const] : [],
      )
    : [];

/**
 * What the entries of a collection have, at any depth: of a sublist its lines' properties, of a multiple
 * select an id and a name.
 */
const entryProperties = (property: JsonObject): readonly (readonly [string, JsonObject])[] => {
  const items = isObject(property['properties']) ? property['properties']['items'] : undefined;
  return isObject(items) ? listProperties(items['items']) : [];
};

const ofChoice: ReadonlySet<string> = new Set(['id', 'refName', 'links']);
const isSublist = (property: JsonObject) => entryProperties(property).some(([name]) => !ofChoice.has(name));

function parseSchema(schema: unknown): CatalogueSchema {
  const own = listProperties(schema);
  const body = own
    .filter(([, property]) => !isSublist(property))
    .map(([name, property]) => toProperty(name, property));
  const lines = own.flatMap(([, property]) => (isSublist(property) ? listLineProperties(property) : []));
  return { body: distinct(body), lines: distinct(lines) };
}

/** A line may have sublists of its own. */
const listLineProperties = (sublist: JsonObject): CatalogueProperty[] =>
  entryProperties(sublist).flatMap(([name, property]) =>
    isSublist(property) ? listLineProperties(property) : [toProperty(name, property)],
  );

/** Each name once, the first of those with the same name. */
export const distinct = <N extends { readonly name: string }>(all: readonly N[]): N[] =>
  [...new Map(all.toReversed().map((each) => [each.name, each])).values()].toReversed();

function toProperty(name: string, property: JsonObject): CatalogueProperty {
  const { title } = property;
  const target = /\/metadata-catalog\/(\w+)$/.exec(String(property['$ref'] ?? ''))?.[1];
  return {
    name: name.toLowerCase(),
    label: typeof title === 'string' && title !== '' ? title : name,
    type: toType(property),
    custom: property['x-ns-custom-field'] === true,
    ...(target !== undefined && { target }),
  };
}

function toType(property: JsonObject): CatalogueProperty['type'] {
  const { type, format, properties, items } = property;
  if (typeof property['$ref'] === 'string') return 'reference';
  if (type === 'array' || items !== undefined) return 'text';
  if (type === 'object' && isObject(properties)) {
    if (properties['items'] !== undefined) return 'multiselect';
    return isObject(properties['id']) && properties['id']['enum'] !== undefined ? 'list' : 'reference';
  }
  if (type === 'object') return 'reference';
  if (format === 'date') return 'date';
  if (format === 'date-time') return 'time';
  if (type === 'boolean' || type === 'integer' || type === 'number') return type;
  return 'text';
}

// Generates an example value from a schema of the OpenAPI document, so that every response has an example
// without hand-written ones. A schema may give a better one itself: `meta({ example })`.
import type { ReferenceObject, SchemaObject } from 'openapi3-ts/oas30';

export type Components = ReadonlyMap<string, SchemaObject>;

export const exampleId = '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21';
const byFormat: Readonly<Record<string, string>> = {
  uuid: exampleId,
  'date-time': '2026-03-02T10:00:00Z',
  date: '2026-03-02',
  email: 'owner@acme.example',
  uri: 'https://portal.acme.example',
  url: 'https://portal.acme.example',
  hostname: 'portal.acme.example',
};
/** By field name, where it says more than the type. */
const byName: Readonly<Record<string, string>> = {
  email: 'owner@acme.example',
  hostname: 'portal.acme.example',
  slug: 'acme',
  name: 'Acme',
  label: 'Acme',
  recordType: 'invoice',
  timezone: 'Europe/London',
  schedule: '*/15 * * * *',
  prefix: 'psk_4fK2mQ9x',
  ip: '192.0.2.10',
  accountId: '1234567',
  version: 'v1',
  code: 'example',
};
/** Tried in order when the value must match a pattern. */
const candidates = [
  'v1',
  'acme',
  'invoice',
  'Acme',
  '1234567',
  '1',
  '0.02',
  'owner:read',
  'portal.acme.example',
  '12:00',
  '#336699',
];

const maxDepth = 12;

function exampleText(schema: SchemaObject, name: string): string {
  const first = byFormat[schema.format ?? ''] ?? byName[name] ?? 'text';
  const fits = (text: string): boolean =>
    (schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(text)) &&
    text.length >= (schema.minLength ?? 0) &&
    text.length <= (schema.maxLength ?? Number.POSITIVE_INFINITY);
  const found = [first, ...candidates, 'x'.repeat(schema.minLength ?? 0)].find(fits);
  if (found === undefined)
    throw new Error(
      `no example can be generated for ${name} (${schema.pattern ?? 'text'}); add meta({ example }) to its schema`,
    );
  return found;
}

function exampleNumber({ minimum, maximum, exclusiveMinimum }: SchemaObject): number {
  const low = (minimum ?? Number.NEGATIVE_INFINITY) + (exclusiveMinimum === true ? 1 : 0);
  return Math.min(Math.max(1, low), maximum ?? Number.POSITIVE_INFINITY);
}

function exampleObject(schema: SchemaObject, components: Components, depth: number): Record<string, unknown> {
  const of = ([name, part]: [string, SchemaObject | ReferenceObject]) =>
    [name, buildExample(part, components, name, depth + 1)] as const;
  return Object.fromEntries(Object.entries(schema.properties ?? {}).map(of));
}

/**
 * A value that the schema allows. Throws when a reference is unknown, or when no candidate fits a string's
 * pattern and length.
 */
export function buildExample(
  schema: SchemaObject | ReferenceObject,
  components: Components,
  name = '',
  depth = 0,
): unknown {
  if ('$ref' in schema) {
    const held = components.get(schema.$ref.replace('#/components/schemas/', ''));
    if (held === undefined) throw new Error(`unknown schema reference ${schema.$ref}`);
    return buildExample(held, components, name, depth + 1);
  }
  if (schema.example !== undefined) return schema.example;
  if (schema.enum !== undefined) return schema.enum[0];
  if (depth > maxDepth && schema.nullable === true) return null;
  const [choice] = schema.oneOf ?? schema.anyOf ?? [];
  if (choice !== undefined) return buildExample(choice, components, name, depth + 1);
  if (schema.allOf !== undefined) {
    const parts = schema.allOf.map((part) => buildExample(part, components, name, depth + 1));
    return parts.length === 1 ? parts[0] : Object.assign({}, ...parts);
  }
  if (schema.type === 'string') return exampleText(schema, name);
  if (schema.type === 'integer' || schema.type === 'number') return exampleNumber(schema);
  if (schema.type === 'boolean') return true;
  if (schema.type === 'array')
    return depth > maxDepth || schema.items === undefined || schema.maxItems === 0
      ? []
      : [buildExample(schema.items, components, name, depth + 1)];
  return exampleObject(schema, components, depth);
}

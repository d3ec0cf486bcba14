// Turns zod schemas into schemas of OpenAPI 3.0. A schema with an id (`meta({ id })`) becomes a component.
import type { SchemaObject } from 'openapi3-ts/oas30';
import { z } from 'zod';

type Json = Record<string, unknown>;

/** A field's own `openapi` metadata replaces what zod generates for its transforms. */
function tidy(schema: Json): void {
  const wire = schema['openapi'];
  if (typeof wire === 'object' && wire !== null) {
    for (const key of Object.keys(schema)) delete schema[key];
    Object.assign(schema, wire);
  }
  for (const key of ['$schema', 'id', '~standard']) delete schema[key];
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
}

/** Moves named schemas to the components and replaces them with references. */
function hoist(value: unknown, components: Map<string, SchemaObject>): unknown {
  if (Array.isArray(value)) return value.map((item) => hoist(item, components));
  if (typeof value !== 'object' || value === null) return value;
  const { $defs, definitions, ...rest } = value as Json;
  // OpenAPI 3.0 allows `nullable` only together with `type`; named schemas and unions are all of objects.
  const isOfObjects = rest['allOf'] !== undefined || rest['oneOf'] !== undefined;
  if (rest['nullable'] === true && isOfObjects) rest['type'] ??= 'object';
  for (const [name, part] of Object.entries({
    ...(definitions as Json | undefined),
    ...($defs as Json | undefined),
  })) {
    if (!components.has(name)) components.set(name, hoist(part, components) as SchemaObject);
  }
  const ref = rest['$ref'];
  if (typeof ref === 'string')
    return { $ref: ref.replace(/^#\/(\$defs|definitions)\//, '#/components/schemas/') };
  return Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, hoist(item, components)]));
}

/** Adds the named schemas that it finds to `components`. */
export function toSchema(
  schema: z.ZodType,
  io: 'input' | 'output',
  components: Map<string, SchemaObject>,
): SchemaObject {
  const made = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => tidy(jsonSchema as Json),
  });
  // Responses may get new fields, so clients must not reject unknown ones.
  return hoist(io === 'output' ? withOpenObjects(made) : made, components) as SchemaObject;
}

function withOpenObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withOpenObjects);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) => !(key === 'additionalProperties' && item === false))
      .map(([key, item]) => [key, withOpenObjects(item)]),
  );
}

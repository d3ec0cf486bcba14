// Reads route values into an OpenAPI 3.0.3 document. A shape that names itself (`meta({id})`) becomes a component.
import { OpenApiBuilder, type OperationObject, type ParameterObject, type ResponsesObject, type SchemaObject } from 'openapi3-ts/oas30';
import { z } from 'zod';
import { errorStatus } from '../core/errors.ts';
import { type AnyRoute, goodStatus, type RouteGroup } from './route.ts';

type Json = Record<string, unknown>;

/** Where a field says how it looks on the wire, that wins over what zod makes of its transforms. */
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

/** Moves named parts to the components and points at them there. */
function hoist(value: unknown, components: Map<string, SchemaObject>): unknown {
  if (Array.isArray(value)) return value.map((item) => hoist(item, components));
  if (typeof value !== 'object' || value === null) return value;
  const { $defs, definitions, ...rest } = value as Json;
  // OpenAPI 3.0 lets only a typed schema be null; what is named here is always an object.
  if (rest['nullable'] === true && rest['allOf'] !== undefined) rest['type'] ??= 'object';
  for (const [name, part] of Object.entries({ ...(definitions as Json | undefined), ...($defs as Json | undefined) })) {
    if (!components.has(name)) components.set(name, hoist(part, components) as SchemaObject);
  }
  const ref = rest['$ref'];
  if (typeof ref === 'string') return { $ref: ref.replace(/^#\/(\$defs|definitions)\//, '#/components/schemas/') };
  return Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, hoist(item, components)]));
}

function toSchema(schema: z.ZodType, io: 'input' | 'output', components: Map<string, SchemaObject>): SchemaObject {
  const made = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => tidy(jsonSchema as Json),
  });
  // An answer may grow new fields: a client must not refuse them.
  return hoist(io === 'output' ? withoutClosing(made) : made, components) as SchemaObject;
}

function withoutClosing(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutClosing);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) => !(key === 'additionalProperties' && item === false))
      .map(([key, item]) => [key, withoutClosing(item)]),
  );
}

function parameters(place: 'path' | 'query', shape: z.ZodObject | undefined, components: Map<string, SchemaObject>): ParameterObject[] {
  return Object.entries(shape?.shape ?? {}).map(([name, field]) => {
    const schema = toSchema(field as z.ZodType, 'input', components);
    const description = (schema as Json)['description'];
    return { name, in: place, required: place === 'path', schema, ...(typeof description === 'string' && { description }) };
  });
}

const errorResponse = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
});

function responses(route: AnyRoute, components: Map<string, SchemaObject>): ResponsesObject {
  const good =
    route.response === undefined
      ? { description: 'Done' }
      : { description: 'Good answer', content: { 'application/json': { schema: toSchema(route.response, 'output', components) } } };
  if (route.access === 'public') return { [goodStatus(route)]: good, 400: errorResponse("The request can't be read") };
  const takesInput = route.params !== undefined || route.query !== undefined || route.body !== undefined;
  return {
    [goodStatus(route)]: good,
    ...(takesInput && { 400: errorResponse("The request can't be read") }),
    401: errorResponse('Missing or invalid authentication'),
    ...(route.permission !== 'any' && { 403: errorResponse(`The permission ${route.permission} is missing`) }),
    ...(route.path.includes('{') && { 404: errorResponse('It does not exist, or belongs to another organization') }),
    ...((route.body !== undefined || route.method === 'POST') && { 422: errorResponse('The body breaks a rule, or the state forbids it') }),
    429: {
      ...errorResponse('Too many requests'),
      headers: { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait' } },
    },
    500: errorResponse('Something went wrong here'),
  };
}

function operation(route: AnyRoute, components: Map<string, SchemaObject>): OperationObject {
  const common = {
    operationId: route.id,
    summary: route.summary,
    tags: [route.group],
    ...(route.description !== undefined && { description: route.description }),
  };
  if (route.access === 'public') return { ...common, security: [], responses: responses(route, components) };
  const inputs = [...parameters('path', route.params, components), ...parameters('query', route.query, components)];
  if (route.method === 'POST') {
    inputs.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      schema: { type: 'string', maxLength: 255 },
      description: 'The same key and body give the stored answer for 24 h',
    });
  }
  return {
    ...common,
    ...(route.permission !== 'any' && { 'x-permission': route.permission }),
    ...(inputs.length > 0 && { parameters: inputs }),
    ...(route.body !== undefined && {
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: toSchema(route.body, 'input', components),
            ...(route.example !== undefined && { example: route.example }),
          },
        },
      },
    }),
    responses: responses(route, components),
  };
}

const errorSchema: SchemaObject = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'requestId'],
      properties: {
        code: { type: 'string', enum: Object.keys(errorStatus) },
        message: { type: 'string' },
        details: {
          type: 'array',
          items: {
            type: 'object',
            required: ['path', 'code', 'message'],
            properties: { path: { type: 'string' }, code: { type: 'string' }, message: { type: 'string' } },
          },
        },
        requestId: { type: 'string' },
      },
    },
  },
};

export function describeRoutes(
  routes: readonly AnyRoute[],
  base: { title: string; version: string; description: string; serverUrl: string; groups: Readonly<Record<RouteGroup, string>> },
): Json {
  const builder = OpenApiBuilder.create()
    .addOpenApiVersion('3.0.3')
    .addInfo({
      title: base.title,
      version: base.version,
      description: base.description,
      license: { name: 'Proprietary', url: `${base.serverUrl}/openapi` },
    })
    .addServer({ url: base.serverUrl })
    .addSecurityScheme('bearer', { type: 'http', scheme: 'bearer', description: 'An API key (`psk_…`) or an OAuth 2.0 access token' })
    .addSecurityScheme('session', {
      type: 'apiKey',
      in: 'cookie',
      name: 'portal_session',
      description: 'The cookie of a person who signed in at /auth/login. Requests that change something need the `Origin` of this service.',
    })
    .addSchema('Error', errorSchema);
  for (const name of new Set(routes.map(({ group }) => group))) builder.addTag({ name, description: base.groups[name] });
  const components = new Map<string, SchemaObject>();
  const paths = new Map<string, Record<string, OperationObject>>();
  for (const route of routes)
    paths.set(route.path, { ...paths.get(route.path), [route.method.toLowerCase()]: operation(route, components) });
  for (const [path, item] of paths) builder.addPath(path, item);
  for (const [name, schema] of components) builder.addSchema(name, schema);
  builder.rootDoc.security = [{ bearer: [] }, { session: [] }];
  return builder.getSpec() as unknown as Json;
}

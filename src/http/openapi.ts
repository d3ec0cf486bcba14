// Reads route values into an OpenAPI 3.0.3 document. A shape that names itself (`meta({id})`) becomes a component.
import { OpenApiBuilder, type OperationObject, type ParameterObject, type ResponsesObject, type SchemaObject } from 'openapi3-ts/oas30';
import { z } from 'zod';
import { exampleOf } from './openapi-example.ts';
import {
  describeOperation,
  describeParameter,
  errorResponses,
  errorSchema,
  goodHeaders,
  headers,
  sharedResponses,
} from './openapi-parts.ts';
import { type AnyRoute, goodStatus, type PublicRoute, type RouteGroup } from './route.ts';

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
    const { description, ...schema } = toSchema(field as z.ZodType, 'input', components);
    const example = place === 'path' ? { example: exampleOf(schema, components, name) } : {};
    return { name, in: place, required: place === 'path', description: description ?? describeParameter(place, name), schema, ...example };
  });
}

/** The form of an event stream is told in words and by an example: OpenAPI 3.0 has no schema for its events. */
function streamContent(route: AnyRoute, components: Map<string, SchemaObject>) {
  if (route.access === 'public' || route.stream === undefined) return {};
  const { description, events } = route.stream;
  const names = Object.entries(events).map(([event, schema]) => {
    const { $ref } = toSchema(schema, 'output', components) as { $ref?: string };
    return `\`${event}\`${$ref === undefined ? '' : ` (${$ref.split('/').at(-1)})`}`;
  });
  const example = Object.entries(events).map(
    ([event, schema]) => `event: ${event}\ndata: ${JSON.stringify(exampleOf(toSchema(schema, 'output', components), components))}\n\n`,
  );
  const words = `${description} Events: ${names.join(', ')}; \`error\` (Error) where it breaks off.`;
  return { 'text/event-stream': { schema: { type: 'string' as const, description: words }, example: example.join('') } };
}

function downloadContent(route: AnyRoute) {
  if (route.access === 'public' || route.download === undefined) return {};
  const { mediaType, description, example } = route.download;
  return { [mediaType]: { schema: { type: 'string' as const, description }, example } };
}

function responses(route: AnyRoute, components: Map<string, SchemaObject>): ResponsesObject {
  const errors = errorResponses(route);
  if (route.response === undefined) return { 204: { description: 'Done', headers: goodHeaders(route) }, ...errors };
  const schema = toSchema(route.response, 'output', components);
  const example = route.responseExample ?? exampleOf(schema, components);
  return {
    [goodStatus(route)]: {
      description: goodStatus(route) === 202 ? 'Begun; it goes on behind this answer' : 'Good answer',
      headers: goodHeaders(route),
      content: { 'application/json': { schema, example }, ...streamContent(route, components), ...downloadContent(route) },
    },
    ...errors,
  };
}

/** What a webhook takes; its body is the sender's own. */
function openInputs({ params, maxBodyBytes }: PublicRoute, components: Map<string, SchemaObject>) {
  if (maxBodyBytes === undefined) return {};
  const schema = { type: 'object' as const, description: `In the words of who sends it, at most ${maxBodyBytes} bytes` };
  return {
    parameters: parameters('path', params, components),
    requestBody: { required: true, content: { 'application/json': { schema, example: {} } } },
  };
}

function operation(route: AnyRoute, components: Map<string, SchemaObject>): OperationObject {
  const common = {
    operationId: route.id,
    summary: route.summary,
    description: describeOperation(route),
    tags: [route.group],
  };
  if (route.access === 'public')
    return { ...common, ...openInputs(route, components), security: [], responses: responses(route, components) };
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
  if (route.method === 'GET' && route.stream !== undefined) {
    inputs.push({
      name: 'Last-Event-ID',
      in: 'header',
      required: false,
      schema: { type: 'string', maxLength: 100 },
      description: 'Where a stream goes on: the id of the last event that was seen',
    });
  }
  return {
    ...common,
    'x-required-permission': route.permission,
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
      contact: { name: base.title.split(':')[0] ?? base.title, url: `${base.serverUrl}/openapi/preview` },
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
  for (const [name, header] of Object.entries(headers)) builder.addHeader(name, header);
  for (const [name, response] of Object.entries(sharedResponses)) builder.addResponse(name, response);
  const used = new Set(routes.map(({ group }) => group));
  for (const [name, description] of Object.entries(base.groups)) {
    if (used.has(name as RouteGroup)) builder.addTag({ name, description });
  }
  const components = new Map<string, SchemaObject>();
  const paths = new Map<string, Record<string, OperationObject>>();
  for (const route of routes)
    paths.set(route.path, { ...paths.get(route.path), [route.method.toLowerCase()]: operation(route, components) });
  for (const [path, item] of paths) builder.addPath(path, item);
  for (const [name, schema] of components) builder.addSchema(name, schema);
  builder.rootDoc.security = [{ bearer: [] }, { session: [] }];
  return builder.getSpec() as unknown as Json;
}

// Generates an OpenAPI 3.0.3 document from route values.
import {
  OpenApiBuilder,
  type OperationObject,
  type ParameterObject,
  type ResponsesObject,
  type SchemaObject,
} from 'openapi3-ts/oas30';
import type { z } from 'zod';
import {
  type AnyRoute,
  downloadTypes,
  type PublicRoute,
  type Route,
  type RouteGroup,
  successStatus,
} from '../route/route.ts';
import { buildExample } from './example.ts';
import {
  componentHeaders,
  componentResponses,
  errorResponses,
  errorSchema,
  operationDescription,
  parameterDescription,
  successHeaders,
} from './responses.ts';
import { toSchema } from './schema.ts';

type Json = Record<string, unknown>;

function parameters(
  location: 'path' | 'query',
  shape: z.ZodObject | undefined,
  components: Map<string, SchemaObject>,
): ParameterObject[] {
  return Object.entries(shape?.shape ?? {}).map(([name, field]) => {
    const { description, ...schema } = toSchema(field as z.ZodType, 'input', components);
    const example = location === 'path' ? { example: buildExample(schema, components, name) } : {};
    return {
      name,
      in: location,
      required: location === 'path',
      description: description ?? parameterDescription(location, name),
      schema,
      ...example,
    };
  });
}

/** Describes an event stream in words and by an example, since OpenAPI 3.0 has no schema for events. */
function streamContent(route: AnyRoute, components: Map<string, SchemaObject>) {
  if (route.access === 'public' || route.stream === undefined) return {};
  const { description, events } = route.stream;
  const names = Object.entries(events).map(([event, schema]) => {
    const { $ref } = toSchema(schema, 'output', components) as { $ref?: string };
    return `\`${event}\`${$ref === undefined ? '' : ` (${$ref.split('/').at(-1)})`}`;
  });
  const example = Object.entries(events).map(
    ([event, schema]) =>
      `event: ${event}\ndata: ${JSON.stringify(buildExample(toSchema(schema, 'output', components), components))}\n\n`,
  );
  const text = `${description} Events: ${names.join(', ')}; \`error\` (ErrorResponse) when the stream fails.`;
  return {
    'text/event-stream': {
      schema: { type: 'string' as const, description: text },
      example: example.join(''),
    },
  };
}

function downloadContent(route: AnyRoute) {
  if (route.access === 'public' || route.download === undefined) return {};
  const { forms, description, example } = route.download;
  return Object.fromEntries(
    forms.map((form) => [
      downloadTypes[form],
      form === 'csv'
        ? { schema: { type: 'string' as const, description }, example }
        : { schema: { type: 'string' as const, format: 'binary' } },
    ]),
  );
}

const successTexts: Readonly<Record<number, string>> = {
  201: 'Created',
  202: 'Accepted; processing continues',
};

function responses(route: AnyRoute, components: Map<string, SchemaObject>): ResponsesObject {
  const errors = errorResponses(route);
  if (route.response === undefined)
    return { 204: { description: 'Success; no content', headers: successHeaders(route) }, ...errors };
  const schema = toSchema(route.response, 'output', components);
  const example = route.responseExample ?? buildExample(schema, components);
  return {
    [successStatus(route)]: {
      description: successTexts[successStatus(route)] ?? 'Success',
      headers: successHeaders(route),
      content: {
        'application/json': { schema, example },
        ...streamContent(route, components),
        ...downloadContent(route),
      },
    },
    ...errors,
  };
}

/** The inputs of a webhook; the sender defines its body. */
function webhookInputs({ params, maxBodyBytes }: PublicRoute, components: Map<string, SchemaObject>) {
  if (maxBodyBytes === undefined) return {};
  const schema = {
    type: 'object' as const,
    description: `The event as the sender defines it, at most ${maxBodyBytes} bytes`,
  };
  return {
    parameters: parameters('path', params, components),
    requestBody: { required: true, content: { 'application/json': { schema, example: {} } } },
  };
}

const headerParameter = (name: string, schema: SchemaObject, description: string): ParameterObject => ({
  name,
  in: 'header',
  required: false,
  schema,
  description,
});

const headerParameters = ({ method, stream, download }: Route): ParameterObject[] => [
  ...(method === 'POST'
    ? [
        headerParameter(
          'Idempotency-Key',
          { type: 'string', maxLength: 255 },
          'Makes retries safe: for 24 hours, a request with the same key and body gets the stored response of the first one.',
        ),
      ]
    : []),
  ...(method === 'GET' && stream !== undefined
    ? [
        headerParameter(
          'Last-Event-ID',
          { type: 'string', maxLength: 100 },
          'Resumes a stream: the id of the last event received',
        ),
      ]
    : []),
  ...(download?.resumes === true
    ? [
        headerParameter(
          'X-Resume-At',
          { type: 'integer', minimum: 0 },
          'Continues a file that broke off: leaves out as many bytes as were received of it. Needs `If-Match`',
        ),
        headerParameter(
          'If-Match',
          { type: 'string' },
          'The `ETag` of the file that broke off. Returns 412 when the data changed since',
        ),
      ]
    : []),
];

function operation(route: AnyRoute, components: Map<string, SchemaObject>): OperationObject {
  const common = {
    operationId: route.id,
    summary: route.summary,
    description: operationDescription(route),
    tags: [route.group],
  };
  if (route.access === 'public')
    return {
      ...common,
      ...webhookInputs(route, components),
      security: [],
      responses: responses(route, components),
    };
  const inputs = [
    ...parameters('path', route.params, components),
    ...parameters('query', route.query, components),
    ...headerParameters(route),
  ];
  return {
    ...common,
    'x-required-permission': route.permission,
    ...(inputs.length > 0 && { parameters: inputs }),
    ...(route.body !== undefined && {
      requestBody: {
        // An absent body is read as an empty object.
        required: !route.body.safeParse({}).success,
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

type DocumentBase = {
  title: string;
  version: string;
  description: string;
  serverUrl: string;
  sessionCookie: string;
  groups: Readonly<Record<RouteGroup, string>>;
};

const createBuilder = (base: DocumentBase): OpenApiBuilder =>
  OpenApiBuilder.create()
    .addOpenApiVersion('3.0.3')
    .addInfo({
      title: base.title,
      version: base.version,
      description: base.description,
      contact: { name: base.title.split(':')[0] ?? base.title, url: `${base.serverUrl}/openapi/preview` },
      license: { name: 'Proprietary', url: `${base.serverUrl}/openapi` },
    })
    .addServer({ url: base.serverUrl })
    .addSecurityScheme('bearer', {
      type: 'http',
      scheme: 'bearer',
      description: 'An API key (`psk_…`) or an OAuth 2.0 access token',
    })
    .addSecurityScheme('session', {
      type: 'apiKey',
      in: 'cookie',
      name: base.sessionCookie,
      description:
        'The session cookie set by signing in at /auth/login. Requests that change something must send the `Origin` of this service.',
    })
    .addSchema('ErrorResponse', errorSchema);

/** The OpenAPI document of the routes. Throws when no example can be generated for a schema. */
export function describeRoutes(routes: readonly AnyRoute[], base: DocumentBase): Json {
  const builder = createBuilder(base);
  for (const [name, header] of Object.entries(componentHeaders)) builder.addHeader(name, header);
  for (const [name, response] of Object.entries(componentResponses)) builder.addResponse(name, response);
  const used = new Set(routes.map(({ group }) => group));
  for (const [name, description] of Object.entries(base.groups)) {
    if (used.has(name as RouteGroup)) builder.addTag({ name, description });
  }
  const components = new Map<string, SchemaObject>();
  const paths = new Map<string, Record<string, OperationObject>>();
  for (const route of routes)
    paths.set(route.path, {
      ...paths.get(route.path),
      [route.method.toLowerCase()]: operation(route, components),
    });
  for (const [path, item] of paths) builder.addPath(path, item);
  for (const [name, schema] of components) builder.addSchema(name, schema);
  builder.rootDoc.security = [{ bearer: [] }, { session: [] }];
  return { ...builder.getSpec() };
}

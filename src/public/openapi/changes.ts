// Describes the operation that lists the changes of a resource.
import type { oas31 } from 'openapi3-ts';
import type { EndpointNames } from './names.ts';
import { changesHeaders, errorRefs, jsonResponse } from './parts.ts';

const since: oas31.ParameterObject = {
  name: 'since',
  in: 'query',
  description: 'The `next` of the previous response of this URL. Omit it to start from the beginning.',
  schema: { type: 'string', minLength: 1 },
};
const limit: oas31.ParameterObject = {
  name: 'limit',
  in: 'query',
  description:
    'Maximum number of changes per response; large records make it fewer. Values above 1000 are rejected.',
  schema: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
};

const lastEventId: oas31.ParameterObject = {
  name: 'Last-Event-ID',
  in: 'header',
  description:
    'For event streams: the `id` of the last event received. The stream goes on behind it, whatever `since` is.',
  schema: { type: 'string' },
};

/** The same changes as a stream of events, for clients that accept it. */
const withEvents = (page: oas31.ResponseObject): oas31.ResponseObject => ({
  ...page,
  description:
    'A page of changes. With `Accept: text/event-stream`, an event `changed` each time that there are more changes, without their records.',
  content: {
    ...page.content,
    'text/event-stream': {
      schema: {
        type: 'string',
        description:
          'The data of an event is JSON with `version`, `resource`, `generation` and `next`, the address of the changes. Its `id` is for `Last-Event-ID`. Blocks without data are no events.',
      },
    },
  },
});

const change = (
  op: string,
  description: string,
  record: oas31.SchemaObject | oas31.ReferenceObject,
): oas31.SchemaObject => ({
  type: 'object',
  description,
  required: ['op', 'id', 'at', 'record'],
  properties: {
    op: { type: 'string', const: op },
    id: { type: 'string', description: 'Id of the record in the ERP.' },
    at: { type: 'string', format: 'date-time', description: 'When this service published the change.' },
    record,
  },
});

function addNamed(
  builder: oas31.OpenApiBuilder,
  name: string,
  schema: oas31.SchemaObject,
): oas31.ReferenceObject {
  builder.addSchema(name, schema);
  return { $ref: `#/components/schemas/${name}` };
}

const buildPageSchema = (items: oas31.ReferenceObject): oas31.SchemaObject => ({
  type: 'object',
  required: ['data', 'next', 'hasMore'],
  properties: {
    data: { type: 'array', maxItems: 1_000, items },
    next: { type: 'string', description: 'Pass it as `since` in the next request.' },
    hasMore: { type: 'boolean', description: 'Whether more changes are available now.' },
  },
});

/** Adds the path `/changes` of a resource and the components of its changes to the document. */
export function addChanges(
  builder: oas31.OpenApiBuilder,
  version: string,
  name: string,
  { operations, components, summaries }: EndpointNames,
  { example, hasEvents }: { readonly example: unknown; readonly hasEvents: boolean },
): void {
  const record = { $ref: `#/components/schemas/${components.record}` };
  const kinds = {
    upsert: addNamed(
      builder,
      components.upsert,
      change('upsert', 'The record was created or updated; `record` is its current state.', record),
    ),
    delete: addNamed(
      builder,
      components.deletion,
      change('delete', 'The record was deleted.', { type: 'null' }),
    ),
  };
  builder.addSchema(components.change, {
    oneOf: Object.values(kinds),
    discriminator: { propertyName: 'op', mapping: { upsert: kinds.upsert.$ref, delete: kinds.delete.$ref } },
  });
  const page = jsonResponse(
    'A page of changes.',
    changesHeaders,
    buildPageSchema({ $ref: `#/components/schemas/${components.change}` }),
    {
      data: [{ op: 'upsert', id: '1042', at: '2026-01-31T10:00:00Z', record: example }],
      next: 'WyJ…',
      hasMore: false,
    },
  );
  builder.addPath(`/${version}/${name}/changes`, {
    get: {
      operationId: operations.changes,
      tags: [name],
      summary: summaries.changes,
      description:
        'Returns each changed record once, at its latest change, in the order of the syncs. To mirror the list, start without `since` and follow `next`.',
      parameters: [
        since,
        limit,
        ...(hasEvents ? [lastEventId] : []),
        { $ref: '#/components/parameters/ifNoneMatch' },
      ],
      responses: {
        200: hasEvents ? withEvents(page) : page,
        ...errorRefs,
      },
    },
  });
}

// Describes the operation that lists what changed in a resource.
import type { oas31 } from 'openapi3-ts';
import { changesHeaders, errorRefs, jsonResponse } from './openapi-parts.ts';

const since: oas31.ParameterObject = {
  name: 'since',
  in: 'query',
  description: 'The `next` of the answer before; only of this very address. Without it the changes begin at the start.',
  schema: { type: 'string', minLength: 1 },
};
const limit: oas31.ParameterObject = {
  name: 'limit',
  in: 'query',
  description: 'Changes per answer. More than 1000 is refused.',
  schema: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
};

const change = (op: string, description: string, record: oas31.SchemaObject | oas31.ReferenceObject): oas31.SchemaObject => ({
  type: 'object',
  description,
  required: ['op', 'id', 'at', 'record'],
  properties: {
    op: { type: 'string', const: op },
    id: { type: 'string', description: "The record's id in the ERP." },
    at: { type: 'string', format: 'date-time', description: 'When this service took the change over.' },
    record,
  },
});

function addNamed(builder: oas31.OpenApiBuilder, name: string, schema: oas31.SchemaObject): oas31.ReferenceObject {
  builder.addSchema(name, schema);
  return { $ref: `#/components/schemas/${name}` };
}

export function addChanges(builder: oas31.OpenApiBuilder, version: string, name: string, typeName: string, example: unknown): void {
  const record = { $ref: `#/components/schemas/${typeName}Record` };
  const kinds = {
    upsert: addNamed(builder, `${typeName}Upsert`, change('upsert', 'New or changed: the whole record as it is now.', record)),
    delete: addNamed(builder, `${typeName}Deletion`, change('delete', 'Gone.', { type: 'null' })),
  };
  builder.addSchema(`${typeName}Change`, {
    oneOf: Object.values(kinds),
    discriminator: { propertyName: 'op', mapping: { upsert: kinds.upsert.$ref, delete: kinds.delete.$ref } },
  });
  builder.addPath(`/${version}/${name}/changes`, {
    get: {
      operationId: `list${typeName}Changes`,
      tags: [name],
      summary: `What changed in ${name}`,
      description:
        'In the order of the syncs, each record once at its latest change. Whoever begins without `since` and follows `next` holds what the list holds.',
      parameters: [since, limit, { $ref: '#/components/parameters/ifNoneMatch' }],
      responses: {
        200: jsonResponse(
          'Changes since then.',
          changesHeaders,
          {
            type: 'object',
            required: ['data', 'next', 'hasMore'],
            properties: {
              data: { type: 'array', maxItems: 1_000, items: { $ref: `#/components/schemas/${typeName}Change` } },
              next: { type: 'string', description: 'To be sent as `since` with the next request.' },
              hasMore: { type: 'boolean', description: 'Whether there are more changes already.' },
            },
          },
          { data: [{ op: 'upsert', id: '1042', at: '2026-01-31T10:00:00Z', record: example }], next: 'WyJ…', hasMore: false },
        ),
        ...errorRefs,
      },
    },
  });
}

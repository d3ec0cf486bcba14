// Writes the OpenAPI 3.1 description of one version. It is made once, when the version is published, and its text is kept for
// good; so nothing here may depend on time, place or the process.
import { oas31 } from 'openapi3-ts';
import { type Comparable, compareVersions } from './compare.ts';
import { addChanges } from './openapi-changes.ts';
import { exampleRecord, filterParameters, recordSchema } from './openapi-fields.ts';
import {
  answerHeaders,
  errorRefs,
  headers,
  introduction,
  jsonResponse,
  listHeaders,
  securitySchemes,
  sharedResponses,
  sharedSchemas,
} from './openapi-parts.ts';
import type { EndpointDefinition } from './schema-document.ts';

export type Described = Comparable & {
  readonly version: string;
  readonly name: string;
  readonly notes: string;
  readonly draft: boolean;
  /** The version before, to tell what changed; null for the first. */
  readonly previous: (Comparable & { readonly version: string }) | null;
};

/** JSON text, the same for the same input. */
export function describeVersion(described: Described): string {
  const { version, name, notes, previous, endpoints } = described;
  const builder = oas31.OpenApiBuilder.create({
    openapi: '3.1.0',
    info: {
      title: name === '' ? `Public interface ${version}` : name,
      version: described.draft ? `${version}-draft` : version,
      description: introduction(notes, previous?.version ?? null, previous === null ? [] : compareVersions(previous, described)),
      license: { name: 'For customers of this service', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: '/api/public', description: 'This service' }],
    security: [{ apiKey: [], tenant: [] }],
    tags: endpoints.map((endpoint) => ({
      name: endpoint.name,
      description: endpoint.description === '' ? `Records of the type ${endpoint.recordType}.` : endpoint.description,
    })),
    paths: {},
    components: {
      headers: { ...headers },
      responses: { ...sharedResponses },
      securitySchemes: { ...securitySchemes },
      schemas: { ...sharedSchemas },
      parameters: { ...sharedParameters },
    },
  });
  const typeNames = uniqueTypeNames(endpoints);
  for (const endpoint of endpoints) addEndpoint(builder, described, endpoint, typeNames.get(endpoint.name) ?? endpoint.name);
  return builder.getSpecAsJson(undefined, 2);
}

const sharedParameters: Readonly<Record<string, oas31.ParameterObject>> = {
  page: {
    name: 'page',
    in: 'query',
    description: 'Number of the page, from 1. A page beyond the end is empty.',
    schema: { type: 'integer', minimum: 1, maximum: 2_147_483_647, default: 1 },
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of an answer that the caller holds.',
    schema: { type: 'string' },
  },
};
const shared = (name: string): oas31.ReferenceObject => ({ $ref: `#/components/parameters/${name}` });

/** `sales-orders` → `SalesOrders`; a number keeps names apart that differ in hyphens alone. */
function uniqueTypeNames(endpoints: readonly EndpointDefinition[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const { name } of endpoints) {
    const wanted = name
      .split('-')
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join('');
    let free = wanted;
    for (let n = 2; taken.has(free.toLowerCase()); n += 1) free = `${wanted}_${n}`;
    taken.add(free.toLowerCase());
    names.set(name, free);
  }
  return names;
}

function addEndpoint(
  builder: oas31.OpenApiBuilder,
  { version, bindings }: Described,
  endpoint: EndpointDefinition,
  typeName: string,
): void {
  const record = recordSchema(endpoint, bindings);
  const reference = { $ref: `#/components/schemas/${typeName}Record` };
  const example = exampleRecord(record);
  const names = ['id', ...endpoint.fields.map(({ name }) => name)];
  const fields: oas31.ParameterObject = {
    name: 'fields',
    in: 'query',
    style: 'form',
    explode: false,
    description: 'Narrows the answer to these fields, separated by commas; `id` is always there.',
    schema: { type: 'array', minItems: 1, items: { type: 'string', enum: names } },
  };
  builder.addSchema(`${typeName}Record`, record);
  builder.addSchema(`${typeName}Page`, {
    type: 'object',
    required: ['data', 'pagination'],
    properties: { data: { type: 'array', items: reference }, pagination: { $ref: '#/components/schemas/Pagination' } },
  });
  builder.addPath(`/${version}/${endpoint.name}`, {
    get: {
      operationId: `list${typeName}`,
      tags: [endpoint.name],
      summary: `List ${endpoint.name}`,
      ...(endpoint.description !== '' && { description: endpoint.description }),
      parameters: [...pagingParameters(endpoint), fields, ...filterParameters(endpoint, bindings), shared('ifNoneMatch')],
      responses: {
        200: listResponse(
          jsonResponse(
            'One page of records; as NDJSON or CSV all of them.',
            listHeaders,
            { $ref: `#/components/schemas/${typeName}Page` },
            { data: [example], pagination: { total: 1, page: 1, pageSize: 25, totalPages: 1 } },
          ),
          reference,
        ),
        ...errorRefs,
      },
    },
  });
  addChanges(builder, version, endpoint.name, typeName, example);
  builder.addPath(`/${version}/${endpoint.name}/{id}`, {
    get: {
      operationId: `get${typeName}Record`,
      tags: [endpoint.name],
      summary: `One record of ${endpoint.name}`,
      parameters: [
        { name: 'id', in: 'path', required: true, description: "The record's id in the ERP.", schema: { type: 'string' } },
        fields,
        shared('ifNoneMatch'),
      ],
      responses: {
        200: jsonResponse(
          'The record.',
          answerHeaders,
          { type: 'object', required: ['data'], properties: { data: reference } },
          { data: example },
        ),
        ...errorRefs,
      },
    },
  });
}

/** The same list as an export: one record a line. */
const listResponse = (page: oas31.ResponseObject, record: oas31.ReferenceObject): oas31.ResponseObject => ({
  ...page,
  content: {
    ...page.content,
    'application/x-ndjson': { schema: record },
    'text/csv': { schema: { type: 'string', description: 'A header row, then one row for each record.' } },
  },
});

function pagingParameters(endpoint: EndpointDefinition): (oas31.ParameterObject | oas31.ReferenceObject)[] {
  const { maxPageSize, sorts, defaultSort } = endpoint;
  const otherwise = defaultSort === null ? 'Without it: by id.' : `Without it: by ${defaultSort.field}, ${defaultSort.order}.`;
  return [
    shared('page'),
    {
      name: 'pageSize',
      in: 'query',
      description: `Records per page. More than ${maxPageSize} is refused.`,
      schema: { type: 'integer', minimum: 1, maximum: maxPageSize, default: Math.min(25, maxPageSize) },
    },
    ...(sorts.length === 0
      ? []
      : [
          {
            name: 'sort',
            in: 'query' as const,
            description: `Sorts by this field; the id decides between equals. ${otherwise}`,
            schema: { type: 'string' as const, enum: [...sorts] },
          },
        ]),
    {
      name: 'order',
      in: 'query',
      description: 'The direction of the sort. Alone it applies to the default sort. Records without a value come last either way.',
      schema: { type: 'string', enum: ['asc', 'desc'], ...(defaultSort === null && { default: 'asc' }) },
    },
  ];
}

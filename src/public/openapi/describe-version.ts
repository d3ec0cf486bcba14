// Writes the OpenAPI 3.1 description of a version. It is generated once, when the version is published, and
// the text is stored for good, so nothing here may depend on time or the process, and the address of the
// service is given. Published descriptions keep the names, texts and address of the day they were generated.
// An endpoint that declares nothing new is described as it always was, byte for byte.
import { oas31 } from 'openapi3-ts';
import { defaultPageSize } from '../../db/page.ts';
import { workbookType } from '../http/negotiate.ts';
import { type Comparable, compareVersions } from '../version/compare.ts';
import { listMasks } from '../version/masks.ts';
import type { EndpointDefinition } from '../version/schema-document.ts';
import { addChanges } from './changes.ts';
import { hasDocument, unsettable, withDocument } from './documents.ts';
import { expansionSchemas } from './expansions.ts';
import { exampleRecord, filterParameters, recordSchema } from './fields.ts';
import { type EndpointNames, endpointNames } from './names.ts';
import {
  type DescribedFeatures,
  errorRefs,
  introduction,
  jsonResponse,
  listHeaders,
  recordHeaders,
  securitySchemes,
  versionHeaders,
  versionResponses,
  versionSchemas,
} from './parts.ts';
import {
  expandParameter,
  formatParameters,
  orParameter,
  searchParameter,
  sortChoices,
  sortSetsSentence,
} from './query-parameters.ts';
import { addSummary, hasSummary } from './summary.ts';

/** Values by resource and field; `id` is the id of the record that they are of. */
export type Examples = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export type Described = Comparable & {
  readonly version: string;
  readonly name: string;
  readonly notes: string;
  readonly draft: boolean;
  /**
   * The address that callers use, without a path, such as `https://portal.example`; null or absent when it
   * isn't configured.
   */
  readonly serverUrl?: string | null;
  /** Of real records, in place of made-up ones. */
  readonly examples?: Examples;
  /** The previous version, for the list of changes; null for the first. */
  readonly previous: (Comparable & { readonly version: string }) | null;
};

const featuresOf = (endpoints: readonly EndpointDefinition[]): DescribedFeatures => ({
  hasMasks: listMasks(endpoints).size > 0,
  hasSummaries: endpoints.some(hasSummary),
  hasDocuments: endpoints.some(hasDocument),
  hasRelations: endpoints.some(({ relations = [] }) => relations.length > 0),
  hasSearch: endpoints.some(
    ({ search = [], or, sortSets = [] }) => search.length > 0 || or === true || sortSets.length > 0,
  ),
});

/** JSON text; equal for equal input. */
export function describeVersion(described: Described): string {
  const { version, name, notes, previous, endpoints } = described;
  const builder = oas31.OpenApiBuilder.create({
    openapi: '3.1.0',
    info: {
      title: name === '' ? `Public interface ${version}` : name,
      version: described.draft ? `${version}-draft` : version,
      description: introduction(
        notes,
        previous?.version ?? null,
        previous === null ? [] : compareVersions(previous, described),
        featuresOf(endpoints),
      ),
      license: { name: 'Proprietary; for customers of this service', identifier: 'LicenseRef-Proprietary' },
    },
    servers: listServers(described),
    security: [{ apiKey: [], tenant: [] }],
    tags: endpoints.map((endpoint) => ({
      name: endpoint.name,
      description:
        endpoint.description === '' ? `Records of type ${endpoint.recordType}.` : endpoint.description,
    })),
    paths: {},
    components: {
      headers: { ...versionHeaders },
      responses: { ...versionResponses, ...(endpoints.some(hasDocument) && { Unsettable: unsettable }) },
      securitySchemes: { ...securitySchemes },
      schemas: { ...versionSchemas },
      parameters: { ...sharedParameters },
    },
  });
  const names = endpointNames(
    endpoints.map(({ name }) => name),
    Object.keys(versionSchemas),
    new Set(endpoints.filter(hasSummary).map(({ name }) => name)),
  );
  for (const endpoint of endpoints) {
    const own = names.get(endpoint.name);
    if (own !== undefined) addEndpoint(builder, described, endpoint, own, names);
  }
  return builder.getSpecAsJson(undefined, 2);
}

const publicBase = '/api/public';

/** The address of the service first, if it is known: generated clients take the first one. */
const listServers = ({ serverUrl = null }: Pick<Described, 'serverUrl'>): oas31.ServerObject[] => [
  ...(serverUrl === null
    ? []
    : [{ url: `${serverUrl}${publicBase}`, description: 'The address of the service' }]),
  { url: publicBase, description: 'This service' },
];

/** The description as it is served at another address than that of the service. */
export const describeAt = (text: string, serverUrl: string): string =>
  JSON.stringify({ ...JSON.parse(text), servers: listServers({ serverUrl }) }, undefined, 2);

const sharedParameters: Readonly<Record<string, oas31.ParameterObject>> = {
  page: {
    name: 'page',
    in: 'query',
    description: 'Page number, starting at 1. A page beyond the end is empty.',
    schema: { type: 'integer', minimum: 1, maximum: 2_147_483_647, default: 1 },
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of an earlier response. The response is 304 when it is still current.',
    schema: { type: 'string' },
  },
};
const shared = (name: string): oas31.ReferenceObject => ({ $ref: `#/components/parameters/${name}` });

function addEndpoint(
  builder: oas31.OpenApiBuilder,
  { version, bindings, examples = {} }: Described,
  endpoint: EndpointDefinition,
  names: EndpointNames,
  all: ReadonlyMap<string, EndpointNames>,
): void {
  const { components } = names;
  const values = examples[endpoint.name] ?? {};
  const fields = recordSchema(endpoint, bindings, values);
  const related = expansionSchemas(endpoint, (resource) => all.get(resource)?.components.record);
  const record = { ...fields, properties: { ...fields.properties, ...related } };
  const reference = { $ref: `#/components/schemas/${components.record}` };
  const example = exampleRecord(record);
  builder.addSchema(components.record, record);
  builder.addSchema(components.page, {
    type: 'object',
    required: ['data', 'pagination'],
    properties: {
      data: { type: 'array', items: reference },
      pagination: { $ref: '#/components/schemas/Pagination' },
    },
  });
  const filters = selectingParameters(endpoint, bindings, values);
  builder.addPath(`/${version}/${endpoint.name}`, {
    get: listOperation(endpoint, bindings, names, { filters, record: reference, example }),
  });
  addSummary(builder, { version, endpoint, bindings, names, filters, ifNoneMatch: shared('ifNoneMatch') });
  // Versions from before had no parameter `format` either.
  const hasEvents = bindings[endpoint.recordType]?.takesFormat === true;
  addChanges(builder, version, endpoint.name, names, { example, hasEvents });
  const retrieve = recordOperation(endpoint, names, reference, example, values['id']);
  builder.addPath(`/${version}/${endpoint.name}/{id}`, {
    get: hasDocument(endpoint) ? withDocument(retrieve) : retrieve,
  });
}

function listOperation(
  endpoint: EndpointDefinition,
  bindings: Described['bindings'],
  { operations, components, summaries }: EndpointNames,
  {
    filters,
    record,
    example,
  }: {
    readonly filters: readonly oas31.ParameterObject[];
    readonly record: oas31.ReferenceObject;
    readonly example: unknown;
  },
): oas31.OperationObject {
  const takesFormat = bindings[endpoint.recordType]?.takesFormat === true;
  return {
    operationId: operations.list,
    tags: [endpoint.name],
    summary: summaries.list,
    ...(endpoint.description !== '' && { description: endpoint.description }),
    parameters: [
      ...pagingParameters(endpoint),
      fieldsParameter(endpoint),
      ...expandParameters(endpoint),
      ...filters,
      ...(takesFormat ? formatParameters : []),
      shared('ifNoneMatch'),
    ],
    responses: {
      200: listResponse(
        jsonResponse(
          `A page of records, or the whole list as ${takesFormat ? 'NDJSON, CSV or XLSX' : 'NDJSON or CSV'}.`,
          listHeaders,
          { $ref: `#/components/schemas/${components.page}` },
          { data: [example], pagination: { total: 1, page: 1, pageSize: defaultPageSize, totalPages: 1 } },
        ),
        record,
        takesFormat,
      ),
      ...errorRefs,
    },
  };
}

const recordOperation = (
  endpoint: EndpointDefinition,
  { operations, summaries }: EndpointNames,
  record: oas31.ReferenceObject,
  example: unknown,
  id: unknown,
): oas31.OperationObject => ({
  operationId: operations.get,
  tags: [endpoint.name],
  summary: summaries.get,
  parameters: [
    {
      name: 'id',
      in: 'path',
      required: true,
      description: 'Id of the record in the ERP.',
      schema: { type: 'string', ...(id !== undefined && { examples: [id] }) },
    },
    fieldsParameter(endpoint),
    ...expandParameters(endpoint),
    shared('ifNoneMatch'),
  ],
  responses: {
    200: jsonResponse(
      'The requested record.',
      recordHeaders,
      { type: 'object', required: ['data'], properties: { data: record } },
      { data: example },
    ),
    ...errorRefs,
  },
});

const expandParameters = ({ relations = [] }: EndpointDefinition): oas31.ParameterObject[] =>
  relations.length === 0 ? [] : [expandParameter(relations.map(({ name }) => name))];

/** The parameters that select records: search, `or` and the filters. */
function selectingParameters(
  endpoint: EndpointDefinition,
  bindings: Described['bindings'],
  values: Readonly<Record<string, unknown>>,
): oas31.ParameterObject[] {
  const filters = filterParameters(endpoint, bindings, values);
  const search = searchParameter(endpoint);
  return [
    ...(search === undefined ? [] : [search]),
    ...(endpoint.or === true ? [orParameter(filters)] : []),
    ...filters,
  ];
}

const fieldsParameter = ({ fields }: EndpointDefinition): oas31.ParameterObject => ({
  name: 'fields',
  in: 'query',
  style: 'form',
  explode: false,
  description: 'Returns only these fields, separated by commas. `id` is always included.',
  schema: {
    type: 'array',
    minItems: 1,
    items: { type: 'string', enum: ['id', ...fields.map(({ name }) => name)] },
  },
});

/** Adds the exports of the list: one record per line, and as a workbook. */
const listResponse = (
  page: oas31.ResponseObject,
  record: oas31.ReferenceObject,
  withWorkbook: boolean,
): oas31.ResponseObject => ({
  ...page,
  content: {
    ...page.content,
    'application/x-ndjson': { schema: record },
    'text/csv': { schema: { type: 'string', description: 'A header row, then one row per record.' } },
    ...(withWorkbook && {
      [workbookType]: {
        schema: {
          type: 'string' as const,
          format: 'binary',
          description: 'A sheet of the records, and one for each field that holds lines.',
        },
      },
    }),
  },
});

function pagingParameters(endpoint: EndpointDefinition): (oas31.ParameterObject | oas31.ReferenceObject)[] {
  const { maxPageSize, defaultSort, sortSets = [] } = endpoint;
  const choices = sortChoices(endpoint);
  const several = sortSets.length === 0 ? '' : ` ${sortSetsSentence}`;
  const fallback =
    defaultSort === null ? 'Default: by id.' : `Default: by ${defaultSort.field}, ${defaultSort.order}.`;
  return [
    shared('page'),
    {
      name: 'pageSize',
      in: 'query',
      description: `Records per page. Values above ${maxPageSize} are rejected.`,
      schema: {
        type: 'integer',
        minimum: 1,
        maximum: maxPageSize,
        default: Math.min(defaultPageSize, maxPageSize),
      },
    },
    ...(choices.length === 0
      ? []
      : [
          {
            name: 'sort',
            in: 'query' as const,
            description: `Sorts by this field; the id breaks ties.${several} ${fallback}`,
            schema: { type: 'string' as const, enum: choices },
          },
        ]),
    {
      name: 'order',
      in: 'query',
      description:
        'Sort direction. Without `sort` it applies to the default sort. Records without a value come last in both directions.',
      schema: { type: 'string', enum: ['asc', 'desc'], ...(defaultSort === null && { default: 'asc' }) },
    },
  ];
}

// The description of a version as files for API clients: a Postman collection (format 2.1), which Bruno,
// Insomnia and Hoppscotch import as well, and an .http file for editors. Both hold the address and the tenant
// id, so that only the key is left to fill in.
import type { oas31 } from 'openapi3-ts';

export const collectionForms = ['postman', 'http'] as const;
export type CollectionForm = (typeof collectionForms)[number];

export type CollectionSite = {
  /** Such as `https://portal.example/api/public`. */
  readonly baseUrl: string;
  readonly organizationId: string;
};

type Query = { readonly name: string; readonly description: string; readonly value: string };
type Operation = {
  readonly tag: string;
  readonly title: string;
  readonly description: string;
  /** With parameters in braces, such as `/v1/invoices/{id}`. */
  readonly path: string;
  readonly query: readonly Query[];
  readonly isList: boolean;
};

/** The first example, default or allowed value of a parameter. */
function sampleValue(schema: oas31.SchemaObject | undefined): string {
  if (schema === undefined) return '';
  const { examples, default: fallback, enum: allowed, items } = schema;
  const own = examples?.[0] ?? fallback ?? allowed?.[0];
  if (own !== undefined) return String(own);
  return items === undefined || '$ref' in items ? '' : sampleValue(items);
}

function listOperations(description: oas31.OpenAPIObject): Operation[] {
  const resolve = (given: oas31.ParameterObject | oas31.ReferenceObject) =>
    '$ref' in given
      ? (description.components?.parameters?.[given.$ref.split('/').at(-1) ?? ''] as
          | oas31.ParameterObject
          | undefined)
      : given;
  return Object.entries(description.paths ?? {}).flatMap(([path, { get }]): Operation[] => {
    if (get === undefined) return [];
    const query = (get.parameters ?? []).flatMap((given): Query[] => {
      const parameter = resolve(given);
      if (parameter?.in !== 'query') return [];
      const { name, description: text = '', schema } = parameter;
      return [{ name, description: text, value: sampleValue(schema as oas31.SchemaObject | undefined) }];
    });
    return [
      {
        tag: get.tags?.[0] ?? '',
        title: get.summary ?? path,
        description: get.description ?? '',
        path,
        query,
        isList: query.some(({ name }) => name === 'pageSize'),
      },
    ];
  });
}

const toItem = ({ title, description, path, query, isList }: Operation) => {
  const segments = path
    .slice(1)
    .replaceAll(/\{(\w+)\}/g, ':$1')
    .split('/');
  const shown = isList ? '?pageSize=20' : '';
  return {
    name: title,
    request: {
      method: 'GET',
      description,
      header: [{ key: 'x-tenant-id', value: '{{tenantId}}' }],
      url: {
        raw: `{{baseUrl}}/${segments.join('/')}${shown}`,
        host: ['{{baseUrl}}'],
        path: segments,
        query: query.map(({ name, description: text, value }) => ({
          key: name,
          value: name === 'pageSize' ? '20' : value,
          description: text,
          disabled: !(isList && name === 'pageSize'),
        })),
        variable: path.includes('{id}') ? [{ key: 'id', value: '', description: 'Id of a record' }] : [],
      },
    },
    response: [],
  };
};

function toPostman(description: oas31.OpenAPIObject, { baseUrl, organizationId }: CollectionSite): string {
  const operations = listOperations(description);
  const folders = [...new Set(operations.map(({ tag }) => tag))];
  const collection = {
    info: {
      name: description.info.title,
      description: description.info.description ?? '',
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{apiKey}}', type: 'string' }] },
    variable: [
      { key: 'baseUrl', value: baseUrl },
      { key: 'tenantId', value: organizationId },
      { key: 'apiKey', value: '', type: 'secret' },
    ],
    item: folders.map((name) => ({
      name,
      description: description.tags?.find((tag) => tag.name === name)?.description ?? '',
      item: operations.filter(({ tag }) => tag === name).map(toItem),
    })),
  };
  return `${JSON.stringify(collection, undefined, 2)}\n`;
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

function toHttpFile(description: oas31.OpenAPIObject, { baseUrl, organizationId }: CollectionSite): string {
  const requests = listOperations(description).map(({ title, path, query, isList }) =>
    [
      `### ${oneLine(title)}`,
      ...(query.length === 0 ? [] : [`# Parameters: ${query.map(({ name }) => name).join(', ')}`]),
      ...(path.includes('{id}') ? ['@id = '] : []),
      `GET {{baseUrl}}${path.replaceAll(/\{(\w+)\}/g, '{{$1}}')}${isList ? '?pageSize=20' : ''}`,
      'Authorization: Bearer {{apiKey}}',
      'x-tenant-id: {{tenantId}}',
    ].join('\n'),
  );
  const head = [
    `# ${oneLine(description.info.title)}`,
    `@baseUrl = ${baseUrl}`,
    `@tenantId = ${organizationId}`,
    '# Keep the key out of files that you share: your editor can read it from its environment.',
    '@apiKey = ',
  ].join('\n');
  return `${[head, ...requests].join('\n\n')}\n`;
}

/** `text` is the description as JSON. */
export function toCollection(form: CollectionForm, text: string, site: CollectionSite): string {
  const description = JSON.parse(text) as oas31.OpenAPIObject;
  return form === 'postman' ? toPostman(description, site) : toHttpFile(description, site);
}

// The metadata catalog: its entry and JSON Schema (draft-06 hyper-schema, as in NetSuite) for each record
// type.
import { APPLY_PROPERTIES, type Property } from './property.ts';
import type { RestRecordType } from './record-type.ts';

const CATALOG = '/services/rest/record/v1/metadata-catalog';
const LINK = { $ref: `${CATALOG}/nsLink` };

type Schema = { type: 'object'; properties: object; $id: string; $schema: string };

export const catalogEntry = (type: RestRecordType, origin: string): object => ({
  name: type.name,
  links: [
    { rel: 'canonical', href: `${origin}${CATALOG}/${type.name}`, mediaType: 'application/json' },
    ...['swagger', 'schema'].map((form) => ({
      rel: 'alternate',
      href: `${origin}${CATALOG}/${type.name}`,
      mediaType: `application/${form}+json`,
    })),
    { rel: 'describes', href: `${origin}/services/rest/record/v1/${type.name}` },
  ],
});

export const recordJsonSchema = (type: RestRecordType): Schema => ({
  type: 'object',
  properties: {
    ...Object.fromEntries(type.properties.map((property) => [property.name, propertySchema(property, true)])),
    refName: { title: 'Reference Name', type: 'string', nullable: true },
    links: linkListSchema,
    ...(type.lines ? { item: sublistSchema(type.lines.properties) } : {}),
    ...Object.fromEntries(
      (type.sublists ?? []).map(({ name, properties }) => [name, sublistSchema(properties)]),
    ),
    ...(type.applies ? { apply: sublistSchema(APPLY_PROPERTIES) } : {}),
  },
  $id: `${CATALOG}/${type.name}`,
  $schema: 'https://json-schema.org/draft-06/hyper-schema#',
});

/** The schema of the items of every `links`. */
export const linkSchema = {
  type: 'object',
  properties: {
    rel: { title: 'Relationship', type: 'string' },
    href: { title: 'Hypertext Reference', type: 'string' },
  },
  $id: `${CATALOG}/nsLink`,
  $schema: 'https://json-schema.org/draft-06/hyper-schema#',
};

const linkListSchema = { title: 'Links', type: 'array', readOnly: true, items: LINK };

const sublistSchema = (properties: readonly Property[]): object =>
  collectionSchema(
    Object.fromEntries(properties.map((property) => [property.name, propertySchema(property, false)])),
  );

/** A collection of objects with these properties. */
const collectionSchema = (properties: object): object => ({
  type: 'object',
  properties: {
    links: linkListSchema,
    items: { type: 'array', items: { type: 'object', properties } },
    totalResults: { title: 'Total Results', type: 'integer' },
    count: { title: 'Count', type: 'integer' },
    hasMore: { title: 'Has More Results', type: 'boolean' },
    offset: { title: 'Query Offset', type: 'integer' },
  },
});

const CHOICE_PROPERTIES = {
  id: { title: 'Internal identifier', type: 'string' },
  refName: { title: 'Reference Name', type: 'string' },
};

function propertySchema(property: Property, isBodyField: boolean): object {
  return property.isCustom
    ? { ...kindSchema(property, isBodyField), 'x-ns-custom-field': true }
    : kindSchema(property, isBodyField);
}

function kindSchema(property: Property, isBodyField: boolean): object {
  const { title, kind } = property;
  const filterable = isBodyField ? { 'x-ns-filterable': true } : {};
  switch (kind) {
    case 'reference':
      return { $ref: `${CATALOG}/${property.to ?? ''}` };
    case 'enum':
      return {
        ...(property.isCustom ? { title } : {}),
        type: 'object',
        properties: {
          id: { title: 'Internal identifier', type: 'string', enum: property.values ?? [] },
          refName: { title: 'Reference Name', type: 'string' },
        },
      };
    case 'choices':
      return { title, ...collectionSchema(CHOICE_PROPERTIES) };
    case 'date':
    case 'date-time':
      return { title, type: 'string', format: kind, nullable: true, ...filterable };
    case 'number':
      return { title, type: 'number', format: 'double', nullable: true, ...filterable };
    case 'integer':
      return { title, type: 'integer', format: 'int64', nullable: true, ...filterable };
    case 'boolean':
      return { title, type: 'boolean', ...filterable };
    default:
      return { title, type: 'string', nullable: property.name !== 'id', ...filterable };
  }
}

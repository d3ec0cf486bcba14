// The OpenAPI 3.0 form of a record type in the metadata catalog.
import { linkSchema, recordJsonSchema } from './metadata.ts';
import { canWrite } from './record-path.ts';
import type { RestRecordType } from './record-type.ts';

const CATALOG = '/services/rest/record/v1/metadata-catalog/';

export function recordOpenApi(type: RestRecordType, origin: string): object {
  const { $id: _id, $schema: _schema, ...own } = recordJsonSchema(type);
  const { $id: _linkId, $schema: _linkSchema, ...link } = linkSchema;
  const schemas: Record<string, unknown> = { nsLink: link };
  const record = rewriteReferences(own, schemas);
  return {
    openapi: '3.0.1',
    info: { title: `NetSuite REST Record API: ${type.title}`, version: 'v1' },
    servers: [{ url: `${origin}/services/rest/record/v1` }],
    paths: buildPaths(type),
    components: { schemas: { ...schemas, [type.name]: record } },
  };
}

/**
 * Rewrites references for an OpenAPI document and collects their targets in `schemas`; a referenced record is
 * an id with a name.
 */
function rewriteReferences(schema: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(schema)) return schema.map((part) => rewriteReferences(part, schemas));
  if (typeof schema !== 'object' || schema === null) return schema;
  if ('$ref' in schema) {
    const name = String(schema.$ref).replace(CATALOG, '');
    schemas[name] ??= { type: 'object', properties: { id: { type: 'string' }, refName: { type: 'string' } } };
    return { $ref: `#/components/schemas/${name}` };
  }
  return Object.fromEntries(
    Object.entries(schema).map(([key, part]) => [key, rewriteReferences(part, schemas)]),
  );
}

function buildPaths(type: RestRecordType): object {
  const id = [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }];
  const content = {
    'application/vnd.oracle.resource+json': { schema: { $ref: `#/components/schemas/${type.name}` } },
  };
  const noContent = { 204: { description: 'Done.' } };
  const query = (name: string, kind: string) => ({ name, in: 'query', schema: { type: kind } });
  const list = {
    tags: [type.name],
    parameters: [query('q', 'string'), query('limit', 'integer'), query('offset', 'integer')],
    responses: { 200: { description: 'A list of ids.' } },
  };
  const read = {
    tags: [type.name],
    parameters: [...id, query('expandSubResources', 'boolean'), query('fields', 'string')],
    responses: { 200: { description: 'The record.', content } },
  };
  if (!canWrite(type)) return { [`/${type.name}`]: { get: list }, [`/${type.name}/{id}`]: { get: read } };
  const write = { tags: [type.name], requestBody: { content }, responses: noContent };
  return {
    [`/${type.name}`]: { get: list, post: write },
    [`/${type.name}/{id}`]: {
      get: read,
      patch: { ...write, parameters: id },
      put: { ...write, parameters: id },
      delete: { tags: [type.name], parameters: id, responses: noContent },
    },
  };
}

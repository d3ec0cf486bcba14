// The description of a version for a reader who may read only a part of it: the rest of the version isn't
// named in it. The stored text is changed rather than written again, so that the names of the day on which
// the version was published stay.

import { z } from 'zod';
import type { LineOutput, OutputField, ReadableEndpoint } from '../version/compile.ts';
import { readableRelations } from '../version/narrow.ts';
import { exampleRecord } from './fields.ts';
import { restrictParameters } from './restrict-parameters.ts';
import { exampleRow, restrictRow } from './summary.ts';

const schema = z.looseObject({});
type Schema = z.infer<typeof schema>;
const parameter = z.looseObject({
  name: z.string().optional(),
  description: z.string().optional(),
  schema: schema.optional(),
});
const content = z.looseObject({
  content: z.looseObject({ 'application/json': z.looseObject({ schema, example: schema }) }),
});
const operation = z.looseObject({
  parameters: z.array(parameter),
  responses: z.looseObject({ 200: content }),
});
type Operation = z.infer<typeof operation>;
const document = z.looseObject({
  info: z.looseObject({ description: z.string() }),
  tags: z.array(z.looseObject({ name: z.string() })),
  paths: z.record(z.string(), z.looseObject({ get: operation })),
  components: z.record(z.string(), z.record(z.string(), z.unknown())),
});
type Components = z.infer<typeof document>['components'];

const refPattern = /^#\/components\/([^/]+)\/([^/]+)$/;
const parseRefName = (reference: unknown): string =>
  (typeof reference === 'string' && refPattern.exec(reference)?.[2]) || '';

/** Adds the names of the components that a value refers to, also through others, as `<kind>/<name>`. */
function collectRefs(value: unknown, components: Components, found: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    const [, kind = '', name = ''] =
      (key === '$ref' && typeof part === 'string' && refPattern.exec(part)) || [];
    if (kind === '') collectRefs(part, components, found);
    else if (!found.has(`${kind}/${name}`)) {
      found.add(`${kind}/${name}`);
      collectRefs(components[kind]?.[name], components, found);
    }
  }
}

/** The list of changes from the version before, which names resources and fields, is the end of the text. */
function withoutChanges(text: string): string {
  const at = text.lastIndexOf('\n\n## Changes from ');
  return at === -1 ? text : text.slice(0, at);
}

const maskedExamples = {
  hash: '5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef',
  last4: '****1042',
  year: '2026',
};

/** Of a value that the reader sees masked: text. */
function maskedSchema({ description, ...value }: Schema, kind: keyof typeof maskedExamples): Schema {
  const kept = Object.entries(value).filter(([name]) => name.startsWith('x-'));
  return {
    type: ['string', 'null'],
    ...(description !== undefined && { description }),
    examples: [maskedExamples[kind]],
    ...Object.fromEntries(kept),
  };
}

const masked = (value: Schema, { mask }: Pick<LineOutput, 'mask'>): Schema =>
  mask === null ? value : maskedSchema(value, mask.kind);

const object = z.looseObject({ properties: z.record(z.string(), schema) });
const list = z.looseObject({ items: object });

function fieldSchema(value: Schema, field: OutputField): Schema {
  if (field.kind === 'value') return masked(value, field);
  if (field.kind !== 'lines' || field.lines.every(({ mask }) => mask === null)) return value;
  const { items, ...rest } = list.parse(value);
  const properties = field.lines.map((line) => [line.name, masked(items.properties[line.name] ?? {}, line)]);
  return {
    ...rest,
    items: { ...items, properties: { ...items.properties, ...Object.fromEntries(properties) } },
  };
}

/** Whether the reader has everything that the version declares of the endpoint. */
const isWhole = (endpoint: ReadableEndpoint): boolean =>
  endpoint.key === endpoint.contentKey && readableRelations(endpoint).length === endpoint.relations.size;

/** The record with the fields as the reader sees them, and the related records that it may read. */
function restrictRecord(record: unknown, endpoint: ReadableEndpoint): Schema {
  const { properties, ...rest } = object.parse(record);
  const { id = {} } = properties;
  const fields = endpoint.fields.map(
    (field) => [field.name, fieldSchema(properties[field.name] ?? {}, field)] as const,
  );
  const related = readableRelations(endpoint).map((name) => [name, properties[name] ?? {}] as const);
  return { ...rest, properties: { id, ...Object.fromEntries([...fields, ...related]) } };
}

/** What is shown of an endpoint to a reader who doesn't have all of it. */
type Restricted = { readonly endpoint: ReadableEndpoint; readonly record: Schema; readonly row: Schema };

/** The operation of one path; the examples show the restricted record or row. */
function restrictOperation(
  get: Operation,
  part: string | undefined,
  { endpoint, record, row }: Restricted,
): Operation {
  const { parameters, responses } = get;
  const json = responses[200].content['application/json'];
  const example = exampleRecord(record);
  const [entry] = z.array(schema).catch([]).parse(json.example['data']);
  const isSummary = part === 'summary';
  const byPart = {
    undefined: [example],
    summary: [exampleRow(row)],
    changes: [{ ...entry, record: example }],
  };
  const data = byPart[String(part) as keyof typeof byPart] ?? example;
  const content = {
    ...responses[200].content,
    'application/json': { ...json, example: { ...json.example, data } },
  };
  const related = readableRelations(endpoint);
  return {
    ...get,
    parameters:
      part === 'changes' ? parameters : restrictParameters(parameters, endpoint, { isSummary, related }),
    responses: { ...responses, 200: { ...responses[200], content } },
  };
}

/** Resource name and the rest of a path such as `/v1/invoices/{id}`. */
const splitPath = (path: string): [resource: string, rest: string | undefined] => {
  const [, , resource = '', rest] = path.split('/');
  return [resource, rest];
};

/** The name of the component that describes a record of the resource. */
function recordName(paths: z.infer<typeof document>['paths'], resource: string): string {
  const [, item] =
    Object.entries(paths).find(([path]) => splitPath(path).join() === `${resource},{id}`) ?? [];
  const answer = object.parse(item?.get.responses[200].content['application/json'].schema);
  return parseRefName(answer.properties['data']?.['$ref']);
}

/** The name of the component that describes a row of the resource's summary; empty for none. */
function rowName(paths: z.infer<typeof document>['paths'], resource: string): string {
  const [, item] =
    Object.entries(paths).find(([path]) => splitPath(path).join() === `${resource},summary`) ?? [];
  return parseRefName(
    schema.parse(
      schema.catch({}).parse(item?.get.responses[200].content['application/x-ndjson'])['schema'] ?? {},
    )['$ref'],
  );
}

/**
 * The text of a description with nothing but what these endpoints have: their paths and tags, their fields,
 * filters and sorts, masked fields as text, and the components that those use. The list of changes is left
 * out, because it has names of both versions. Throws a ZodError for a text that is none.
 */
export function restrictDescription(text: string, readable: readonly ReadableEndpoint[]): string {
  const { info, tags, paths, components, ...rest } = document.parse(JSON.parse(text));
  const endpoints = new Map(readable.map((endpoint) => [endpoint.name, endpoint]));
  const restricted = new Map<string, Restricted>();
  for (const endpoint of readable) {
    if (isWhole(endpoint)) continue;
    const [name, rowsName] = [recordName(paths, endpoint.name), rowName(paths, endpoint.name)];
    const record = restrictRecord(components['schemas']?.[name], endpoint);
    const row = rowsName === '' ? {} : restrictRow(schema.parse(components['schemas']?.[rowsName]), endpoint);
    restricted.set(endpoint.name, { endpoint, record, row });
    components['schemas'] = {
      ...components['schemas'],
      [name]: record,
      ...(rowsName !== '' && { [rowsName]: row }),
    };
  }
  const kept = Object.entries(paths).flatMap(([path, item]) => {
    const [resource, part] = splitPath(path);
    if (!endpoints.has(resource)) return [];
    const shown = restricted.get(resource);
    return [
      [
        path,
        shown === undefined ? item : { ...item, get: restrictOperation(item.get, part, shown) },
      ] as const,
    ];
  });
  const used = new Set<string>();
  collectRefs(
    kept.map(([, item]) => item),
    components,
    used,
  );
  const keptComponents = Object.entries(components).map(([kind, all]): [string, Record<string, unknown>] => [
    kind,
    kind === 'securitySchemes'
      ? all
      : Object.fromEntries(Object.entries(all).filter(([name]) => used.has(`${kind}/${name}`))),
  ]);
  return JSON.stringify(
    {
      ...rest,
      info: { ...info, description: withoutChanges(info.description) },
      tags: tags.filter(({ name }) => endpoints.has(name)),
      paths: Object.fromEntries(kept),
      components: Object.fromEntries(keptComponents),
    },
    undefined,
    2,
  );
}

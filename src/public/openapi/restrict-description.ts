// The description of a version for a reader who may read only a part of it: the rest of the version isn't named in it. The stored text is
// changed rather than written again, so that the names of the day on which the version was published stay.
import { z } from 'zod';
import type { LineOutput, OutputField, ReadableEndpoint } from '../version/compile.ts';
import { exampleRecord } from './fields.ts';

const schema = z.looseObject({});
type Schema = z.infer<typeof schema>;
const parameter = z.looseObject({ name: z.string().optional(), description: z.string().optional(), schema: schema.optional() });
type Parameter = z.infer<typeof parameter>;
const content = z.looseObject({ content: z.looseObject({ 'application/json': z.looseObject({ schema, example: schema }) }) });
const operation = z.looseObject({ parameters: z.array(parameter), responses: z.looseObject({ 200: content }) });
type Operation = z.infer<typeof operation>;
const document = z.looseObject({
  info: z.looseObject({ description: z.string() }),
  tags: z.array(z.looseObject({ name: z.string() })),
  paths: z.record(z.string(), z.looseObject({ get: operation })),
  components: z.record(z.string(), z.record(z.string(), z.unknown())),
});
type Components = z.infer<typeof document>['components'];

const refPattern = /^#\/components\/([^/]+)\/([^/]+)$/;
const nameOf = (reference: unknown): string => (typeof reference === 'string' && refPattern.exec(reference)?.[2]) || '';

/** Adds the names of the components that a value refers to, directly or through others, as `<kind>/<name>`. */
function collectRefs(value: unknown, components: Components, found: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    const [, kind = '', name = ''] = (key === '$ref' && typeof part === 'string' && refPattern.exec(part)) || [];
    if (kind === '') collectRefs(part, components, found);
    else if (!found.has(`${kind}/${name}`)) {
      found.add(`${kind}/${name}`);
      collectRefs(components[kind]?.[name], components, found);
    }
  }
}

/** The list of changes from the version before names resources and fields; it is the last part of the text. */
function withoutChanges(text: string): string {
  const at = text.lastIndexOf('\n\n## Changes from ');
  return at === -1 ? text : text.slice(0, at);
}

const maskedExamples = { hash: '5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef', last4: '****1042', year: '2026' };

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

const masked = (value: Schema, { mask }: Pick<LineOutput, 'mask'>): Schema => (mask === null ? value : maskedSchema(value, mask.kind));

const object = z.looseObject({ properties: z.record(z.string(), schema) });
const list = z.looseObject({ items: object });

function fieldSchema(value: Schema, field: OutputField): Schema {
  if (field.kind === 'value') return masked(value, field);
  if (field.kind !== 'lines' || field.lines.every(({ mask }) => mask === null)) return value;
  const { items, ...rest } = list.parse(value);
  const properties = field.lines.map((line) => [line.name, masked(items.properties[line.name] ?? {}, line)]);
  return { ...rest, items: { ...items, properties: { ...items.properties, ...Object.fromEntries(properties) } } };
}

/** The record with the fields that the reader sees, as it sees them. */
function restrictRecord(record: unknown, { fields }: ReadableEndpoint): Schema {
  const { properties, ...rest } = object.parse(record);
  const { id = {} } = properties;
  return {
    ...rest,
    properties: { id, ...Object.fromEntries(fields.map((field) => [field.name, fieldSchema(properties[field.name] ?? {}, field)])) },
  };
}

const namesIn = (values: unknown, isKept: (name: string) => boolean): string[] => z.array(z.string()).parse(values).filter(isKept);
const listParameters = new Set(['page', 'pageSize', 'order']);
const defaultPattern = / Default: by (.+), (?:asc|desc)\.$/;

/** Without the fields, filters and sorts that the reader doesn't have. A default sort that it doesn't have is by the id. */
function restrictParameters(parameters: readonly Parameter[], { fields, filters, sorts }: ReadableEndpoint): Parameter[] {
  const shown = new Set(['id', ...fields.map(({ name }) => name)]);
  return parameters.flatMap((given): Parameter[] => {
    const { name, description = '' } = given;
    if (name === 'fields') {
      const items = schema.parse(given.schema?.['items']);
      return [{ ...given, schema: { ...given.schema, items: { ...items, enum: namesIn(items['enum'], (field) => shown.has(field)) } } }];
    }
    if (name === 'sort') {
      const names = namesIn(given.schema?.['enum'], (field) => sorts.has(field));
      const text = description.replace(defaultPattern, (found, field) => (sorts.has(field) ? found : ' Default: by id.'));
      return names.length === 0 ? [] : [{ ...given, description: text, schema: { ...given.schema, enum: names } }];
    }
    const isFilter = given['in'] === 'query' && name !== undefined && !listParameters.has(name);
    return isFilter && !filters.has(name) ? [] : [given];
  });
}

/** The operation of one path; the examples show the restricted record. */
function restrictOperation(get: Operation, part: string | undefined, endpoint: ReadableEndpoint, record: Schema): Operation {
  const { parameters, responses } = get;
  const json = responses[200].content['application/json'];
  const example = exampleRecord(record);
  const [entry] = z.array(schema).catch([]).parse(json.example['data']);
  const data = { undefined: [example], changes: [{ ...entry, record: example }] }[String(part)] ?? example;
  const content = { ...responses[200].content, 'application/json': { ...json, example: { ...json.example, data } } };
  return {
    ...get,
    parameters: part === 'changes' ? parameters : restrictParameters(parameters, endpoint),
    responses: { ...responses, 200: { ...responses[200], content } },
  };
}

/** Resource name and the rest of a path such as `/v1/invoices/{id}`. */
const partsOf = (path: string): [resource: string, rest: string | undefined] => {
  const [, , resource = '', rest] = path.split('/');
  return [resource, rest];
};

/** The name of the component that describes a record of the resource. */
function recordName(paths: z.infer<typeof document>['paths'], resource: string): string {
  const [, item] = Object.entries(paths).find(([path]) => partsOf(path).join() === `${resource},{id}`) ?? [];
  const answer = object.parse(item?.get.responses[200].content['application/json'].schema);
  return nameOf(answer.properties['data']?.['$ref']);
}

/**
 * The text of a description with nothing but what these endpoints have: their paths and tags, their fields, filters and sorts, masked fields
 * as text, and the components that those use. Without `withChanges` also no list of changes. Throws a ZodError for a text that is no
 * description of a version.
 */
export function restrictDescription(text: string, readable: readonly ReadableEndpoint[], withChanges: boolean): string {
  const { info, tags, paths, components, ...rest } = document.parse(JSON.parse(text));
  const endpoints = new Map(readable.map((endpoint) => [endpoint.name, endpoint]));
  const records = new Map<string, Schema>();
  for (const endpoint of readable) {
    if (endpoint.key === endpoint.contentKey) continue;
    const name = recordName(paths, endpoint.name);
    const record = restrictRecord(components['schemas']?.[name], endpoint);
    records.set(endpoint.name, record);
    components['schemas'] = { ...components['schemas'], [name]: record };
  }
  const kept = Object.entries(paths).flatMap(([path, item]) => {
    const [resource, part] = partsOf(path);
    const [endpoint, record] = [endpoints.get(resource), records.get(resource)];
    if (endpoint === undefined) return [];
    return [[path, record === undefined ? item : { ...item, get: restrictOperation(item.get, part, endpoint, record) }] as const];
  });
  const used = new Set<string>();
  collectRefs(
    kept.map(([, item]) => item),
    components,
    used,
  );
  const keptComponents = Object.entries(components).map(([kind, all]): [string, Record<string, unknown>] => [
    kind,
    kind === 'securitySchemes' ? all : Object.fromEntries(Object.entries(all).filter(([name]) => used.has(`${kind}/${name}`))),
  ]);
  return JSON.stringify(
    {
      ...rest,
      info: withChanges ? info : { ...info, description: withoutChanges(info.description) },
      tags: tags.filter(({ name }) => endpoints.has(name)),
      paths: Object.fromEntries(kept),
      components: Object.fromEntries(keptComponents),
    },
    undefined,
    2,
  );
}

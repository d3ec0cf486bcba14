// What a client needs of the OpenAPI description of a version. Reads structure, not operation names, which
// differ between descriptions that were published at different times.
import { toPropertyNames } from '../names.ts';

export type Kind = 'text' | 'number' | 'integer' | 'boolean' | 'time' | 'unknown';

export type ValueType = {
  readonly kind: Kind;
  /** Of numbers: whether text may take their place, for more digits than a double has. */
  readonly isWide: boolean;
  /** Whether text may take the place of a value of another kind, because readers may see it masked. */
  readonly isMasked: boolean;
  readonly nullable: boolean;
  readonly choices: readonly string[];
  readonly list: ValueType | undefined;
  readonly object: readonly Property[] | undefined;
};
export type Property = { readonly name: string; readonly about: string; readonly type: ValueType };
export type Relation = { readonly name: string; readonly about: string; readonly record: string };

export type ResourceModel = {
  readonly name: string;
  readonly property: string;
  readonly about: string;
  /** The component of its record, an identifier that is unique in the description. */
  readonly record: string;
  readonly fields: readonly Property[];
  readonly relations: readonly Relation[];
  /** Search, `or` and filters. */
  readonly filters: readonly Property[];
  readonly sorting: readonly Property[];
  readonly maxPageSize: number;
  readonly summary:
    | { readonly parameters: readonly Property[]; readonly row: readonly Property[] }
    | undefined;
};
export type Model = {
  readonly version: string;
  readonly resources: readonly ResourceModel[];
};

type Json = { readonly [name: string]: unknown };
const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const objectOf = (value: unknown): Json => (isJson(value) ? value : {});
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

type Resolve = (value: unknown) => Json;

export type Path = { readonly path: string; readonly type: ValueType };

const listValues = (properties: readonly Property[]): Path[] =>
  properties.flatMap(({ name, type }) => {
    const inner = type.list?.object;
    if (inner === undefined) return [{ path: name, type: type.list ?? type }];
    return listValues(inner).map((each) => ({ ...each, path: `${name}.${each.path}` }));
  });

/** Its fields, those of their lines as `lines.quantity`, and those of related records as `customer.balance`. */
export const listPaths = (resource: ResourceModel, all: readonly ResourceModel[]): Path[] => [
  ...listValues(resource.fields),
  ...resource.relations.flatMap(({ name, record }) =>
    listValues(all.find((each) => each.record === record)?.fields ?? [])
      .filter(({ path }) => !path.includes('.'))
      .map((each) => ({ ...each, path: `${name}.${each.path}` })),
  ),
];

/** Names that no record of the version has: `wanted`, or that with a number. */
export function createNames({ resources }: Model): (wanted: string) => string {
  const taken = new Set(resources.map(({ record }) => record));
  return (wanted) => {
    let name = wanted;
    for (let n = 2; taken.has(name); n += 1) name = `${wanted}_${n}`;
    taken.add(name);
    return name;
  };
}

/** Its values are then repeated, as those of all filters. */
export const takesExpandAsFilter = ({ filters }: ResourceModel): boolean =>
  filters.some(({ name }) => name === 'expand');

/** Of a field, for the name of a type: `lines` → `Lines`. */
export const toPascalCase = (name: string): string =>
  name.charAt(0).toUpperCase() + name.slice(1).replaceAll(/\W/g, '_');

/** The first sentence of what a publisher wrote, on one line. */
export const firstSentence = (about: string): string =>
  (/^.*?[.!?](?=\s|$)/s.exec(about)?.[0] ?? about).replace(/[\s\u0000-\u001f\u007f]+/g, ' ').trim();

/** Follows references within the document. */
const createResolve =
  (document: Json): Resolve =>
  (value) => {
    const { $ref } = objectOf(value);
    if (typeof $ref !== 'string') return objectOf(value);
    const path = $ref.replace(/^#\//, '').split('/');
    return objectOf(path.reduce<unknown>((at, name) => objectOf(at)[name], document));
  };

const componentOf = (value: unknown): string => textOf(objectOf(value)['$ref']).split('/').at(-1) ?? '';

function readKind(types: readonly unknown[], schema: Json): Kind {
  if (types.includes('number')) return 'number';
  if (types.includes('integer')) return 'integer';
  if (types.includes('boolean')) return 'boolean';
  if (!types.includes('string')) return 'unknown';
  const formats = [schema, ...listOf(schema['anyOf']).map(objectOf)].map(({ format }) => format);
  return formats.includes('date-time') ? 'time' : 'text';
}

function readType(schema: Json, resolve: Resolve): ValueType {
  const types = [schema['type']].flat();
  const isList = types.includes('array');
  const kind = isList ? 'unknown' : readKind(types, schema);
  const isMasked = 'x-mask' in schema;
  return {
    kind,
    isWide: (kind === 'number' || kind === 'integer') && types.includes('string') && !isMasked,
    isMasked: isMasked && types.includes('string'),
    nullable: types.includes('null'),
    choices: listOf(schema['enum']).filter((choice) => typeof choice === 'string'),
    list: isList ? readType(resolve(schema['items']), resolve) : undefined,
    object: isJson(schema['properties']) ? readProperties(schema['properties'], resolve) : undefined,
  };
}

const readProperties = (properties: Json, resolve: Resolve): Property[] =>
  Object.entries(properties).map(([name, value]) => {
    const schema = resolve(value);
    return { name, about: textOf(schema['description']), type: readType(schema, resolve) };
  });

/** Related records are the only properties with alternatives. */
const isRelation = (schema: unknown): boolean => Array.isArray(objectOf(schema)['anyOf']);

const readRelations = (properties: Json): Relation[] =>
  Object.entries(properties)
    .filter(([, schema]) => isRelation(schema))
    .map(([name, schema]) => ({
      name,
      about: textOf(objectOf(schema)['description']),
      record:
        listOf(objectOf(schema)['anyOf'])
          .map(componentOf)
          .find((found) => found !== '') ?? '',
    }));

type Parameter = Property & { readonly schema: Json; readonly explode: unknown };

const readParameters = (operation: Json, resolve: Resolve): Parameter[] =>
  listOf(operation['parameters'])
    .map(resolve)
    .filter((parameter) => parameter['in'] === 'query')
    .map((parameter) => {
      const schema = resolve(parameter['schema']);
      const about = textOf(parameter['description']);
      const { explode } = parameter;
      return { name: textOf(parameter['name']), about, type: readType(schema, resolve), schema, explode };
    });

const jsonSchema = (operation: Json, resolve: Resolve): Json => {
  const content = objectOf(resolve(objectOf(operation['responses'])['200'])['content']);
  return resolve(objectOf(content['application/json'])['schema']);
};

const sortNames = ['sort', 'order'];
/**
 * Whether the client sets the parameter itself, or it decides the type of a record. Older versions may have
 * filters by the names of parameters that they don't have.
 */
function isShape({ name, type, explode }: Parameter, all: readonly Parameter[]): boolean {
  if (name === 'expand') return explode === false;
  if (name === 'format') return type.choices.includes('ndjson');
  if (name === 'bom') return all.some((other) => other.name === 'format' && isShape(other, all));
  return ['page', 'pageSize', 'fields'].includes(name);
}

function readSummary(operation: Json, filters: readonly Property[], resolve: Resolve) {
  const known = new Set(filters.map(({ name }) => name));
  const items = resolve(objectOf(jsonSchema(operation, resolve)['properties'])['data'])['items'];
  return {
    parameters: readParameters(operation, resolve).filter(({ name }) => !known.has(name)),
    row: readProperties(objectOf(resolve(items)['properties']), resolve),
  };
}

function readResource(document: Json, name: string, base: string, property: string): ResourceModel {
  const resolve = createResolve(document);
  const operationAt = (path: string) => objectOf(objectOf(objectOf(document['paths'])[path])['get']);
  const list = operationAt(base);
  const page = objectOf(jsonSchema(list, resolve)['properties']);
  const { items } = resolve(page['data']);
  const parameters = readParameters(list, resolve);
  const properties = objectOf(resolve(items)['properties']);
  const own = Object.fromEntries(Object.entries(properties).filter(([, schema]) => !isRelation(schema)));
  const filters = parameters.filter((each) => !sortNames.includes(each.name) && !isShape(each, parameters));
  const summary = operationAt(`${base}/summary`);
  const maximum = parameters.find((each) => each.name === 'pageSize')?.schema['maximum'];
  const tags = listOf(document['tags']).map(objectOf);
  return {
    ...{ name, property, filters },
    about: textOf(tags.find((tag) => tag['name'] === name)?.['description']),
    record: componentOf(items),
    fields: readProperties(own, resolve),
    relations: readRelations(properties),
    sorting: parameters.filter((each) => sortNames.includes(each.name)),
    maxPageSize: typeof maximum === 'number' ? maximum : 100,
    summary: 'responses' in summary ? readSummary(summary, filters, resolve) : undefined,
  };
}

/**
 * The resources of `/{version}/{resource}`. Throws a TypeError for text that is not a description of that
 * version.
 */
export function readModel(text: string, version: string): Model {
  const document = objectOf(JSON.parse(text));
  const prefix = `/${version}/`;
  const bases = Object.keys(objectOf(document['paths'])).filter(
    (path) => path.startsWith(prefix) && !path.slice(prefix.length).includes('/'),
  );
  if (bases.length === 0) throw new TypeError(`The description has no resources of version ${version}`);
  const properties = toPropertyNames(bases.map((base) => base.slice(prefix.length)));
  return {
    version,
    resources: bases.map((base) => {
      const name = base.slice(prefix.length);
      return readResource(document, name, base, properties.get(name) ?? name);
    }),
  };
}

// Converts an OpenAPI document (3.0 or 3.1) into what the page shows: resources, their operations,
// parameters, bodies and responses. It knows none of this service's operations, so it works for any document.
import { isJson } from './samples.js';

const escapes = { '~1': '/', '~0': '~' };

/** Follows references within the document and merges `allOf`. An unknown one resolves to an empty object. */
function resolve(root, node) {
  let found = node;
  for (let depth = 0; typeof found?.$ref === 'string' && depth < 20; depth += 1) {
    const steps = found.$ref.replace(/^#\/?/, '').split('/');
    found = steps.reduce(
      (held, step) => held?.[decodeURIComponent(step).replace(/~[01]/g, (text) => escapes[text])],
      root,
    );
  }
  if (found?.allOf === undefined) return found ?? {};
  const { allOf, ...own } = found;
  return Object.assign({}, ...allOf.map((each) => resolve(root, each)), own);
}

const listTypes = ({ type }) => [type ?? []].flat();

const formats = { date: 'date', 'date-time': 'timestamp', uuid: 'UUID', uri: 'URL' };

/** A type as the page shows it: `date`, `number or string`, `array of string`. */
export function typeText(root, given) {
  const schema = resolve(root, given);
  if (schema.enum !== undefined) return 'enum';
  const alternatives = (schema.anyOf ?? schema.oneOf ?? [])
    .map((each) => ({ type: schema.type, ...resolve(root, each) }))
    .filter(({ type }) => type !== 'null')
    .map((each) => typeText(root, each));
  if (alternatives.length > 0) return [...new Set(alternatives)].join(' or ');
  const types = listTypes(schema).filter((type) => type !== 'null');
  if (types.length === 0) return schema.properties === undefined ? 'any' : 'object';
  return types
    .map((type) => {
      if (type === 'array') return `array of ${typeText(root, schema.items ?? {})}`;
      if (type === 'string') return formats[schema.format] ?? 'string';
      return type;
    })
    .join(' or ');
}

const isNullable = (schema) =>
  schema.nullable === true ||
  listTypes(schema).includes('null') ||
  (schema.anyOf ?? schema.oneOf ?? []).some(({ type }) => type === 'null');

/** The limits of a schema as text, unless its description mentions them already. */
function boundsText(schema, description) {
  const { minimum, maximum, minLength, maxLength, maxItems, default: preset } = schema;
  const range =
    minimum !== undefined && maximum !== undefined && maximum < 2 ** 31 - 1
      ? `${minimum} to ${maximum}`
      : minimum !== undefined
        ? `at least ${minimum}`
        : maximum !== undefined && `at most ${maximum}`;
  return [
    range,
    minLength > 1 && `at least ${minLength} characters`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    maxItems !== undefined && `at most ${maxItems}`,
    preset !== undefined && typeof preset !== 'object' && `default ${preset}`,
  ]
    .filter((text) => text && !description.includes(text))
    .join(', ');
}

function readParameter(root, given) {
  const parameter = resolve(root, given);
  const schema = resolve(root, parameter.schema ?? {});
  const isList = listTypes(schema).includes('array');
  const description = parameter.description ?? schema.description ?? '';
  const item = isList ? resolve(root, schema.items ?? {}) : schema;
  return {
    name: parameter.name,
    in: parameter.in,
    required: parameter.required === true,
    deprecated: parameter.deprecated === true,
    description,
    type: typeText(root, item),
    bounds: boundsText(schema, description),
    isList,
    /** How an array is sent: the parameter repeated, or one value with commas. */
    isRepeated: isList && (parameter.explode ?? (parameter.style ?? 'form') === 'form'),
    options: item.enum ?? (listTypes(item).includes('boolean') ? [true, false] : []),
    isChoice: item.enum !== undefined,
    example: String(parameter.example ?? item.examples?.[0] ?? item.example ?? ''),
  };
}

function readContent(root, content = {}) {
  return Object.entries(content).map(([type, { schema, example, examples }]) => {
    const first = resolve(root, Object.values(examples ?? {})[0] ?? {}).value;
    return { type, schema: resolve(root, schema ?? {}), example: example ?? first };
  });
}

function readResponses(root, responses = {}) {
  return Object.entries(responses).map(([status, given]) => {
    const { description = '', headers = {}, content } = resolve(root, given);
    return {
      status,
      description,
      headers: Object.entries(headers).map(([name, header]) => ({
        name,
        description: resolve(root, header).description ?? '',
      })),
      content: readContent(root, content),
    };
  });
}

/** The properties of a schema; for `oneOf`, those of all alternatives. */
function listProperties(root, schema) {
  const found = { ...schema.properties };
  for (const form of schema.oneOf ?? []) {
    for (const [name, given] of Object.entries(resolve(root, form).properties ?? {})) {
      const held = found[name];
      found[name] =
        held === undefined ? given : { description: resolve(root, given).description, oneOf: [held, given] };
    }
  }
  return found;
}

/** The fields of a schema; the fields of nested objects and arrays of objects follow as `lines.item`. */
function readFields(root, schema, prefix = '', depth = 0) {
  // Alternatives are merged at the top level only: a change's record is one field here, and its fields are
  // shown with the list.
  const properties = depth === 0 ? listProperties(root, schema) : (schema.properties ?? {});
  return Object.entries(properties).flatMap(([name, given]) => {
    const field = resolve(root, given);
    const inner = field.items === undefined ? field : resolve(root, field.items);
    const description = field.description ?? '';
    const own = {
      name: prefix + name,
      depth,
      type: typeText(root, field),
      format: field.format ?? '',
      required: schema.required?.includes(name) === true,
      isNullable: isNullable(field),
      description,
      bounds: boundsText(field, description),
      options: field.enum ?? [],
    };
    return [own, ...(depth < 3 ? readFields(root, inner, `${prefix}${name}.`, depth + 1) : [])];
  });
}

const findJson = (content) => content.find(({ type }) => isJson(type));

/** The schema of the record within a response's envelope, or of the whole response. */
function findRecord(root, schema) {
  const data = resolve(root, schema.properties?.data ?? {});
  const inner = data.items === undefined ? data : resolve(root, data.items);
  return inner.properties === undefined && inner.oneOf === undefined ? schema : inner;
}

/** A body as JSON, with the text to start from; undefined when the operation takes none. */
function readBody(root, given) {
  const { required = false, content } = resolve(root, given);
  const json = findJson(readContent(root, content));
  if (json === undefined) return undefined;
  return {
    required,
    text: JSON.stringify(json.example ?? {}, null, 2),
    fields: readFields(root, json.schema),
  };
}

/**
 * Makes retries of programs safe. The page sends a request once for each click, so it doesn't ask for one.
 */
const isForRetries = ({ name }) => name.toLowerCase() === 'idempotency-key';

function readOperation(root, { path, method, item, operation }) {
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((given) =>
    readParameter(root, given),
  );
  const responses = readResponses(root, operation.responses);
  const media = responses.find(({ status }) => /^2/.test(status))?.content ?? [];
  const schema = findJson(media)?.schema ?? {};
  const record = findRecord(root, schema);
  return {
    id: operation.operationId ?? `${method} ${path}`,
    method: method.toUpperCase(),
    path,
    tag: operation.tags?.[0] ?? 'Other',
    summary: operation.summary ?? path,
    description: operation.description ?? '',
    deprecated: operation.deprecated === true,
    parameters: parameters.filter((parameter) => !isForRetries(parameter)),
    body: readBody(root, operation.requestBody),
    responses,
    record,
    fields: readFields(root, record),
    // A page can't show files such as workbooks.
    media: media.filter(({ schema }) => schema.format !== 'binary').map(({ type }) => type),
    /** What a program reads of a response: the member `data`, everything or nothing. */
    reads: media.length === 0 ? 'nothing' : schema.properties?.data === undefined ? 'everything' : 'data',
  };
}

/**
 * The field that a parameter filters: the one with the longest name that the parameter equals or starts with.
 */
const findField = ({ name, in: location }, fields) =>
  location === 'query'
    ? fields
        .filter((field) => name === field.name || name.startsWith(`${field.name}_`))
        .sort((a, b) => b.name.length - a.name.length)[0]
    : undefined;

/** Fields of records, and those of their lines, can be filtered. */
const filterable = ({ fields }) => fields.filter(({ depth }) => depth <= 1);

/**
 * Sets the field of each parameter that is a filter. Only the first operation of a resource has the fields of
 * its records, so that those of another operation are filters when the first one has the same.
 */
function markFilters([list, ...others]) {
  if (list === undefined) return;
  for (const parameter of list.parameters) parameter.field = findField(parameter, filterable(list));
  for (const operation of others)
    for (const parameter of operation.parameters) {
      const isSame = ({ name, description }) =>
        name === parameter.name && description === parameter.description;
      parameter.field =
        operation.record === list.record
          ? findField(parameter, filterable(list))
          : list.parameters.find(isSame)?.field;
    }
}

/** A resource's name as a title: `sales-orders` becomes "Sales orders". */
const toTitle = (name) => {
  const words = name.replaceAll(/[-_]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/**
 * Returns `{kind, title, version, description, resources: [{name, title, description, fields, operations}]}`,
 * in the order of the document. `kind` says what its tags are: 'resources', whose operations are all about
 * the same records, or 'groups' of any operations.
 */
export function readDescription(root, kind = 'resources') {
  const operations = Object.entries(root.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      methods.includes(method) ? [readOperation(root, { path, method, item, operation })] : [],
    ),
  );
  const tags = new Map((root.tags ?? []).map(({ name, description = '' }) => [name, description]));
  for (const { tag } of operations) if (!tags.has(tag)) tags.set(tag, '');
  const resources = [...tags].map(([name, description]) => {
    const own = operations.filter(({ tag }) => tag === name);
    if (kind === 'resources') markFilters(own);
    return {
      name,
      title: toTitle(name),
      description,
      fields: own[0]?.fields ?? [],
      record: own[0]?.record,
      operations: own,
    };
  });
  const { title = '', version = '', description = '' } = root.info ?? {};
  return {
    kind,
    title,
    version,
    description,
    resources: resources.filter(({ operations: own }) => own.length > 0),
  };
}

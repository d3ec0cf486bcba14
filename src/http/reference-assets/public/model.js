// Reads an OpenAPI description into what the page shows: resources, their operations, parameters and answers. It knows nothing of
// this service's own operations, so whatever a description holds is shown. Only GET: the public interface reads.

const escapes = { '~1': '/', '~0': '~' };

/** Follows references within the description. An unknown one is nothing. */
function resolve(root, node) {
  let found = node;
  for (let depth = 0; typeof found?.$ref === 'string' && depth < 20; depth += 1) {
    const steps = found.$ref.replace(/^#\/?/, '').split('/');
    found = steps.reduce((held, step) => held?.[decodeURIComponent(step).replace(/~[01]/g, (text) => escapes[text])], root);
  }
  return found ?? {};
}

const typesOf = ({ type }) => [type ?? []].flat();

const words = { integer: 'whole number', number: 'number', string: 'text', boolean: 'true or false', object: 'object', array: 'list' };
const formats = { date: 'date', 'date-time': 'time', uuid: 'id', uri: 'address' };

/** A type in words: `date`, `number or text`, `list of text`. */
export function typeText(root, given) {
  const schema = resolve(root, given);
  if (schema.enum !== undefined) return 'choice';
  const alternatives = (schema.anyOf ?? schema.oneOf ?? [])
    .map((each) => ({ type: schema.type, ...resolve(root, each) }))
    .filter(({ type }) => type !== 'null')
    .map((each) => typeText(root, each));
  if (alternatives.length > 0) return [...new Set(alternatives)].join(' or ');
  const types = typesOf(schema).filter((type) => type !== 'null');
  if (types.length === 0) return schema.properties === undefined ? 'any' : 'object';
  return types
    .map((type) => {
      if (type === 'array') return `list of ${typeText(root, schema.items ?? {})}`;
      if (type === 'string') return formats[schema.format] ?? 'text';
      return words[type] ?? type;
    })
    .join(' or ');
}

const isNullable = (schema) => typesOf(schema).includes('null') || (schema.anyOf ?? schema.oneOf ?? []).some(({ type }) => type === 'null');

/** The bounds of a schema in words, as far as the description doesn't say them already. */
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
    minLength > 1 && `${minLength} characters or more`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    maxItems !== undefined && `at most ${maxItems}`,
    preset !== undefined && `${preset} if absent`,
  ]
    .filter((text) => text && !description.includes(text))
    .join(', ');
}

function readParameter(root, given) {
  const parameter = resolve(root, given);
  const schema = resolve(root, parameter.schema ?? {});
  const isList = typesOf(schema).includes('array');
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
    /** How a list is sent: the parameter repeated, or one value with commas. */
    isRepeated: isList && (parameter.explode ?? (parameter.style ?? 'form') === 'form'),
    options: item.enum ?? (typesOf(item).includes('boolean') ? [true, false] : []),
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
      headers: Object.entries(headers).map(([name, header]) => ({ name, description: resolve(root, header).description ?? '' })),
      content: readContent(root, content),
    };
  });
}

/** Of a schema that may have several forms: what any of them has. */
function propertiesOf(root, schema) {
  const found = { ...schema.properties };
  for (const form of schema.oneOf ?? []) {
    for (const [name, given] of Object.entries(resolve(root, form).properties ?? {})) {
      const held = found[name];
      found[name] = held === undefined ? given : { description: resolve(root, given).description, oneOf: [held, given] };
    }
  }
  return found;
}

/** The fields of a schema; those of lists of objects and of objects follow theirs as `lines.item`. */
function readFields(root, schema, prefix = '', depth = 0) {
  // A record among its changes is shown as such, and its fields where it is listed.
  const properties = depth === 0 ? propertiesOf(root, schema) : (schema.properties ?? {});
  return Object.entries(properties).flatMap(([name, given]) => {
    const field = resolve(root, given);
    const inner = field.items === undefined ? field : resolve(root, field.items);
    const own = {
      name: prefix + name,
      depth,
      type: typeText(root, field),
      format: field.format ?? '',
      isNullable: isNullable(field),
      description: field.description ?? '',
      options: field.enum ?? [],
    };
    return [own, ...(depth < 3 ? readFields(root, inner, `${prefix}${name}.`, depth + 1) : [])];
  });
}

/** What an answer is about: the record in its envelope, or the whole of it. */
function recordOf(root, responses) {
  const good = responses.find(({ status }) => /^2/.test(status));
  const schema = good?.content.find(({ type }) => /\bjson\b/.test(type))?.schema ?? {};
  const data = resolve(root, schema.properties?.data ?? {});
  const inner = data.items === undefined ? data : resolve(root, data.items);
  return inner.properties === undefined && inner.oneOf === undefined ? schema : inner;
}

function readOperation(root, path, item, operation) {
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((given) => readParameter(root, given));
  const responses = readResponses(root, operation.responses);
  const record = recordOf(root, responses);
  return {
    id: operation.operationId ?? path,
    path,
    tag: operation.tags?.[0] ?? 'Other',
    summary: operation.summary ?? path,
    description: operation.description ?? '',
    deprecated: operation.deprecated === true,
    parameters,
    responses,
    record,
    fields: readFields(root, record),
    media: responses.find(({ status }) => /^2/.test(status))?.content ?? [],
  };
}

/** `{title, version, description, resources: [{name, description, fields, operations}]}`, in the order of the description. */
export function readDescription(root) {
  const operations = Object.entries(root.paths ?? {}).flatMap(([path, item]) =>
    item.get === undefined ? [] : [readOperation(root, path, item, item.get)],
  );
  const tags = new Map((root.tags ?? []).map(({ name, description = '' }) => [name, description]));
  for (const { tag } of operations) if (!tags.has(tag)) tags.set(tag, '');
  const resources = [...tags].map(([name, description]) => {
    const own = operations.filter(({ tag }) => tag === name);
    return { name, description, fields: own[0]?.fields ?? [], record: own[0]?.record, operations: own };
  });
  const { title = '', version = '', description = '' } = root.info ?? {};
  return { title, version, description, resources: resources.filter(({ operations: own }) => own.length > 0) };
}

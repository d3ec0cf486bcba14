// Describes a resource's record and parameters in OpenAPI 3.1, from its definition and bound types.
import type { oas31 } from 'openapi3-ts';
import { elementType, isDated, isListType, isNumeric, type ListType } from '../../warehouse/columns.ts';
import { boundSource } from '../version/bind.ts';
import { takesSeveral, toSuffix, type ValueType } from '../version/operators.ts';
import type {
  Bindings,
  BoundColumn,
  EndpointDefinition,
  FieldDefinition,
  LineFieldDefinition,
  Mask,
  Operator,
} from '../version/schema-document.ts';

type Schema = oas31.SchemaObject;
type Parameter = oas31.ParameterObject;

export const dateSentence =
  'A date compared with a timestamp field means the whole UTC day: equality matches within it, `_after` from the next day on, `_before` up to the day before, `_gte` from its start and `_lte` up to its end. Date and timestamp fields therefore agree: `_after=2026-01-31` starts on 1 February.';
const largeNumbers = 'Whole numbers beyond 2^53 are strings, so that no digit is lost.';

const shapes: Readonly<
  Record<
    Exclude<ValueType, ListType>,
    { types: oas31.SchemaObjectType[]; format?: string; example: unknown; note?: string }
  >
> = {
  text: { types: ['string'], example: 'Example' },
  number: { types: ['number', 'string'], example: 1249.5, note: `Exact decimal digits. ${largeNumbers}` },
  integer: { types: ['integer', 'string'], example: 42, note: largeNumbers },
  boolean: { types: ['boolean'], example: true },
  date: { types: ['string'], format: 'date', example: '2026-01-31' },
  time: { types: ['string'], format: 'date-time', example: '2026-01-31T10:00:00Z' },
};

/** Adds a missing full stop between sentences: descriptions by publishers may lack theirs. */
const joined = (...sentences: (string | undefined)[]): string => {
  const given = sentences.filter((sentence): sentence is string => sentence !== undefined && sentence !== '');
  return given
    .map((sentence, index) =>
      index < given.length - 1 && !/[.!?:;…]$/.test(sentence) ? `${sentence}.` : sentence,
    )
    .join(' ');
};
const described = (...sentences: (string | undefined)[]): { description?: string } => {
  const description = joined(...sentences);
  return description === '' ? {} : { description };
};

const scopableNote = 'Row scopes of keys and tokens may name this field.';
const maskNotes: Readonly<Record<Mask, string>> = {
  hash: 'Readers without unmasked access see the HMAC-SHA-256 of the value instead, as 64 hexadecimal digits: equal for equal values.',
  last4:
    'Readers without unmasked access see `****` and the last four characters instead, or only `****` when the value has fewer than eight.',
  year: 'Readers without unmasked access see the year alone, as text.',
};

/** What the definition says about access to the field. */
const accessNotes = ({ mask, scopable }: Pick<FieldDefinition, 'mask' | 'scopable'>) => [
  mask && maskNotes[mask],
  scopable ? scopableNote : undefined,
];

const accessExtensions = ({
  mask,
  tags,
  scopable,
}: Pick<FieldDefinition, 'mask' | 'tags' | 'scopable'>): Schema => ({
  ...(scopable && { 'x-scopable': true }),
  ...(mask !== undefined && { 'x-mask': mask }),
  ...(tags !== undefined && tags.length > 0 && { 'x-tags': tags }),
});

/** A masked value is text, whatever the type of the value behind it. */
export function valueSchema(
  type: ValueType,
  field: LineFieldDefinition & Pick<FieldDefinition, 'scopable'>,
): Schema {
  if (isListType(type)) return listSchema(type, field);
  const shape = shapes[type];
  const isText = field.as === 'string' && isNumeric(type);
  const types = isText ? ['string' as const] : shape.types;
  const isMasked = field.mask !== undefined;
  return {
    type: [...new Set([...types, ...(isMasked ? ['string' as const] : [])]), 'null'],
    ...(shape.format !== undefined && !isMasked && { format: shape.format }),
    ...described(field.description, isText ? 'Exact digits, as text.' : shape.note, ...accessNotes(field)),
    examples: [isText ? String(shape.example) : shape.example],
    ...accessExtensions(field),
  };
}

/** A masked list is one text. */
function listSchema(type: ListType, field: LineFieldDefinition & Pick<FieldDefinition, 'scopable'>): Schema {
  const { types, example } = shapes[elementType(type)];
  const isNames = type === 'texts';
  const sentence = isNames
    ? 'The names of the chosen entries, in their order; `null` for one whose name is not known.'
    : 'The ids of the chosen entries, in their order.';
  return {
    type: ['array', ...(field.mask === undefined ? [] : ['string' as const]), 'null'],
    items: { type: isNames ? [...types, 'null'] : types },
    ...described(field.description, sentence, ...accessNotes(field)),
    examples: [[example]],
    ...accessExtensions(field),
  };
}

/** The column of a field by its definition; undefined while it isn't bound. */
export const boundColumn = (
  bindings: Bindings,
  recordType: string,
  field: Pick<FieldDefinition, 'source' | 'as'>,
): BoundColumn | undefined => {
  const columns = Object.hasOwn(bindings, recordType) ? bindings[recordType]?.columns : undefined;
  const source = boundSource(field);
  return columns !== undefined && Object.hasOwn(columns, source) ? columns[source] : undefined;
};

const notSynced = (field: LineFieldDefinition & Pick<FieldDefinition, 'scopable'>): Schema => ({
  ...described(field.description, 'Not synced yet; its type is unknown.', ...accessNotes(field)),
  ...accessExtensions(field),
});

function fieldSchema(field: FieldDefinition, bound: BoundColumn | undefined): Schema {
  if (bound === undefined) return notSynced(field);
  if (bound.type !== 'lines') return valueSchema(bound.type, field);
  const properties = (field.fields ?? []).map((line): [string, Schema] => {
    const type = bound.lineFields?.find(({ name }) => name === boundSource(line))?.type;
    return [line.name, type === undefined ? notSynced(line) : valueSchema(type, line)];
  });
  return {
    type: ['array', 'null'],
    ...described(field.description, 'In line order.'),
    items: {
      type: 'object',
      properties: Object.fromEntries(properties),
      required: properties.map(([name]) => name),
    },
    ...accessExtensions(field),
  };
}

/** The schema with that value of `values` as its example, if there is one. */
const withExample = (schema: Schema, values: Readonly<Record<string, unknown>>, name: string): Schema =>
  Object.hasOwn(values, name) ? { ...schema, examples: [values[name]] } : schema;

/**
 * Only `id` is required, because the `fields` parameter may exclude the rest. `values` are examples by field,
 * in place of those of the types.
 */
export function recordSchema(
  endpoint: EndpointDefinition,
  bindings: Bindings,
  values: Readonly<Record<string, unknown>>,
): Schema {
  const id = withExample(
    { type: 'string', description: 'Id of the record in the ERP.', examples: ['1042'] },
    values,
    'id',
  );
  const fields = endpoint.fields.map((field): [string, Schema] => [
    field.name,
    withExample(fieldSchema(field, boundColumn(bindings, endpoint.recordType, field)), values, field.name),
  ]);
  return {
    type: 'object',
    ...described(endpoint.description),
    properties: { id, ...Object.fromEntries(fields) },
    required: ['id'],
  };
}

/**
 * An example record, built from the examples of its fields. It has no related records, which come only when
 * they are requested.
 */
export function exampleRecord(schema: Schema): Record<string, unknown> {
  const properties = Object.entries(schema.properties ?? {}) as [string, Schema][];
  const fields = properties.filter(([, { anyOf }]) => anyOf === undefined);
  return Object.fromEntries(
    fields.map(([name, property]) => {
      const [example] = property.examples ?? [];
      if (example === undefined && property.items !== undefined)
        return [name, [exampleRecord(property.items as Schema)]];
      return [name, example ?? null];
    }),
  );
}

const meanings: Readonly<Record<Operator, string>> = {
  eq: 'Equals this value. Repeat the parameter to match any of up to 100 values.',
  after: 'Later than this value.',
  before: 'Earlier than this value.',
  gte: 'Greater than or equal to this value.',
  lte: 'Less than or equal to this value.',
  gt: 'Greater than this value.',
  lt: 'Less than this value.',
  contains: 'Contains this text, ignoring case. At least 3 characters; `%` and `_` have no special meaning.',
  starts_with: 'Starts with this text, ignoring case; `%` and `_` have no special meaning.',
  all: 'Has every entry that is given. Repeat the parameter for up to 100 entries.',
  not: 'Differs from this value; records without a value are included. Repeat the parameter to exclude up to 100 values.',
  null: '`true`: only records without a value. `false`: only records with a value.',
};

/** Of lists, where the operators of values mean something else. */
const listMeanings: Partial<Record<Operator, string>> = {
  eq: 'Has this entry. Repeat the parameter to match any of up to 100 entries.',
  not: 'Has not this entry; records without a value are included. Repeat the parameter to exclude up to 100 entries.',
};

function parameterValue(operator: Operator, type: ValueType): Schema {
  if (operator === 'null') return { type: 'boolean' };
  if (operator === 'contains') return { type: 'string', minLength: 3 };
  if (operator === 'starts_with') return { type: 'string', minLength: 1 };
  if (type === 'time')
    return {
      type: 'string',
      anyOf: [{ format: 'date' }, { format: 'date-time' }],
      examples: ['2026-01-31', '2026-01-31T10:00:00Z'],
    };
  // What the field answers can be sent back: whole numbers beyond 2^53 and exact amounts are texts.
  const { types, format, example } = shapes[elementType(type)];
  const [only] = types;
  return {
    type: types.length === 1 && only !== undefined ? only : types,
    ...(format !== undefined && { format }),
    examples: [example],
  };
}

/** The parameter of one filter, with its own name and type. `lines` is the field whose lines are filtered. */
export function filterParameter(
  field: string,
  operator: Operator,
  type: ValueType,
  lines?: string,
): Parameter {
  const value = parameterValue(operator, type);
  const asksForTime = isDated(type) && operator !== 'null';
  const lineNote = lines === undefined ? undefined : `A record matches when one of its \`${lines}\` does.`;
  return {
    name: field + toSuffix(operator),
    in: 'query',
    required: false,
    description: joined(
      (isListType(type) ? listMeanings[operator] : undefined) ?? meanings[operator],
      lineNote,
      asksForTime ? dateSentence : undefined,
    ),
    schema: takesSeveral(operator) ? { type: 'array', items: value, minItems: 1, maxItems: 100 } : value,
    ...(takesSeveral(operator) && { style: 'form' as const, explode: true }),
  };
}

/** The type of `<lines>.<field>`, a field of lines; undefined for another name and while unbound. */
function lineType(
  { fields, recordType }: EndpointDefinition,
  bindings: Bindings,
  name: string,
): ValueType | undefined {
  const [linesName = '', ...rest] = name.split('.');
  const lines = fields.find((field) => field.name === linesName);
  const line = lines?.fields?.find((field) => field.name === rest.join('.'));
  if (lines === undefined || line === undefined) return undefined;
  return boundColumn(bindings, recordType, lines)?.lineFields?.find(
    (field) => field.name === boundSource(line),
  )?.type;
}

/** Operators whose value is one of the field. */
const comparing = new Set<Operator>(['eq', 'not', 'gt', 'gte', 'lt', 'lte', 'after', 'before']);

function withValue(parameter: Parameter, operator: Operator, value: unknown): Parameter {
  if (value === undefined || !comparing.has(operator)) return parameter;
  const schema = parameter.schema as Schema;
  const examples = [value];
  return {
    ...parameter,
    schema:
      schema.items === undefined
        ? { ...schema, examples }
        : { ...schema, items: { ...schema.items, examples } },
  };
}

/** The filters of the endpoint that are bound, `id` first; `values` are examples by field. */
export function filterParameters(
  endpoint: EndpointDefinition,
  bindings: Bindings,
  values: Readonly<Record<string, unknown>>,
): Parameter[] {
  const idType: ValueType =
    (Object.hasOwn(bindings, endpoint.recordType) ? bindings[endpoint.recordType]?.idType : undefined) ??
    'text';
  const declared = endpoint.filters.flatMap(({ field, operators }) => {
    const line = lineType(endpoint, bindings, field);
    if (line !== undefined)
      return operators.map((operator) => filterParameter(field, operator, line, field.split('.')[0]));
    const defined = endpoint.fields.find(({ name }) => name === field);
    const type = defined && boundColumn(bindings, endpoint.recordType, defined)?.type;
    if (type === undefined || type === 'lines') return [];
    return operators.map((operator) =>
      withValue(filterParameter(field, operator, type), operator, values[field]),
    );
  });
  const id = filterParameter('id', 'eq', idType === 'integer' ? 'integer' : 'text');
  return [withValue(id, 'eq', values['id']), ...declared];
}

// Generates inputs from a route's own schemas: valid ones by their types, invalid ones by one change to a
// valid one.
import fc from 'fast-check';
import { z } from 'zod';
import { asBuilt, type Fields } from './builder.ts';

export type Json = Record<string, unknown>;

/** The JSON Schema of an input; a field's own `openapi` metadata replaces the generated schema. */
export function toWireSchema(schema: z.ZodType): Json {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      const { openapi } = jsonSchema as { openapi?: Json };
      if (openapi === undefined) return;
      for (const key of Object.keys(jsonSchema)) delete (jsonSchema as Json)[key];
      Object.assign(jsonSchema, openapi);
    },
  }) as Json;
}

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const number = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);

const instantsWithin = (min: string, max: string) =>
  fc.date({ min: new Date(min), max: new Date(max), noInvalidDate: true }).map((at) => at.toISOString());
/** Starts of time spans; their ends are in `laterInstants`. */
export const instants = instantsWithin('2000-01-01T00:00:00Z', '2090-01-01T00:00:00Z');
/** For values that must be in the future. */
export const laterInstants = instantsWithin('2091-01-01T00:00:00Z', '2900-01-01T00:00:00Z');
const emails = fc.stringMatching(/^[a-z][a-z0-9]{0,8}@[a-z]{1,8}\.example$/);

/** Creating one takes milliseconds, and some are needed for every input. */
const byPattern = new Map<string, fc.Arbitrary<string>>();
function matching(pattern: string): fc.Arbitrary<string> {
  const made = byPattern.get(pattern) ?? fc.stringMatching(new RegExp(pattern), { size: 'small' });
  byPattern.set(pattern, made);
  return made;
}

function texts(schema: Json): fc.Arbitrary<unknown> {
  if (schema['format'] === 'uuid') return fc.uuid();
  if (schema['format'] === 'date-time') return instants;
  if (schema['format'] === 'date') return instants.map((at) => at.slice(0, 10));
  if (schema['format'] === 'email') return emails;
  if (schema['format'] === 'uri') return fc.webUrl();
  if (typeof schema['pattern'] === 'string') return matching(schema['pattern']);
  const minLength = number(schema['minLength'], 0);
  const maxLength = number(schema['maxLength'], 200);
  const some = fc
    .string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, Math.max(minLength, 24)) })
    .map((text) => text.slice(0, maxLength))
    .filter((text) => text.isWellFormed() && text.trim().length >= minLength);
  return fc.oneof(
    { weight: 8, arbitrary: some },
    { weight: 1, arbitrary: fc.constant('x'.repeat(maxLength)) },
  );
}

function arrays(schema: Json, root: Json, place: string, fields: Fields): fc.Arbitrary<unknown> {
  const items = createArbitrary((schema['items'] ?? {}) as Json, root, `${place}[]`, fields);
  const minLength = number(schema['minItems'], 0);
  const bounds = { minLength, maxLength: Math.min(number(schema['maxItems'], 3), Math.max(minLength, 3)) };
  return fc.uniqueArray(items, { ...bounds, selector: (item) => JSON.stringify(item) });
}

function objects(schema: Json, root: Json, place: string, fields: Fields): fc.Arbitrary<unknown> {
  const properties = (schema['properties'] ?? {}) as Record<string, Json>;
  const parts = Object.fromEntries(
    Object.entries(properties).map(([name, part]) => [
      name,
      createArbitrary(part, root, `${place}.${name}`, fields),
    ]),
  );
  const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : [];
  const built = Object.keys(properties).filter((name) => fields[`${place}.${name}`] === asBuilt);
  return fc.record(parts, { requiredKeys: [...new Set([...required, ...built])], noNullPrototype: true });
}

/** Values of the schema; `place` is their path, so that `fields` can provide better ones. */
export function createArbitrary(
  schema: Json,
  root: Json,
  place: string,
  fields: Fields,
): fc.Arbitrary<unknown> {
  const given = fields[place];
  if (given !== undefined) return given === asBuilt ? fc.constant(asBuilt) : given;
  if (typeof schema['$ref'] === 'string') {
    const name = schema['$ref'].replace('#/$defs/', '');
    return createArbitrary((root['$defs'] as Record<string, Json>)[name] ?? {}, root, place, fields);
  }
  if (schema['nullable'] === true)
    return fc.option(createArbitrary({ ...schema, nullable: false }, root, place, fields));
  if ('const' in schema) return fc.constant(schema['const']);
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]));
  const choices = [...list(schema['anyOf']), ...list(schema['oneOf'])];
  if (choices.length > 0)
    return fc.oneof(...choices.map((choice) => createArbitrary(choice, root, place, fields)));
  switch (schema['type']) {
    case 'string':
      return texts(schema);
    case 'integer':
      return fc.integer({
        min: number(schema['minimum'], -1_000),
        max: Math.min(number(schema['maximum'], 1_000_000), 2 ** 31 - 1),
      });
    case 'number':
      return fc.double({
        min: number(schema['minimum'], -1e6),
        max: number(schema['maximum'], 1e6),
        noNaN: true,
      });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return arrays(schema, root, place, fields);
    case 'object':
      return objects(schema, root, place, fields);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

/** Replaces markers in a generated value with the values from `build`. */
export function fillAsBuilt(value: unknown, built: unknown): unknown {
  if (value === asBuilt) return built;
  if (Array.isArray(value))
    return value
      .filter((item) => item !== asBuilt)
      .map((item, index) => fillAsBuilt(item, (built as unknown[] | undefined)?.[index]));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(
    ([key, item]) => [key, fillAsBuilt(item, (built as Json | undefined)?.[key])] as const,
  );
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};
/** Unexpected values that replace a valid one. */
const intruders: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  1e308,
  Number.MAX_SAFE_INTEGER,
  '',
  ' ',
  'x'.repeat(20_000),
  'NUL \0 inside',
  'bell \u0007 and line\nbreak',
  'half \ud800 pair',
  "'; drop table users; --",
  '../../etc/passwd',
  '{{7*7}}',
  [],
  {},
  [null],
  [[]],
  { a: { b: {} } },
  Array.from({ length: 2_000 }, (_, index) => index),
  nested(400),
  nested(2_500),
];
/** Own properties with these names, as JSON.parse creates them, must be rejected like any unknown field. */
const strangers = [
  'unheard_of',
  '__proto__',
  'constructor',
  'toString',
  'ID',
  'organizationId',
  'organization_id',
  ' ',
  '\0',
  'näme',
];

const madeUpNames = fc.stringMatching(/^[a-z]{3,12}$/);

type Step = string | number;
function listPlaces(value: unknown, at: readonly Step[] = []): (readonly Step[])[] {
  if (typeof value !== 'object' || value === null) return [at];
  const inside = Object.entries(value).flatMap(([key, item]) =>
    listPlaces(item, [...at, Array.isArray(value) ? Number(key) : key]),
  );
  return [at, ...inside];
}

/** A copy with another value at one path; `undefined` removes it. */
function changed(value: unknown, [step, ...rest]: readonly Step[], put: (old: unknown) => unknown): unknown {
  if (step === undefined) return put(value);
  if (Array.isArray(value))
    return value.map((item, index) => (index === step ? changed(item, rest, put) : item));
  const entries = Object.entries(value as Json).map(
    ([key, item]) => [key, key === step ? changed(item, rest, put) : item] as const,
  );
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}

const withStranger = (value: unknown, name: string): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { [name]: 1 };
  return Object.defineProperty({ ...value }, name, { value: 1, enumerable: true });
};

/**
 * One change to a valid body: an unexpected value, a missing or unknown field, or a different body
 * altogether.
 */
export function spoiled(valid: unknown): fc.Arbitrary<unknown> {
  const places = listPlaces(valid);
  const inside = places.filter((place) => place.length > 0);
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .tuple(fc.constantFrom(...places), fc.constantFrom(...intruders))
        .map(([place, odd]) => changed(valid, place, () => odd)),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.constantFrom(...places), fc.oneof(fc.constantFrom(...strangers), madeUpNames))
        .map(([place, name]) => changed(valid, place, (old) => withStranger(old, name))),
    },
    {
      weight: inside.length === 0 ? 0 : 2,
      arbitrary: fc
        .constantFrom(...(inside.length === 0 ? [[]] : inside))
        .map((place) => changed(valid, place, () => undefined)),
    },
  );
}

/** The same for a query, where every value is a string: pairs, because a name may occur twice. */
export function spoiledQuery(
  valid: Readonly<Record<string, string>>,
  known: readonly string[],
): fc.Arbitrary<[string, string][]> {
  const pairs = Object.entries(valid);
  const odd = fc.constantFrom(
    '',
    ' ',
    '-1',
    '0',
    '1.5',
    '1e9',
    'NaN',
    '999999999999',
    'null',
    'x'.repeat(3_000),
    'a\0b',
    "' or 1=1 --",
    '[]',
    'é\u0007',
  );
  const unknownName = fc.oneof(
    fc.constantFrom(...strangers.filter((name) => !known.includes(name))),
    madeUpNames.filter((name) => !known.includes(name)),
  );
  const unknown = fc.tuple(unknownName, odd).map((pair): [string, string][] => [...pairs, pair]);
  if (known.length === 0) return unknown;
  const one = fc.constantFrom(...known);
  const put = fc
    .tuple(one, odd)
    .map(([name, value]): [string, string][] => [...pairs.filter(([key]) => key !== name), [name, value]]);
  const twice = fc
    .tuple(one, odd)
    .map(([name, value]): [string, string][] => [...pairs, [name, value], [name, value]]);
  return fc.oneof(unknown, put, put, twice);
}

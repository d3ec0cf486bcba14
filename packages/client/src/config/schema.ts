// Values by the schemas that the service declares in its description: checked, with defaults, in one order.

/** The part of OpenAPI 3.0 that the service writes. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
};

export type Values = Readonly<Record<string, unknown>>;
export type Problem = { readonly path: string; readonly message: string };

export type Reading = {
  readonly schemas: Readonly<Record<string, Schema>>;
  /** Whether properties that the schema lacks are problems. They are left out in any case. */
  readonly isStrict: boolean;
  /** What a property is called in the value; undefined for one that the value must not have. */
  readonly nameOf: (property: string) => string | undefined;
};

type Read = { readonly value: unknown; readonly problems: readonly Problem[] };

export const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

const articles: Readonly<Record<string, string>> = { array: 'an array', integer: 'an integer' };

const hasType = (value: unknown, type: string): boolean =>
  type === 'integer' ? Number.isInteger(value) : typeOf(value) === type;

const counted = (value: unknown): number =>
  typeof value === 'number' ? value : Array.isArray(value) ? value.length : [...String(value)].length;

/** The limit of the schema that the value breaks, as a sentence. */
function findBrokenLimit(value: unknown, schema: Schema): string | undefined {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema;
  const unit = Array.isArray(value) ? ' entries' : typeof value === 'string' ? ' characters' : '';
  const [min, max] = [minimum ?? minLength ?? minItems, maximum ?? maxLength ?? maxItems];
  const verb = unit === '' ? 'be' : 'have';
  if (min !== undefined && counted(value) < min) return `must ${verb} at least ${min}${unit}`;
  if (max !== undefined && counted(value) > max) return `must ${verb} at most ${max}${unit}`;
  const isFitting =
    pattern === undefined || typeof value !== 'string' || new RegExp(pattern, 'u').test(value);
  return isFitting ? undefined : `must match ${pattern}`;
}

const fail = (path: string, message: string): Read => ({ value: undefined, problems: [{ path, message }] });

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

function readProperties(value: unknown, schema: Schema, reading: Reading, path: string): Read {
  if (!isObject(value)) return fail(path, 'must be an object');
  const problems: Problem[] = [];
  const entries: [string, unknown][] = [];
  const names: string[] = [];
  for (const [property, declared] of Object.entries(schema.properties ?? {})) {
    const name = reading.nameOf(property);
    if (name === undefined) continue;
    names.push(name);
    const given = Object.hasOwn(value, name) ? value[name] : declared.default;
    if (given === undefined) {
      if (schema.required?.includes(property))
        problems.push({ path: join(path, name), message: 'is missing' });
      continue;
    }
    const read = readValue(given, declared, reading, join(path, name));
    problems.push(...read.problems);
    entries.push([name, read.value]);
  }
  if (reading.isStrict)
    for (const name of Object.keys(value))
      if (!names.includes(name))
        problems.push({ path: join(path, name), message: `is unknown: allowed are ${names.join(', ')}` });
  return { value: Object.fromEntries(entries), problems };
}

function readItems(value: unknown, schema: Schema, reading: Reading, path: string): Read {
  if (!Array.isArray(value)) return fail(path, 'must be an array');
  const read = value.map((item, index) => readValue(item, schema.items ?? {}, reading, `${path}[${index}]`));
  const limit = reading.isStrict ? findBrokenLimit(value, schema) : undefined;
  if (limit !== undefined) return fail(path, limit);
  return { value: read.map((each) => each.value), problems: read.flatMap((each) => each.problems) };
}

/** By the alternative with the fewest problems. */
function readAlternative(
  value: unknown,
  alternatives: readonly Schema[],
  reading: Reading,
  path: string,
): Read {
  const reads = alternatives.map((each) => readValue(value, each, reading, path));
  return reads.reduce((best, each) => (each.problems.length < best.problems.length ? each : best));
}

/** The value in the order of the schema and with its defaults, and what is wrong with it. */
export function readValue(value: unknown, schema: Schema, reading: Reading, path: string): Read {
  const { $ref, allOf = [], type } = schema;
  const alternatives = schema.anyOf ?? schema.oneOf;
  const named = $ref === undefined ? allOf[0] : reading.schemas[$ref.replace('#/components/schemas/', '')];
  if (value === null && schema.nullable) return { value, problems: [] };
  if (named !== undefined) return readValue(value, named, reading, path);
  if (alternatives !== undefined) return readAlternative(value, alternatives, reading, path);
  if (type === undefined) return { value, problems: [] };
  if (type === 'object') return readProperties(value, schema, reading, path);
  if (type === 'array') return readItems(value, schema, reading, path);
  if (!hasType(value, type)) return fail(path, `must be ${articles[type] ?? `a ${type}`}`);
  if (schema.enum !== undefined && !schema.enum.includes(value))
    return fail(path, `must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(', ')}`);
  const limit = reading.isStrict ? findBrokenLimit(value, schema) : undefined;
  if (limit !== undefined) return fail(path, limit);
  return {
    value: schema.format === 'email' && typeof value === 'string' ? value.toLowerCase() : value,
    problems: [],
  };
}

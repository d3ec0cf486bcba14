// What clients demand of the input schemas of tools, by their published rules. VS Code and the function calls
// of OpenAI refuse a list whose items have no type, also in a list of types (`tool parameters array type must
// have items`; `array schema missing items`). OpenAI wants an object without alternatives at the top and
// names of at most 64 letters, digits, `_` and `-`; Gemini reads no other keywords than these, and wants a
// type or alternatives everywhere.
import type { Tool } from '@modelcontextprotocol/server';

const keywords = new Set(
  `type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties
  additionalProperties required $defs $ref`.split(/\s+/),
);

type Schema = Readonly<Record<string, unknown>>;
const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const schemasIn = (value: unknown): Schema[] => (Array.isArray(value) ? value : [value]).filter(isSchema);

/** The rules that a tool breaks, each with its place. */
export function brokenRules({
  name,
  description,
  inputSchema,
}: Pick<Tool, 'name' | 'description' | 'inputSchema'>): string[] {
  const broken: string[] = [];
  const visit = (schema: Schema, place: string): void => {
    const types = [schema['type']].flat();
    if (schema['type'] === undefined && schema['anyOf'] === undefined && schema['$ref'] === undefined)
      broken.push(`${place} has no type`);
    if (types.includes('array') && !(isSchema(schema['items']) && Object.keys(schema['items']).length > 0))
      broken.push(`${place} is a list without items`);
    for (const keyword of Object.keys(schema))
      if (!keywords.has(keyword)) broken.push(`${place} has ${keyword}`);
    for (const [key, property] of Object.entries((schema['properties'] ?? {}) as Schema))
      if (isSchema(property)) visit(property, `${place}.${key}`);
    for (const keyword of ['items', 'additionalProperties', 'anyOf', 'oneOf'])
      for (const inner of schemasIn(schema[keyword])) visit(inner, `${place}.${keyword}`);
    const known = Object.keys((schema['properties'] ?? {}) as Schema);
    for (const required of (schema['required'] ?? []) as string[])
      if (!known.includes(required)) broken.push(`${place} requires ${required}, which it doesn't have`);
  };
  visit(inputSchema as Schema, name);
  if (
    inputSchema.type !== 'object' ||
    ['anyOf', 'oneOf', 'allOf', 'not', 'enum'].some((keyword) => keyword in inputSchema)
  )
    broken.push(`${name} takes no plain object`);
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) broken.push(`${name} is no name`);
  if ((description ?? '').length > 1_024) broken.push(`${name} has a long description`);
  return broken;
}

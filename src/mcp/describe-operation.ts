// Describes one operation from the OpenAPI document, with only the component schemas that it refers to.
import type { Route } from '../http/route/route.ts';

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((part, key) => (isObject(part) ? part[key] : undefined), value);

const schemaRef = '#/components/schemas/';

function collectRefs(value: unknown, found: Set<string>): void {
  if (!isObject(value)) return;
  const { $ref } = value;
  if (typeof $ref === 'string' && $ref.startsWith(schemaRef)) found.add($ref.slice(schemaRef.length));
  for (const part of Object.values(value)) collectRefs(part, found);
}

/** The component schemas that `parts` refers to, directly or indirectly. */
function schemasFor(parts: unknown, document: Json): Record<string, unknown> {
  const names = new Set<string>();
  collectRefs(parts, names);
  // A Set's iteration also visits values added while it runs.
  for (const name of names) collectRefs(at(document, 'components', 'schemas', name), names);
  return Object.fromEntries([...names].map((name) => [name, at(document, 'components', 'schemas', name)]));
}

const isParameter = (value: unknown): value is { readonly in: string } =>
  isObject(value) && typeof value['in'] === 'string';

/** `document` is the OpenAPI document that contains the route. */
export function describeOperation({ id, method, path, permission, summary }: Route, document: Json): Json {
  const operation = at(document, 'paths', path, method.toLowerCase());
  const responses = Object.entries((at(operation, 'responses') ?? {}) as Json);
  const [success] = responses.filter(([status]) => status.startsWith('2'));
  const findJson = (part: unknown) => at(part, 'content', 'application/json');
  const parameters = ((at(operation, 'parameters') ?? []) as readonly unknown[]).filter(
    (parameter) => isParameter(parameter) && parameter.in !== 'header',
  );
  const body = findJson(at(operation, 'requestBody'));
  const parts = {
    parameters,
    ...(body !== undefined && { body }),
    answer: { status: Number(success?.[0]), ...(findJson(success?.[1]) as Json) },
  };
  const schemas = schemasFor(parts, document);
  return {
    id,
    method,
    path,
    summary,
    description: at(operation, 'description'),
    permission,
    ...parts,
    errors: responses.map(([status]) => Number(status)).filter((status) => status >= 400),
    ...(Object.keys(schemas).length > 0 && { components: { schemas } }),
  };
}

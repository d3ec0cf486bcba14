// One operation out of the OpenAPI description, with just the shared shapes that it needs.
import type { Route } from '../http/route.ts';

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((held, key) => (isObject(held) ? held[key] : undefined), value);

const schemaRef = '#/components/schemas/';

function collectRefs(value: unknown, found: Set<string>): void {
  if (!isObject(value)) return;
  const { $ref } = value;
  if (typeof $ref === 'string' && $ref.startsWith(schemaRef)) found.add($ref.slice(schemaRef.length));
  for (const part of Object.values(value)) collectRefs(part, found);
}

/** The shapes that are pointed at from there, and from those. */
function shapesFor(parts: unknown, document: Json): Record<string, unknown> {
  const names = new Set<string>();
  collectRefs(parts, names);
  // A set that grows while it is walked is walked to its new end.
  for (const name of names) collectRefs(at(document, 'components', 'schemas', name), names);
  return Object.fromEntries([...names].map((name) => [name, at(document, 'components', 'schemas', name)]));
}

const isParameter = (value: unknown): value is { readonly in: string } => isObject(value) && typeof value['in'] === 'string';

/** `document` is the description of the interface that the route belongs to. */
export function describeOperation({ id, method, path, permission, summary }: Route, document: Json): Json {
  const operation = at(document, 'paths', path, method.toLowerCase());
  const responses = Object.entries((at(operation, 'responses') ?? {}) as Json);
  const [good] = responses.filter(([status]) => status.startsWith('2'));
  const jsonOf = (place: unknown) => at(place, 'content', 'application/json');
  const parameters = ((at(operation, 'parameters') ?? []) as readonly unknown[]).filter(
    (parameter) => isParameter(parameter) && parameter.in !== 'header',
  );
  const body = jsonOf(at(operation, 'requestBody'));
  const parts = { parameters, ...(body !== undefined && { body }), answer: { status: Number(good?.[0]), ...(jsonOf(good?.[1]) as Json) } };
  const shapes = shapesFor(parts, document);
  return {
    id,
    method,
    path,
    summary,
    description: at(operation, 'description'),
    permission,
    ...parts,
    errors: responses.map(([status]) => Number(status)).filter((status) => status >= 400),
    ...(Object.keys(shapes).length > 0 && { components: { schemas: shapes } }),
  };
}

// Writes the parameters of a request.

export type Value = string | number | bigint | boolean | Date;
export type Query = Readonly<Record<string, Value | readonly Value[]>>;

/** Their values are one text with commas; those of filters are repeated, also of one called `expand`. */
const joined = new Set(['fields', 'expand']);

function toText(name: string, value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${name} is ${value}`);
  if (['string', 'number', 'bigint', 'boolean'].includes(typeof value)) return String(value);
  throw new TypeError(`${name} is ${value === null ? 'null' : typeof value}; leave out what is not set`);
}

/**
 * The query with its question mark, or an empty text. Throws a TypeError for values that would be left out,
 * because a filter that is left out widens the result: undefined, null and empty lists.
 */
export function writeQuery(query: Query, { expands = true }: { readonly expands?: boolean } = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const values = (Array.isArray(value) ? value : [value]).map((each) => toText(name, each));
    if (values.length === 0) throw new TypeError(`${name} is an empty list`);
    for (const text of joined.has(name) && (expands || name !== 'expand') ? [values.join()] : values)
      parameters.append(name, text);
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

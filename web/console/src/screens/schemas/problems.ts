// Finds the field that a problem belongs to by its JSON path, such as `endpoints[0].filters[2].operators[1]`.
// A field is named by itself: an edited field is another object, so that its old problems go as soon as it
// changes and those of the others stay where they are. Pure.
import { type Document, type Endpoint, type FlatField, flatFields, toFieldName } from './document.ts';

export type Problem = { readonly path: string; readonly code: string; readonly message: string };

/**
 * Messages by field, also those of lines; by the position of a resource as a whole; without a key for the
 * whole document.
 */
export type Placed = ReadonlyMap<object | number | undefined, readonly string[]>;

type Step = string | number;
/** `endpoints[0].fields[2].name` as `['endpoints', 0, 'fields', 2, 'name']`. */
const parsePath = (path: string): Step[] =>
  [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, name = '', index]) =>
    index === undefined ? name : Number(index),
  );

/** The field that a path below a resource is about. */
function findRow(
  endpoint: Endpoint,
  [list = '', index, inner, line]: readonly Step[],
): FlatField | undefined {
  if (typeof index !== 'number' || list === 'relations') return undefined;
  const rows = flatFields(endpoint);
  if (list === 'fields')
    return rows.find(
      ({ spot }) =>
        spot.field === index && spot.line === (inner === 'fields' && typeof line === 'number' ? line : null),
    );
  const lists = endpoint as unknown as Readonly<
    Record<Step, readonly (Parameters<typeof toFieldName>[0] | readonly string[])[] | undefined>
  >;
  const entry = lists[list]?.[index];
  const one = Array.isArray(entry) ? entry[Number(inner)] : entry;
  const path = one === undefined ? '' : toFieldName(one).replace(/^-/, '');
  return rows.find((row) => row.path === path);
}

type Place = { readonly index: number; readonly endpoint: Endpoint; readonly row: FlatField | undefined };

/** Undefined for the document as a whole. */
export function findPlace(document: Document, path: string): Place | undefined {
  const [head, index, ...steps] = parsePath(path);
  const endpoint = head === 'endpoints' && typeof index === 'number' ? document[index] : undefined;
  return endpoint && { index: Number(index), endpoint, row: findRow(endpoint, steps) };
}

/** Of the document that was validated. */
export function placeProblems(document: Document, problems: readonly Problem[]): Placed {
  const placed = new Map<object | number | undefined, string[]>();
  for (const { path, message } of problems) {
    const place = findPlace(document, path);
    const key = place?.row?.field ?? place?.index;
    placed.set(key, [...(placed.get(key) ?? []), message]);
  }
  return placed;
}

/** How many problems a resource has, with those of its fields. */
export const countProblems = (placed: Placed, endpoint: Endpoint, index: number): number =>
  [index, ...flatFields(endpoint).map(({ field }) => field)].flatMap((key) => placed.get(key) ?? []).length;

/** What a problem's path names, to link there: a resource, or a field of it. */
export function describePlace(document: Document, path: string): string {
  const place = findPlace(document, path);
  return place === undefined
    ? 'The definition'
    : [place.endpoint.name, ...(place.row ? [place.row.field.name] : [])].join('.');
}

// The definition of a version as the editor holds it, and its edits. A name that changes or goes is changed
// or removed wherever the document uses it, so that an edit never leaves a reference to nothing. Pure; every
// edit returns a new document and keeps what it didn't touch.

export type Operator =
  | 'eq'
  | 'after'
  | 'before'
  | 'gte'
  | 'lte'
  | 'gt'
  | 'lt'
  | 'contains'
  | 'starts_with'
  | 'not'
  | 'all'
  | 'null';
export type AggregateFunction = 'sum' | 'avg' | 'min' | 'max' | 'count_distinct';
export type Period = 'day' | 'week' | 'month' | 'quarter' | 'year';
export type Mask = 'hash' | 'year' | 'last4';
type Tag = 'personal' | 'confidential';

export type LineField = {
  name: string;
  source: string;
  description: string;
  as?: 'number' | 'string' | 'list';
  mask?: Mask;
  tags?: Tag[];
};
export type Field = LineField & { scopable?: boolean; fields?: LineField[] };
export type Filter = { field: string; operators: Operator[] };
type Aggregate = { field: string; functions: AggregateFunction[]; currency?: 'none' };
export type Group = string | { field: string; periods: Period[] };
export type Relation = { name: string; field: string; resource: string };
export type Endpoint = {
  name: string;
  recordType: string;
  description: string;
  fields: Field[];
  filters: Filter[];
  sorts: string[];
  defaultSort: { field: string; order: 'asc' | 'desc' } | null;
  maxPageSize: number;
  aggregates?: Aggregate[];
  groups?: Group[];
  relations?: Relation[];
  search?: string[];
  or?: true;
  sortSets?: string[][];
  document?: 'invoice';
};
export type Document = readonly Endpoint[];

/**
 * Changes parts of a resource. Those that say nothing are left out, as the service writes them: an optional
 * list may not be empty.
 */
export function changeParts(
  endpoint: Endpoint,
  change: { readonly [Part in keyof Endpoint]?: Endpoint[Part] | undefined },
): Endpoint {
  const next = { ...endpoint, ...change } as Endpoint;
  for (const part of ['aggregates', 'groups', 'relations', 'search', 'sortSets', 'or', 'document'] as const)
    if (next[part] === undefined || (Array.isArray(next[part]) && next[part].length === 0)) delete next[part];
  return next;
}

/**
 * `after` in place of every mention of the field `before` that isn't its own definition. Null: mentions are
 * removed.
 */
function replaceMentions(endpoint: Endpoint, before: string, after: string | null): Endpoint {
  /** Mentions are the name itself, `-name` and `name.field of lines`. */
  const swap = (text: string): string[] => {
    const sign = text === `-${before}` ? '-' : '';
    if (sign === '' && text !== before && !text.startsWith(`${before}.`)) return [text];
    return after === null ? [] : [`${sign}${after}${text.slice(sign.length + before.length)}`];
  };
  const swapIn = <T extends { field: string }>(entry: T): T[] =>
    swap(entry.field).map((field) => ({ ...entry, field }));
  const { filters, sorts, defaultSort, aggregates, groups, relations, search, sortSets } = endpoint;
  return changeParts(endpoint, {
    filters: filters.flatMap(swapIn),
    sorts: sorts.flatMap(swap),
    defaultSort: defaultSort && (swapIn(defaultSort)[0] ?? null),
    aggregates: aggregates?.flatMap(swapIn),
    groups: groups?.flatMap((group): Group[] => (typeof group === 'string' ? swap(group) : swapIn(group))),
    relations: relations?.flatMap(swapIn),
    search: search?.flatMap(swap),
    sortSets: sortSets?.map((keys) => keys.flatMap(swap)).filter(({ length }) => length >= 2),
  });
}

const isNamed =
  (name: string) =>
  (one: { readonly name: string }): boolean =>
    one.name === name;
/** Whether two have this name: then it isn't known which one a mention means. */
const isShared = (all: readonly { readonly name: string }[], name: string): boolean =>
  all.filter(isNamed(name)).length > 1;

/** Parts that say nothing are left out, as the service writes them. */
const withoutEmpty = ({ as, mask, tags = [], scopable, ...rest }: Field): Field => ({
  ...rest,
  ...(as !== undefined && as !== 'number' && { as }),
  ...(mask && { mask }),
  ...(tags.length > 0 && { tags }),
  ...(scopable && { scopable }),
});

/** Where a field is: its position, and for a field of lines the position in them. */
export type Spot = { readonly field: number; readonly line: number | null };

/** Changes a field, or removes it with null: what mentions it follows a new name, or goes. */
export function changeAt(
  endpoint: Endpoint,
  { field: at, line }: Spot,
  change: Partial<Field> | null,
): Endpoint {
  const top = endpoint.fields[at];
  const siblings = (line === null ? endpoint.fields : top?.fields) ?? [];
  const before = siblings[line ?? at];
  if (top === undefined || before === undefined) return endpoint;
  // The last field of lines goes with the lines: a list without fields is not allowed.
  if (change === null && line !== null && siblings.length === 1)
    return changeAt(endpoint, { field: at, line: null }, null);
  const toPath = (name: string): string => (line === null ? name : `${top.name}.${name}`);
  const after = change && (change.name ?? before.name);
  const isKept = after === before.name || isShared(siblings, before.name);
  const next = isKept
    ? endpoint
    : replaceMentions(endpoint, toPath(before.name), after === null ? null : toPath(after));
  const fields = siblings.toSpliced(
    line ?? at,
    1,
    ...(change ? [withoutEmpty({ ...before, ...change })] : []),
  );
  return { ...next, fields: line === null ? fields : next.fields.with(at, { ...top, fields }) };
}

/** Moves the field one place up (-1) or down (1). */
export function moveField(endpoint: Endpoint, index: number, by: -1 | 1): Endpoint {
  const field = endpoint.fields[index];
  if (field === undefined || index + by < 0) return endpoint;
  return { ...endpoint, fields: endpoint.fields.toSpliced(index, 1).toSpliced(index + by, 0, field) };
}

/** `path`: its name as filters have it, such as `lines.quantity`. */
export type FlatField = { readonly spot: Spot; readonly path: string; readonly field: Field };
/** All fields with those of lines. */
export const flatFields = ({ fields }: Pick<Endpoint, 'fields'>): FlatField[] =>
  fields.flatMap((field, at) => [
    { spot: { field: at, line: null }, path: field.name, field },
    ...(field.fields ?? []).map((own, line) => ({
      spot: { field: at, line },
      path: `${field.name}.${own.name}`,
      field: own,
    })),
  ]);

/** Names themselves, or entries about a field. */
type Entry = string | { readonly field: string; readonly operators?: readonly Operator[] };
/** The name of the field that an entry of a list is about. */
export const toFieldName = (entry: Entry): string => (typeof entry === 'string' ? entry : entry.field);

/** Replaces the entry of a list that is about a field, or appends it. Without an entry, removes it. */
function setEntry(
  endpoint: Endpoint,
  list: keyof Endpoint,
  field: string,
  entry: Entry | undefined,
): Endpoint {
  const entries = (endpoint[list] ?? []) as readonly Entry[];
  const others = entries.filter((one) => toFieldName(one) !== field);
  const at = entries.findIndex((one) => toFieldName(one) === field);
  return changeParts(endpoint, {
    [list]: entry === undefined ? others : others.toSpliced(at === -1 ? others.length : at, 0, entry),
  });
}

export const listOperators = ({ filters }: Endpoint, field: string): readonly Operator[] =>
  filters.find((filter) => filter.field === field)?.operators ?? [];

/** `field` may be `lines.quantity`. Without operators there is no filter. */
export const setOperators = (endpoint: Endpoint, field: string, operators: readonly Operator[]): Endpoint =>
  setEntry(endpoint, 'filters', field, operators.length === 0 ? undefined : { field, operators });

/** Without the sort, it is no default sort either. */
export const setSort = (endpoint: Endpoint, field: string, on: boolean): Endpoint =>
  setEntry(
    on || endpoint.defaultSort?.field !== field ? endpoint : { ...endpoint, defaultSort: null },
    'sorts',
    field,
    on ? field : undefined,
  );

export const setSearch = (endpoint: Endpoint, field: string, on: boolean): Endpoint =>
  setEntry(endpoint, 'search', field, on ? field : undefined);

export const findAggregate = ({ aggregates = [] }: Endpoint, field: string): Aggregate | undefined =>
  aggregates.find((one) => one.field === field);

export const setAggregate = (endpoint: Endpoint, aggregate: Aggregate): Endpoint =>
  setEntry(endpoint, 'aggregates', aggregate.field, aggregate.functions.length === 0 ? undefined : aggregate);

export const findGroup = ({ groups = [] }: Endpoint, field: string): Group | undefined =>
  groups.find((one) => toFieldName(one) === field);

/** Undefined: no group. */
export const setGroup = (endpoint: Endpoint, field: string, group: Group | undefined): Endpoint =>
  setEntry(endpoint, 'groups', field, group);

/** Relations to the resource follow its new name, or go with it. */
function relink(document: Document, before: string, after: string | null): Document {
  if (isShared(document, before)) return document;
  return document.map((endpoint) =>
    changeParts(endpoint, {
      relations: endpoint.relations?.flatMap((one) =>
        one.resource !== before ? [one] : after === null ? [] : [{ ...one, resource: after }],
      ),
    }),
  );
}

export function renameEndpoint(document: Document, index: number, name: string): Document {
  const before = document[index];
  if (before === undefined) return document;
  const next = relink(document, before.name, name);
  return next.map((endpoint, at) => (at === index ? { ...endpoint, name } : endpoint));
}

export const removeEndpoint = (document: Document, index: number): Document =>
  relink(document, document[index]?.name ?? '', null).filter((_, at) => at !== index);

/** Appends resources; one whose name is taken gets a number. */
export function addEndpoints(document: Document, added: readonly Endpoint[]): Document {
  const all = [...document];
  for (const endpoint of added) {
    let { name } = endpoint;
    for (let number = 2; all.some(isNamed(name)); number += 1) name = `${endpoint.name}-${number}`;
    all.push({ ...endpoint, name });
  }
  return all;
}

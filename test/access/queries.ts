// Random requests for a resource, by anything that its version declares, whether or not the reader may use
// it.

import type { Fixture } from './fixture.ts';
import type { Condition } from './matching.ts';
import type { EndpointModel, FilterModel } from './model.ts';

export type Query = {
  readonly filters: readonly Condition[];
  readonly q: string | null;
  /** Of one value each; null or at least two. */
  readonly or: readonly Condition[] | null;
  /** A field, or a combination such as `date,-total`. */
  readonly sort: string | null;
  readonly order: 'asc' | 'desc' | null;
  readonly fields: readonly string[] | null;
  readonly page: number;
  readonly pageSize: number;
};

export const plainQuery: Query = {
  filters: [],
  q: null,
  or: null,
  sort: null,
  order: null,
  fields: null,
  page: 1,
  pageSize: 20,
};

/**
 * A stored value as a filter takes it; mostly one of a record that the reader may not see. `field`: may be
 * one of lines.
 */
function storedValue(
  { random, kinds }: Fixture,
  { recordType, fields }: EndpointModel,
  field: string,
): string | null {
  const records = [...(kinds.find(({ name }) => name === recordType)?.erp.records.values() ?? [])];
  const { id, values, labels, lines } = random.pick(records);
  const [name, part] = field.split('.');
  const model = fields.find((one) => one.name === name);
  if (model === undefined) return id;
  const source = model.lines.find((line) => line.name === part)?.source;
  if (source !== undefined)
    return lines === null || lines.length === 0 ? null : (random.pick(lines)[source] ?? null);
  return (
    (model.source.endsWith('.name')
      ? labels[model.source.slice(0, -'.name'.length)]
      : values[model.source]) ?? null
  );
}

function randomValues(fixture: Fixture, endpoint: EndpointModel, { field, operator }: FilterModel): string[] {
  const { random } = fixture;
  if (operator === 'null') return [String(random.chance(0.3))];
  const value = (): string[] => {
    const stored = storedValue(fixture, endpoint, field)?.slice(0, 60) ?? null;
    if (stored === null) return [];
    if (operator === 'starts_with') return [stored.slice(0, 3 + random.int(5))];
    return operator === 'contains' ? [stored.slice(random.int(3), 5 + random.int(5))] : [stored];
  };
  const many = operator === 'eq' || operator === 'not' ? 1 + random.int(3) : 1;
  return Array.from({ length: many }, value).flat();
}

const randomConditions = (
  fixture: Fixture,
  endpoint: EndpointModel,
  filters: readonly FilterModel[],
): Condition[] =>
  filters
    .map((filter) => ({ filter, values: randomValues(fixture, endpoint, filter) }))
    .filter(({ values }) => values.length > 0);

/** A part of a stored text, in any case. */
function randomSearch(fixture: Fixture, endpoint: EndpointModel): string | null {
  const { random } = fixture;
  const text = storedValue(fixture, endpoint, random.pick(endpoint.search))?.slice(0, 12) ?? '';
  const part = text.slice(0, 3 + random.int(8));
  if (part.length < 3) return null;
  return random.chance(0.3) ? part.toUpperCase() : part;
}

function randomOr(fixture: Fixture, endpoint: EndpointModel): Condition[] | null {
  const filters = fixture.random.some(endpoint.filters, Math.min(2, endpoint.filters.length)).slice(0, 4);
  const conditions = randomConditions(fixture, endpoint, filters).map(({ filter, values }) => ({
    filter,
    values: values.slice(0, 1),
  }));
  return conditions.length < 2 ? null : conditions;
}

function randomOrder({ random }: Fixture, { sorts, sortSets }: EndpointModel): Pick<Query, 'sort' | 'order'> {
  if (sortSets.length > 0 && random.chance(0.25)) return { sort: random.pick(sortSets).join(), order: null };
  return {
    sort: random.chance(0.4) ? random.pick(sorts) : null,
    order: random.chance(0.3) ? random.pick(['asc', 'desc'] as const) : null,
  };
}

export function randomQuery(fixture: Fixture, endpoint: EndpointModel): Query {
  const { random } = fixture;
  const chosen = random.chance(0.4) ? [] : random.some(endpoint.filters).slice(0, random.pick([1, 1, 2]));
  return {
    filters: randomConditions(fixture, endpoint, chosen),
    q: endpoint.search.length > 0 && random.chance(0.2) ? randomSearch(fixture, endpoint) : null,
    or: endpoint.takesOr && random.chance(0.25) ? randomOr(fixture, endpoint) : null,
    ...randomOrder(fixture, endpoint),
    fields: random.chance(0.25) ? random.some(endpoint.fields, 1).map(({ name }) => name) : null,
    page: random.chance(0.6) ? 1 : 1 + random.int(5),
    pageSize: Math.min(endpoint.maxPageSize, random.pick([1, 3, 7, 20, 50])),
  };
}

const parameter = (name: string, value: string): string =>
  `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;

/** Everything that selects records. */
export const filterText = ({ filters, q, or }: Pick<Query, 'filters' | 'q' | 'or'>): string[] => [
  ...filters.flatMap(({ filter, values }) => values.map((value) => parameter(filter.parameter, value))),
  ...(q === null ? [] : [parameter('q', q)]),
  ...(or === null ? [] : [parameter('or', orText(or))]),
];
/** Values in quotes where they need them, and sometimes where they don't. */
const orText = (conditions: readonly Condition[]): string =>
  `(${conditions.map(({ filter: { field, operator }, values: [value = ''] }, at) => `${field}:${operator}:${at === 1 || /[",()]/.test(value) ? quoted(value) : value}`).join(',')})`;
const quoted = (value: string): string => `"${value.replaceAll('"', '""')}"`;
export const orderText = ({ sort, order }: Pick<Query, 'sort' | 'order'>): string[] => [
  ...(sort === null ? [] : [parameter('sort', sort)]),
  ...(order === null ? [] : [parameter('order', order)]),
];
export const fieldsText = ({ fields }: Pick<Query, 'fields'>): string[] =>
  fields === null ? [] : [parameter('fields', fields.join(','))];
export const pageText = ({ page, pageSize }: Query): string[] => [`page=${page}`, `pageSize=${pageSize}`];

const byParameter = (conditions: readonly Condition[]): object =>
  Object.fromEntries(conditions.map(({ filter, values }) => [filter.parameter, values]));
/** What selects records, as the tools of `/mcp` take it. */
export const selectionInput = ({ filters, q, or }: Pick<Query, 'filters' | 'q' | 'or'>): object => ({
  ...(filters.length > 0 && { filters: byParameter(filters) }),
  ...(q !== null && { q }),
  ...(or !== null && { or: byParameter(or) }),
});
/** As the tools of `/mcp` take it. */
export const toolInput = ({ sort, order, fields, page, pageSize, ...selection }: Query): object => ({
  ...selectionInput(selection),
  ...(sort !== null && { sort }),
  ...(order !== null && { order }),
  ...(fields !== null && { fields }),
  page,
  pageSize,
});

// Random requests for a resource, by anything that its version declares, whether or not the reader may use it.
import type { EndpointModel, FieldModel, FilterModel } from './model.ts';
import type { World } from './world.ts';

export type Query = {
  readonly filters: readonly { readonly filter: FilterModel; readonly values: readonly string[] }[];
  readonly sort: string | null;
  readonly order: 'asc' | 'desc' | null;
  readonly fields: readonly string[] | null;
  readonly page: number;
  readonly pageSize: number;
};

export const plainQuery: Query = { filters: [], sort: null, order: null, fields: null, page: 1, pageSize: 20 };

/** A stored value as a filter takes it; mostly one of a record that the reader may not see. */
function storedValue({ random, kinds }: World, { recordType }: EndpointModel, field: FieldModel | undefined): string | null {
  const records = [...(kinds.find(({ name }) => name === recordType)?.erp.records.values() ?? [])];
  const { id, values, labels } = random.pick(records);
  if (field === undefined) return id;
  const { source } = field;
  return (source.endsWith('.name') ? labels[source.slice(0, -'.name'.length)] : values[source]) ?? null;
}

function randomValues(world: World, endpoint: EndpointModel, { field, operator }: FilterModel): string[] {
  const { random } = world;
  if (operator === 'null') return [String(random.chance(0.3))];
  const model = endpoint.fields.find(({ name }) => name === field);
  const value = (): string[] => {
    const stored = storedValue(world, endpoint, model)?.slice(0, 60) ?? null;
    if (stored === null) return [];
    if (operator === 'starts_with') return [stored.slice(0, 3 + random.int(5))];
    return operator === 'contains' ? [stored.slice(random.int(3), 5 + random.int(5))] : [stored];
  };
  const many = operator === 'eq' || operator === 'not' ? 1 + random.int(3) : 1;
  return Array.from({ length: many }, value).flat();
}

export function randomQuery(world: World, endpoint: EndpointModel): Query {
  const { random } = world;
  const chosen = random.chance(0.4) ? [] : random.some(endpoint.filters).slice(0, random.pick([1, 1, 2]));
  const filters = chosen
    .map((filter) => ({ filter, values: randomValues(world, endpoint, filter) }))
    .filter(({ values }) => values.length > 0);
  return {
    filters,
    sort: random.chance(0.4) ? random.pick(endpoint.sorts) : null,
    order: random.chance(0.3) ? random.pick(['asc', 'desc'] as const) : null,
    fields: random.chance(0.25) ? random.some(endpoint.fields, 1).map(({ name }) => name) : null,
    page: random.chance(0.6) ? 1 : 1 + random.int(5),
    pageSize: Math.min(endpoint.maxPageSize, random.pick([1, 3, 7, 20, 50])),
  };
}

const parameter = (name: string, value: string): string => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;

export const filterText = ({ filters }: Pick<Query, 'filters'>): string[] =>
  filters.flatMap(({ filter, values }) => values.map((value) => parameter(filter.parameter, value)));
export const orderText = ({ sort, order }: Pick<Query, 'sort' | 'order'>): string[] => [
  ...(sort === null ? [] : [parameter('sort', sort)]),
  ...(order === null ? [] : [parameter('order', order)]),
];
export const fieldsText = ({ fields }: Pick<Query, 'fields'>): string[] => (fields === null ? [] : [parameter('fields', fields.join(','))]);
export const pageText = ({ page, pageSize }: Query): string[] => [`page=${page}`, `pageSize=${pageSize}`];

/** As the tools of `/mcp` take it. */
export const toolInput = ({ filters, sort, order, fields, page, pageSize }: Query): object => ({
  ...(filters.length > 0 && { filters: Object.fromEntries(filters.map(({ filter, values }) => [filter.parameter, values])) }),
  ...(sort !== null && { sort }),
  ...(order !== null && { order }),
  ...(fields !== null && { fields }),
  page,
  pageSize,
});

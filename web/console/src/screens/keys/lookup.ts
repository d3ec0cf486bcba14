// Where the values of a condition are chosen from: the records that its field refers to, found by name.

import { type Parameters, type Place, useRecords } from '../../parts/read-records.tsx';
import { may } from '../../session.ts';
import { filterLiving, listResources, type Version } from '../../versions.ts';

type Endpoint = Version['endpoints'][number];
export type Lookup = {
  readonly place: Place;
  /** What the records are, such as `customers`. */
  readonly resource: string;
  /** The field whose value is chosen. */
  readonly id: string;
  /** The fields that name a record; they may be none. */
  readonly names: readonly string[];
  /** The parameter that finds records by their name. */
  readonly search: string | undefined;
  readonly pageSize: number;
};
export type Found = { readonly id: string; readonly name: string };

const maxNames = 2;
const maxFound = 20;

/** Someone who sees a field masked can't search by it. */
const isSearchable = ({ fields }: Endpoint, name: string): boolean =>
  may('unmasked:read') || fields.every((field) => field.name !== name || field.mask === undefined);

const findContains = ({ filters }: Endpoint, names: readonly string[]): string | undefined =>
  names.find((name) =>
    filters.some(({ field, operators }) => field === name && operators.includes('contains')),
  );

/** Finds records of a resource by what it is searched by. */
function byRecord(place: Place, endpoint: Endpoint): Lookup {
  const listed =
    endpoint.search ?? endpoint.filters.map(({ field }) => findContains(endpoint, [field]) ?? '');
  const names = listed.filter((name) => name !== '' && isSearchable(endpoint, name)).slice(0, maxNames);
  const contains = findContains(endpoint, names);
  const search = endpoint.search !== undefined ? 'q' : contains && `${contains}_contains`;
  return toLookup(place, endpoint, 'id', names, search);
}

const toLookup = (
  place: Place,
  { name: resource, maxPageSize }: Endpoint,
  id: string,
  names: readonly string[],
  search: string | undefined,
): Lookup => ({ place, resource, id, names, search, pageSize: Math.min(maxFound, maxPageSize ?? maxFound) });

/** Of a field that refers to other records, or names them next to their ids. */
function byField(version: Version, endpoint: Endpoint, field: string): Lookup {
  const related = endpoint.relations?.find((relation) => relation.field === field)?.resource;
  const target = version.endpoints.find(({ name }) => name === related);
  if (target !== undefined) return byRecord({ id: version.id, resource: target.name }, target);
  const source = endpoint.fields.find(({ name }) => name === field)?.source;
  const label = endpoint.fields.find((one) => one.source === `${source}.name`)?.name;
  const names = label === undefined || !isSearchable(endpoint, label) ? [] : [label];
  const contains = findContains(endpoint, names);
  return toLookup(
    { id: version.id, resource: endpoint.name },
    endpoint,
    field,
    names,
    contains && `${contains}_contains`,
  );
}

/** Undefined for people who may not read records, and for a resource or field that no version has. */
export function findLookup(
  versions: readonly Version[],
  resource: string | undefined,
  field: string | undefined,
): Lookup | undefined {
  if (!may('record:read')) return undefined;
  for (const version of filterLiving(versions)) {
    const endpoint = version.endpoints.find(({ name }) => name === resource);
    if (endpoint === undefined) continue;
    if (field === 'id') return byRecord({ id: version.id, resource: endpoint.name }, endpoint);
    if (endpoint.fields.some(({ name }) => name === field)) return byField(version, endpoint, field ?? '');
  }
  return undefined;
}

/** Whose records a token reads: their resource, and the condition of each resource that refers to it. */
export type Customers = {
  readonly lookup: Lookup;
  /** The record type, such as `customer`. */
  readonly kind: string;
  /** By resource, the field that has the id of the customer. */
  readonly fields: Readonly<Record<string, string>>;
};

/** The resource of customers, otherwise one that other resources refer to by a field that scopes may name. */
export function findCustomers(
  versions: readonly Version[],
  resources: readonly string[] = listResources(versions),
): Customers | undefined {
  const endpoints = versions.flatMap((version) =>
    version.endpoints.filter(({ name }) => resources.includes(name)),
  );
  const references = endpoints.flatMap(({ name, relations = [], fields }) =>
    relations
      .filter(({ field }) => fields.some((one) => one.name === field && one.scopable === true))
      .map(({ field, resource }) => ({ from: name, field, to: resource })),
  );
  const found =
    endpoints.find(({ recordType }) => recordType === 'customer') ??
    // Of another connection, or another kind of ERP.
    endpoints.find(({ recordType }) => /(^|:)customers?$/.test(recordType)) ??
    endpoints.find(({ name }) => references.some(({ to }) => to === name));
  const lookup = found && findLookup(versions, found.name, 'id');
  if (lookup === undefined) return undefined;
  const own = references
    .filter(({ to }) => to === found?.name)
    .map(({ from, field }) => [from, field] as const);
  return {
    lookup,
    kind: found?.recordType ?? '',
    fields: Object.fromEntries([[lookup.resource, 'id'], ...own]),
  };
}

export const rowsOfCustomer = ({ fields }: Customers, id: string) =>
  Object.fromEntries(Object.entries(fields).map(([resource, field]) => [resource, [{ field, in: [id] }]]));

/** What `lookup` finds with these parameters, each value once; null parameters read nothing. */
export function useFound({ place, id, names, pageSize }: Lookup, parameters: Parameters | null) {
  const fields = [...new Set([id, ...names])].filter((name) => name !== 'id').join();
  const size = ['pageSize', String(pageSize)] as const;
  const read = useRecords(
    place,
    parameters && [...parameters, size, ...(fields === '' ? [] : [['fields', fields] as const])],
  );
  const found = read.data?.data.flatMap((row): Found[] => {
    const value = row[id];
    const texts = names.map((name) => row[name]).filter((text) => typeof text === 'string' && text !== '');
    return typeof value === 'string' ? [{ id: value, name: [...new Set(texts)].join(' · ') }] : [];
  });
  return { error: read.error, found: found && [...new Map(found.map((one) => [one.id, one])).values()] };
}

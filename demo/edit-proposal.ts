// The demo's version from the service's proposal: what it offers to ask in one request, under the names of
// schema.ts.
import { z } from 'zod';
import { demoEndpoints } from './schema.ts';

const Field = z.object({ name: z.string(), source: z.string() });
const Endpoint = z.object({
  name: z.string(),
  recordType: z.string(),
  fields: z.array(Field.extend({ fields: z.array(Field).optional() })),
  filters: z.array(z.object({ field: z.string(), operators: z.array(z.string()) })),
  aggregates: z.array(z.looseObject({ field: z.string() })).optional(),
  groups: z.array(z.union([z.string(), z.looseObject({ field: z.string() })])).optional(),
  relations: z.array(z.object({ name: z.string(), field: z.string(), resource: z.string() })).optional(),
  search: z.array(z.string()).optional(),
});
type Endpoint = z.output<typeof Endpoint>;

/** The response of `POST /api-schema/draft-from`, as far as the demo uses it. */
export const Proposal = z.object({ endpoints: z.array(Endpoint) });

type DemoEndpoint = (typeof demoEndpoints)[number];
/** What can be asked in one request. */
type Offered = Pick<Endpoint, 'aggregates' | 'groups' | 'relations' | 'search'> & {
  or?: true;
  sortSets?: readonly (readonly string[])[];
};

const sortSets: Readonly<Record<string, readonly (readonly string[])[]>> = {
  invoices: [['date', '-total']],
  'credit-memos': [['date', '-total']],
};

/**
 * The demo's name of a field of the proposal, or of `<lines>.<field>`; undefined when the demo doesn't show
 * it.
 */
function demoName(name: string, proposed: Endpoint, own: DemoEndpoint): string | undefined {
  const [fieldName, lineName] = name.split('.');
  const field = proposed.fields.find((each) => each.name === fieldName);
  const known = own.fields.find(({ source }) => source === field?.source);
  if (known === undefined || lineName === undefined) return known?.name;
  const line = field?.fields?.find((each) => each.name === lineName);
  const lines: readonly { name: string; source: string }[] = 'fields' in known ? known.fields : [];
  const knownLine = lines.find(({ source }) => source === line?.source);
  return knownLine === undefined ? undefined : `${known.name}.${knownLine.name}`;
}

/**
 * What the proposal offers over the fields that the demo shows. `resources`: the demo's names by those of the
 * proposal.
 */
function toOffered(proposed: Endpoint, own: DemoEndpoint, resources: ReadonlyMap<string, string>): Offered {
  const listNames = (name: string): string[] => [demoName(name, proposed, own) ?? []].flat();
  const renamed = <T extends { field: string }>(parts: readonly T[] = []): T[] =>
    parts.flatMap((part) => listNames(part.field).map((field) => ({ ...part, field })));
  const lists = {
    aggregates: renamed(proposed.aggregates),
    groups: (proposed.groups ?? []).flatMap<NonNullable<Endpoint['groups']>[number]>((group) =>
      typeof group === 'string' ? listNames(group) : renamed([group]),
    ),
    relations: renamed(proposed.relations).map((each) => ({
      ...each,
      resource: resources.get(each.resource) ?? each.resource,
    })),
    search: (proposed.search ?? []).flatMap(listNames),
    sortSets: sortSets[own.name] ?? [],
  };
  return { ...Object.fromEntries(Object.entries(lists).filter(([, parts]) => parts.length > 0)), or: true };
}

/**
 * The endpoints that the demo publishes: its own fields, filters and sorts, and what the proposal offers over
 * these fields. A record type without a proposal keeps its list.
 */
export function editProposal({ endpoints }: z.output<typeof Proposal>): (DemoEndpoint & Offered)[] {
  const findResource = (type: string): string =>
    demoEndpoints.find(({ recordType }) => recordType === type)?.name ?? '';
  const resources = new Map(endpoints.map(({ name, recordType }) => [name, findResource(recordType)]));
  return demoEndpoints.map((own): DemoEndpoint & Offered => {
    const proposed = endpoints.find(({ recordType }) => recordType === own.recordType);
    if (proposed === undefined) return own;
    const added = proposed.filters.flatMap(({ field, operators }) => {
      const name = demoName(field, proposed, own);
      const isNew = name !== undefined && !own.filters.some((filter) => filter.field === name);
      return isNew ? [{ field: name, operators }] : [];
    });
    return { ...own, filters: [...own.filters, ...added], ...toOffered(proposed, own, resources) };
  });
}

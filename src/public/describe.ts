// Tells what a version holds in few words: versions, the resources of one, or the fields, filters and sorts of a resource, in the
// definition's own words. For callers who find their way by asking, where a whole OpenAPI description would be too long.
import type { TenantCtx } from '../core/ctx.ts';
import { boundedList } from '../core/output-bound.ts';
import type { Reach } from './authorize.ts';
import type { CompiledEndpoint, OutputField } from './compile.ts';
import type { Engine } from './engine.ts';
import { didYouMean } from './nearest.ts';
import { nothingHere } from './published.ts';
import { currentFreshness } from './read.ts';
import { parameterProblem, refuseParameters } from './request.ts';
import type { EndpointDefinition } from './schema-document.ts';
import { findDefinition, findLive, type VersionState } from './versions.store.ts';

type Access = Reach & { readonly mostCharacters: number };

const itemsOf = (items: readonly unknown[]): string => items.map((item) => JSON.stringify(item)).join();
const within =
  (allowed: readonly string[]) =>
  (name: string): boolean =>
    allowed.length === 0 || allowed.includes(name);

export async function listVersions(tenant: TenantCtx, { versions, resources, mostCharacters }: Access): Promise<string> {
  const found = (await findLive(tenant)).filter(({ version }) => within(versions)(version));
  const items = found.map(({ version, status, name, sunset_at: sunsetAt, resources: all }) => ({
    version,
    status,
    name,
    ...(sunsetAt !== null && { sunsetAt: sunsetAt.toISOString() }),
    resources: all.filter(within(resources)),
  }));
  const advice = 'ask with a `version`';
  return boundedList({
    name: 'versions',
    items: itemsOf(items),
    of: items.length,
    rest: {},
    most: mostCharacters,
    advice,
    path: 'version',
  });
}

async function definitionOf(tenant: TenantCtx, { id }: VersionState) {
  const definition = await findDefinition(tenant, id);
  if (definition === undefined) throw nothingHere();
  return definition;
}

/** Of a hundred resources all fit into one answer; the whole text is told with the resource. */
const longestInList = 300;
const shortened = (text: string): string => (text.length > longestInList ? `${text.slice(0, longestInList).toWellFormed()}…` : text);

export async function listResources(tenant: TenantCtx, { resources, mostCharacters }: Access, state: VersionState): Promise<string> {
  const { name, notes, endpoints } = await definitionOf(tenant, state);
  const items = endpoints
    .filter((endpoint) => within(resources)(endpoint.name))
    .map(({ name: resource, description }) => ({ resource, description: shortened(description) }));
  const rest = { version: state.version, status: state.status, name, notes: notes.slice(0, 2_000) };
  const advice = 'ask with a `resource`; without a `version` all their names are listed';
  return boundedList({ name: 'resources', items: itemsOf(items), of: items.length, rest, most: mostCharacters, advice, path: 'resource' });
}

/** A field as callers see it, with the names of its filters. */
function describeField(field: OutputField, endpoint: CompiledEndpoint, definition: EndpointDefinition | undefined) {
  const defined = definition?.fields.find(({ name }) => name === field.name);
  const about = (text: string | undefined) => (text === undefined || text === '' ? {} : { description: text });
  if (field.kind === 'lines') {
    const lines = field.lines.map(({ name, type, asString }) => ({
      name,
      type: asString ? 'text' : type,
      ...about(defined?.fields?.find((line) => line.name === name)?.description),
    }));
    return { name: field.name, type: 'lines', ...about(defined?.description), fields: lines };
  }
  const filters = [...endpoint.filters.values()].filter((filter) => filter.field === field.name).map(({ name }) => name);
  const type = field.kind === 'absent' ? null : field.column.type;
  return {
    name: field.name,
    type,
    ...(field.kind === 'value' && field.asString && { writtenAs: 'text' }),
    ...about(defined?.description),
    ...(filters.length > 0 && { filters }),
    ...(endpoint.sorts.has(field.name) && { sortable: true }),
  };
}

const idField = ({ idType, filters }: CompiledEndpoint) => ({
  name: 'id',
  type: 'text',
  description: `The record's id in the ERP${idType === 'integer' ? ', a whole number as text' : ''}`,
  filters: [...filters.values()].filter(({ field }) => field === 'id').map(({ name }) => name),
});

function pick<F extends { readonly name: string }>(all: readonly F[], wanted: readonly string[] | undefined): readonly F[] {
  const names = all.map(({ name }) => name);
  const unknown = (wanted ?? []).filter((name) => !names.includes(name)).slice(0, 5);
  if (unknown.length > 0) {
    throw refuseParameters(
      unknown.map((name) =>
        parameterProblem('fields', 'unknown_field', `This resource has no field "${name.slice(0, 80)}".${didYouMean(name, names)}`),
      ),
    );
  }
  return all.filter(({ name }) => wanted === undefined || wanted.includes(name));
}

export async function describeResource(
  engine: Engine,
  tenant: TenantCtx,
  { mostCharacters }: Access,
  state: VersionState,
  endpoint: CompiledEndpoint,
  wanted: readonly string[] | undefined,
): Promise<string> {
  const { endpoints } = await definitionOf(tenant, state);
  const definition = endpoints.find(({ name }) => name === endpoint.name);
  const all = [idField(endpoint), ...endpoint.fields.map((field) => describeField(field, endpoint, definition))];
  const shown = pick(all, wanted);
  const { rowCount, generation, syncedAt } = await currentFreshness(engine.readerOf(tenant.organizationId), endpoint.recordType);
  const rest = {
    version: state.version,
    status: state.status,
    resource: endpoint.name,
    description: definition?.description ?? '',
    defaultSort: definition?.defaultSort ?? { field: 'id', order: 'asc' },
    maxPageSize: endpoint.maxPageSize,
    records: rowCount,
    freshness: { generation, syncedAt },
  };
  const advice = 'name only the `fields` that you want described';
  return boundedList({ name: 'fields', items: itemsOf(shown), of: shown.length, rest, most: mostCharacters, advice, path: 'fields' });
}

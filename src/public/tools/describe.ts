// Summarizes a version for clients that explore it by asking, such as language models: the versions, the resources of one, or the fields,
// filters and sorts of a resource, with the descriptions of its definition. A whole OpenAPI description would be too long.
import type { TenantCtx } from '../../core/ctx.ts';
import { didYouMean } from '../../core/nearest-name.ts';
import { truncatedList } from '../../core/truncate-list.ts';
import { currentFreshness, type Freshness, type ReaderOf } from '../read/reader.ts';
import { parameterError, parameterProblem } from '../read/request.ts';
import { freshnessOfFields } from '../read/stale-fields.ts';
import type { CompiledEndpoint, OutputField } from '../version/compile.ts';
import { notFoundError } from '../version/published.ts';
import type { EndpointDefinition } from '../version/schema-document.ts';
import type { AccessScope } from '../version/scopes.ts';
import { findDefinition, findLive, type VersionState } from '../version/versions.store.ts';

type Access = AccessScope & { readonly maxCharacters: number };

const itemsOf = (items: readonly unknown[]): string => items.map((item) => JSON.stringify(item)).join();
const within =
  (allowed: readonly string[]) =>
  (name: string): boolean =>
    allowed.length === 0 || allowed.includes(name);

/** JSON text of the versions within the scope. Throws 400 when not even one fits into `maxCharacters`. */
export async function listVersions(tenant: TenantCtx, { versions, resources, maxCharacters }: Access): Promise<string> {
  const found = (await findLive(tenant)).filter(({ version }) => within(versions)(version));
  const items = found.map(({ version, status, name, sunset_at: sunsetAt, resources: all }) => ({
    version,
    status,
    name,
    ...(sunsetAt !== null && { sunsetAt: sunsetAt.toISOString() }),
    resources: all.filter(within(resources)),
  }));
  const advice = 'pass a `version`';
  return truncatedList({
    name: 'versions',
    items: itemsOf(items),
    of: items.length,
    rest: {},
    maxChars: maxCharacters,
    advice,
    path: 'version',
  });
}

async function definitionOf(tenant: TenantCtx, { id }: VersionState) {
  const definition = await findDefinition(tenant, id);
  if (definition === undefined) throw notFoundError();
  return definition;
}

/** With this bound a hundred resources fit into one response; the full text comes with the resource itself. */
const maxListedDescription = 300;
const shortened = (text: string): string =>
  text.length > maxListedDescription ? `${text.slice(0, maxListedDescription).toWellFormed()}…` : text;

/** JSON text of the resources of a version within the scope. Throws 400 when not even one fits, and 404 when the version is gone. */
export async function listResources(tenant: TenantCtx, { resources, maxCharacters }: Access, state: VersionState): Promise<string> {
  const { name, notes, endpoints } = await definitionOf(tenant, state);
  const items = endpoints
    .filter((endpoint) => within(resources)(endpoint.name))
    .map(({ name: resource, description }) => ({ resource, description: shortened(description) }));
  const rest = { version: state.version, status: state.status, name, notes: notes.slice(0, 2_000) };
  const advice = 'pass a `resource`; without a `version` all resource names are listed';
  return truncatedList({
    name: 'resources',
    items: itemsOf(items),
    of: items.length,
    rest,
    maxChars: maxCharacters,
    advice,
    path: 'resource',
  });
}

/** A field as clients see it, with the names of its filters. */
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
  description: `Id of the record in the ERP${idType === 'integer' ? ', a whole number as text' : ''}`,
  filters: [...filters.values()].filter(({ field }) => field === 'id').map(({ name }) => name),
});

function pick<F extends { readonly name: string }>(all: readonly F[], wanted: readonly string[] | undefined): readonly F[] {
  const names = all.map(({ name }) => name);
  const unknown = (wanted ?? []).filter((name) => !names.includes(name)).slice(0, 5);
  if (unknown.length > 0) {
    throw parameterError(
      unknown.map((name) => parameterProblem('fields', 'unknown_field', `Unknown field "${name.slice(0, 80)}".${didYouMean(name, names)}`)),
    );
  }
  return all.filter(({ name }) => wanted === undefined || wanted.includes(name));
}

/** `staleFields` only when the ERP can't read some of the endpoint's fields at the moment. */
export function describeFreshness(freshness: Freshness, { fields }: Pick<CompiledEndpoint, 'fields'>) {
  const { syncedAt, stale } = freshnessOfFields(freshness, fields);
  const staleFields = stale.map(({ name, since }) => ({ field: name, since }));
  return { generation: freshness.generation, syncedAt, ...(staleFields.length > 0 && { staleFields }) };
}

/**
 * JSON text of the fields of a resource, all or the `wanted` ones. Throws 400 for an unknown field or when not even one field fits, 404,
 * and 503 when the resource has not been synced.
 */
export async function describeResource(
  readerOf: ReaderOf,
  tenant: TenantCtx,
  { maxCharacters }: Access,
  state: VersionState,
  endpoint: CompiledEndpoint,
  wanted: readonly string[] | undefined,
): Promise<string> {
  const { endpoints } = await definitionOf(tenant, state);
  const definition = endpoints.find(({ name }) => name === endpoint.name);
  const all = [idField(endpoint), ...endpoint.fields.map((field) => describeField(field, endpoint, definition))];
  const shown = pick(all, wanted);
  const freshness = await currentFreshness(readerOf(tenant.organizationId), endpoint.recordType);
  const rest = {
    version: state.version,
    status: state.status,
    resource: endpoint.name,
    description: definition?.description ?? '',
    defaultSort: definition?.defaultSort ?? { field: 'id', order: 'asc' },
    maxPageSize: endpoint.maxPageSize,
    records: freshness.rowCount,
    freshness: describeFreshness(freshness, endpoint),
  };
  const advice = 'pass only the `fields` to describe';
  return truncatedList({ name: 'fields', items: itemsOf(shown), of: shown.length, rest, maxChars: maxCharacters, advice, path: 'fields' });
}

// Summarizes a version for clients that explore it by asking, such as language models: the versions, the
// resources of one, or the fields, filters and sorts of a resource, with the descriptions of its definition.
// A whole OpenAPI description would be too long.
import type { TenantCtx } from '../../core/ctx.ts';
import { allowsResource, allowsVersion, type RecordAccess } from '../../core/record-access.ts';
import { didYouMean } from '../../core/text/nearest-name.ts';
import { truncatedList } from '../../core/text/truncate-list.ts';
import type { Freshness, ReaderOf } from '../read/connection/reader.ts';
import { parameterError, parameterProblem } from '../read/plan/request.ts';
import { countRecords } from '../read/result/count-records.ts';
import { type Embedded, freshnessWithRelated, noneEmbedded } from '../read/result/stale-fields.ts';
import type { CompiledEndpoint, CompiledSchema, OutputField, ReadableEndpoint } from '../version/compile.ts';
import type { FieldMask } from '../version/masks.ts';
import { readableEndpoints } from '../version/narrow.ts';
import { getPublishedVersion, type KnownVersions, notFoundError } from '../version/published.ts';
import type { EndpointDefinition } from '../version/schema-document.ts';
import { findDefinition, findLive, type VersionState } from '../version/versions.store.ts';

type Access = { readonly reads: RecordAccess; readonly maxCharacters: number };

/** The items as text, as many as fit. */
const describedList = (
  items: readonly object[],
  list: Omit<Parameters<typeof truncatedList>[0], 'items' | 'of'>,
): string =>
  truncatedList({ ...list, items: items.map((item) => JSON.stringify(item)).join(), of: items.length });

/** The resources that the caller's row scopes apply to, which depends on the version's fields. */
async function findScoped(sources: KnownVersions, tenant: TenantCtx, reads: RecordAccess, version: string) {
  const state = await getPublishedVersion(sources, tenant, version);
  return readableEndpoints(await sources.content.loadCompiled(tenant, state), reads).map(({ name }) => name);
}

/** JSON text of the versions within the scope. Throws 400 when not even one fits into `maxCharacters`. */
export async function listVersions(
  sources: KnownVersions,
  tenant: TenantCtx,
  { reads, maxCharacters }: Access,
): Promise<string> {
  const found = (await findLive(tenant)).filter(({ version }) => allowsVersion(reads, version));
  const isScoped = reads.layers.some(({ rows }) => rows !== null);
  const items: object[] = [];
  for (const { version, status, name, sunset_at: sunsetAt, resources: all } of found) {
    const resources = isScoped
      ? await findScoped(sources, tenant, reads, version)
      : all.filter((resource) => allowsResource(reads, resource));
    if (isScoped && resources.length === 0) continue;
    items.push({
      version,
      status,
      name,
      ...(sunsetAt !== null && { sunsetAt: sunsetAt.toISOString() }),
      resources,
    });
  }
  const advice = 'pass a `version`';
  return describedList(items, {
    name: 'versions',
    rest: {},
    maxChars: maxCharacters,
    advice,
    path: 'version',
  });
}

async function getVersionDefinition(tenant: TenantCtx, { id }: VersionState) {
  const definition = await findDefinition(tenant, id);
  if (definition === undefined) throw notFoundError();
  return definition;
}

/** With this bound a hundred resources fit into one response; the resource itself has the full text. */
const maxListedDescription = 300;
const shortened = (text: string): string =>
  text.length > maxListedDescription ? `${text.slice(0, maxListedDescription).toWellFormed()}…` : text;

/**
 * JSON text of the resources of a version within the scope. Throws 400 when not even one fits, and 404 when
 * the version is gone.
 */
export async function listResources(
  tenant: TenantCtx,
  { reads, maxCharacters }: Access,
  state: VersionState,
  schema: CompiledSchema,
): Promise<string> {
  const { name, notes, endpoints } = await getVersionDefinition(tenant, state);
  const readable = new Set(readableEndpoints(schema, reads).map((endpoint) => endpoint.name));
  const items = endpoints
    .filter((endpoint) => readable.has(endpoint.name))
    .map(({ name: resource, description }) => ({ resource, description: shortened(description) }));
  const rest = { version: state.version, status: state.status, name, notes: notes.slice(0, 2_000) };
  const advice = 'pass a `resource`; without a `version` all resource names are listed';
  return describedList(items, { name: 'resources', rest, maxChars: maxCharacters, advice, path: 'resource' });
}

/** What the caller sees in place of the values; nothing when it sees them as they are. */
const shownMask = (mask: FieldMask | null) => (mask === null ? {} : { type: 'text', mask: mask.kind });

/** A field as clients see it, with the names of its filters. */
function describeField(
  field: OutputField,
  endpoint: CompiledEndpoint,
  definition: EndpointDefinition | undefined,
) {
  const defined = definition?.fields.find(({ name }) => name === field.name);
  const about = (text: string | undefined) =>
    text === undefined || text === '' ? {} : { description: text };
  const describeFilters = (name: string) => {
    const filters = [...endpoint.filters.values()]
      .filter((filter) => filter.field === name)
      .map((filter) => filter.name);
    return filters.length > 0 ? { filters } : {};
  };
  if (field.kind === 'lines') {
    const lines = field.lines.map(({ name, type, asString, mask }) => ({
      name,
      type: asString ? 'text' : type,
      ...shownMask(mask),
      ...about(defined?.fields?.find((line) => line.name === name)?.description),
      ...describeFilters(`${field.name}.${name}`),
    }));
    return { name: field.name, type: 'lines', ...about(defined?.description), fields: lines };
  }
  const type = field.kind === 'absent' ? null : field.column.type;
  return {
    name: field.name,
    type,
    ...(field.kind === 'value' && field.asString && { writtenAs: 'text' }),
    ...(field.kind === 'value' && shownMask(field.mask)),
    ...about(defined?.description),
    ...describeFilters(field.name),
    ...(endpoint.sorts.has(field.name) && { sortable: true }),
  };
}

const idField = ({ idType, filters }: CompiledEndpoint) => ({
  name: 'id',
  type: 'text',
  description: `Id of the record in the ERP${idType === 'integer' ? ', a whole number as text' : ''}`,
  filters: [...filters.values()].filter(({ field }) => field === 'id').map(({ name }) => name),
});

function pick<F extends { readonly name: string }>(
  all: readonly F[],
  wanted: readonly string[] | undefined,
): readonly F[] {
  const names = all.map(({ name }) => name);
  const unknown = (wanted ?? []).filter((name) => !names.includes(name)).slice(0, 5);
  if (unknown.length > 0) {
    throw parameterError(
      unknown.map((name) =>
        parameterProblem(
          'fields',
          'unknown_field',
          `Unknown field "${name.slice(0, 80)}".${didYouMean(name, names)}`,
        ),
      ),
    );
  }
  return all.filter(({ name }) => wanted === undefined || wanted.includes(name));
}

/** What the endpoint declares besides filters and sorts, by the names that the inputs of the tools take. */
const describeDeclared = ({
  summary,
  relations,
  findRelated,
  search,
  takesOr,
  sortSets,
}: ReadableEndpoint) => ({
  ...(sortSets.size > 0 && { sortSets: [...sortSets.keys()] }),
  ...(search.length > 0 && { search: search.map(({ name }) => name) }),
  ...(takesOr && { or: true }),
  // Names of resources that the reader may not read are not for them.
  ...(relations.size > 0 && {
    relations: [...relations.values()]
      .filter((one) => findRelated(one) !== null)
      .map(({ name, resource }) => ({ name, resource })),
  }),
  ...(summary !== null && {
    aggregates: [...summary.aggregates.values()].map(({ field, functions, isMoney }) => ({
      field: field.name,
      functions,
      ...(isMoney && { money: true }),
    })),
    groups: [...summary.groups.keys()],
  }),
});

/** Of the version, or of ids when the caller can't sort by the field. */
const shownSort = (
  { lacksDefaultSort, sorts }: ReadableEndpoint,
  defined: EndpointDefinition['defaultSort'] | undefined,
) => (defined && !lacksDefaultSort && sorts.has(defined.field) ? defined : { field: 'id', order: 'asc' });

/** `staleFields` only when the ERP can't read some of the fields at the moment. */
export function describeFreshness(
  freshness: Freshness,
  { fields }: Pick<CompiledEndpoint, 'fields'>,
  { expansions, related }: Embedded = noneEmbedded,
) {
  const { syncedAt, stale } = freshnessWithRelated(freshness, fields, expansions, related);
  const staleFields = stale.map(({ name, since }) => ({ field: name, since }));
  return { generation: freshness.generation, syncedAt, ...(staleFields.length > 0 && { staleFields }) };
}

/**
 * JSON text of the fields of a resource, all or the `wanted` ones. Throws 400 for an unknown field or when
 * not even one field fits, 404, and 503 when the resource has not been synced.
 */
export async function describeResource(
  getReader: ReaderOf,
  tenant: TenantCtx,
  { maxCharacters }: Access,
  state: VersionState,
  endpoint: ReadableEndpoint,
  wanted: readonly string[] | undefined,
): Promise<string> {
  const { endpoints } = await getVersionDefinition(tenant, state);
  const definition = endpoints.find(({ name }) => name === endpoint.name);
  const all = [
    idField(endpoint),
    ...endpoint.fields.map((field) => describeField(field, endpoint, definition)),
  ];
  const shown = pick(all, wanted);
  const { total: records, freshness } = await countRecords(getReader(tenant.organizationId), endpoint);
  const rest = {
    version: state.version,
    status: state.status,
    resource: endpoint.name,
    description: definition?.description ?? '',
    defaultSort: shownSort(endpoint, definition?.defaultSort),
    maxPageSize: endpoint.maxPageSize,
    ...describeDeclared(endpoint),
    // The tools return no files: the public interface does, for the same key or token.
    ...(endpoint.document !== null && {
      pdf: `/api/public/${state.version}/${endpoint.name}/{id}?format=pdf`,
    }),
    records,
    freshness: describeFreshness(freshness, endpoint),
  };
  const advice = 'pass only the `fields` to describe';
  return describedList(shown, { name: 'fields', rest, maxChars: maxCharacters, advice, path: 'fields' });
}

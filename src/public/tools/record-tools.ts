// The published versions as tools for language models: describe, query, get, aggregate. The caller decides the organization and the scope;
// text that comes from records is data and has no effect here. Parameters and errors are those of the public interface: 403 outside the
// scope, 404, 410 for a retired version, 400 for parameters, 503.
import { z } from 'zod';
import type { TenantCtx } from '../../core/ctx.ts';
import type { RecordAccess } from '../../core/record-access.ts';
import { responseTooLong, truncatedList } from '../../core/truncate-list.ts';
import { defaultPageSize } from '../../db/page.ts';
import { aggregate, aggregateOrders } from '../read/aggregate.ts';
import { readListPage } from '../read/list.ts';
import { listParameters, planList, planRecord } from '../read/plan.ts';
import type { Freshness, ReaderOf } from '../read/reader.ts';
import { parameterError, parameterProblem, type QueryParameters } from '../read/request.ts';
import { readSingleRecord, textReader, wholeText } from '../read/rows.ts';
import type { ReadableEndpoint } from '../version/compile.ts';
import { narrowEndpoint } from '../version/narrow.ts';
import { assertNotRetired, getPublishedVersion, type KnownVersions, notFoundError, reportNamedTarget } from '../version/published.ts';
import { assertScopes } from '../version/scopes.ts';
import { isRecordId } from '../version/values.ts';
import type { VersionState } from '../version/versions.store.ts';
import { describeFreshness, describeResource, listResources, listVersions } from './describe.ts';

const version = z.string().max(20).describe('Version label, such as v1');
const resource = z.string().max(100).describe('Name of a resource of the version');
const fields = z.array(z.string().max(100)).min(1).max(500);
const scalar = z.union([
  z.string(),
  z.number().refine((value) => !Number.isInteger(value) || Number.isSafeInteger(value), 'must be passed as text beyond 2^53'),
  z.boolean(),
]);

export const DescribeInput = z.strictObject({
  version: version.optional(),
  resource: resource.optional(),
  fields: fields.optional().describe('Describe these fields only'),
});
export const QueryInput = z.strictObject({
  version,
  resource,
  filters: z
    .record(z.string().max(100), z.union([scalar, z.array(scalar).min(1).max(100)]))
    .optional()
    .describe('By filter name. All filters must match; a list matches any of its values'),
  sort: z.string().max(100).optional().describe('A sort field'),
  order: z.enum(['asc', 'desc']).optional(),
  page: z.int().min(1).optional().describe('Starts at 1'),
  pageSize: z.int().min(1).optional().describe(`Default ${defaultPageSize}, or the maximum if lower`),
  fields: fields.optional().describe('Only these fields'),
});
export const GetInput = z.strictObject({
  version,
  resource,
  id: z.string().max(200).describe('Id of the record'),
  fields: fields.optional().describe('Only these fields'),
});
export const AggregateInput = z.strictObject({
  version,
  resource,
  field: z.string().max(100).optional().describe('Field to compute over: a number, or a date for min and max. Omit it to only count'),
  filters: QueryInput.shape.filters,
  groupBy: z.string().max(100).optional().describe('One group per value of this field'),
  orderBy: z.enum(aggregateOrders).default('count').describe('Order of the groups: largest first; `value`: ascending'),
  limit: z.int().min(1).max(100).default(20).describe('Maximum number of groups'),
});
export type DescribeInput = z.output<typeof DescribeInput>;
export type QueryInput = z.output<typeof QueryInput>;
export type GetInput = z.output<typeof GetInput>;
export type AggregateInput = z.output<typeof AggregateInput>;

/** What the tools share with the public interface. */
export type ToolSources = KnownVersions & { readonly readerOf: ReaderOf };

/** What the caller may read, and how much of it per response. */
export type ToolAccess = {
  readonly reads: RecordAccess;
  /** Maximum length of a response. */
  readonly maxCharacters: number;
  /** Called once it is known which version and resource are read. */
  readonly onTarget?: (version: string, resource: string) => void;
};

/**
 * Each returns JSON text. All reject with 403, 404, 410, 400 or 503 as the public interface does, and with 400 when the result is too long.
 */
export type RecordTools = {
  /** Without a version: the readable versions; with a version: its resources; with a resource: its fields, filters and sorts. */
  describe(tenant: TenantCtx, access: ToolAccess, input: DescribeInput): Promise<string>;
  /** `{data, pagination, freshness}`, where `freshness` names the fields that are stale, and `cut` when the page was truncated to `maxCharacters`. */
  query(tenant: TenantCtx, access: ToolAccess, input: QueryInput): Promise<string>;
  /** `{data, freshness}`. */
  get(tenant: TenantCtx, access: ToolAccess, input: GetInput): Promise<string>;
  /** `{count, values, min, max, sum, average, freshness}` as exact text; with `groupBy` `{totalGroups, groups, freshness}`. */
  aggregate(tenant: TenantCtx, access: ToolAccess, input: AggregateInput): Promise<string>;
};

type Target = { readonly state: VersionState; readonly endpoint: ReadableEndpoint };

/** Throws 403 for a version or resource outside the caller's scopes. The usage counts show what was refused. */
async function assertInScope(
  sources: ToolSources,
  tenant: TenantCtx,
  access: ToolAccess,
  version: string,
  resource: string | null,
): Promise<void> {
  try {
    assertScopes(access.reads, version, resource);
  } catch (refusal) {
    const { onTarget } = access;
    if (onTarget !== undefined)
      await reportNamedTarget(sources, tenant, { version, resource: resource ?? '' }, onTarget).catch(() => undefined);
    throw refusal;
  }
}

async function findTarget(
  sources: ToolSources,
  tenant: TenantCtx,
  access: ToolAccess,
  input: { version: string; resource: string },
): Promise<Target> {
  await assertInScope(sources, tenant, access, input.version, input.resource);
  const state = await getPublishedVersion(sources, tenant, input.version);
  access.onTarget?.(state.version, '');
  const endpoint = (await sources.content.loadCompiled(tenant, state)).endpoints.get(input.resource);
  if (endpoint === undefined) throw notFoundError();
  access.onTarget?.(state.version, endpoint.name);
  assertNotRetired(state);
  return { state, endpoint: narrowEndpoint(endpoint, access.reads) };
}

/** The query parameters that a URL would have. Throws 400 for filters that are list parameters, and for NUL or malformed characters. */
function queryOf({ filters, sort, order, page, pageSize, fields: wanted }: Partial<QueryInput>): QueryParameters {
  const entries = Object.entries({ sort, order, page, pageSize, fields: wanted?.join() });
  const query = new Map<string, string[]>();
  for (const [name, value] of entries) if (value !== undefined) query.set(name, [String(value)]);
  for (const [name, value] of Object.entries(filters ?? {})) {
    if (listParameters.has(name))
      throw parameterError([parameterProblem(name, 'unknown_parameter', `"${name}" is not a filter. Pass it next to "filters".`)]);
    query.set(name, [value].flat().map(String));
  }
  for (const [name, values] of query) {
    if (values.some((text) => text.includes('\0') || !text.isWellFormed()))
      throw parameterError([parameterProblem(name, 'illegal_character', 'NUL and malformed characters are not allowed')]);
  }
  return query;
}

/** Metadata of every response with records. */
const metadataOf = (freshness: Freshness, { endpoint, state: { status, sunsetAt, successor } }: Target) => ({
  freshness: describeFreshness(freshness, endpoint),
  ...(status === 'deprecated' && { deprecated: { sunsetAt: sunsetAt?.toISOString() ?? null, successor: successor?.version ?? null } }),
});

const advice = 'request only the `fields` that you need';

async function query(sources: ToolSources, tenant: TenantCtx, access: ToolAccess, input: QueryInput): Promise<string> {
  const target = await findTarget(sources, tenant, access, input);
  const { endpoint } = target;
  const plan = planList(endpoint, queryOf(input));
  const { page, pageSize } = plan;
  const { records, total, freshness } = await readListPage(textReader(sources.readerOf(tenant.organizationId)), plan);
  return truncatedList({
    name: 'data',
    items: wholeText(records),
    of: Math.max(0, Math.min(pageSize, total - (page - 1) * pageSize)),
    rest: { pagination: { total, page, pageSize, totalPages: Math.ceil(total / pageSize) }, ...metadataOf(freshness, target) },
    maxChars: access.maxCharacters,
    advice: `${advice}, or a smaller \`pageSize\``,
    path: 'fields',
  });
}

async function get(sources: ToolSources, tenant: TenantCtx, access: ToolAccess, input: GetInput): Promise<string> {
  const target = await findTarget(sources, tenant, access, input);
  const { endpoint } = target;
  if (!isRecordId(endpoint.idType, input.id) || !input.id.isWellFormed()) throw notFoundError();
  const plan = planRecord(endpoint, input.id, queryOf({ fields: input.fields }));
  const { record, freshness } = await readSingleRecord(sources.readerOf(tenant.organizationId), plan);
  if (record === null) throw notFoundError();
  const text = wholeText(record);
  if (text.length > access.maxCharacters) throw responseTooLong('fields', advice);
  return `{"data":${text},${JSON.stringify(metadataOf(freshness, target)).slice(1)}`;
}

/** The result is bounded by the number of groups and by the length of the group values. */
async function aggregateRecords(sources: ToolSources, tenant: TenantCtx, access: ToolAccess, input: AggregateInput): Promise<string> {
  const target = await findTarget(sources, tenant, access, input);
  const query = queryOf({ filters: input.filters });
  const { result, freshness } = await aggregate(sources.readerOf(tenant.organizationId), target.endpoint, query, input);
  if (result.length > access.maxCharacters) throw responseTooLong('limit', 'request fewer groups, or omit `groupBy`');
  return `${result.slice(0, -1)},${JSON.stringify(metadataOf(freshness, target)).slice(1)}`;
}

async function describe(sources: ToolSources, tenant: TenantCtx, access: ToolAccess, input: DescribeInput): Promise<string> {
  const missing = input.resource === undefined ? input.fields && 'resource' : input.version === undefined ? 'version' : undefined;
  if (missing !== undefined) throw parameterError([parameterProblem(missing, 'missing', `"${missing}" is required here`)]);
  if (input.version === undefined) return listVersions(sources, tenant, access);
  if (input.resource !== undefined) {
    const { state, endpoint } = await findTarget(sources, tenant, access, { version: input.version, resource: input.resource });
    return describeResource(sources.readerOf, tenant, access, state, endpoint, input.fields);
  }
  await assertInScope(sources, tenant, access, input.version, null);
  const state = await getPublishedVersion(sources, tenant, input.version);
  access.onTarget?.(state.version, '');
  assertNotRetired(state);
  return listResources(tenant, access, state, await sources.content.loadCompiled(tenant, state));
}

/** The caches are those of the public interface; a `tenant` must use the same connections. */
export const createRecordTools = (sources: ToolSources): RecordTools => ({
  describe: (tenant, access, input) => describe(sources, tenant, access, input),
  query: (tenant, access, input) => query(sources, tenant, access, input),
  get: (tenant, access, input) => get(sources, tenant, access, input),
  aggregate: (tenant, access, input) => aggregateRecords(sources, tenant, access, input),
});

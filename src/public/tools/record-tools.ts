// The published versions as tools for language models: describe, query, get, aggregate, summarize. The caller
// decides the organization and the scope; text that comes from records is data and has no effect here.
// Parameters and errors are those of the public interface: 403 outside the scope, 404, 410 for a retired
// version, 400 for parameters, 503.
import type { TenantCtx } from '../../core/ctx.ts';
import type { RecordAccess } from '../../core/record-access.ts';
import { responseTooLong, truncatedList } from '../../core/text/truncate-list.ts';
import type { Freshness, ReaderOf } from '../read/connection/reader.ts';
import { planList, planRecord } from '../read/plan/plan.ts';
import { parameterError, parameterProblem } from '../read/plan/request.ts';
import { planSummary } from '../read/plan/summary-plan.ts';
import { aggregate } from '../read/result/aggregate.ts';
import { readListPage } from '../read/result/list.ts';
import { readSingleRecord, textReader, wholeText } from '../read/result/rows.ts';
import type { Embedded } from '../read/result/stale-fields.ts';
import { readSummary } from '../read/result/summary.ts';
import type { ReadableEndpoint } from '../version/compile.ts';
import { narrowEndpoint } from '../version/narrow.ts';
import {
  assertNotRetired,
  getPublishedVersion,
  type KnownVersions,
  notFoundError,
  reportNamedTarget,
} from '../version/published.ts';
import { assertScopes } from '../version/scopes.ts';
import { type MaskSources, narrowForPerson } from '../version/strictest-masks.ts';
import { isRecordId } from '../version/values.ts';
import type { VersionState } from '../version/versions.store.ts';
import { describeFreshness, describeResource, listResources, listVersions } from './describe.ts';
import type { AggregateInput, DescribeInput, GetInput, QueryInput, SummarizeInput } from './tool-inputs.ts';
import { listQuery, summaryQuery } from './tool-query.ts';

/** What the tools share with the public interface. */
export type ToolSources = KnownVersions & MaskSources & { readonly getReader: ReaderOf };

/** What the caller may read, and how much of it per response. */
export type ToolAccess = {
  readonly reads: RecordAccess;
  /** `living`: also what other published versions mask, as for people and agents; `own`: only its own. */
  readonly masks: 'living' | 'own';
  /** Maximum length of a response. */
  readonly maxCharacters: number;
  /** Called once it is known which version and resource are read. */
  readonly onTarget?: (version: string, resource: string) => void;
};

/**
 * Each returns JSON text. All reject with 403, 404, 410, 400 or 503 as the public interface does, and with
 * 400 when the result is too long.
 */
export type RecordTools = {
  /**
   * Without a version: the readable versions; with a version: its resources; with a resource: its fields,
   * filters and sorts.
   */
  describe(tenant: TenantCtx, access: ToolAccess, input: DescribeInput): Promise<string>;
  /**
   * `{data, pagination, freshness}`, where `freshness` names the fields that are stale, and `cut` when the
   * page was truncated to `maxCharacters`.
   */
  query(tenant: TenantCtx, access: ToolAccess, input: QueryInput): Promise<string>;
  /** `{data, freshness}`. */
  get(tenant: TenantCtx, access: ToolAccess, input: GetInput): Promise<string>;
  /**
   * `{count, values, min, max, sum, average, freshness}` as exact text; with `groupBy` `{totalGroups, groups,
   * freshness}`.
   */
  aggregate(tenant: TenantCtx, access: ToolAccess, input: AggregateInput): Promise<string>;
  /**
   * `{data, total, freshness}`: the groups of `/summary`, of what the version declares; `cut` when they were
   * truncated to `maxCharacters`.
   */
  summarize(tenant: TenantCtx, access: ToolAccess, input: SummarizeInput): Promise<string>;
};

type Target = { readonly state: VersionState; readonly endpoint: ReadableEndpoint };

/** Throws 403 for a version or resource outside the caller's scopes. Usage counts show what was refused. */
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
      await reportNamedTarget(sources, tenant, { version, resource: resource ?? '' }, onTarget).catch(
        () => undefined,
      );
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
  const narrowed =
    access.masks === 'living'
      ? narrowForPerson(sources, tenant, endpoint, access.reads)
      : narrowEndpoint(endpoint, access.reads);
  return { state, endpoint: await narrowed };
}

/** Metadata of every response with records. */
const toMetadata = (
  freshness: Freshness,
  { endpoint, state: { status, sunsetAt, successor } }: Target,
  embedded?: Embedded,
) => ({
  freshness: describeFreshness(freshness, endpoint, embedded),
  ...(status === 'deprecated' && {
    deprecated: { sunsetAt: sunsetAt?.toISOString() ?? null, successor: successor?.version ?? null },
  }),
});

const advice = 'request only the `fields` that you need';

async function query(sources: ToolSources, tenant: TenantCtx, access: ToolAccess, input: QueryInput) {
  const target = await findTarget(sources, tenant, access, input);
  const { endpoint } = target;
  const plan = planList(endpoint, listQuery(endpoint, input));
  const { page, pageSize, expansions } = plan;
  const { records, total, freshness, related } = await readListPage(
    textReader(sources.getReader(tenant.organizationId)),
    plan,
  );
  const embedded = { expansions, related };
  return truncatedList({
    name: 'data',
    items: wholeText(records),
    of: Math.max(0, Math.min(pageSize, total - (page - 1) * pageSize)),
    rest: {
      pagination: { total, page, pageSize, totalPages: Math.ceil(total / pageSize) },
      ...toMetadata(freshness, target, embedded),
    },
    maxChars: access.maxCharacters,
    advice: `${advice}, or a smaller \`pageSize\``,
    path: 'fields',
  });
}

async function get(sources: ToolSources, tenant: TenantCtx, access: ToolAccess, input: GetInput) {
  const target = await findTarget(sources, tenant, access, input);
  const { endpoint } = target;
  if (!isRecordId(endpoint.idType, input.id) || !input.id.isWellFormed()) throw notFoundError();
  const plan = planRecord(
    endpoint,
    input.id,
    listQuery(endpoint, { fields: input.fields, expand: input.expand }),
  );
  const { record, freshness, related } = await readSingleRecord(
    sources.getReader(tenant.organizationId),
    plan,
  );
  if (record === null) throw notFoundError();
  const text = wholeText(record);
  if (text.length > access.maxCharacters) throw responseTooLong('fields', advice);
  const metadata = toMetadata(freshness, target, { expansions: plan.expansions, related });
  return `{"data":${text},${JSON.stringify(metadata).slice(1)}`;
}

async function summarize(sources: ToolSources, tenant: TenantCtx, access: ToolAccess, input: SummarizeInput) {
  const target = await findTarget(sources, tenant, access, input);
  const { version: _version, resource: _resource, ...asked } = input;
  const plan = planSummary(target.endpoint, summaryQuery(target.endpoint, asked));
  const { rows, total, freshness } = await readSummary(
    textReader(sources.getReader(tenant.organizationId)),
    plan,
  );
  return truncatedList({
    name: 'data',
    items: wholeText(rows),
    of: Math.min(total, plan.limit ?? total),
    rest: { total, ...toMetadata(freshness, target) },
    maxChars: access.maxCharacters,
    advice: 'request fewer groups with `limit`',
    path: 'limit',
  });
}

/** The result is bounded by the number of groups and by the length of the group values. */
async function aggregateRecords(
  sources: ToolSources,
  tenant: TenantCtx,
  access: ToolAccess,
  input: AggregateInput,
): Promise<string> {
  const target = await findTarget(sources, tenant, access, input);
  const { filters, or, q } = input;
  const query = listQuery(target.endpoint, { filters, or, q });
  const { result, freshness } = await aggregate(
    sources.getReader(tenant.organizationId),
    target.endpoint,
    query,
    input,
  );
  if (result.length > access.maxCharacters)
    throw responseTooLong('limit', 'request fewer groups, or omit `groupBy`');
  return `${result.slice(0, -1)},${JSON.stringify(toMetadata(freshness, target)).slice(1)}`;
}

async function describe(sources: ToolSources, tenant: TenantCtx, access: ToolAccess, input: DescribeInput) {
  const missing =
    input.resource === undefined
      ? input.fields && 'resource'
      : input.version === undefined
        ? 'version'
        : undefined;
  if (missing !== undefined)
    throw parameterError([parameterProblem(missing, 'missing', `"${missing}" is required here`)]);
  if (input.version === undefined) return listVersions(sources, tenant, access);
  if (input.resource !== undefined) {
    const { state, endpoint } = await findTarget(sources, tenant, access, {
      version: input.version,
      resource: input.resource,
    });
    return describeResource(sources.getReader, tenant, access, state, endpoint, input.fields);
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
  summarize: (tenant, access, input) => summarize(sources, tenant, access, input),
});

// The published versions as tools for language models: describe, query, get. Whoever calls says for which organization and within
// which versions and resources; text that comes out of records is data and decides nothing here. The words are those of the public
// interface, and so are the refusals: 403 outside the reach, 404, 410 for a retired version, 400 for parameters, 503.
import { z } from 'zod';
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import { boundedList, tooLong } from '../core/output-bound.ts';
import { aggregate, aggregateOrders } from './aggregate.ts';
import { assertScopes, type Reach } from './authorize.ts';
import type { CompiledEndpoint } from './compile.ts';
import { describeResource, listResources, listVersions } from './describe.ts';
import { type Engine, engineOf } from './engine.ts';
import { listParameters, planList, planRecord } from './plan.ts';
import { assertNotRetired, findPublished, nothingHere } from './published.ts';
import { type Freshness, readList, readRecord } from './read.ts';
import { parameterProblem, type Query, refuseParameters } from './request.ts';
import { isRecordId } from './values.ts';
import type { VersionState } from './versions.store.ts';

const version = z.string().max(20).describe('Version label, such as v1');
const resource = z.string().max(100).describe('Name of a resource of the version');
const fields = z.array(z.string().max(100)).min(1).max(500);
const scalar = z.union([
  z.string(),
  z.number().refine((value) => !Number.isInteger(value) || Number.isSafeInteger(value), 'must be written as text beyond 2^53'),
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
    .describe('By filter name, all must hold; a list means any of its values'),
  sort: z.string().max(100).optional().describe('A sort field'),
  order: z.enum(['asc', 'desc']).optional(),
  page: z.int().min(1).optional().describe('From 1'),
  pageSize: z.int().min(1).optional().describe('25 unless given'),
  fields: fields.optional().describe('Only these fields'),
});
export const GetInput = z.strictObject({
  version,
  resource,
  id: z.string().max(200).describe("The record's id"),
  fields: fields.optional().describe('Only these fields'),
});
export const AggregateInput = z.strictObject({
  version,
  resource,
  field: z.string().max(100).optional().describe('What to compute over: a number, or for min and max a date. Absent: only counts'),
  filters: QueryInput.shape.filters,
  groupBy: z.string().max(100).optional().describe('One row for each value of this field'),
  orderBy: z.enum(aggregateOrders).default('count').describe('Of groups: largest first; `value`: smallest first'),
  limit: z.int().min(1).max(100).default(20).describe('At most so many groups'),
});
export type DescribeInput = z.output<typeof DescribeInput>;
export type QueryInput = z.output<typeof QueryInput>;
export type GetInput = z.output<typeof GetInput>;
export type AggregateInput = z.output<typeof AggregateInput>;

/** What the caller may read, and how much of it at once. */
export type ToolAccess = Reach & {
  /** Longest answer in characters. */
  readonly mostCharacters: number;
  /** Told once it is known which version and resource are read. */
  readonly onTarget?: (version: string, resource: string) => void;
};

/** Each answers JSON text and throws AppErrors. */
export type RecordTools = {
  /** Without a version all that may be read, with one its resources, with a resource its fields, filters and sorts. */
  describe(tenant: TenantCtx, access: ToolAccess, input: DescribeInput): Promise<string>;
  /** `{data, pagination, freshness}`, and `cut` where not the whole page fits. */
  query(tenant: TenantCtx, access: ToolAccess, input: QueryInput): Promise<string>;
  /** `{data, freshness}`. */
  get(tenant: TenantCtx, access: ToolAccess, input: GetInput): Promise<string>;
  /** `{count, values, min, max, sum, average, freshness}`, figures as exact text; with `groupBy` `{totalGroups, groups, freshness}`. */
  aggregate(tenant: TenantCtx, access: ToolAccess, input: AggregateInput): Promise<string>;
};

type Target = { readonly state: VersionState; readonly endpoint: CompiledEndpoint };

async function findTarget(
  engine: Engine,
  tenant: TenantCtx,
  access: ToolAccess,
  input: { version: string; resource: string },
): Promise<Target> {
  assertScopes({ scopes: access }, input.version, input.resource);
  const state = await findPublished(engine, tenant, input.version);
  access.onTarget?.(state.version, '');
  const endpoint = (await engine.content.compiled(tenant, state.id)).endpoints.get(input.resource);
  if (endpoint === undefined) throw nothingHere();
  access.onTarget?.(state.version, endpoint.name);
  assertNotRetired(state);
  return { state, endpoint };
}

/** The same parameters that an address would hold. */
function queryOf({ filters, sort, order, page, pageSize, fields: wanted }: Partial<QueryInput>): Query {
  const entries = Object.entries({ sort, order, page, pageSize, fields: wanted?.join() });
  const query = new Map<string, string[]>();
  for (const [name, value] of entries) if (value !== undefined) query.set(name, [String(value)]);
  for (const [name, value] of Object.entries(filters ?? {})) {
    if (listParameters.has(name))
      throw refuseParameters([parameterProblem(name, 'unknown_parameter', `"${name}" stands beside the filters`)]);
    query.set(name, [value].flat().map(String));
  }
  for (const [name, values] of query) {
    if (values.some((text) => text.includes('\0') || !text.isWellFormed()))
      throw refuseParameters([parameterProblem(name, 'illegal_character', 'NUL and broken characters are not allowed')]);
  }
  return query;
}

/** What every answer with records says beside them. */
const aboutOf = ({ generation, syncedAt }: Freshness, { status, sunsetAt, successor }: VersionState) => ({
  freshness: { generation, syncedAt },
  ...(status === 'deprecated' && { deprecated: { sunsetAt: sunsetAt?.toISOString() ?? null, successor: successor?.version ?? null } }),
});

const advice = 'name only the `fields` that you need';

async function query(engine: Engine, tenant: TenantCtx, access: ToolAccess, input: QueryInput): Promise<string> {
  const { state, endpoint } = await findTarget(engine, tenant, access, input);
  const plan = planList(endpoint, queryOf(input));
  const { page, pageSize } = plan;
  const { records, total, freshness } = await readList(engine.readerOf(tenant.organizationId), plan);
  return boundedList({
    name: 'data',
    items: records,
    of: Math.max(0, Math.min(pageSize, total - (page - 1) * pageSize)),
    rest: { pagination: { total, page, pageSize, totalPages: Math.ceil(total / pageSize) }, ...aboutOf(freshness, state) },
    most: access.mostCharacters,
    advice: `${advice}, or a smaller \`pageSize\``,
    path: 'fields',
  });
}

async function get(engine: Engine, tenant: TenantCtx, access: ToolAccess, input: GetInput): Promise<string> {
  const { state, endpoint } = await findTarget(engine, tenant, access, input);
  if (!isRecordId(endpoint.idType, input.id) || !input.id.isWellFormed()) throw nothingHere();
  const plan = planRecord(endpoint, input.id, queryOf({ fields: input.fields }));
  const { record, freshness } = await readRecord(engine.readerOf(tenant.organizationId), plan);
  if (record === null) throw nothingHere();
  if (record.length > access.mostCharacters) throw tooLong('fields', advice);
  return `{"data":${record},${JSON.stringify(aboutOf(freshness, state)).slice(1)}`;
}

/** What it answers is bounded by the number of groups and by the length of what they are grouped by. */
async function aggregateRecords(engine: Engine, tenant: TenantCtx, access: ToolAccess, input: AggregateInput): Promise<string> {
  const { state, endpoint } = await findTarget(engine, tenant, access, input);
  const query = queryOf({ filters: input.filters });
  const { answer, freshness } = await aggregate(engine.readerOf(tenant.organizationId), endpoint, query, input);
  if (answer.length > access.mostCharacters) throw tooLong('limit', 'ask for fewer groups, or without `groupBy`');
  return `${answer.slice(0, -1)},${JSON.stringify(aboutOf(freshness, state)).slice(1)}`;
}

async function describe(engine: Engine, tenant: TenantCtx, access: ToolAccess, input: DescribeInput): Promise<string> {
  const lacking = input.resource === undefined ? input.fields && 'resource' : input.version === undefined ? 'version' : undefined;
  if (lacking !== undefined) throw refuseParameters([parameterProblem(lacking, 'missing', `Name the ${lacking}, too`)]);
  if (input.version === undefined) return listVersions(tenant, access);
  if (input.resource !== undefined) {
    const { state, endpoint } = await findTarget(engine, tenant, access, { version: input.version, resource: input.resource });
    return describeResource(engine, tenant, access, state, endpoint, input.fields);
  }
  assertScopes({ scopes: access }, input.version, null);
  const state = await findPublished(engine, tenant, input.version);
  access.onTarget?.(state.version, '');
  assertNotRetired(state);
  return listResources(tenant, access, state);
}

/** What the process remembers of reads is shared with the public interface. */
export const openRecordTools = (ctx: Ctx): RecordTools => ({
  describe: (tenant, access, input) => describe(engineOf(ctx), tenant, access, input),
  query: (tenant, access, input) => query(engineOf(ctx), tenant, access, input),
  get: (tenant, access, input) => get(engineOf(ctx), tenant, access, input),
  aggregate: (tenant, access, input) => aggregateRecords(engineOf(ctx), tenant, access, input),
});

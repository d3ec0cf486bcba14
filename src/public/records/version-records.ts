// Reads the records of a published version for a person: the resource as the version describes it, with the
// parameters, limits and errors of the public interface. Fields that another living version masks are masked.
import type { TenantCtx } from '../../core/ctx.ts';
import type { RecordAccess } from '../../core/record-access.ts';
import { openSnapshot } from '../export/snapshot.ts';
import type { ShownFreshness } from '../read/connection/reader.ts';
import { type ListPlan, planList } from '../read/plan/plan.ts';
import { parameterError, parameterProblem, type QueryParameters } from '../read/plan/request.ts';
import { planSummary } from '../read/plan/summary-plan.ts';
import { readListPage } from '../read/result/list.ts';
import { textReader, wholeText } from '../read/result/rows.ts';
import { assertScopeFresh, freshnessOfFields, freshnessWithRelated } from '../read/result/stale-fields.ts';
import { readSummary } from '../read/result/summary.ts';
import type { FindSummaryBasis } from '../version/available.ts';
import type { OutputField, ReadableEndpoint, SummaryBasis } from '../version/compile.ts';
import {
  assertNotRetired,
  getPublishedDocument,
  type KnownVersions,
  notFoundError,
} from '../version/published.ts';
import { assertScopes } from '../version/scopes.ts';
import { type MaskSources, narrowForPerson } from '../version/strictest-masks.ts';
import { findCurrencyField, summarizeWhole } from '../version/whole-summary.ts';
import {
  copyRecords,
  type ExportSources,
  type FileBytes,
  type FileForm,
  type FileJob,
  startFile,
} from './file-stream.ts';

export type VersionSources = KnownVersions &
  ExportSources &
  MaskSources & { readonly findSummaryBasis: FindSummaryBasis };

/**
 * `version`: a label that no request names. `query`: the parameters as the caller wrote them; a repeated one has
 * several values.
 */
export type VersionQuery = {
  readonly version: string;
  readonly resource: string;
  readonly reads: RecordAccess;
  readonly query: QueryParameters;
  /** Of a list: whose fields the caller knows. They are not described then, which takes a query less. */
  readonly isKnown?: true;
  /** Of a file: its columns, by name, with the texts above them. By default all fields under their names. */
  readonly headings?: Readonly<Record<string, string>>;
};

/**
 * A field that the records show; a masked one is text. `currency`: of an amount of money, the field that names
 * its currency, or null.
 */
export type ShownField = {
  readonly name: string;
  readonly type: string;
  readonly masked: boolean;
  readonly currency?: string | null;
};

export type VersionPage = Pick<ShownFreshness, 'syncedAt' | 'stale'> & {
  readonly fields: readonly ShownField[];
  /** The text of a JSON array, written by PostgreSQL with exact digits: `id` first. */
  readonly records: string;
  readonly total: number;
  readonly page: number;
  readonly pageSize: number;
};

export type VersionSummary = Pick<ShownFreshness, 'syncedAt' | 'stale'> & {
  /** The text of a JSON array, with exact digits. */
  readonly rows: string;
  /** Number of all groups; 1 without group keys. */
  readonly total: number;
};

export type VersionReader = {
  /**
   * One page. Rejects as the public interface does: 404 for an unknown version or resource, 410 for a retired
   * version, 400 for parameters, 403 for those that use masked fields, 503 while the records can't be read.
   */
  list(tenant: TenantCtx, query: VersionQuery): Promise<VersionPage>;
  /**
   * Groups and aggregates of the selected records, over any field that the person reads unmasked, declared or
   * not. Rejects as `list` does.
   */
  summarize(tenant: TenantCtx, query: VersionQuery): Promise<VersionSummary>;
  /** All selected records as a file. Abort the signal unless it is read to the end. Rejects as `list`. */
  file(
    tenant: TenantCtx,
    query: VersionQuery,
    form: FileForm,
    signal: AbortSignal,
  ): Promise<FileBytes & Pick<VersionPage, 'total' | 'syncedAt' | 'stale'>>;
};

async function findEndpoint(
  sources: VersionSources,
  tenant: TenantCtx,
  { version, resource, reads }: VersionQuery,
): Promise<ReadableEndpoint> {
  assertScopes(reads, version, resource);
  const state = await getPublishedDocument(sources, tenant, version);
  const endpoint = (await sources.content.loadCompiled(tenant, state)).endpoints.get(resource);
  if (endpoint === undefined) throw notFoundError();
  assertNotRetired(state);
  return narrowForPerson(sources, tenant, endpoint, reads);
}

const toType = (field: OutputField): string => (field.kind === 'value' ? field.column.type : 'lines');

/** A version that declares a summary has fixed it. */
const findBasis = async (
  { findSummaryBasis }: VersionSources,
  tenant: TenantCtx,
  { summary, recordType }: ReadableEndpoint,
): Promise<SummaryBasis> => summary ?? findSummaryBasis(tenant, recordType);

function toShownField(field: OutputField, endpoint: ReadableEndpoint, basis: SummaryBasis): ShownField {
  const isMasked = endpoint.masked.has(field.name);
  const isText = isMasked || (field.kind === 'value' && field.asString);
  const currency = isMasked ? undefined : findCurrencyField(endpoint, basis, field.name);
  return {
    name: field.name,
    type: isText ? 'text' : toType(field),
    masked: isMasked,
    ...(currency !== undefined && { currency }),
  };
}

async function list(sources: VersionSources, tenant: TenantCtx, request: VersionQuery): Promise<VersionPage> {
  const endpoint = await findEndpoint(sources, tenant, request);
  const plan = planList(endpoint, request.query);
  const { page, pageSize, fields, expansions } = plan;
  const [{ records, total, freshness, related }, basis] = await Promise.all([
    readListPage(textReader(sources.getReader(tenant.organizationId)), plan),
    request.isKnown ? undefined : findBasis(sources, tenant, endpoint),
  ]);
  const { syncedAt, stale } = freshnessWithRelated(freshness, endpoint.fields, expansions, related);
  const shown = basis === undefined ? [] : fields.map((field) => toShownField(field, endpoint, basis));
  return { records: `[${wholeText(records)}]`, total, page, pageSize, fields: shown, syncedAt, stale };
}

async function summarize(
  sources: VersionSources,
  tenant: TenantCtx,
  request: VersionQuery,
): Promise<VersionSummary> {
  const endpoint = await findEndpoint(sources, tenant, request);
  const summary = summarizeWhole(endpoint, await findBasis(sources, tenant, endpoint));
  const plan = planSummary({ ...endpoint, summary }, request.query);
  const reader = textReader(sources.getReader(tenant.organizationId));
  const { rows, total, freshness } = await readSummary(reader, plan);
  const { syncedAt, stale } = freshnessOfFields(freshness, endpoint.fields);
  return { rows: `[${wholeText(rows)}]`, total, syncedAt, stale };
}

const withHeadings = (plan: ListPlan, headings: VersionQuery['headings']): ListPlan =>
  headings === undefined
    ? plan
    : {
        ...plan,
        fields: Object.entries(headings).flatMap(([name, heading]) =>
          plan.fields.filter((field) => field.name === name).map((field) => ({ ...field, name: heading })),
        ),
      };

async function openFile(
  sources: VersionSources,
  tenant: TenantCtx,
  request: VersionQuery,
  form: FileForm,
  signal: AbortSignal,
) {
  const endpoint = await findEndpoint(sources, tenant, request);
  const plan = withHeadings(planList(endpoint, request.query, { paged: false }), request.headings);
  const { recordType } = endpoint;
  const job: FileJob = { sources, ctx: tenant, recordType, form, signal };
  return startFile(job, async (source, onDone) => {
    const snapshot = await openSnapshot(source, recordType, tenant.settings.exports.maxDurationMs, signal);
    try {
      assertScopeFresh(endpoint, snapshot.freshness);
      const { syncedAt, stale } = freshnessOfFields(snapshot.freshness, endpoint.fields);
      return { ...(await copyRecords(job, snapshot, plan, onDone)), syncedAt, stale };
    } catch (error) {
      snapshot.destroy();
      throw error;
    }
  });
}

/**
 * Parameters as the management interface parses them. Throws 400 for more than a query string may have: some
 * would be missing.
 */
export function toQueryParameters(
  given: Readonly<Record<string, string | readonly string[]>>,
): QueryParameters {
  const query = new Map(Object.entries(given).map(([name, value]) => [name, [value].flat()]));
  const values = [...query.values()].reduce((sum, { length }) => sum + length, 0);
  if (values < maxParameters) return query;
  throw parameterError([
    parameterProblem('', 'too_many_parameters', `A request must have fewer than ${maxParameters} parameters`),
  ]);
}
/** The parser of query strings drops what comes after these, and a dropped filter would widen the result. */
const maxParameters = 1_000;

/** The caches are those of the public interface; a `tenant` must use the same connections. */
export const createVersionReader = (sources: VersionSources): VersionReader => ({
  list: (tenant, query) => list(sources, tenant, query),
  summarize: (tenant, query) => summarize(sources, tenant, query),
  file: (tenant, query, form, signal) => openFile(sources, tenant, query, form, signal),
});

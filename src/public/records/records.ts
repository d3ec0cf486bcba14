// Reads records for callers inside the service rather than for a published version: saved views, mails,
// templates. They read any synced field of one organization through the same engine as the public interface,
// with its limits, caches and errors.
import type { TenantCtx } from '../../core/ctx.ts';
import type { Semaphore } from '../../core/work/semaphore.ts';
import { currentFreshness, type Reader } from '../read/connection/reader.ts';
import { readListPage } from '../read/result/list.ts';
import { readSingleRecord, textReader, wholeText } from '../read/result/rows.ts';
import { readSummary } from '../read/result/summary.ts';
import { readDescribedType } from '../version/available.ts';
import type { FindLivingMasks } from '../version/living-masks.ts';
import { isRecordId } from '../version/values.ts';
import type { FileForm } from './file-stream.ts';
import {
  bindQuery,
  compileColumns,
  createReport,
  freshnessOfQuery,
  type QueryColumn,
  type QueryProblem,
  type RecordQuery,
  unknownRecordTypeProblem,
} from './record-query.ts';
import { bindSummary, freshnessOfSummary, type SummaryColumn, type SummaryQuery } from './record-summary.ts';
import {
  type CallerRights,
  type FileSources,
  type Found,
  findQueryTarget,
  type RecordsFile,
  startRecordsFile,
} from './records-file.ts';

/** The groups of a summary. `total`: their number; 1 without groups. */
export type FoundGroups = Found & {
  readonly columns: readonly SummaryColumn[];
  /**
   * The rows as the text of a JSON array: groups and `count` by name, and an object of fields for each
   * function, as in `/summary`.
   */
  readonly rows: string;
};

/** What reads of records share with those of the public interface. */
export type RecordSources = FileSources & {
  /** Queue for reads of saved queries, which no version declares and no index may serve. */
  readonly savedQueries: Semaphore;
  readonly findLivingMasks: FindLivingMasks;
};

type Page = { readonly page: number; readonly pageSize: number };

export type FoundRecords = Found & {
  readonly columns: readonly QueryColumn[];
  /** The page as a JSON array by PostgreSQL, with exact digits: `id` first, then the columns by name. */
  readonly records: string;
};

export type RecordReader = {
  /**
   * One page; `page` starts at 1. Columns that the warehouse no longer has are reported in `problems`, not
   * thrown; so are sorts by masked fields, which are skipped, and filters by them, which hold the records
   * back. Rejects with 400 `page_too_large` when its records have too many bytes, and with 503 when no sync
   * of the record type has been published, too many reads wait, the read times out, or the database is
   * unavailable.
   */
  list(tenant: TenantCtx, query: RecordQuery, page: Page, rights: CallerRights): Promise<FoundRecords>;
  /**
   * One record as JSON text, its values under their sources; undefined when it does not exist. Rejects with
   * 503 as `list` does.
   */
  get(
    tenant: TenantCtx,
    recordType: string,
    id: string,
    sources: readonly string[],
    rights: CallerRights,
  ): Promise<string | undefined>;
  /**
   * All records of one snapshot as a file, in constant memory, queued with the exports of the public interface.
   * Resolves when the first rows are available; a caller that does not read to the end must abort the signal.
   * Rejects with 503 as `list` does, and when too many exports run.
   */
  file(
    tenant: TenantCtx,
    query: RecordQuery,
    form: FileForm,
    signal: AbortSignal,
    rights: CallerRights,
  ): Promise<RecordsFile>;
  /**
   * The groups of a summary, of all records that the filters select. Groups, aggregates and filters that do
   * not work hold the rows back. Rejects with 503 as `list` does.
   */
  summarize(tenant: TenantCtx, query: SummaryQuery, rights: CallerRights): Promise<FoundGroups>;
  /** The problems that `summarize` would report now, other than fields that the ERP can't read currently. */
  checkSummary(
    tenant: TenantCtx,
    query: SummaryQuery,
    rights: CallerRights,
  ): Promise<readonly QueryProblem[]>;
  /**
   * The problems that `list` would report now, apart from fields that the ERP can't read at the moment,
   * without reading records.
   */
  check(tenant: TenantCtx, query: RecordQuery, rights: CallerRights): Promise<readonly QueryProblem[]>;
};

/** Of a record type that was never set up. */
const nothing: Found = {
  total: 0,
  syncedAt: null,
  problems: [unknownRecordTypeProblem],
  heldBack: true,
};

/** In place of what would be more than the query asks for. */
const readNothing = async (reader: Reader, { recordType }: Pick<RecordQuery, 'recordType'>) => ({
  records: '',
  rows: '',
  total: 0,
  freshness: await currentFreshness(reader, recordType),
});

async function list(
  sources: RecordSources,
  ctx: TenantCtx,
  query: RecordQuery,
  page: Page,
  rights: CallerRights,
): Promise<FoundRecords> {
  const target = await findQueryTarget(sources, ctx, query.recordType, rights);
  if (target === undefined)
    return { ...nothing, columns: query.columns.map((column) => ({ ...column, type: null })), records: '[]' };
  const reader = textReader(sources.getReader(ctx.organizationId));
  const { plan, columns, problems, matchesNothing } = bindQuery(query, target, page);
  const { records, total, freshness } = matchesNothing
    ? await readNothing(reader, query)
    : await readListPage(reader, plan);
  const { syncedAt, problems: stale } = freshnessOfQuery(query, freshness);
  return {
    columns,
    problems: [...problems, ...stale],
    heldBack: matchesNothing,
    records: `[${wholeText(records)}]`,
    total,
    syncedAt,
  };
}

async function get(
  sources: RecordSources,
  ctx: TenantCtx,
  recordType: string,
  id: string,
  names: readonly string[],
  rights: CallerRights,
): Promise<string | undefined> {
  const target = await findQueryTarget(sources, ctx, recordType, rights);
  if (target === undefined || !isRecordId(target.type.idType, id)) return undefined;
  const columns = names.filter((source) => source !== 'id').map((source) => ({ name: source, source }));
  const { endpoint } = compileColumns({ recordType, columns }, target, createReport([]));
  const plan = { endpoint, id, fields: endpoint.fields, expansions: [], normalized: '' };
  const { record } = await readSingleRecord(sources.getReader(ctx.organizationId), plan);
  return record === null ? undefined : wholeText(record);
}

const findSummaryTarget = (
  sources: RecordSources,
  ctx: TenantCtx,
  { recordType }: SummaryQuery,
  rights: CallerRights,
) => findQueryTarget(sources, ctx, recordType, rights, readDescribedType);

async function summarize(
  sources: RecordSources,
  ctx: TenantCtx,
  query: SummaryQuery,
  rights: CallerRights,
): Promise<FoundGroups> {
  const target = await findSummaryTarget(sources, ctx, query, rights);
  if (target === undefined) return { ...nothing, columns: [], rows: '[]' };
  const reader = textReader(sources.getReader(ctx.organizationId));
  const { plan, columns, problems } = bindSummary(query, target);
  const { rows, total, freshness } =
    plan === undefined ? await readNothing(reader, query) : await readSummary(reader, plan);
  const { syncedAt, problems: stale } = freshnessOfSummary(query, freshness);
  return {
    columns,
    rows: `[${wholeText(rows)}]`,
    total,
    problems: [...problems, ...stale],
    syncedAt,
    heldBack: plan === undefined,
  };
}

async function checkSummary(
  sources: RecordSources,
  ctx: TenantCtx,
  query: SummaryQuery,
  rights: CallerRights,
) {
  const target = await findSummaryTarget(sources, ctx, query, rights);
  return target === undefined ? [unknownRecordTypeProblem] : bindSummary(query, target).problems;
}

async function check(sources: RecordSources, ctx: TenantCtx, query: RecordQuery, rights: CallerRights) {
  const target = await findQueryTarget(sources, ctx, query.recordType, rights);
  return target === undefined
    ? [unknownRecordTypeProblem]
    : bindQuery(query, target, { page: 1, pageSize: 1 }).problems;
}

/** Queued with all other reads of saved queries. Rejects with 503 when too many wait. */
async function withPermit<T>(
  { savedQueries }: RecordSources,
  { organizationId }: TenantCtx,
  read: () => Promise<T>,
): Promise<T> {
  const release = await savedQueries.acquireUnlessAborted(organizationId, new AbortController().signal);
  try {
    return await read();
  } finally {
    release?.();
  }
}

/** The caches are those of the public interface; a `tenant` must use the same connections. */
export function createRecordReader(sources: RecordSources): RecordReader {
  return {
    list: (tenant, query, page, rights) =>
      withPermit(sources, tenant, () => list(sources, tenant, query, page, rights)),
    get: (tenant, recordType, id, names, rights) =>
      withPermit(sources, tenant, () => get(sources, tenant, recordType, id, names, rights)),
    file: (tenant, query, form, signal, rights) =>
      startRecordsFile({ sources, ctx: tenant, query, form, signal, rights }),
    summarize: (tenant, query, rights) =>
      withPermit(sources, tenant, () => summarize(sources, tenant, query, rights)),
    checkSummary: (tenant, query, rights) => checkSummary(sources, tenant, query, rights),
    check: (tenant, query, rights) => check(sources, tenant, query, rights),
  };
}

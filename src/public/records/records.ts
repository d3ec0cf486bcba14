// Reads records for callers inside the service rather than for a published version: saved views, mails, templates. They read any synced
// field of one organization through the same engine as the public interface, with its limits, caches and errors.
import type { TenantCtx } from '../../core/ctx.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import { readListPage } from '../read/list.ts';
import { currentFreshness } from '../read/reader.ts';
import { readSingleRecord, textReader, wholeText } from '../read/rows.ts';
import { isRecordId } from '../read/values.ts';
import { readAvailableType } from '../version/available.ts';
import {
  bindQuery,
  endpointOf,
  freshnessOfQuery,
  type QueryColumn,
  type QueryProblem,
  type RecordQuery,
  unknownRecordTypeProblem,
} from './record-query.ts';
import { type CsvSources, type RecordsCsv, startRecordsCsv } from './records-csv.ts';

/** What reads of records share with those of the public interface. */
export type RecordSources = CsvSources & {
  /** Queue for reads of saved queries, which no version declares and no index may serve. */
  readonly savedQueries: Semaphore;
};

type Page = { readonly page: number; readonly pageSize: number };

export type FoundRecords = {
  readonly columns: readonly QueryColumn[];
  /** The page as the text of a JSON array, written by PostgreSQL with exact digits: `id` first, then the columns by name. */
  readonly records: string;
  readonly total: number;
  /** Of the last sync that could read every field that the query uses. RFC 3339; null when nothing is synced or the time is unknown. */
  readonly syncedAt: string | null;
  readonly problems: readonly QueryProblem[];
  /** No records are returned because of the problems. */
  readonly heldBack: boolean;
};

export type RecordReader = {
  /**
   * One page; `page` starts at 1. Columns that the warehouse no longer has are reported in `problems`, not thrown. Rejects with 400
   * `page_too_large` when its records have too many bytes, and with 503 when no sync of the record type has been published, too many reads wait, the read times out, or the database is unavailable.
   */
  list(tenant: TenantCtx, query: RecordQuery, page: Page): Promise<FoundRecords>;
  /** One record as JSON text, its values under their sources; undefined when it does not exist. Rejects with 503 as `list` does. */
  get(tenant: TenantCtx, recordType: string, id: string, sources: readonly string[]): Promise<string | undefined>;
  /**
   * All records of one snapshot as CSV, in constant memory, queued with the exports of the public interface. Resolves when the first rows
   * are available; a caller that does not read to the end must abort the signal. Rejects with 503 as `list` does, and when too many exports
   * run.
   */
  csv(tenant: TenantCtx, query: RecordQuery, signal: AbortSignal): Promise<RecordsCsv>;
  /** The problems that `list` would report now, apart from fields that the ERP can't read at the moment, without reading records. */
  check(tenant: TenantCtx, query: RecordQuery): Promise<readonly QueryProblem[]>;
};

const nothing = (query: RecordQuery): FoundRecords => ({
  columns: query.columns.map((column) => ({ ...column, type: null })),
  records: '[]',
  total: 0,
  syncedAt: null,
  problems: [unknownRecordTypeProblem],
  heldBack: true,
});

async function list(sources: RecordSources, ctx: TenantCtx, query: RecordQuery, page: Page): Promise<FoundRecords> {
  const type = await readAvailableType(ctx, query.recordType);
  if (type === undefined) return nothing(query);
  const reader = textReader(sources.readerOf(ctx.organizationId));
  const { plan, columns, problems, matchesNothing } = bindQuery(query, type, page);
  if (matchesNothing) {
    const { syncedAt, problems: stale } = freshnessOfQuery(query, await currentFreshness(reader, query.recordType));
    return { columns, problems: [...problems, ...stale], heldBack: true, records: '[]', total: 0, syncedAt };
  }
  const { records, total, freshness } = await readListPage(reader, plan);
  const { syncedAt, problems: stale } = freshnessOfQuery(query, freshness);
  return { columns, problems: [...problems, ...stale], heldBack: false, records: `[${wholeText(records)}]`, total, syncedAt };
}

async function get(
  { readerOf }: RecordSources,
  ctx: TenantCtx,
  recordType: string,
  id: string,
  sources: readonly string[],
): Promise<string | undefined> {
  const type = await readAvailableType(ctx, recordType);
  if (type === undefined || !isRecordId(type.idType, id)) return undefined;
  const columns = sources.filter((source) => source !== 'id').map((source) => ({ name: source, source }));
  const { endpoint } = endpointOf({ recordType, columns }, type, () => undefined);
  const plan = { endpoint, id, fields: endpoint.fields, normalized: '' };
  const { record } = await readSingleRecord(readerOf(ctx.organizationId), plan);
  return record === null ? undefined : wholeText(record);
}

async function check(ctx: TenantCtx, query: RecordQuery): Promise<readonly QueryProblem[]> {
  const type = await readAvailableType(ctx, query.recordType);
  return type === undefined ? [unknownRecordTypeProblem] : bindQuery(query, type, { page: 1, pageSize: 1 }).problems;
}

/** Queued with all other reads of saved queries. Rejects with 503 when too many wait. */
async function withPermit<T>({ savedQueries }: RecordSources, { organizationId }: TenantCtx, read: () => Promise<T>): Promise<T> {
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
    list: (tenant, query, page) => withPermit(sources, tenant, () => list(sources, tenant, query, page)),
    get: (tenant, recordType, id, names) => withPermit(sources, tenant, () => get(sources, tenant, recordType, id, names)),
    csv: (tenant, query, signal) => startRecordsCsv(sources, tenant, query, signal),
    check,
  };
}

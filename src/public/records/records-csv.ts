// Writes everything that a query finds as CSV for spreadsheets.
import type { TenantCtx } from '../../core/ctx.ts';
import { openSnapshot, type SnapshotSource } from '../export/snapshot.ts';
import { readAvailableType } from '../version/available.ts';
import type { FindLivingMasks } from '../version/living-masks.ts';
import {
  type CsvBytes,
  type CsvJob,
  copyRecords,
  createWriter,
  type ExportSources,
  startCsv,
} from './csv-stream.ts';
import {
  type BoundQuery,
  bindQuery,
  freshnessOfQuery,
  type QueryColumn,
  type QueryMasks,
  type QueryProblem,
  type QueryTarget,
  type RecordQuery,
  unknownRecordTypeProblem,
} from './record-query.ts';

export type RecordsCsv = CsvBytes & {
  readonly columns: readonly QueryColumn[];
  readonly problems: readonly QueryProblem[];
  /** No records are returned because of the problems. */
  readonly heldBack: boolean;
  readonly total: number;
  /**
   * Of the last sync that could read every field that the query uses. RFC 3339; null when nothing is synced
   * or the time is unknown.
   */
  readonly syncedAt: string | null;
};

const wholeResult = { page: 1, pageSize: 1 };

const headerLine = ({ columns }: RecordQuery): Buffer =>
  createWriter(['id', ...columns.map(({ name }) => name)].map((name) => ({ name, kind: 'text' }))).head;

/** The header line alone. */
const headerOnly = (
  query: RecordQuery,
  bound: Pick<BoundQuery, 'columns' | 'problems'>,
  syncedAt: string | null,
): RecordsCsv => ({
  columns: bound.columns,
  problems: bound.problems,
  heldBack: true,
  total: 0,
  syncedAt,
  bytes: (async function* () {
    yield headerLine(query);
  })(),
  aborted: new AbortController().signal,
});

export type CsvSources = ExportSources & { readonly findLivingMasks: FindLivingMasks };
/** Whether the caller reads masked fields as they are. */
export type CallerRights = { readonly unmasked: boolean };
type CsvRequest = {
  readonly sources: CsvSources;
  readonly ctx: TenantCtx;
  readonly query: RecordQuery;
  readonly signal: AbortSignal;
  readonly rights: CallerRights;
};

const noMasks: QueryMasks = new Map();

/** What queries of the record type are bound to; undefined when it was never set up. */
export async function findQueryTarget(
  { findLivingMasks }: CsvSources,
  ctx: TenantCtx,
  recordType: string,
  { unmasked }: CallerRights,
  readType: typeof readAvailableType = readAvailableType,
): Promise<QueryTarget | undefined> {
  const type = await readType(ctx, recordType);
  const masks = unmasked ? undefined : (await findLivingMasks(ctx)).get(recordType);
  return type && { type, masks: masks ?? noMasks };
}

/** One attempt. `onDone` is called once, when the connection is no longer needed. */
async function startOnce(
  request: CsvRequest,
  job: CsvJob,
  source: SnapshotSource,
  onDone: () => void,
): Promise<RecordsCsv> {
  const { sources, ctx, query, signal, rights } = request;
  const target = await findQueryTarget(sources, ctx, query.recordType, rights);
  if (target === undefined) {
    onDone();
    const columns = query.columns.map((column) => ({ ...column, type: null }));
    return headerOnly(query, { columns, problems: [unknownRecordTypeProblem] }, null);
  }
  const { plan, ...bound } = bindQuery(query, target, wholeResult);
  const snapshot = await openSnapshot(source, query.recordType, ctx.settings.exports.maxDurationMs, signal);
  try {
    const { syncedAt, problems: stale } = freshnessOfQuery(query, snapshot.freshness);
    const problems = [...bound.problems, ...stale];
    if (bound.matchesNothing) {
      snapshot.destroy();
      onDone();
      return headerOnly(query, { ...bound, problems }, syncedAt);
    }
    return {
      ...bound,
      problems,
      heldBack: false,
      syncedAt,
      ...(await copyRecords(job, snapshot, plan, onDone)),
    };
  } catch (error) {
    snapshot.destroy();
    throw error;
  }
}

/**
 * Resolves when the first rows are available. A caller that does not read to the end must abort the signal.
 * Rejects with 503 when too many exports run, no sync of the record type has been published, or the database
 * is unavailable; with the reason of the signal when it aborts first.
 */
export function startRecordsCsv(request: CsvRequest): Promise<RecordsCsv> {
  const { sources, ctx, query, signal } = request;
  const job: CsvJob = { sources, ctx, recordType: query.recordType, signal };
  return startCsv(job, (source, onDone) => startOnce(request, job, source, onDone));
}

// Writes everything that a query finds as CSV for spreadsheets: one snapshot, in constant memory, with the queue and limits of the exports
// of the public interface. Texts that a spreadsheet would run as a formula get an apostrophe; numbers are never changed.
import type { TenantCtx } from '../../core/ctx.ts';
import { sqlState } from '../../db/pg-errors.ts';
import { startCopy, watchCopy } from '../export/copy-lines.ts';
import { createCsvWriter } from '../export/csv.ts';
import { copyStatement } from '../export/export-sql.ts';
import type { ExportState } from '../export/export-state.ts';
import { mayOpenAgain, openSnapshot, type Snapshot, type SnapshotSource, totalOf } from '../export/snapshot.ts';
import { asUnavailable, queryCanceled } from '../read/failures.ts';
import type { ReaderOf } from '../read/reader.ts';
import { repeatWhileReplaced } from '../read/repeat-while-replaced.ts';
import { readAvailableType } from '../version/available.ts';
import type { FindLivingMasks } from '../version/living-masks.ts';
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

export type RecordsCsv = {
  readonly columns: readonly QueryColumn[];
  readonly problems: readonly QueryProblem[];
  /** No records are returned because of the problems. */
  readonly heldBack: boolean;
  readonly total: number;
  /** Of the last sync that could read every field that the query uses. RFC 3339; null when nothing is synced or the time is unknown. */
  readonly syncedAt: string | null;
  /** UTF-8: a header line, then the records, with CR LF line ends. Ends cleanly only when it is complete. Can be read once. */
  readonly bytes: AsyncIterable<Buffer>;
  /** Aborted when the service ends the stream early, because its reader is slow or a writer is blocked. */
  readonly aborted: AbortSignal;
};

const createWriter: Parameters<typeof startCopy>[1]['createWriter'] = (columns) => createCsvWriter(columns, { guardFormulas: true });
const wholeResult = { page: 1, pageSize: 1 };

const headerLine = ({ columns }: RecordQuery): Buffer =>
  createWriter(['id', ...columns.map(({ name }) => name)].map((name) => ({ name, kind: 'text' }))).head;

/** The header line alone. */
const headerOnly = (query: RecordQuery, bound: Pick<BoundQuery, 'columns' | 'problems'>, syncedAt: string | null): RecordsCsv => ({
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

export type CsvSources = { readonly exports: ExportState; readonly readerOf: ReaderOf; readonly findLivingMasks: FindLivingMasks };
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
async function startOnce(request: CsvRequest, source: SnapshotSource, onDone: () => void): Promise<RecordsCsv> {
  const { sources, ctx, query, signal, rights } = request;
  const target = await findQueryTarget(sources, ctx, query.recordType, rights);
  if (target === undefined) {
    onDone();
    const columns = query.columns.map((column) => ({ ...column, type: null }));
    return headerOnly(query, { columns, problems: [unknownRecordTypeProblem] }, null);
  }
  const { plan, ...bound } = bindQuery(query, target, wholeResult);
  const { reader } = source;
  const snapshot = await openSnapshot(source, query.recordType, ctx.settings.exports.maxDurationMs, signal);
  try {
    const { syncedAt, problems: stale } = freshnessOfQuery(query, snapshot.freshness);
    const problems = [...bound.problems, ...stale];
    if (bound.matchesNothing) {
      snapshot.destroy();
      onDone();
      return headerOnly(query, { ...bound, problems }, syncedAt);
    }
    const total = await totalOf(snapshot, reader, plan);
    const rows = await startCopy(snapshot, {
      write: (table) => copyStatement(table, plan),
      total,
      signal,
      createWriter,
      yieldToReads: sources.exports.yieldToReads,
    });
    return {
      ...bound,
      problems,
      heldBack: false,
      total,
      syncedAt,
      ...watchedBytes(request, snapshot, rows, onDone),
    };
  } catch (error) {
    snapshot.destroy();
    throw error;
  }
}

/** The bytes, watched until they end, are cut off, or the reader disconnects. */
function watchedBytes(
  { sources, ctx, query, signal }: CsvRequest,
  snapshot: Snapshot,
  rows: Awaited<ReturnType<typeof startCopy>>,
  onDone: () => void,
): Pick<RecordsCsv, 'bytes' | 'aborted'> {
  const aborted = new AbortController();
  let isOffered = false;
  const finish = (): void => {
    stopWatch();
    signal.removeEventListener('abort', finish);
    snapshot.destroy();
    onDone();
  };
  const cutOff = (reason: string): void => {
    ctx.log.info(
      { organizationId: ctx.organizationId, recordType: query.recordType, reason, bytes: rows.bytesTaken() },
      'CSV of records was cut off',
    );
    aborted.abort(new Error(`cut off: ${reason}`));
    finish();
  };
  const stopWatch = watchCopy({
    rows,
    snapshot,
    blockedWriters: sources.exports.blockedWriters,
    limits: ctx.settings.exports,
    isWaiting: () => isOffered,
    cut: cutOff,
  });
  if (signal.aborted) finish();
  signal.addEventListener('abort', finish);
  async function* read(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of rows.read()) {
        isOffered = true;
        // The next chunk overwrites this one.
        yield Buffer.from(chunk);
        isOffered = false;
        aborted.signal.throwIfAborted();
      }
    } catch (error) {
      if (sqlState(error) === queryCanceled) cutOff('time limit');
      throw error;
    } finally {
      finish();
    }
  }
  return { bytes: read(), aborted: aborted.signal };
}

/**
 * Resolves when the first rows are available. A caller that does not read to the end must abort the signal. Rejects with 503 when too many
 * exports run, no sync of the record type has been published, or the database is unavailable; with the reason of the signal when it aborts
 * first.
 */
export async function startRecordsCsv(request: CsvRequest): Promise<RecordsCsv> {
  const { sources, ctx, query, signal } = request;
  const releasePermit = await sources.exports.queue.acquireUnlessAborted(ctx.organizationId, signal);
  if (releasePermit === undefined) throw signal.reason;
  let isDone = false;
  const onDone = (): void => {
    if (!isDone) releasePermit();
    isDone = true;
  };
  try {
    const reader = sources.readerOf(ctx.organizationId);
    const source: SnapshotSource = { reader, isReplica: false };
    return await repeatWhileReplaced(
      reader,
      query.recordType,
      () => startOnce(request, source, onDone),
      (error) => mayOpenAgain(source, error),
    );
  } catch (error) {
    onDone();
    throw asUnavailable(error);
  }
}

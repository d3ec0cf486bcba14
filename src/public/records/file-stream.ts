// What every file of records for people has in common: one snapshot, in constant memory, with the queue and
// limits of the exports of the public interface. CSV begins with a byte order mark, and texts that a
// spreadsheet would run as a formula get an apostrophe, except in raw CSV; numbers are never changed.
import { hash } from 'node:crypto';
import type { TenantCtx } from '../../core/ctx.ts';
import { sqlState } from '../../db/pg-errors.ts';
import { startCopy, watchCopy } from '../export/copy-lines.ts';
import { startWorkbook } from '../export/copy-workbook.ts';
import { createCsvWriter } from '../export/csv.ts';
import { copyStatement } from '../export/export-sql.ts';
import { acquireExport, type ExportState } from '../export/export-state.ts';
import { loadTotal, mayOpenAgain, type Snapshot, type SnapshotSource } from '../export/snapshot.ts';
import { rendererRevision } from '../http/response.ts';
import { asUnavailable, queryCanceled } from '../read/connection/failures.ts';
import type { ReaderOf } from '../read/connection/reader.ts';
import { repeatWhileReplaced } from '../read/connection/repeat-while-replaced.ts';
import type { ListPlan } from '../read/plan/plan.ts';

export const writerOf =
  (form: Exclude<FileForm, 'xlsx'>): Parameters<typeof startCopy>[1]['createWriter'] =>
  (columns) =>
    createCsvWriter(columns, { guardFormulas: form === 'csv', withMark: true });

export type FileForm = 'csv' | 'raw-csv' | 'xlsx';

export type ExportSources = { readonly exports: ExportState; readonly getReader: ReaderOf };

/** `signal` is aborted when the reader of the bytes has gone. */
export type FileJob = {
  readonly sources: ExportSources;
  readonly ctx: TenantCtx;
  readonly recordType: string;
  readonly form: FileForm;
  readonly signal: AbortSignal;
};

export type FileBytes = {
  /**
   * CSV in UTF-8: a header line, then the records, with CR LF line ends; or a workbook. Ends cleanly only when
   * it is complete. Can be read once.
   */
  readonly bytes: AsyncIterable<Buffer>;
  /** Aborted when the service ends the stream early, because its reader is slow or a writer is blocked. */
  readonly aborted: AbortSignal;
  /** The entity tag: files with the same one have the same bytes. Absent where there are no records. */
  readonly tag?: string;
};

/** zlib compresses the same bytes in the same way only on the same architecture, in the same release. */
const compression = [process.arch, process.versions.zlib];

function computeTag(form: FileForm, plan: ListPlan, { table, freshness }: Snapshot): string {
  const { epoch, generation } = freshness;
  const content = [copyStatement(table, plan, 'csv'), plan.fields, plan.endpoint.name, epoch, generation];
  const identity = [rendererRevision, form, content, ...(form === 'xlsx' ? compression : [])];
  return `"${hash('sha256', JSON.stringify(identity), 'base64url').slice(0, 27)}"`;
}

/**
 * The records of a plan, and their number. `onDone` is called once the bytes have ended, were cut off, or the
 * reader disconnected.
 */
export async function copyRecords(
  job: FileJob,
  snapshot: Snapshot,
  plan: ListPlan,
  onDone: () => void,
): Promise<FileBytes & { readonly total: number }> {
  const { sources, ctx, form, signal } = job;
  const total = await loadTotal(snapshot, sources.getReader(ctx.organizationId), plan);
  const options = { signal, yieldToReads: sources.exports.yieldToReads };
  const rows =
    form === 'xlsx'
      ? await startWorkbook(snapshot, plan, total, options)
      : await startCopy(snapshot, {
          ...options,
          write: (table) => copyStatement(table, plan, 'csv'),
          total,
          createWriter: writerOf(form),
        });
  const tag = computeTag(form, plan, snapshot);
  return { total, tag, ...watchedBytes(job, snapshot, rows, onDone) };
}

/** The bytes, watched until they end, are cut off, or the reader disconnects. */
function watchedBytes(
  { sources, ctx, recordType, signal }: FileJob,
  snapshot: Snapshot,
  rows: Awaited<ReturnType<typeof startCopy>>,
  onDone: () => void,
): FileBytes {
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
      { organizationId: ctx.organizationId, recordType, reason, bytes: rows.bytesTaken() },
      'file of records was cut off',
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
 * Runs `start` with a permit of the exports, again while the table is being replaced, and keeps the permit
 * until `start` calls `onDone`. Rejects with 503 when too many exports run, no sync of the record type has
 * been published, or the database is unavailable; with the reason of the signal when it aborts first.
 */
export async function startFile<T>(
  { sources, ctx, recordType, signal }: FileJob,
  start: (source: SnapshotSource, onDone: () => void) => Promise<T>,
): Promise<T> {
  const releasePermit = await acquireExport(sources.exports, ctx.organizationId, signal);
  let isDone = false;
  const onDone = (): void => {
    if (!isDone) releasePermit();
    isDone = true;
  };
  try {
    const reader = sources.getReader(ctx.organizationId);
    const source: SnapshotSource = { reader, isReplica: false };
    return await repeatWhileReplaced(
      reader,
      recordType,
      () => start(source, onDone),
      (error) => mayOpenAgain(source, error),
    );
  } catch (error) {
    onDone();
    throw asUnavailable(error);
  }
}

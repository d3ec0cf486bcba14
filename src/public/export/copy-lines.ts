// Streams the rows of a plan as bytes of some form, straight from PostgreSQL's COPY of one snapshot, and
// watches the stream: a reader must keep up, and must not block others from the table.
import type { Settings } from '../../core/settings.ts';

import { copyOut } from '../../db/driver/copy-out.ts';
import type { TableRef } from '../read/sql/list-sql.ts';
import type { BlockedWriters } from './blocked-writers.ts';
import type { CellColumn, RowWriter } from './copy-rows.ts';
import { type CopyStatement, exportSettings } from './export-sql.ts';
import { createSlowReaderCheck } from './slow-reader.ts';
import type { Snapshot } from './snapshot.ts';

export type CopiedRows = {
  /** Bytes produced so far. */
  bytesTaken(): number;
  /** The error that ended the stream while its reader was still connected. */
  failure(): unknown;
  /**
   * Each chunk is valid only until the next one is requested. Rejects when PostgreSQL fails or the number of
   * rows is not `total`.
   */
  read(): AsyncGenerator<Buffer>;
};

export type CopyOptions = {
  readonly write: (table: TableRef) => CopyStatement;
  /** Number of rows that must come; null when it is unknown. */
  readonly total: number | null;
  /** Aborted as soon as the reader disconnects. */
  readonly signal: AbortSignal;
  readonly createWriter: (columns: readonly CellColumn[]) => RowWriter;
  /** Awaited before each further chunk, so that short reads go first. */
  readonly yieldToReads: () => Promise<void>;
  /** Whether the snapshot ends with these rows; true by default. */
  readonly isLast?: boolean;
};

/**
 * Resolves when PostgreSQL has the first rows, so that anything it rejects can still become an error
 * response. Rejects with the error of PostgreSQL.
 */
export async function startCopy(
  { client, table, release }: Snapshot,
  { write: writeStatement, total, signal, createWriter, yieldToReads, isLast = true }: CopyOptions,
): Promise<CopiedRows> {
  const { text, columns } = writeStatement(table);
  await client.query(exportSettings);
  const { pieces: chunks, rowCount } = copyOut(client, text);
  const firstChunk = await chunks.next();
  const { head, write } = createWriter(columns);
  let bytesTaken = 0;
  let failure: unknown;
  async function* read(): AsyncGenerator<Buffer> {
    if (head.length > 0) yield head;
    for (let chunk = firstChunk; chunk.done !== true; chunk = await chunks.next()) {
      for (const written of write(chunk.value)) {
        bytesTaken += written.length;
        yield written;
        await yieldToReads();
      }
    }
    // The stream may end cleanly only when PostgreSQL reports the COPY as complete.
    if (isLast) await client.query('commit');
    if (total !== null && rowCount() !== total)
      throw new Error(`export returned ${rowCount()} of ${total} records`);
    if (isLast) release();
  }
  return {
    bytesTaken: () => bytesTaken,
    failure: () => failure,
    async *read() {
      try {
        yield* read();
      } catch (error) {
        // The stream also breaks with its connection when the reader has disconnected; that is no failure.
        if (!signal.aborted) failure = error;
        throw error;
      }
    },
  };
}

export type WatchOptions = {
  readonly rows: CopiedRows;
  readonly snapshot: Snapshot;
  readonly blockedWriters: BlockedWriters;
  readonly limits: Pick<Settings['exports'], 'maxDurationMs' | 'maxSlowMs' | 'minBytesPerSecond'>;
  /** True while data is ready and not taken; otherwise the database is the slow side. */
  isWaiting(): boolean;
  cut(reason: string): void;
};

/**
 * Cuts the stream off when it exceeds its time limit, when its reader is too slow, and when a writer is
 * blocked by it. Returns the function that ends the watch.
 */
export function watchCopy({ rows, snapshot, blockedWriters, limits, isWaiting, cut }: WatchOptions) {
  const { checkEveryMs, isSlow } = createSlowReaderCheck(limits);
  const paceTimer = setInterval(() => {
    if (isSlow(rows.bytesTaken()) && isWaiting()) cut('slow caller');
  }, checkEveryMs);
  const endTimer = setTimeout(() => cut('time limit'), limits.maxDurationMs);
  const unwatch = blockedWriters.watch(snapshot.backend, () => cut('a writer waits for its table'));
  return () => {
    clearInterval(paceTimer);
    clearTimeout(endTimer);
    unwatch();
  };
}

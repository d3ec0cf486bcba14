// What all exports of one process share: how many run and wait, and how they give way to short reads and to
// writers.
import type { Ctx } from '../../core/ctx.ts';
import { anyOwner, type Release, Semaphore } from '../../core/work/semaphore.ts';
import { createFairQueue } from '../load/fair-queue.ts';
import { type BlockedWriters, watchBlockedWriters } from './blocked-writers.ts';

export type ExportState = {
  readonly queue: Semaphore;
  readonly blockedWriters: BlockedWriters;
  /**
   * Waits until pages and records have been read and until other exports had their share, so that exports
   * hardly delay them.
   */
  readonly yieldToReads: () => Promise<void>;
};

/** Under a constant load of page reads an export still sends this many chunks of 64 KiB per second. */
const minChunksPerSecond = 40;

function createYieldToReads(queues: readonly Semaphore[]): () => Promise<void> {
  // One chunk per event loop iteration across all exports: other events run in between.
  const turns = new Semaphore({ maxRunning: 1 });
  return async () => {
    setImmediate(await turns.acquire(anyOwner));
    await Promise.all(queues.map((reads) => reads.waitUntilIdle(1000 / minChunksPerSecond)));
  };
}

/**
 * A permit to export, which the caller releases once. Rejects with 503 when too many exports run, with the
 * reason of the signal when it aborts first.
 */
export async function acquireExport(
  { queue }: Pick<ExportState, 'queue'>,
  organizationId: string,
  signal: AbortSignal,
): Promise<Release> {
  const release = await queue.acquireUnlessAborted(organizationId, signal);
  if (release === undefined) throw signal.reason;
  return release;
}

/** `reads`: the queues of pages and records. */
export const createExportState = (
  { settings, db, log }: Pick<Ctx, 'settings' | 'db' | 'log'>,
  reads: readonly Semaphore[],
): ExportState => ({
  yieldToReads: createYieldToReads(reads),
  queue: createFairQueue(
    {
      maxRunning: settings.exports.maxRunning,
      maxWaiting: settings.exports.maxWaiting,
      maxWaitMs: settings.exports.maxDurationMs,
    },
    'exports',
  ),
  blockedWriters: watchBlockedWriters(db.data, log),
});

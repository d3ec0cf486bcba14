// The watch for blocked writers sends no queries once nothing is watched, as at process shutdown.
import { Pool } from 'pg';
import { describe, expect, it, vi } from 'vitest';
import { createLog } from '../../../src/core/log.ts';
import { watchBlockedWriters } from '../../../src/public/export/blocked-writers.ts';

describe('watchBlockedWriters', () => {
  it('does not query a pool that was closed after the last export ended', async () => {
    vi.useFakeTimers();
    try {
      const lines: string[] = [];
      const log = createLog('warn', { write: (line) => lines.push(line) });
      const pool = new Pool();
      await pool.end();
      const watcher = watchBlockedWriters(pool, log);
      const unwatch = watcher.watch(1, () => undefined);
      unwatch();
      await vi.advanceTimersByTimeAsync(1_000);
      expect(lines).toEqual([]);
      // Watching again polls again; this pool cannot answer, so the failure is logged.
      watcher.watch(2, () => undefined);
      await vi.advanceTimersByTimeAsync(300);
      expect(lines).toEqual([expect.stringContaining('could not check for writers')]);
    } finally {
      vi.useRealTimers();
    }
  });
});

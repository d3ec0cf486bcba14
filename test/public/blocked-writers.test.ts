// The watch over exports asks nothing once nothing is watched, as at the end of a process.
import { Pool } from 'pg';
import { describe, expect, it, vi } from 'vitest';
import { openLog } from '../../src/core/log.ts';
import { openStanding } from '../../src/public/give-way.ts';

describe('the watch over exports', () => {
  it('asks nothing of a pool that was closed after the last export ended', async () => {
    vi.useFakeTimers();
    try {
      const told: string[] = [];
      const log = openLog('warn', { write: (line) => told.push(line) });
      const pool = new Pool();
      await pool.end();
      const standing = openStanding(pool, log);
      const unwatch = standing.watch(1, () => undefined);
      unwatch();
      await vi.advanceTimersByTimeAsync(1_000);
      expect(told).toEqual([]);
      // What is watched again is looked at again: this pool can't answer, and the watch says so.
      standing.watch(2, () => undefined);
      await vi.advanceTimersByTimeAsync(300);
      expect(told).toEqual([expect.stringContaining('who waits for an export')]);
    } finally {
      vi.useRealTimers();
    }
  });
});

// An export may run for minutes and holds a shared lock on its table all that time. A writer that wants to
// alter or drop the table would wait for it, and every list would queue behind that writer. So exports are
// cut off when someone waits for them: for the advisory lock of long reads, which is taken before the lock of
// the table, or for the table lock itself.
import type { Pool } from 'pg';
import type { Log } from '../../core/log.ts';
import { type Recurring, startRecurring } from '../../core/work/recurring.ts';

export type BlockedWriters = {
  /**
   * Watches the PostgreSQL backend with this process id until the returned function is called; calls `cut`
   * when another backend is blocked by it.
   */
  watch(backend: number, cut: () => void): () => void;
};

const pollEveryMs = 250;
/** Shorter waits are ignored: cleanup drops unused tables with a lock timeout below this. */
const minBlockedMs = 200;

const blockers = `select distinct b.pid from pg_locks w cross join lateral unnest(pg_blocking_pids(w.pid)) as b(pid)
  where not w.granted and w.locktype in ('relation', 'advisory') and w.waitstart < clock_timestamp() - make_interval(secs => $1) and b.pid = any($2::int[])`;

/** Polls `pool` while at least one backend is watched, with at most one query at a time. */
export function watchBlockedWriters(pool: Pick<Pool, 'query'>, log: Log): BlockedWriters {
  const watched = new Map<number, () => void>();
  let polling: Recurring | undefined;
  const poll = async (): Promise<void> => {
    const { rows } = await pool.query<{ pid: number }>(blockers, [minBlockedMs / 1000, [...watched.keys()]]);
    for (const { pid } of rows) watched.get(pid)?.();
  };
  const onFailure = (error: unknown): void =>
    log.warn({ err: error }, 'could not check for writers blocked by exports');
  return {
    watch(backend, cut) {
      watched.set(backend, cut);
      polling ??= startRecurring(pollEveryMs, poll, onFailure);
      return () => {
        watched.delete(backend);
        if (watched.size > 0) return;
        void polling?.stop();
        polling = undefined;
      };
    },
  };
}
